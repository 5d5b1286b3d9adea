"""Tests of agree.py; a script stands in for restride."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import agree

# Replaces words, as the program's first line says for each layout: // soa 2 3
RESTRIDE = """#!/usr/bin/env python3
import re, sys
layout = next(a for a in sys.argv if a.startswith("--layout=")).partition("=")[2]
text = open("main.cu").read()
rule = re.search(f"// {layout} (\\\\S+) (\\\\S+)", text)
if rule and rule[1] == "exit":
    sys.exit(int(rule[2]))
if rule:
    open("main.cu", "w").write(text.replace("N = " + rule[1], "N = " + rule[2]))
    print(f"array of 'P' becomes {layout} as asked")
"""
PROGRAM = """#include <cstdio>
#include <cstdlib>
const int N = 8;
int main(int argc, char **argv) {
  printf("%d %d\\n", N / 2, argc > 1 ? atoi(argv[1]) : 0);
  printf("time: %p\\n", (void *)&argc);
}
"""


class Arguments(unittest.TestCase):
    def test_numbers_become_small(self):
        makefile = "run: $(program)\n\t$(LAUNCHER) ./$(program) 100000 100 7 ../data/x.txt 0.5 > out\n"
        self.assertEqual(agree.arguments_of(makefile), ("64", "3", "7", "../data/x.txt", "0.5"))

    def test_none(self):
        self.assertEqual(agree.arguments_of("run: $(program)\n\t./$(program)\n"), ())


class Agreement(unittest.TestCase):
    def answers(self, rules, layouts="soa", program=PROGRAM):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "restride").write_text(RESTRIDE)
            (folder / "restride").chmod(0o755)
            (folder / "p-cuda").mkdir()
            (folder / "p-cuda/Makefile").write_text("run: main\n\t./main 5\n")
            (folder / "p-cuda/main.cu").write_text(rules + "\n" + program)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = agree.main([f"--restride={folder}/restride", f"--programs={folder}", f"--layouts={layouts}"])
            return status, out.getvalue()

    def test_each_kind(self):
        rules = "// soa 8 9\n// asta32 8 6\n// aos-align16 8 x\n// asta8 exit 139"
        status, out = self.answers(rules, "soa,asta32,grouped,aos-align16,asta8")
        self.assertEqual(status, 1)
        self.assertIn("same: p-cuda soa\n", out)
        self.assertIn("computes something else: p-cuda asta32: line 1: '4 5' became '3 5'", out)
        self.assertIn("not moved: p-cuda grouped\n", out)
        self.assertIn("does not compile: p-cuda aos-align16: build: ", out)
        self.assertIn("restride failed: p-cuda asta8: crash", out)
        self.assertIn("1 programs; 1 same, 1 not moved, 1 computes something else, 1 does not compile, 1 restride failed", out)

    def test_an_original_that_proves_nothing(self):
        for program, why in ("int main() { return x; }\n", "build"), ("int main() { return 7; }\n", "exit status 7"):
            status, out = self.answers("// soa 8 9", program=program)
            self.assertEqual(status, 0)
            self.assertIn(f"cannot be run: p-cuda: {why}", out)


if __name__ == "__main__":
    unittest.main()
