"""Tests of to_cpp.py: text in, text out."""

import unittest

from program import Program, replace
from to_cpp import Unclear, to_cpp
from tokens import read

BEGIN, END = " ::emulated::run([=]() mutable {", "});"


def launch(config, call):
    return f"(::emulated::configure({config}), {call}, ::emulated::launched())"


class Launches(unittest.TestCase):
    def check(self, text, expected):
        self.assertEqual(to_cpp(text), expected)
        self.assertEqual(expected.count("\n"), text.count("\n"))

    def test_callees(self):
        for callee in (
            "k",
            "k<T, 3>",
            "k<(a > b), f<g<int>>>",
            "ns::k",
            "::ns::k<2>",
            "ns::Outer<T>::template k<2>",
            "kernels[i]",
            "(*pointer)",
            "chosen(i)",
            "table.kernels[f(i)]",
            "self->kernel",
        ):
            with self.subTest(callee):
                self.check(f"{callee}<<<1, 2>>>(a, b);", launch("1, 2", f"{callee}(a, b)") + ";")

    def test_what_stands_before(self):
        self.check("if (x) k<<<1, 2>>>(a);", f"if (x) {launch('1, 2', 'k(a)')};")
        self.check("else k<<<1, 2>>>(a);", f"else {launch('1, 2', 'k(a)')};")
        self.check("while (x) (*k)<<<1, 2>>>(a);", f"while (x) {launch('1, 2', '(*k)(a)')};")
        self.check("CHECK((k<<<1, 2>>>(a)));", f"CHECK(({launch('1, 2', 'k(a)')}));")

    def test_configurations(self):
        self.check("k<<<dim3(a >> 1, f<int>(b)), {1, 2}, 0, s>>>();", launch("dim3(a >> 1, f<int>(b)), {1, 2}, 0, s", "k()") + ";")
        self.check("k<<<n >> 2, m<g<h<int>>>>>>();", launch("n >> 2, m<g<h<int>>>", "k()") + ";")
        self.check("k<<<1, // one\n  2>>>(a,\n  b);", launch("1, // one\n  2", "k(a,\n  b)") + ";")

    def test_not_launches(self):
        for text in (
            '// k<<<1, 2>>>(a)\n/* k<<<1, 2>>>(a) */ const char *s = "k<<<1, 2>>>(a)";',
            'auto r = R"x(k<<<1)" >>>(a))x";',
            "a << b >> c; std::vector<std::vector<std::vector<int>>> v;",
            "#error don't k<<<1, 2>>>(a)\n#include <k<<<1>\n",
            "int n = 1'000'000; char c = '\"', d = '\\'';",
        ):
            with self.subTest(text):
                self.check(text, text)

    def test_macros(self):
        self.check(
            "#define LAUNCH(k, g, ...) \\\n  k<<<g, 64>>>(__VA_ARGS__)\nLAUNCH(a, b, c);",
            f"#define LAUNCH(k, g, ...) \\\n  {launch('g, 64', 'k(__VA_ARGS__)')}\nLAUNCH(a, b, c);",
        )

    def test_unclear(self):
        for text in ("\n\nk<<<1, 2;", "\n\n<<<1, 2>>>(a);", "\n\nk<<<1, 2>>>;"):
            with self.subTest(text), self.assertRaisesRegex(Unclear, "^in.cu:3: "):
                to_cpp(text, "in.cu")

    def test_cuda_launch_kernel(self):
        for cast in ("(const void *)", "(void*)", "(void const *)", "reinterpret_cast<const void *>"):
            self.check(f"cudaLaunchKernel({cast}(k<T>), g, b, args);", "cudaLaunchKernel((k<T>), g, b, args);")
        self.check("cudaLaunchKernel(k, g, b, args);", "cudaLaunchKernel(k, g, b, args);")
        self.check("free((void *)p);", "free((void *)p);")


