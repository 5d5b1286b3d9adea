"""Tests of run.py, the checks and the reduction; a script with a fault stands in for restride."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from checking import LAYOUTS, Checker, Failure, general, rotate
from compose import program
from pieces import Document, Piece
from reduction import reduce

# tests/emulation has a run.py, too.
spec = importlib.util.spec_from_file_location("random_run", HERE / "run.py")
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

# One candidate in two layouts. FAULT is what it does to main.cu.
RESTRIDE = """#!/usr/bin/env python3
import json, os, sys
options = dict(a.split("=") for a in sys.argv[1:] if a.startswith("--") and "=" in a and "std" not in a)
source = next(a for a in sys.argv if a.endswith("main.cu"))
text = open(source).read()
if "crash" in {fault!r} and "printf(" in text:
    sys.exit("error: it crashed")
changed = text.replace("printf(", "putchar(33), printf(") if {fault!r} == "output" else text.replace("printf(", "printf(;") if {fault!r} == "compile" else text.rstrip(" ") + " "
if "-i" in sys.argv:
    open(source, "a" if {fault!r} == "again" else "w").write(" " if {fault!r} == "again" else changed)
for layout in ("soa", "asta32") if "--emit-variants" in options else ():
    folder = os.path.join(options["--emit-variants"], "P", layout)
    os.makedirs(folder)
    open(os.path.join(folder, "main.cu"), "w").write(changed)
if "--report" in options:
    refused = {{"name": "Q", "status": "refused", "refusals": [{{"layout": "", "reason": "'d' is odd"}}]}}
    moved = {{"name": "P", "status": "rewritten", "refusals": []}}
    json.dump({{"candidates": [moved, refused] if {fault!r} != "refuse" else [refused]}}, open(options["--report"], "w"))
"""


class Reduction(unittest.TestCase):
    def test_smallest(self):
        lines = [Piece(f"line{number}\n") for number in range(40)]
        document = Document({"f": Piece(lines, kept=True)})
        removed = reduce(document, lambda files: "line7\n" in files.get("f", "") and "line31\n" in files["f"])
        self.assertEqual(document.files(removed)["f"], "line7\nline31\n")

    def test_nothing_is_tried_twice(self):
        tried = []
        document = Document({"f": Piece([Piece(f"line{number}\n") for number in range(8)], kept=True)})
        reduce(document, lambda files: tried.append(files.get("f", "")) is not None)
        self.assertEqual(len(tried), len(set(tried)))

    def test_a_program_to_the_lines_that_matter(self):
        document = program(11, 30)

        def has_launch(files):
            return "<<<" in files.get("main.cu", "")
        text = document.files(reduce(document, has_launch))["main.cu"]
        self.assertEqual(text.count("<<<"), 1)
        self.assertEqual(text.count("__global__"), 1)
        self.assertLess(len(text.splitlines()), 60)


class Parts(unittest.TestCase):
    def test_layouts_take_turns(self):
        seen = [layout for seed in range(4) for layout in rotate(LAYOUTS, seed, 2)]
        self.assertEqual(sorted(seen), sorted(LAYOUTS))
        self.assertEqual(rotate(["soa"], 5, 3), ["soa"])

    def test_reasons(self):
        self.assertEqual(general("'p' stands on 'q', a name"), "'…' stands on '…', a name")

    def test_the_same_failure(self):
        failure = Failure("output", "P", "soa", "line 3")
        self.assertTrue(failure.same(Failure("output", "Q", "soa", "line 9")))
        self.assertFalse(failure.same(Failure("compile", "P", "soa", "line 3")))
        self.assertFalse(failure.same(Failure("output", "all", "soa", "line 3")))


class Everything(unittest.TestCase):
    def hunt(self, fault, *more, count=3):
        with tempfile.TemporaryDirectory() as folder:
            tool = Path(folder) / "restride"
            tool.write_text(RESTRIDE.format(fault=fault))
            os.chmod(tool, 0o755)
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run.main([f"--restride={tool}", f"--count={count}", "--layouts=soa", f"--keep={folder}/keep",
                                 "--seed=21", "--features=6", *more])
            kept = {path.name: path.read_text() for path in Path(folder).glob("keep/*")}
        return code, out.getvalue(), err.getvalue(), kept

    def test_no_fault(self):
        code, out, err, kept = self.hunt("", "--again")
        self.assertEqual((err, kept), ("", {}))
        self.assertEqual(code, 0)
        self.assertRegex(out, r"programs +3\nvariants +3\narrays +6\nmoved +3  50 %\nrefused +3\nfailed +0")
        self.assertRegex(out, r" 3  '…' is odd")

    def test_too_many_refusals(self):
        code, _, err, _ = self.hunt("refuse", count=1)
        self.assertEqual(code, 1)
        self.assertIn("only 0 % of the arrays were moved", err)

    def test_a_wrong_program_is_reduced(self):
        for fault, said in (("output", "output P soa: line"), ("compile", "compile P soa: "), ("crash", "tool: exit status 1: error: it")):
            with self.subTest(fault=fault):
                code, out, _, kept = self.hunt(fault)
                self.assertEqual(code, 1)
                self.assertIn(said, out)
                self.assertTrue(kept)
                for text in kept.values():
                    self.assertIn("printf(", text)
                    self.assertLess(len(text.splitlines()), 70)

    def test_a_second_run_that_changes_something(self):
        code, out, _, _ = self.hunt("again", "--again", "--no-reduce", count=1)
        self.assertEqual(code, 1)
        self.assertIn("again all soa: a second run", out)


if __name__ == "__main__":
    unittest.main()
