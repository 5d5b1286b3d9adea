"""Tests of run.py and its modules; no GPU, nvcc or restride is needed."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import measure
import run
import summary
import variants
from measure import Result
from variants import ORIGINAL, Variant

# Stands in for nvcc: the "binary" prints what the source says it prints.
NVCC = """#!/usr/bin/env python3
import os, sys
out = sys.argv[sys.argv.index("-o") + 1]
text = open(sys.argv[-1]).read()
if "error" in text:
    sys.exit("does not parse")
lines = [line[3:] for line in text.splitlines() if line.startswith("// ")]
with open(out, "w") as script:
    script.write("#!/bin/sh\\n" + "".join(f"echo {line}\\n" for line in lines))
    script.write("exit 3\\n" if "crash" in text else "")
os.chmod(out, 0o755)
"""

# Stands in for restride: one candidate, two layouts, SoA wins.
RESTRIDE = """#!/usr/bin/env python3
import json, os, sys
options = dict(a.split("=") for a in sys.argv[1:] if a.startswith("--") and "=" in a and "std" not in a)
source = sys.argv[sys.argv.index("--") - 1]
if "-i" in sys.argv:
    open(source, "a").write("// done in place\\n")
    sys.exit(0)
text = open(source).read()
for layout, time in ("aos", "2"), ("soa", "1"):
    folder = os.path.join(options["--emit-variants"], "P", layout)
    os.makedirs(folder)
    open(os.path.join(folder, os.path.basename(source)), "w").write(text.replace("time_ms 2", "time_ms " + time))
    open(os.path.join(folder, "x.ptx"), "w").write(layout)
json.dump({"candidates": [{"name": "P", "status": "rewritten", "winner": "soa", "source_layout": "aos", "variants": [
    {"layout": "aos", "predicted_cycles": 20.0}, {"layout": "soa", "predicted_cycles": 10.0}]}]},
    open(options["--report"], "w"))
