"""Tests of accuracy.py and what it is made of; no GPU, no restride."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import accuracy
import accuracy_page
import cases
import judges

CSV = """program,candidate,layout,check_ok,time_ms,kernels
p,,original,1,4.0,
p,P,aos,1,4.0,k
p,P,soa,1,2.0,k
p,P,asta32,1,2.04,k
p,P,grouped,0,1.0,k
p,in-place,winners,1,2.0,
q,Q,soa,1,1.0,k
"""


def scored(layout, cycles, sectors=1.0, conversion=0.0):
    return {"layout": layout, "predicted_cycles": cycles, "conversion_cycles": conversion,
            "kernels": [{"name": "k", "calls": 2, "occupancy": {"grid_blocks": 10, "warps_per_block": 4},
                         "accesses": [{"requests_per_warp": 3, "sectors_per_request": sectors}]}]}


def report(winner="soa", status="rewritten", **cycles):
    cycles = cycles or {"aos": 40.0, "soa": 20.0, "asta32": 30.0}
    return {"candidates": [{"name": "P", "array": "d_p", "status": status, "winner": winner, "source_layout": "aos",
                            "variants": [scored(layout, c) for layout, c in cycles.items()]}]}


def case(program="p", **more):
    times, _ = cases.read_csv(io.StringIO(CSV))
    found, _ = cases.make_cases({program: times["p"]}, {program: report(**more)})
    return found[0]


class Cases(unittest.TestCase):
    def test_read_csv(self):
        times, wrong = cases.read_csv(io.StringIO(CSV))
        self.assertEqual(times["p"][""], {"original": 4.0})
        self.assertEqual(times["p"]["P"], {"aos": 4.0, "soa": 2.0, "asta32": 2.04})
        self.assertEqual(wrong, [("p", "P", "grouped")])

    def test_cases_and_what_has_no_score(self):
        times, _ = cases.read_csv(io.StringIO(CSV))
        found, unknown = cases.make_cases(times, {"p": report()})
        self.assertEqual([c.name() for c in found], ["p P"])
        self.assertEqual(unknown, ["q Q"])

    def test_the_source_layout_is_the_original(self):
        found, _ = cases.make_cases({"p": {"": {"original": 3.0}, "P": {"soa": 1.0}}}, {"p": report()})
        self.assertEqual(found[0].times_ms, {"soa": 1.0, "aos": 3.0})

    def test_copies_count_where_the_program_times_them(self):
        one = report()
        one["candidates"][0]["variants"] = [scored("soa", 20.0, conversion=5.0)]
        times, _ = cases.read_csv(io.StringIO(CSV))
        for program, cycles in ("p", 20.0), ("frames", 25.0):
            found, _ = cases.make_cases({program: times["p"]}, {program: one})
            self.assertEqual(found[0].predicted_cycles(), {"soa": cycles})

    def test_layouts_are_apart_only_if_each_run_says_so(self):
        def time(*runs):
            return cases.Time(sum(runs) / len(runs), runs)

        self.assertTrue(judges.differ(2.0, 1.0, 1.05))
        self.assertTrue(judges.differ(time(1.0, 1.1), time(1.2, 1.2), 1.05))
        self.assertFalse(judges.differ(time(1.0, 2.0), time(1.2, 1.2), 1.05), "the order changes")
        self.assertFalse(judges.differ(time(1.0, 1.19), time(1.2, 1.2), 1.05), "once they are near")
        self.assertFalse(judges.differ(1.0, time(1.01, 1.01), 1.05))

    def test_other_groups_are_another_layout(self):
        times, _ = cases.read_csv(io.StringIO("program,candidate,layout,check_ok,time_ms,kernels,groups\n"
                                              "p,P,grouped,1,3.0,k,x y/z\np,P,grouped,1,2.0,k,x/y z\np,P,aos,1,4.0,k,\n"))
        one = report(aos=40.0, grouped=20.0)
        for variant in one["candidates"][0]["variants"]:
            variant["groups"] = [["x", "y"], ["z"]] if variant["layout"] == "grouped" else [["x", "y", "z"]]
        found, _ = cases.make_cases(times, {"p": one})
        self.assertEqual(found[0].times_ms, {"grouped": 3.0, "grouped x/y z": 2.0, "aos": 4.0})
        self.assertEqual(found[0].best(), "grouped x/y z")
        self.assertEqual(found[0].predicted_cycles(), {"aos": 40.0, "grouped": 20.0})

    def test_transactions(self):
        self.assertEqual(case().transactions(), {"aos": 240, "soa": 240, "asta32": 240})


class Choices(unittest.TestCase):
    def test_the_tools(self):
        choice = judges.by_report(case())
        self.assertEqual((choice.layout, choice.regret(), choice.speedup()), ("soa", 1.0, 2.0))
        self.assertFalse(choice.failed())
        # 2 % apart is no pair
        self.assertEqual(choice.pairs(), [True, True])
        self.assertEqual((choice.pairs(1.01), choice.tau_apart()), ([True] * 3, 1.0))

    def test_kept(self):
        choice = judges.by_report(case(status="kept", winner="aos"))
        self.assertEqual((choice.layout, choice.regret(), choice.speedup()), ("aos", 2.0, 1.0))
        self.assertTrue(choice.failed())

    def test_a_pick_that_was_never_seen_to_work_fails(self):
        choice = judges.by_report(case(winner="grouped"))
        self.assertFalse(choice.measured())
        self.assertTrue(choice.failed())
        self.assertIsNone(judges.measures([choice]))

    def test_wrong_order_and_ties(self):
        choice = judges.by_report(case(aos=1.0, soa=2.0, asta32=1.0))
        self.assertEqual(choice.pairs(), [False, False])

    def test_rules(self):
        self.assertEqual(judges.always("asta32")(case()).layout, "asta32")
        self.assertEqual(judges.always("aos-align16")(case()).layout, "aos")
        self.assertEqual(judges.fewest_transactions(case()).layout, "aos")  # all equal: the original

    def test_another_run(self):
        self.assertIsNone(judges.another_run(case()))
        times, _ = cases.read_csv(io.StringIO("program,candidate,layout,check_ok,time_ms,kernels,groups,runs_ms\n"
                                              "p,P,aos,1,4.0,k,,4.1 3.9\np,P,soa,1,2.0,k,,1.9 2.1\np,P,asta32,1,2.0,k,,2.1 1.9\n"))
        choice = judges.another_run(cases.make_cases(times, {"p": report()})[0][0])
        self.assertEqual((choice.case.best(), choice.layout), ("soa", "asta32"))
        self.assertAlmostEqual(choice.regret(), 2.1 / 1.9)
        self.assertEqual(choice.pairs(), [True, True, False])

    def test_measures(self):
        m = judges.measures([judges.by_report(case()), judges.by_report(case(status="kept", winner="aos"))])
        self.assertEqual((m.cases, m.worst_regret, m.slowest, m.nearly_best, m.slower), (2, 2.0, 1.0, 0.5, 0))
        self.assertAlmostEqual(m.regret, 2 ** 0.5)
        self.assertEqual((m.pairs, round(m.tau, 3)), (1.0, 1.0))

    def test_slower_than_the_original(self):
        one = case(winner="soa")
        one.times_ms["soa"] = 5.0
        m = judges.measures([judges.by_report(one)])
        self.assertEqual((m.slower, m.slowest), (1, 0.8))


class Page(unittest.TestCase):
    def page(self, causes=None, **more):
        page = accuracy_page.Page("h200", {"x.csv": "one GPU"}, [("p", "P", "grouped")], causes or {})
        page.add(accuracy_page.MODEL, "unseen", case(**more))
        return page

    def test_failures_come_first_with_their_cause(self):
        text = self.page({("p", "P"): "the TLB"}, status="kept", winner="aos").text()
        self.assertLess(text.index("## Failures"), text.index("## Figures"))
        self.assertIn("| `p` P | soa | aos 2.00 | – | the TLB |", text)
        self.assertIn("`p P grouped`", text)
        self.assertIn("**2.000**", text)  # an aim that is missed

    def test_a_program_that_nvcc_was_not_asked_about_is_no_good_pick(self):
        page = self.page(status="kept", winner="aos")
        other = case()
        other.program = "other"
        page.add(accuracy_page.NVCC, "unseen", other)
        self.assertIn("| `p` P | soa | aos 2.00 | – |", page.text())
        page.add(accuracy_page.NVCC, "unseen", case())
        self.assertIn("| `p` P | soa | aos 2.00 | good |", page.text())

    def test_a_failure_without_a_cause_says_so(self):
        self.assertIn("not found yet", self.page(status="kept", winner="aos").text())

    def test_a_cause_of_nothing_is_an_error(self):
        self.assertEqual(self.page({("p", "P"): "the TLB"}).errors(), ["causes: p P does not fail"])
        self.assertIn("No pick failed", self.page().text())


class Everything(unittest.TestCase):
    def test_writes_the_page(self):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            (root / "some.csv").write_text(CSV)
            (root / "some.txt").write_text("One H200.\n")
            for asked in accuracy.ASKED:
                folder = root / "reports" / "-".join(asked) / "some" / "p"
                folder.mkdir(parents=True)
                (folder / "report.json").write_text(json.dumps(report()))
            arguments = [f"--reports={root / 'reports'}", f"--csv={root / 'some.csv'}", f"--causes={root / 'causes.csv'}",
                         f"--output={root / 'page.md'}"]
            self.assertEqual(accuracy.main(arguments), 0)
            text = (root / "page.md").read_text()
            self.assertIn("One H200.", text)
            self.assertIn("always SoA", text)
            self.assertIn("in no figure: `q Q`", text)
            (root / "reports" / "nvcc-throughput" / "some" / "p" / "report.json").unlink()
            self.assertEqual(accuracy.main(arguments), 0)
            self.assertIn("in no figure: `q Q`.", (root / "page.md").read_text())
            (root / "causes.csv").write_text("program,candidate,cause\np,P,none\n")
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(accuracy.main(arguments), 1)


if __name__ == "__main__":
    unittest.main()
