"""Tests of decide.py; neither nvcc nor restride is needed."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import decide
from decide import Sample


class Decide(unittest.TestCase):
    def run_it(self, *argv):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = decide.main(["--file=f.cu", "--runs=2", *argv])
        return code, out.getvalue(), err.getvalue()

    def test_report(self):
        samples = {"restride": [Sample(1.0, 100), Sample(3.0, 120), Sample(2.0, 110)], "nvcc": [Sample(4.0, 300)]}
        self.assertEqual(decide.ratio_of_medians(samples), 0.5)
        lines = decide.report(samples).splitlines()
        self.assertEqual(lines[1].split(), ["restride", "1.000", "2.000", "3.000", "120"])
        self.assertEqual(lines[3], "ratio of medians 0.500")

    def test_takes_turns(self):
        commands = {"restride": ["true"], "nvcc": ["sleep", "0.05"]}
        samples = decide.alternate(commands, 3)
        self.assertEqual([len(of_one) for of_one in samples.values()], [3, 3])
        self.assertTrue(all(s.wall_s >= 0.05 and s.peak_mib > 0 for s in samples["nvcc"]))

    def test_limit(self):
        self.assertEqual(self.run_it("--restride=true", "--nvcc=true", "--limit=1e9")[0], 0)
        self.assertEqual(self.run_it("--restride=true", "--nvcc=true", "--limit=0")[0], 1)

    def test_a_command_that_fails(self):
        code, _, err = self.run_it("--restride=false", "--nvcc=true")
        self.assertEqual(code, 2)
        self.assertIn("exit 1", err)
        self.assertEqual(self.run_it("--restride=/nonexistent/restride")[0], 2)


if __name__ == "__main__":
    unittest.main()