class Kernels(unittest.TestCase):
    def check(self, text, expected):
        self.assertEqual(to_cpp(text), expected)

    def test_bodies(self):
        for head in (
            "__global__ void k(int *p, T t = {1, 2})",
            "template <int N> static __global__ __launch_bounds__(N) void k()",
            'extern "C" __global__ void k(void (*f)(int), int a[]) noexcept(true)',
        ):
            with self.subTest(head):
                self.check(head + " { if (a) { return; } }", head + " {" + BEGIN + " if (a) { return; } " + END + "}")

    def test_declarations_stay(self):
        self.check("__global__ void k(int *p); struct S { int a; };", "__global__ void k(int *p); struct S { int a; };")

    def test_branches_of_the_preprocessor(self):
        self.check(
            "__global__ void k(\n#ifdef A\nint a) {\n#else\nint b) {\n#endif\nf(); }",
            "__global__ void k(\n#ifdef A\nint a) {" + BEGIN + "\n#else\nint b) {" + BEGIN + "\n#endif\nf(); " + END + "}",
        )
        self.check(
            "#if A\n__global__ void k(int a) {\n#else\n__global__ void k() {\n#endif\nf(); }",
            "#if A\n__global__ void k(int a) {" + BEGIN + "\n#else\n__global__ void k() {" + BEGIN + "\n#endif\nf(); " + END + "}",
        )

    def test_macros_for_the_qualifier(self):
        self.check(
            "#define KERNEL(name) __global__ void name\nKERNEL(k)(int *p) { f(); }",
            "#define KERNEL(name) __global__ void name\nKERNEL(k)(int *p) {" + BEGIN + " f(); " + END + "}",
        )
        self.assertEqual(to_cpp("GLOBAL void k() { }", "in.cu", {"GLOBAL"}), "GLOBAL void k() {" + BEGIN + " " + END + "}")
        self.check(
            "#define MAKE(name, body) __global__ void name() { body; }",
            "#define MAKE(name, body) __global__ void name() {" + BEGIN + " body; " + END + "}",
        )

    def test_shared(self):
        memory = "(::emulated::sharedMemory);"
        self.check("extern __shared__ float x[];", f"static float (&x)[] = *reinterpret_cast<float (*)[]>{memory}")
        self.check(
            "f(); __shared__ extern volatile ns::V<T, 2> x[][4];",
            f"f(); static volatile ns :: V < T , 2 > (&x)[][4] = *reinterpret_cast<volatile ns :: V < T , 2 > (*)[][4]>{memory}",
        )
        self.check(
            "extern __shared__ __align__(16)\n unsigned char x[];",
            f"static unsigned char (&x)[] = *reinterpret_cast<unsigned char (*)[]>{memory}\n",
        )
        self.check("__shared__ float x[32];", "__shared__ float x[32];")
        self.check("static __shared__ float x;", "static   float x;")
        with self.assertRaises(Unclear):
            to_cpp("extern __shared__ float x[], y[];")

    def test_noinline(self):
        self.check("__noinline__ void f();", "__attribute__((noinline)) void f();")
        self.check("__attribute__((__noinline__)) void f();", "__attribute__((__noinline__)) void f();")


class Files(unittest.TestCase):
    def test_includes(self):
        source = read('#include "a.h"\n#  include <b/c.h> // here\n// #include "d.h"\n')
        self.assertEqual(source.includes, ["a.h", "b/c.h"])

    def test_replace(self):
        import tempfile
        from pathlib import Path

        program = Program(Path("/p"), {"src/a.cu": "a", "src/p.h": "p", "lib/p.h": "q"}, ["src/a.cu"])
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"a.cu": "A", "src/p.h": "P", "a.cu.ptx": "", "new.cu": "N"}.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            replaced = replace(program, Path(folder))
        self.assertEqual(replaced.texts, {"src/a.cu": "A", "src/p.h": "P", "lib/p.h": "q", "src/new.cu": "N"})
        self.assertEqual(replaced.units, ["src/a.cu", "src/new.cu"])


if __name__ == "__main__":
    unittest.main()
