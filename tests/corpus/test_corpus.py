"""Tests of the scripts here; no GPU, nvcc, restride or network is needed."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build
import check
import execute
import fetch
import run
import table
from build import Array, Variant
from execute import Row, Run
from programs import PROGRAMS, Edit, Program, Repository, ResultFile

PROCESS = {"capture_output": True, "check": True}

# Stands in for nvcc: the "binary" is a script made of the source's lines that begin with //$.
NVCC = """#!/usr/bin/env python3
import os, sys
out = sys.argv[sys.argv.index("-o") + 1]
text = "".join(open(name).read() for name in sys.argv if name.endswith(".cu"))
if "broken" in text:
    sys.exit("main.cu(1): error: does not parse")
lines = [line[3:] for line in text.splitlines() if line.startswith("//$")]
open(out, "w").write("#!/bin/sh\\n" + "\\n".join(lines) + "\\n")
os.chmod(out, 0o755)
"""

# Stands in for restride: one array of P; soa computes the same, asta32 something else, aos-align16 is refused.
RESTRIDE = """#!/usr/bin/env python3
import json, sys
layout = next((a.split("=")[1] for a in sys.argv if a.startswith("--layout=")), "")
report = next(a.split("=")[1] for a in sys.argv if a.startswith("--report="))
name = sys.argv[sys.argv.index("--") - 1]
text = open(name).read()
if layout in ("soa", "asta32"):
    open(name, "w").write(text + "// " + layout + "\\n" + ("//$echo other >> result.txt\\n" if layout == "asta32" else ""))
status = {"": "kept", "aos-align16": "refused"}.get(layout, "forced")
refusals = [{"file": "./main.cu", "line": 3, "column": 1, "reason": "its size is | seen"}] if status == "refused" else []
json.dump({"candidates": [{"name": "P.d", "status": status, "winner": layout or "aos", "source_layout": "aos", "refusals": refusals}]},
          open(report, "w"))