"""


def candidate(name="P", status="rewritten", winner="soa", **more):
    return {"name": name, "status": status, "winner": winner, "source_layout": "aos", "variants": [], **more}


def results(**of_layout):
    """Results of layouts of one candidate P and of the original program."""
    return {Variant("prog", "" if layout == ORIGINAL else "P", layout, ()): result
            for layout, result in of_layout.items()}


class ParseOutput(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(measure.parse_output("check 123\ntime_ms 0.5\n"), ("123", 0.5))
        self.assertEqual(measure.parse_output("note\ntime_ms 2\ncheck -7\n"), ("-7", 2.0))

    def test_absent_or_malformed(self):
        self.assertEqual(measure.parse_output(""), (None, None))
        self.assertEqual(measure.parse_output("check bags 1\ncheck load 2.5\ntime_ms 2\n"), ("bags 1, load 2.5", 2.0))
        self.assertEqual(measure.parse_output("check 1\ntime_ms fast\n"), ("1", None))
        self.assertEqual(measure.parse_output("recheck 1\n"), (None, None))


class Candidates(unittest.TestCase):
    def test_by_record_then_by_array(self):
        one, two = candidate("geo::P", array="a"), candidate("geo::P", array="b")
        self.assertIs(summary.find_candidate({"candidates": [one]}, "geo_P"), one)
        self.assertIs(summary.find_candidate({"candidates": [one, two]}, "geo__P-b"), two)
        self.assertIsNone(summary.find_candidate({"candidates": [one, two]}, "geo_P"))
        self.assertIsNone(summary.find_candidate(None, "P"))

    def test_picked(self):
        self.assertEqual(summary.picked_layout(candidate()), "soa")
        self.assertEqual(summary.picked_layout(candidate(status="kept", winner="aos")), "aos")
        self.assertEqual(summary.picked_layout(candidate(status="refused", winner="")), "aos")


class Rows(unittest.TestCase):
    def test_status_and_ratio(self):
        runs = results(original=Result("", ["5", "5"], [4.0, 2.0]), soa=Result("", ["5", "5"], [1.0, 2.0]),
                       asta32=Result("", ["6", "6"], [1.0, 1.0]), grouped=Result("exit 1: boom"),
                       align=Result("", ["5", "6"], [1.0, 1.0]))
        rows = {row.layout: row for row in summary.make_rows(next(iter(runs)), runs, None)}
        self.assertEqual((rows[ORIGINAL].status, rows[ORIGINAL].ratio), (summary.OK, 1.0))
        self.assertEqual((rows["soa"].status, rows["soa"].ratio), (summary.OK, 0.5))
        self.assertEqual(rows["asta32"].status, summary.MISMATCH)
        self.assertEqual((rows["grouped"].status, rows["grouped"].time_ms), (summary.FAILED, None))
        self.assertEqual((rows["align"].status, rows["align"].error), (summary.MISMATCH, "runs disagree: 5, 6"))

    def test_an_original_that_fails_spoils_its_variants(self):
        runs = results(original=Result("exit 1"), soa=Result("", ["5"], [1.0]))
        rows = summary.make_rows(next(iter(runs)), runs, None)
        self.assertEqual([row.status for row in rows], [summary.FAILED, summary.MISMATCH])

    def test_picks(self):
        runs = results(original=Result("", ["5"], [4.0]), soa=Result("", ["5"], [2.0]),
                       asta32=Result("", ["5"], [1.0]), grouped=Result("", ["wrong"], [0.1]))
        scored = [{"layout": "soa", "predicted_cycles": 7.0, "kernels": [{"name": "move"}, {"name": "sum"}]},
                  {"layout": "asta32", "predicted_cycles": 8.0}]
        report = {"candidates": [candidate(variants=scored)]}
        rows = summary.make_rows(next(iter(runs)), runs, report)
        self.assertEqual([(row.layout, row.predicted_cycles, row.kernels) for row in rows if row.picked],
                         [("soa", 7.0, "move sum")])
        self.assertEqual(summary.make_picks(rows, report), [("prog", "P", "soa", "asta32", 2.0, 2.0, -1.0)])

    def test_keeping_the_source_layout_is_a_pick(self):
        runs = results(original=Result("", ["5"], [1.0]), soa=Result("", ["5"], [2.0]))
        report = {"candidates": [candidate(status="kept", winner="aos")]}
        rows = summary.make_rows(next(iter(runs)), runs, report)
        self.assertEqual(summary.make_picks(rows, report), [("prog", "P", "aos", "aos", 1.0, 1.0, None)])

    def test_tau(self):
        self.assertEqual(summary.kendall_tau([(1, 10), (2, 20), (3, 30)]), 1)
        self.assertEqual(summary.kendall_tau([(1, 30), (2, 20), (3, 20)]), -2 / 3)
        self.assertIsNone(summary.kendall_tau([(1, 1)]))


class Tables(unittest.TestCase):
    def test_columns_line_up(self):
        self.assertEqual(summary.format_table(("a", "bb"), [("xyz", 1.5), (None, True)]), "a    bb\nxyz  1.5\n-    *")

    def test_geometric_means(self):
        picks = [("p", "P", "soa", "soa", 1.0, 4.0, 0.5), ("q", "Q", "aos", "soa", 4.0, 1.0, 0.0),
                 ("r", "R", "x", "y", None, None, None)]
        text = summary.format_picks(picks)
        self.assertIn("regret 2.000, speedup 2.000; worst pick against the original 1.000", text)
        self.assertIn("1 of 2 picks are within 3% of the best\nmean tau 0.250", text)

    def test_csv(self):
        stream = io.StringIO()
        summary.write_csv(stream, [summary.Row("p", "P", "soa", summary.OK, "9", 1.25, kernels="f g"),
                                   summary.Row("p", "P", "grouped", summary.OK, "9", 1.5, kernels="f", groups="x y/z", runs_ms=(1.4, 1.6)),
                                   summary.Row("p", "P", "aos", summary.FAILED)])
        self.assertEqual(stream.getvalue(), "program,candidate,layout,check_ok,time_ms,kernels,groups,runs_ms\n"
                                            "p,P,soa,1,1.2500,f g,,\np,P,grouped,1,1.5000,f,x y/z,1.4000 1.6000\np,P,aos,0,,,,\n")


class Arguments(unittest.TestCase):
    def test_program_arguments(self):
        options = run.parse_arguments(["--originals-only", "--args=lbm=256 128"])
        self.assertEqual(options.program_args, {"lbm": ["256", "128"]})

    def test_rejected(self):
        for argv in ([], ["--originals-only", "--runs=0"], ["--variants=x", "--emit-only"],
                     ["--originals-only", "--args=lbm"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                run.parse_arguments(argv)


class Everything(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.write("samples/one.cu", "// check 1\n// time_ms 2\n")
        for name, text in ("nvcc", NVCC), ("restride", RESTRIDE):
            self.write(name, text)
            os.chmod(self.root / name, 0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_it(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run.main([f"--samples={self.root}/samples", f"--nvcc={self.root}/nvcc",
                             f"--build={self.root}/build", "--runs=2", "-j1", *argv])
        return code, out.getvalue(), err.getvalue()

    def test_originals(self):
        self.write("samples/README.md", "not a program")
        self.write("samples/two.cu", "// check 3\n// time_ms 4\n// crash\n")
        code, out, err = self.run_it("--originals-only")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"one +original +2 +1 +1 +yes")
        self.assertRegex(out, r"two +original +- +- +- +FAILED")
        self.assertIn("two  original: exit 3", err)

    def test_emits_builds_and_compares(self):
        code, out, err = self.run_it("--restride", f"{self.root}/restride", f"--variants={self.root}/v",
                                     f"--csv={self.root}/out.csv")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"one +P +soa +1 +0.5 +1 +yes +10 +\*\n")
        self.assertRegex(out, r"one +in-place +winners +2 +1 +1 +yes +- *\n")
        self.assertRegex(out, r"one +P +soa +soa +1 +2 +1\n")
        self.assertIn("one,P,soa,1,1.0000,,,1.0000 1.0000\n", (self.root / "out.csv").read_text())
        # aos is the same text as the original and shares its binary
        self.assertEqual(len([path for path in (self.root / "build").iterdir() if path.is_file()]), 3)

    def test_a_wrong_variant_and_one_that_does_not_compile(self):
        self.write("v/one/P/soa/one.cu", "// check 2\n// time_ms 1\n")
        self.write("v/one/P/asta32/one.cu", "error")
        code, _, err = self.run_it(f"--variants={self.root}/v")
        self.assertEqual(code, 1)
        self.assertIn("one P soa: check 2, the original has 1", err)
        self.assertIn("one P asta32: does not compile: does not parse", err)

    def test_a_program_of_several_files_keeps_what_did_not_change(self):
        self.write("samples/many/main.cu", "// check 1\n// time_ms 2\n")
        self.write("samples/many/p.h", "struct P {};\n")
        self.write("v/many/P/soa/p.h", "struct Q {};\n")
        original = variants.find_originals(self.root / "samples", ["many"])[0]
        found = variants.find_variants(self.root / "v", original)[0]
        self.assertEqual([(name, path.read_text()) for name, path in found.files],
                         [("main.cu", "// check 1\n// time_ms 2\n"), ("p.h", "struct Q {};\n")])
        self.assertNotEqual(found.key(()), original.key(()))

    def test_unknown_program(self):
        self.assertEqual(self.run_it("--originals-only", "--only=three")[0], 2)


if __name__ == "__main__":
    unittest.main()
