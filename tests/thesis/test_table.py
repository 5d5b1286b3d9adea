"""Tests of table.py; restride is not needed."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import page
import table
from table import PROGRAMS, Row


def candidate(fields, status="kept", winner="parallel", **variants):
    return {"fields": fields, "status": status, "winner": winner,
            "variants": [{"layout": layout, "kernels": [{"name": k, "cycles": c, "calls": 2} for k, c in of.items()]}
                         for layout, of in variants.items()]}


class Table(unittest.TestCase):
    def test_the_first_candidate_with_a_kernel_counts(self):
        report = {"candidates": [candidate(["a"], parallel={"k": 10}), candidate(["b"], parallel={"k": 5, "l": 1})]}
        self.assertEqual(table.kernels(report, "parallel"), {"k": 20, "l": 2})

    def test_ratio(self):
        before = {"candidates": [candidate(["a"], parallel={"k": 30, "other": 100})]}
        after = {"candidates": [candidate(["a"], aos={"k": 20})]}
        self.assertEqual(table.ratio(before, after), 1.5)
        self.assertRaises(RuntimeError, table.ratio, before, {"candidates": []})
        self.assertRaises(RuntimeError, table.ratio, {"candidates": []}, after)

    def test_choice(self):
        moved = candidate(["a", "b"], "rewritten", "aos-align8")
        self.assertEqual(table.choice({"candidates": [moved]}, ("a", "b")), "AoS")
        self.assertEqual(table.choice({"candidates": [moved]}, ("c", "d")), "SoA")
        self.assertEqual(table.choice({"candidates": [candidate(["a", "b"])]}, ("a", "b")), "SoA")
        refused = {"fields": ["a", "b"], "status": "refused", "variants": []}
        self.assertEqual(table.choice({"candidates": [refused]}, ("a", "b")), "SoA")

    def test_faults(self):
        idw = PROGRAMS[0]
        self.assertEqual(Row(idw, 1.465 * 1.049, 1, "AoS").faults(), [])
        self.assertEqual(len(Row(idw, 1.465 * 1.051, 1, "AoS").faults()), 1)
        self.assertEqual(len(Row(idw, 1, 1, "SoA").faults()), 2)

    def test_the_page_has_the_table(self):
        rows = [Row(program, program.predicted, program.source_only, "AoS") for program in PROGRAMS]
        text = page.page(rows)
        self.assertIn("| restride, predicted | 1.465 | 0.919 | 0.919 | 1.084 | 2.559 |", text)
        self.assertNotIn("{{", text)

    def test_samples_are_there(self):
        for program in PROGRAMS:
            self.assertTrue((table.ROOT / "samples" / f"{program.sample}.cu").is_file())


if __name__ == "__main__":
    unittest.main()
