"""Tests of the emulation: programs whose output is known, at their ends as comments."""

import re
import unittest
from pathlib import Path

import program as programs
from run import BuildError, Toolchain, execute

from tempfile import TemporaryDirectory

PROGRAMS = Path(__file__).resolve().parent / "programs"


def expected(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if not line.startswith("//"))
    return [line[3:] for line in lines[last + 1 :]]


class Emulation(unittest.TestCase):
    toolchain = Toolchain()

    def run_program(self, units, arguments=(), flags=()):
        with TemporaryDirectory() as folder:
            binary = self.toolchain.build(programs.collect(units), list(flags), Path(folder))
            return execute(binary, list(arguments), 20)

    def build_text(self, text, flags=()):
        with TemporaryDirectory() as folder:
            (Path(folder) / "in.cu").write_text(text)
            return self.run_program([Path(folder) / "in.cu"], flags=flags)

    def test_programs(self):
        for path in sorted(PROGRAMS.glob("*.cu")):
            if path.name == "violations.cu":
                continue
            for standard in ("-std=c++17", "-std=c++20") if path.name == "launches.cu" else ("-std=c++17",):
                with self.subTest(path.name, standard=standard):
                    result = self.run_program([path], flags=[standard])
                    self.assertEqual(result.err, "")
                    self.assertEqual(result.out.decode().splitlines(), expected(path))
                    self.assertEqual(result.code, 0)

    def test_translation_units(self):
        result = self.run_program(programs.units_of(PROGRAMS / "units"))
        self.assertEqual(result.out.decode().splitlines(), expected(PROGRAMS / "units" / "main.cu"))

    def test_violations(self):
        path = PROGRAMS / "violations.cu"
        with TemporaryDirectory() as folder:
            binary = self.toolchain.build(programs.collect([path]), [], Path(folder))
            for line in expected(path):
                number, message = line.split(" ", 1)
                with self.subTest(message):
                    result = execute(binary, [number], 20)
                    self.assertEqual((result.code, result.out), (99, b"1\n"))
                    self.assertIn(message, result.err)

    def test_a_copy_from_nowhere_is_an_error_and_no_crash(self):
        text = """#include <cstdio>
int main() {
  float *d;
  cudaMalloc(&d, 64);
  cudaError_t in = cudaMemcpy(d, nullptr, 64, cudaMemcpyHostToDevice);
  printf("%d %d\\n", in == cudaErrorInvalidValue, cudaGetLastError() == cudaErrorInvalidValue);
}
"""
        self.assertEqual(self.build_text(text).out, b"1 1\n")

    def test_time_limit(self):
        with TemporaryDirectory() as folder:
            (Path(folder) / "in.cu").write_text("__global__ void k() { for (volatile int i = 0;;) i = 1; }\nint main() { k<<<1, 1>>>(); }")
            binary = self.toolchain.build(programs.collect([Path(folder) / "in.cu"]), [], Path(folder))
            self.assertEqual(execute(binary, limit=0.2).code, 124)

    def test_exit_status_and_flags(self):
        text = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return STATUS; }"
        self.assertEqual(self.build_text(text, ["-arch=sm_90", "-DSTATUS=3", "--use_fast_math", "-O3"]).code, 3)

    def test_fresh_memory_is_the_same_every_time(self):
        text = r"""
#include <cstdio>
#include <cstdlib>
struct Pair { float x; int n; };
int main() {
  Pair *d, h[3], *m = (Pair *)malloc(3 * sizeof(Pair));
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%x %x %x\n", h[2].n, h[0].n, m[1].n);
}"""
        self.assertEqual(self.build_text(text).out, self.build_text(text).out)
        self.assertEqual(self.build_text(text).out.split()[0], b"a5a5a5a5")

    def test_what_cannot_be_emulated_does_not_build_or_fails(self):
        with self.assertRaisesRegex(BuildError, "in.cu:2: no '>>>\\(' for this '<<<'"):
            self.build_text("__global__ void k() {}\nint main() { k<<<1, 1; }")
        with self.assertRaisesRegex(BuildError, "error:"):
            self.build_text('__global__ void k() { asm("bar.sync 0;"); }\nint main() { k<<<1, 1>>>(); }')
        hidden = "#define GLOBAL(x) x\n#define BODY(x) __global__ void x\n"
        result = self.build_text(hidden + "void k(int *) {}\nint main() { k<<<1, 1>>>(0); }")
        self.assertEqual(result.code, 99)
        self.assertIn("not seen to be a kernel's", result.err)

    def test_errors_name_the_source_line(self):
        with self.assertRaises(BuildError) as raised:
            self.build_text("__global__ void k(int *p) {\n  extern __shared__\n   int x[];\n  p[0] = y;\n}\nint main() {}")
        self.assertTrue(re.search(r"in\.cu:4:\d+: error: .*'y'", str(raised.exception)), raised.exception)


if __name__ == "__main__":
    unittest.main()
