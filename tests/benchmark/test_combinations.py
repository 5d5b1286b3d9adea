"""Tests of combinations.py; restride is not needed."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import combinations


def variant(conversion=0, **kernels):
    return {"conversion_cycles": conversion,
            "kernels": [{"name": name, "cycles": cycles, "calls": calls} for name, (cycles, calls) in kernels.items()]}


def candidate(name, winner, status="rewritten", array=None, source="aos"):
    return {"name": name, "array": array or name, "winner": winner, "status": status, "source_layout": source}


class Combinations(unittest.TestCase):
    def test_the_last_step_knows_the_kernel_and_each_its_conversions(self):
        steps = [variant(5, a=(10, 2), both=(100, 1)), variant(7, both=(60, 1), b=(1, 3))]
        self.assertEqual(combinations.program_cycles(steps), 20 + 60 + 3 + 5 + 7)

    def test_groups_that_share_an_array_are_one(self):
        candidates = [candidate("Xy", "soa", array="d_x, d_y"), candidate("Xyz", "parallel", array="d_x, d_y, d_z"),
                      candidate("Q", "", status="refused"), candidate("P", "aos")]
        self.assertEqual([c["name"] for c in combinations.separate(candidates)], ["Xy", "P"])

    def test_the_chosen_one_is_among_all(self):
        choices = combinations.combinations([candidate("P", "grouped"), candidate("Q", "aos")], ("soa",))
        self.assertEqual(len(choices), 6)
        self.assertIn(("grouped", "aos"), choices)

    def test_ratio(self):
        candidates = [candidate("P", "soa"), candidate("Q", "aos")]
        cost = {((), "aos"): 100, ((), "soa"): 80, (("aos",), "aos"): 100, (("aos",), "soa"): 50, (("soa",), "aos"): 60}
        calls = []

        def force(one, before, layout):
            calls.append((before, layout))
            return {layout: variant(k=(cost[before, layout], 1))} if (before, layout) in cost else {}

        totals = combinations.totals(candidates, combinations.combinations(candidates, ("soa",)), force)
        self.assertEqual(totals, {("aos", "aos"): 100, ("aos", "soa"): 50, ("soa", "aos"): 60})  # ("soa", "soa") is refused
        self.assertEqual(combinations.ratio(candidates, totals), 1.2)
        self.assertEqual(len(calls), len(set(calls)))


if __name__ == "__main__":
    unittest.main()
