"""Tests of check.py with a stand-in for restride, which writes right and wrong variants."""

import argparse
import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

import check

# Makes the variants that the program's comments "// CANDIDATE LAYOUT: OLD -> NEW" describe.
RESTRIDE = """#!/usr/bin/env python3
import os, re, sys
options = dict(a.split("=", 1) for a in sys.argv[1:sys.argv.index("--")] if a.startswith("--") and "=" in a)
sources = [a for a in sys.argv[1:sys.argv.index("--")] if not a.startswith("-")]
text = open(sources[0]).read()
if "refuses" in text:
    sys.exit("sim.cu:1:1: error: no such file")
rules = re.findall(r"^// (\\w+) (\\w+): (.*) -> (.*)$", text, re.M)
if "-i" in sys.argv:
    for candidate, layout, old, new in rules:
        if layout == options["--layout"]:
            text = new.join(text.rsplit(old, 1))
    open(sources[0], "w").write(text)
for candidate, layout, old, new in rules if "--emit-variants" in options else []:
    folder = os.path.join(options["--emit-variants"], candidate, layout)
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, os.path.basename(sources[0])), "w").write(new.join(text.rsplit(old, 1)))
    open(os.path.join(folder, "x.ptx"), "w").write("")
"""

PROGRAM = r"""
#include <cstdio>
__global__ void k(int *p) { p[threadIdx.x] = threadIdx.x; }
int main() {
  int h[4], *d;
  cudaMalloc(&d, sizeof(h));
  k<<<1, 4>>>(d);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("four\n%d %d\n", h[1], h[3]);
}
"""


class Check(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.restride = self.folder / "restride"
        self.restride.write_text(RESTRIDE)
        os.chmod(self.restride, 0o755)

    def check(self, text, name="sim.cu", flags=(), **options):
        """The exit status and what is printed, without the source's path."""
        source = self.folder / name
        if text is not None:
            source.write_text(text)
        defaults = dict(sources=[source], restride=str(self.restride), cuda_path=None, layouts=None, without="", arguments="")
        defaults |= dict(limit=20, sanitize=False, gpu=False, cache=None, keep=None, j=1)
        with contextlib.redirect_stdout(io.StringIO()) as out, tempfile.TemporaryDirectory() as scratch:
            code = check.check(argparse.Namespace(**defaults | options), list(flags), Path(scratch))
        return code, out.getvalue().replace(f"{source}: ", "").splitlines()

    def test_variants_that_agree(self):
        rules = "// P soa: p[threadIdx.x] -> *(p + threadIdx.x)\n// P aos: none -> none\n"
        self.assertEqual(self.check(rules + PROGRAM), (0, ["1 variants of 1 programs agree"]))

    def test_a_wrong_variant_is_reported(self):
        rules = "// P soa: = threadIdx.x -> = threadIdx.x + (threadIdx.x == 3)\n// P asta8: h[4] -> h[4 + 0]\n"
        code, lines = self.check(rules + PROGRAM)
        self.assertEqual(code, 1)
        self.assertEqual(lines[0], "P soa: line 2 is '1 4', was '1 3'")
        self.assertEqual(lines[1], "2 variants of 1 programs: 1 problems")

    def test_a_write_out_of_range_is_reported(self):
        rules = "// P soa: p[threadIdx.x] = -> p[threadIdx.x] = p[threadIdx.x + 1] =\n"
        code, lines = self.check(rules + PROGRAM)
        self.assertEqual((code, "a write 1 bytes beyond an allocation of 16 bytes" in lines[0]), (1, True), lines)

    def test_other_differences(self):
        for new, problem in {
            "undeclared(p);": "does not compile: sim.cu:4:",
            "for (volatile int i = 0;;) i = 1;": "exit status 124",
            "if (1) return;": "line 2 is ",
        }.items():
            with self.subTest(problem):
                code, lines = self.check(f"// P soa: p[threadIdx.x] -> {new} p[threadIdx.x]\n" + PROGRAM, limit=1)
                self.assertEqual(code, 1)
                self.assertIn(problem, lines[0])

    def test_exit_status(self):
        text = PROGRAM.replace('h[3]);\n', 'h[3]);\n  return 0;\n')
        self.assertEqual(self.check("// P soa: return 0 -> return 5\n" + text)[1][0], "P soa: exit status 5, was 0")

    def test_all_arrays_at_once(self):
        rules = "// P soa: = threadIdx.x -> = threadIdx.x + h\n// Q soa: int *p) -> int *p, int h = 0)\n"
        code, lines = self.check(rules + PROGRAM)
        self.assertEqual((code, len(lines)), (1, 2))
        self.assertIn("P soa: does not compile", lines[0])
        self.assertEqual(lines[1], "3 variants of 1 programs: 1 problems")

    def test_programs_that_prove_nothing(self):
        for text, problem in {
            PROGRAM.replace("printf", "(void)"): "the original: prints nothing",
            PROGRAM.replace(r"four\n%d %d", "time_ms %d"): "the original: prints no value to compare",
            PROGRAM.replace("(d);\n  cudaM", "(d + 1);\n  cudaM"): "the original: exit status 99: emulation: a write",
            "// refuses\n" + PROGRAM: "restride --emit-variants=",
        }.items():
            with self.subTest(problem):
                code, lines = self.check(text)
                self.assertEqual(code, 1)
                self.assertIn(problem, lines[0])

    def test_without_main(self):
        self.assertEqual(self.check("__global__ void k() {}")[1][0], "skipped, no main")

    def test_layouts(self):
        rules = "// P soa: h[4] -> h[5 - 1]\n// P asta8: = threadIdx.x -> = 1\n"
        self.assertEqual(self.check(rules + PROGRAM, layouts="soa"), (0, ["1 variants of 1 programs agree"]))
        self.assertEqual(self.check(rules + PROGRAM, without="asta8,asta32"), (0, ["1 variants of 1 programs agree"]))

    def test_folders_and_files_with_parts(self):
        main = '// P soa: value() -> value() * 1\n#include "sub/value.h"\n' + PROGRAM.replace("= threadIdx.x;", "= value();")
        header = "#pragma once\n__device__ int value();\n"
        other = '#include "sub/value.h"\n__device__ int value() { return 7; }\n'
        (self.folder / "prog" / "sub").mkdir(parents=True)
        for name, text in {"a.cu": main, "b.cu": other, "sub/value.h": header}.items():
            (self.folder / "prog" / name).write_text(text)
        self.assertEqual(self.check(None, "prog"), (0, ["1 variants of 1 programs agree"]))
        parts = f"// RUN: nothing\n//--- a.cu\n{main}//--- b.cu\n{other}//--- sub/value.h\n{header}"
        self.assertEqual(self.check(parts), (0, ["1 variants of 1 programs agree"]))


if __name__ == "__main__":
    unittest.main()
