"""Tests of draw.py; no compiler is needed."""

import hashlib
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import draw


class DrawTest(unittest.TestCase):
    def test_a_program_follows_from_its_number(self):
        self.assertEqual(draw.Program(7).text(), draw.Program(7).text())
        self.assertNotEqual(draw.Program(7).text(), draw.Program(8).text())

    def test_measured_programs_are_drawn_again(self):
        # Times of these are kept: whoever changes what is drawn has to measure again.
        text = "".join(draw.Program(number).text() for number in range(1, 47))
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), "6e8907d79da7cc0b06f1092305a2bcd49b6d901b2ffe7900fedffc241bbd83a9")

    def test_all_shapes_are_drawn(self):
        text = "".join(draw.Program(number).text() for number in range(1, 400))
        for sign in ("recs[i + -1]", "int i = y * width + x", "recs[i * 8 + j]",
                     "gridDim.x", "recs[anywhere[i]]", "recs[nearby[i]]", "nearby[(i + j * 97) % n]", "at = anywhere[at]", "recs[j]",
                     "(h >> 12) %", "__shared__", "if (r."):
            self.assertIn(sign, text)

    def test_text_is_closed(self):
        for number in range(1, 100):
            text = draw.Program(number).text()
            for opening, closing in ("{}", "()", "[]"):
                self.assertEqual(text.count(opening), text.count(closing), number)

    def test_programs_are_written_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            draw.write(Path(folder), ["drawn_3", "drawn_12"])
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir()), ["drawn_12.cu", "drawn_3.cu"])
            self.assertEqual((Path(folder) / "drawn_3.cu").read_text(), draw.Program(3).text())

    def test_the_command_writes_a_range(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(draw.main([folder, "--first=5", "--count=2"]), 0)
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir()), ["drawn_5.cu", "drawn_6.cu"])


if __name__ == "__main__":
    unittest.main()