"""

MAIN = "//$echo Total time $$\n//$echo PASS\n//$echo '1.0, 2.0' > result.txt\n//$echo '8 abc' > transfers.txt\n"


def variant(layout="soa", *arrays, **more):
    return Variant("p", layout, list(arrays), **more)


def program(**more):
    return Program("p", Repository("r", "u", "c"), "p", ("main.cu",), **{"moves": ("P",), **more})


class Lines(unittest.TestCase):
    def test_lines_with_times_are_dropped(self):
        self.assertEqual(check.without("a\nTotal Time (s): 3\nuptimes\n", (r"(?i)\btime\b",)), ["a", "uptimes"])

    def test_first_difference(self):
        self.assertEqual(check.first_difference(["a", "b"], ["a", "b"]), "")
        self.assertEqual(check.first_difference(["a", "b"], ["a", "c"]), "line 2: 'b' became 'c'")
        self.assertEqual(check.first_difference(["a"], []), "1 lines became 0")


class Deviation(unittest.TestCase):
    def test_is_relative_to_the_columns_largest_value(self):
        worst, kind = check.deviation("x y\n1 100\n2 0\n", "x y\n1 101\n2 1e-3\n")
        self.assertEqual(kind, "")
        self.assertAlmostEqual(worst, 0.01)

    def test_text_between_numbers_must_be_equal(self):
        self.assertEqual(check.deviation("ZONE 1\n1\n", "ZONE 2\n1\n")[1], "line 1: 'ZONE 1' became 'ZONE 2'")
        self.assertEqual(check.deviation("1 2\n", "1\n")[1], "line 1: '1 2' became '1'")
        self.assertEqual(check.deviation("1\n", "1\n2\n")[1], "1 lines became 2")

    def test_not_a_number_and_infinity(self):
        self.assertEqual(check.deviation("nan 1\n", "nan 1\n"), (0.0, ""))
        self.assertEqual(check.deviation("inf\n", "inf\n"), (0.0, ""))
        self.assertNotEqual(check.deviation("1\n", "nan\n")[1], "")
        self.assertNotEqual(check.deviation("1\n", "inf\n")[1], "")

    def test_a_column_of_zeros_allows_nothing(self):
        self.assertEqual(check.deviation("0\n", "1e-30\n"), (float("inf"), ""))

    def test_commas_separate(self):
        self.assertEqual(check.deviation("1, 2\n", "1, 2\n"), (0.0, ""))


class Copies(unittest.TestCase):
    def test_bits_and_sizes(self):
        one = [("8", "a"), ("4", "b")]
        self.assertEqual(check.compare_copies(one, list(one), False), "")
        self.assertIn("brings other bits", check.compare_copies(one, [("8", "a"), ("4", "c")], False))
        self.assertIn("4 bytes became 6", check.compare_copies(one, [("8", "a"), ("6", "b")], False))
        self.assertIn("2 copies to the host became 1", check.compare_copies(one, one[:1], True))

    def test_a_larger_record_is_not_compared(self):
        self.assertEqual(check.compare_copies([("8", "a")], [("16", "b")], True), "")
        self.assertIn("brings other bits", check.compare_copies([("8", "a")], [("8", "b")], True))


class Compare(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def runs(self, stdout="PASS\n", status=0, **files):
        result = []
        for index in range(2):
            folder = self.folder / str(index)
            folder.mkdir()
            for name, texts in files.items():
                (folder / name).write_text(texts[index])
            result.append(Run(folder, "PASS\n" if index == 0 else stdout, 0 if index == 0 else status))
        return result

    def compare(self, of, runs, aligned=False):
        return check.compare(of, *runs, aligned)

    def test_equal(self):
        self.assertEqual(self.compare(program(verdict="^PASS$"), self.runs()), "")

    def test_verdict(self):
        self.assertIn("does not print", self.compare(program(verdict="^PASS$"), self.runs("FAIL\n")))

    def test_exit_status(self):
        self.assertEqual(self.compare(program(), self.runs(status=1)), "exit status 0 became 1")

    def test_file_missing(self):
        self.assertEqual(self.compare(program(results=(ResultFile("r"),)), self.runs()), "no r")

    def test_file_exact_and_within_a_tolerance(self):
        runs = self.runs(r=("1 2\n", "1 2.001\n"))
        self.assertEqual(self.compare(program(results=(ResultFile("r"),)), runs), "r differs")
        self.assertEqual(self.compare(program(results=(ResultFile("r", 1e-2),)), runs), "")
        self.assertIn("differs by 0.0005", self.compare(program(results=(ResultFile("r", 1e-4),)), runs))

    def test_copies(self):
        runs = self.runs(**{"transfers.txt": ("8 a\n", "8 b\n")})
        self.assertIn("brings other bits", self.compare(program(), runs))
        self.assertEqual(self.compare(program(copies=False), runs), "")


class Expectations(unittest.TestCase):
    def test_as_expected(self):
        self.assertEqual(table.unexpected(program(), variant("soa", Array("P.d", "soa"))), [])

    def test_not_moved(self):
        lines = table.unexpected(program(), variant("soa", Array("P.d", "", ["a.cu:3: is a union"])))
        self.assertEqual(lines, ["P.d: is a union (a.cu:3)"])
        self.assertEqual(table.unexpected(program(), variant("soa", Array("P"))), ["P: not moved"])

    def test_not_found(self):
        self.assertEqual(table.unexpected(program(), variant("soa")), ["P: no array of it is found"])

    def test_refusal_that_is_wanted(self):
        of = program(moves=(), refused={"P": "a cast"})
        self.assertEqual(table.unexpected(of, variant("soa", Array("P", "", ["a.cu:1: x", "a.cu:3: seen a cast"]))), [])
        self.assertIn("must be refused", table.unexpected(of, variant("soa", Array("P", "soa")))[0])
        self.assertIn("must be refused", table.unexpected(of, variant("soa", Array("P", "", ["a.cu:1: x"])))[0])

    def test_refusal_of_one_layout(self):
        of = program(refused={"P:aos-align16": "already"})
        self.assertEqual(table.unexpected(of, variant("aos-align16", Array("P", "", ["a.cu:1: aligned already"]))), [])
        self.assertEqual(table.unexpected(of, variant("soa", Array("P", "soa"))), [])

    def test_refusal_of_one_array(self):
        of = program(refused={"P.s": "macro"})
        arrays = Array("P.d", "soa"), Array("P.s", "", ["a.cu:1: a macro"])
        self.assertEqual(table.unexpected(of, variant("soa", *arrays)), [])
        self.assertEqual(table.outcome(of, variant("soa", *arrays)), "moved")

    def test_what_it_picks_by_itself(self):
        of = program(picked="kept")
        self.assertEqual(table.unexpected(of, variant("fastest", Array("P"))), [])
        self.assertEqual(table.unexpected(of, variant("fastest", Array("P", "soa"))), ["P: rewritten"])
        self.assertEqual(table.unexpected(program(), variant("fastest", Array("P", "soa"))), [])

    def test_failures(self):
        self.assertEqual(table.unexpected(program(), variant(error="exit 2")), ["exit 2"])
        broken = variant("soa", Array("P", "soa"), compile_error="error: x")
        self.assertEqual(table.unexpected(program(), broken), ["does not compile: error: x"])


class Table(unittest.TestCase):
    def test_a_sentence_is_said_once(self):
        array = Array("P", "", ["a.cu:1: x: y", "a.cu:2: x: y", "b.cu:3: z"])
        self.assertEqual(table.why(array), "x: y (a.cu:1 and 1 more); z (b.cu:3)")

    def test_page(self):
        made = [variant("original"), variant("soa", Array("P.a", "soa"), Array("P.b", "soa")), variant("asta32", Array("P.a", "asta32"),
                Array("P.b")), variant("aos-align16", Array("P.a", "", ["a.cu:1: a|b"])), variant("fastest", Array("P.a", "soa"))]
        text = table.markdown([program(note="slow")], made, [Row("p", "soa", "yes"), Row("p", "asta32", "NO")], "about")
        self.assertIn("| program | records | soa | asta32 | aos-align16 | fastest |", text)
        self.assertIn("| p | P | same | 1 of 2 moved: DIFFERS | refused | a soa: compiles |", text)
        self.assertIn("| p | P.a | aos-align16 | a\\|b (a.cu:1) |", text)
        self.assertIn("| p | [p](u/tree/c/p) | `-` | slow |", text)
        self.assertIn("3 pairs of a program and a layout; in 2 arrays moved, 2 of these compile, 1 compute the same.", text)

    def test_what_does_not_compile(self):
        self.assertEqual(table.cell(program(), variant("soa", Array("P", "soa"), compile_error="x"), None), "does not compile")


class Programs(unittest.TestCase):
    def test_names_are_distinct_and_sources_given(self):
        self.assertEqual(len({p.name for p in PROGRAMS}), len(PROGRAMS))
        for one in PROGRAMS:
            self.assertTrue(one.sources and (one.moves or one.refused), one.name)


class Whole(unittest.TestCase):
    """From a repository to the table, with stand-ins for nvcc and restride."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        for name, text in ("nvcc", NVCC), ("restride", RESTRIDE):
            (self.folder / name).write_text(text)
            os.chmod(self.folder / name, 0o755)
        origin = self.folder / "origin"
        (origin / "src/p").mkdir(parents=True)
        (origin / "src/p/main.cu").write_text(MAIN + "// STEPS 9\n")
        (origin / "src/other.txt").write_text("not asked for\n")
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "-C", str(origin)]
        subprocess.run([*git, "init", "-q"], **PROCESS)
        subprocess.run([*git, "config", "uploadpack.allowFilter", "true"], **PROCESS)
        subprocess.run([*git, "config", "uploadpack.allowAnySHA1InWant", "true"], **PROCESS)
        subprocess.run([*git, "add", "-A"], **PROCESS)
        subprocess.run([*git, "commit", "-qm", "first"], **PROCESS)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], **PROCESS).stdout.decode().strip()
        self.origin = origin
        self.program = Program("p", Repository("r", f"file://{origin}", commit), "src/p", ("main.cu",), moves=("P",), verdict="^PASS$",
                               drop=("Total time",), results=(ResultFile("result.txt"),), edits=(Edit("main.cu", "STEPS 9", "STEPS 1"),))

    def run_main(self, *arguments):
        self.addCleanup(setattr, run, "PROGRAMS", run.PROGRAMS)
        run.PROGRAMS = (self.program,)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run.main(["--work", str(self.folder / "work"), "--nvcc", str(self.folder / "nvcc"), *arguments])
        return status, out.getvalue(), err.getvalue()

    def test_fetched_from_a_repository_or_taken_from_a_checkout(self):
        for sources in {}, {"r": self.origin}:
            into = self.folder / "into"
            fetch.fetch(self.program, (self.program,), into, self.folder / "cache", sources)
            self.assertEqual([str(p.relative_to(into)) for p in into.rglob("*")], ["main.cu"])
            self.assertIn("STEPS 1", (into / "main.cu").read_text())

    def test_an_edit_that_does_not_fit_is_an_error(self):
        (self.folder / "main.cu").write_text("STEPS 9 STEPS 9")
        with self.assertRaisesRegex(RuntimeError, "2 times 'STEPS 9'"):
            fetch.apply_edits("p", self.program.edits, self.folder)

    def test_everything(self):
        csv, page = self.folder / "r.csv", self.folder / "page.md"
        status, out, err = self.run_main("--restride", str(self.folder / "restride"), "--source", f"r={self.origin}", "--run",
                                         "--csv", str(csv), "--table", str(page))
        self.assertEqual(status, 1)
        self.assertIn("unexpected: p (aos-align16): P.d: its size is | seen (main.cu:3)", err)
        same = {row.layout: (row.same, row.note) for row in execute.read_csv(csv)}
        self.assertEqual(same, {"original": ("yes", ""), "soa": ("yes", ""), "asta32": ("NO", "result.txt differs"),
                                "aos-align16": ("-", "text unchanged"), "fastest": ("-", "text unchanged")})
        text = page.read_text()
        self.assertIn("| p | P | same | DIFFERS | refused | kept |", text)
        self.assertIn("in 2 arrays moved, 2 of these compile, 1 compute the same", out)

    def test_run_only(self):
        self.run_main("--restride", str(self.folder / "restride"), "--source", f"r={self.origin}", "--layout", "soa")
        (self.folder / "work/binaries").rename(self.folder / "carried")
        status, out, _ = self.run_main("--run-only", str(self.folder / "carried"))
        self.assertEqual(status, 0)
        self.assertIn("p soa: yes", out)

    def test_compile_only(self):
        self.run_main("--restride", str(self.folder / "restride"), "--source", f"r={self.origin}", "--layout", "soa", "--no-compile")
        (self.folder / "work").rename(self.folder / "carried")
        (self.folder / "restride").unlink()
        status, out, err = self.run_main("--compile-only", "--run", "--work", str(self.folder / "carried"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("p soa: yes", out)
        (self.folder / "carried/sources/p/soa/main.cu").write_text("broken")
        status, _, err = self.run_main("--compile-only", "--work", str(self.folder / "carried"))
        self.assertEqual(status, 1)
        self.assertIn("unexpected: p (soa): does not compile: main.cu(1): error: does not parse", err)

    def test_compile_only_rewrites_nothing(self):
        with self.assertRaises(SystemExit):
            self.run_main("--compile-only", "--restride", "restride")


if __name__ == "__main__":
    unittest.main()
