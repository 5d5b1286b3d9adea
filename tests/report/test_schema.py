"""Reports are what docs/report.schema.json says, and configurations what docs/restride.schema.json says. RESTRIDE names the tool."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def schema(name):
    return json.loads((PROJECT / "docs" / name).read_text())


class Report(unittest.TestCase):
    def check(self, source, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.json"
            command = [os.environ["RESTRIDE"], "--quiet", *options, f"--report={path}", source, "--", "-std=c++17"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            report = json.loads(path.read_text())
        jsonschema.Draft202012Validator(schema("report.schema.json")).validate(report)
        return report

    def test_samples(self):
        statuses = set()
        for name in ("particles.cu", "nbody.cu", "hash.cu", "idw_sep.cu"):
            statuses |= {c["status"] for c in self.check(str(PROJECT / "samples" / name))["candidates"]}
        self.assertLessEqual({"rewritten", "kept"}, statuses)

    def test_refusals(self):
        report = self.check(str(PROJECT / "tests/golden/refuse/escapes.cu"), "--list")
        self.assertIn("refused", {c["status"] for c in report["candidates"]})

    def test_thesis(self):
        self.check(str(PROJECT / "samples/nbody.cu"), "--cost-model=thesis")

    def test_it_finds_mistakes(self):
        report = self.check(str(PROJECT / "samples/nbody.cu"), "--list")
        report["candidates"][0]["status"] = "perhaps"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema("report.schema.json")).validate(report)


class Schemas(unittest.TestCase):
    def test_are_schemas(self):
        for name in ("report.schema.json", "restride.schema.json"):
            jsonschema.Draft202012Validator.check_schema(schema(name))

    def test_layouts_are_the_tools(self):
        done = subprocess.run([os.environ["RESTRIDE"], "--layout=?", "x.cu"], stderr=subprocess.PIPE, text=True)
        known = done.stderr.split("known: ")[1].strip().split(", ")
        self.assertEqual(schema("restride.schema.json")["$defs"]["layout"]["enum"], known)
        self.assertEqual(schema("report.schema.json")["$defs"]["layout"]["enum"], known + ["parallel"])


if __name__ == "__main__":
    unittest.main()
