"""Tests of sweep.py; a script stands in for restride."""

import contextlib
import io
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import sweep

# Stands in for restride: does what the file says.
RESTRIDE = """#!/usr/bin/env python3
import os, sys
text = open(sys.argv[sys.argv.index("--") - 1]).read()
if "crash" in text:
    os.kill(os.getpid(), 11)
if "hang" in text:
    while True:
        pass
if "broken" in text:
    sys.exit(2)
print("remark: array of 'P' can be laid out anew" if "struct" in text else "")
"""


class Flags(unittest.TestCase):
    def test_what_matters_for_parsing(self):
        text = "CFLAGS := $(EXTRA) -std=c++14 -Xcompiler -Wall -I../x \\\n  -DN=8 -arch=$(ARCH) -I$(MPI)/include # -DNO\nCFLAGS += -g -DD"
        self.assertEqual(sweep.makefile_flags(text), ("-std=c++14", "-I../x", "-DN=8"))

    def test_a_standard_is_always_given(self):
        self.assertEqual(sweep.makefile_flags("all:\n\tnvcc x.cu\n"), ("-std=c++17",))


class Kinds(unittest.TestCase):
    def test_classify(self):
        self.assertEqual(sweep.classify(-11, ""), "crash")
        self.assertEqual(sweep.classify(1, ""), "crash")
        self.assertEqual(sweep.classify(2, "PLEASE submit a bug report"), "crash")
        self.assertEqual(sweep.classify(2, "error: x"), "does not parse")
        self.assertEqual(sweep.classify(0, ""), "no arrays")
        self.assertEqual(sweep.classify(0, "is left alone"), "refused")
        self.assertEqual(sweep.classify(0, "parallel arrays 'a, b' become one array of 'Ab' in soa as asked"), "can be laid out anew")
        self.assertEqual(sweep.classify(0, "is left alone\ncan be laid out anew"), "can be laid out anew")
        self.assertEqual(sweep.classify(0, "becomes soa as asked"), "can be laid out anew")
        self.assertEqual(sweep.classify(0, "refused: the rewritten program does not compile"), "does not compile when rewritten")


class Sentences(unittest.TestCase):
    def test_are_counted_without_names(self):
        output = "a.cu:3:1: note: refused: 'p' has 3 bytes\nx\na.cu:4:1: note: refused: 'q' has 4 bytes\nb: note: soa refused: x\n"
        self.assertEqual(sweep.sentences(output), ("'…' has N bytes", "x"))


class Breaking(unittest.TestCase):
    def test_the_same_seed_breaks_alike(self):
        text = b"struct P { float x; };\n" * 20
        made = [sweep.break_text(text, random.Random(seed)) for seed in range(60)]
        self.assertEqual(made, [sweep.break_text(text, random.Random(seed)) for seed in range(60)])
        self.assertGreater(sum(one != text for one in made), 50)


class Whole(unittest.TestCase):
    def test_counts_and_exit_status(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            restride = folder / "restride"
            restride.write_text(RESTRIDE)
            os.chmod(restride, 0o755)
            good = folder / "src/a-cuda"
            good.mkdir(parents=True)
            (good / "Makefile").write_text("CFLAGS = -DX\n")
            for name, text in ("a", "struct P"), ("b", "broken"), ("c", "int"):
                (good / f"{name}.cu").write_text(text)
            arguments = ["--restride", str(restride), "--programs", str(folder / "src"), "--timeout", "1"]
            status, out = self.run_main(*arguments)
            self.assertEqual(status, 0)
            self.assertIn("as they are: 3 files; 1 can be laid out anew, 1 no arrays, 1 does not parse", out)
            (good / "d.cu").write_text("crash")
            (good / "e.cu").write_text("hang")
            status, out = self.run_main(*arguments)
            self.assertEqual(status, 1)
            self.assertIn("1 crash, 1 hang", out)
            self.assertIn("crash: a-cuda/d.cu", out)
            status, out = self.run_main(*arguments, "--only-broken", "--broken", "12", "--keep", str(folder / "kept"))
            self.assertIn("broken: 12 files", out)

    def run_main(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            return sweep.main(arguments), out.getvalue()


if __name__ == "__main__":
    unittest.main()
