"""Tests of the generator: the tree of pieces, and that the programs are what they promise to be."""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate
from checking import FLAGS, BuildError, Toolchain, execute, programs
from compose import Composer, program
from context import FEATURES
from pieces import Document, Piece, names_in
from scalars import BOOL, DOUBLE, FLOAT, INT, SMALL, UNSIGNED


class Pieces(unittest.TestCase):
    def test_names(self):
        self.assertEqual(names_in('p[i].x += q->y * 1.5f;'), {"p", "i", ".x", "q", ".y"})
        self.assertEqual(names_in('printf("%d name", 0x1f); // of all'), {"printf"})

    def test_what_uses_a_name_goes_with_it(self):
        document = Document({"f": Piece(Piece("int a;\n", defines="a"), Piece("int b;\n", defines="b"), Piece("a = 1;\n"),
                                        Piece("b = a;\n"))})
        self.assertEqual(document.files({1}), {"f": "int b;\n"})
        self.assertEqual(document.files({2}), {"f": "int a;\na = 1;\n"})

    def test_a_name_is_found_in_its_function(self):
        def function(name, *parts):
            return Piece(*parts, head=f"void {name}() {{\n", tail="}\n", defines=name, scope=True)
        document = Document({"f": Piece(function("f", Piece("int a;\n", defines="a"), "a = 1;\n"), function("g", Piece("f();\n")),
                                        Piece("a b;\n"))})
        self.assertEqual(document.files({1})["f"], "void g() {\n}\na b;\n")

    def test_members_are_declared_by_any_record(self):
        def record(name):
            return Piece(Piece("int x;\n", defines=".x"), head=f"struct {name} {{\n", tail="};\n", defines=name, record=True)
        document = Document({"f": Piece(record("P"), record("Q"), Piece("p.x = 1;\n"))})
        self.assertIn("p.x", document.files({2})["f"])
        self.assertNotIn("p.x", document.files({2, 4})["f"])

    def test_lists(self):
        parts = [Piece("a", defines="a"), Piece("b", defines="b")]
        document = Document({"f": Piece(Piece(parts, head="int ", sep=", ", tail=";\n", group=True), "end\n")})
        self.assertEqual([document.files(removed)["f"] for removed in (set(), {2}, {2, 3})],
                         ["int a, b;\nend\n", "int b;\nend\n", "end\n"])


class Values(unittest.TestCase):
    def test_signed_fields_hold_small_numbers(self):
        self.assertEqual(INT.of_unsigned("v"), "(int)((v) & 0xfffffu)")
        self.assertEqual(SMALL[2].of_unsigned("v"), "(short)((v) & 0x3fffu)")
        self.assertEqual(UNSIGNED.of_unsigned("v"), "v")
        self.assertEqual(BOOL.of_unsigned("v"), "(v) % 3u == 0")

    def test_every_bit_is_printed(self):
        self.assertEqual(FLOAT.printed("p.x"), ("%a", "p.x"))
        self.assertEqual(DOUBLE.read_as("float", "p.x"), "(float)p.x")


class Programs(unittest.TestCase):
    def test_the_same_seed_gives_the_same_program(self):
        self.assertEqual(program(7).files(), program(7).files())
        self.assertNotEqual(program(7).files(), program(8).files())

    def test_every_feature_is_written_by_something(self):
        text = "".join(path.read_text() for path in HERE.glob("*.py"))
        self.assertEqual([feature for feature in FEATURES if text.count(f'"{feature}"') < 2], [])

    def test_the_number_of_features(self):
        for count in (0, 5, 25):
            comment = program(1, count).files()["main.cu"].splitlines()[0]
            self.assertEqual(len(comment.rpartition(":")[2].split(",")) if count else 0, count)

    def test_wanted_features(self):
        self.assertIn("pointer-struct", program(1, 5, ["pointer-struct"]).files()["main.cu"].splitlines()[0])

    def test_overloads_are_told_apart(self):
        for seed in range(1, 40):
            composer = Composer(seed, 6, ["overload", "pass-twice", "pass-value", "two-records"])
            composer.document()
            functions = [(f.name, f.record.name) for f in composer.context.functions]
            self.assertEqual(len(functions), len(set(functions)), f"seed {seed}")

    def test_command_line(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), tempfile.TemporaryDirectory() as folder:
            self.assertEqual(generate.main(["--seed=3", f"--output={folder}"]), 0)
            generate.main(["--seed=3"])
            files = {path.name: path.read_text() for path in Path(folder).iterdir()}
        parts = re.split(r"^//--- (.*)\n", out.getvalue(), flags=re.M)
        self.assertEqual(files, dict(zip(parts[1::2], parts[2::2])) if len(files) > 1 else {"main.cu": out.getvalue()})

    def test_programs_compile_and_are_defined(self):
        toolchain = Toolchain(sanitize=True)
        for seed in range(1, 11):
            # Also with pieces left out: what remains has to compile.
            document = program(seed) if seed < 7 else program(seed, 3, ["pointer-struct"])
            half = frozenset(document.removable[number] for number in range(0, len(document.removable), 9))
            for files in document.files(), document.files(half):
                with self.subTest(seed=seed, reduced=files != document.files()), tempfile.TemporaryDirectory() as folder:
                    for name, text in files.items():
                        programs.write(Path(folder) / name, text)
                    units = programs.units_of(Path(folder))
                    try:
                        binary = toolchain.build(programs.collect(units), FLAGS, Path(folder) / "build")
                    except BuildError as error:
                        self.fail(str(error))
                    result = execute(binary)
                    self.assertEqual((result.code, result.err), (0, ""))


if __name__ == "__main__":
    unittest.main()
