import unittest

import check


class Compare(unittest.TestCase):
    def test_same_bytes(self):
        self.assertEqual(check.compare("int a;\n", "int a;\n"), "same")

    def test_same_tokens(self):
        self.assertEqual(check.compare("P *p;  // old\n", "P* p;\n"), "tokens")

    def test_macro_bodies_count(self):
        self.assertEqual(check.compare("#define A(x) x.y\n", "#define A(x) x->y\n"), "differs")

    def test_other_tokens(self):
        self.assertEqual(check.compare("const P *p;\n", "P *p;\n"), "differs")


class Choose(unittest.TestCase):
    def test_all(self):
        self.assertEqual(check.choose(["a", "b"], 3, 0), ["a", "b"])

    def test_others_for_the_next(self):
        self.assertEqual(check.choose(["a", "b", "c"], 0, 2), ["a", "b"])
        self.assertEqual(check.choose(["a", "b", "c"], 1, 2), ["c", "a"])


class Exceptions(unittest.TestCase):
    def test_each_has_a_reason(self):
        for _, _, reason in check.EXCEPTIONS:
            self.assertTrue(reason)


if __name__ == "__main__":
    unittest.main()
