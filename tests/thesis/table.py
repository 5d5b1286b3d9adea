#!/usr/bin/env python3
"""The thesis's table: what restride --cost-model=thesis predicts for its five programs, beside what the thesis does.

    table.py --restride=BIN [--cuda-path=DIR] [--check] [--page]

  --check   exit status 1 if a ratio is more than 5 % off the thesis's, or another layout is chosen
  --page    write docs/thesis.md

SoA is samples/<program>_sep.cu as it is, AoS the program that restride -i --layout makes of it. A ratio is the cycles of
all kernels of the one over those of the other. The choice is that of a run without --layout.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import page

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 0.05
# Each access of the source is one of its own: loads are not merged into vectors, and types say nothing about aliases.
SOURCE_ONLY = ("-fno-strict-aliasing", "-mllvm", "-disable-nvptx-load-store-vectorizer")


@dataclass(frozen=True)
class Program:
    name: str  # the thesis's
    sample: str
    merged: tuple  # arrays that the thesis merges and that its choice is about
    layout: str  # of the merged record
    predicted: float  # SoA / AoS, Table 4.2
    source_only: float
    measured: float


PROGRAMS = (
    Program("IDW", "idw_sep", ("dx", "dy", "dz"), "aos-align16", 1.465, 0.919, 1.331),
    Program("2MM", "2mm_sep", ("a", "b"), "aos-align8", 0.919, 0.961, 0.583),
    Program("3MM", "3mm_sep", ("a", "b"), "aos-align8", 0.919, 0.947, 0.569),
    Program("SYR2K", "syr2k_sep", ("a", "b"), "aos-align8", 1.084, 0.991, 1.126),
    Program("CORR", "corr_sep", ("data", "symmat"), "aos-align8", 2.559, 0.928, 1.738),
)


@dataclass(frozen=True)
class Row:
    program: Program
    ratio: float  # SoA / AoS
    source_only: float
    choice: str  # SoA or AoS

    @property
    def expected(self):
        return "AoS" if self.program.predicted > 1 else "SoA"

    def faults(self):
        found = []
        if abs(self.ratio / self.program.predicted - 1) > TOLERANCE:
            found.append(f"{self.program.name}: ratio {self.ratio:.3f}, the thesis predicts {self.program.predicted:.3f}")
        if self.choice != self.expected:
            found.append(f"{self.program.name}: {self.choice} is chosen, the thesis chooses {self.expected}")
        return found


def kernels(report, layout):
    """{kernel: cycles of all launches}, each as the first candidate that it uses has it: later ones are
    tried in a program in which the earlier ones have moved."""
    found = {}
    for candidate in report["candidates"]:
        for variant in candidate["variants"]:
            if variant["layout"] == layout:
                for kernel in variant["kernels"]:
                    found.setdefault(kernel["name"], kernel["cycles"] * kernel["calls"])
    return found


def ratio(separate, merged):
    """SoA / AoS of the kernels that use merged arrays."""
    soa, aos = kernels(separate, "parallel"), kernels(merged, "aos")
    if not aos or not aos.keys() <= soa.keys():
        raise RuntimeError(f"kernels {sorted(soa)} before and {sorted(aos)} after the arrays were merged")
    return sum(soa[name] for name in aos) / sum(aos.values())


def choice(report, merged):
    moved = [c for c in report["candidates"] if c["status"] == "rewritten" and set(merged) <= set(c["fields"])]
    return "AoS" if any(c["winner"].startswith("aos") for c in moved) else "SoA"


class Restride:
    def __init__(self, binary, cuda_path, folder):
        self.command = [binary, "--gpu=gtx980", "--cost-model=thesis", "--quiet"]
        if cuda_path:
            self.command.append(f"--cuda-path={cuda_path}")
        self.folder = Path(folder)

    def run(self, *arguments):
        done = subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"restride {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr[-2000:]}")

    def report(self, source, *options, flags=()):
        path = self.folder / "report.json"
        self.run(*options, f"--report={path}", source, "--", "-std=c++17", *flags)
        return json.loads(path.read_text())

    def row(self, program, samples):
        source = samples / f"{program.sample}.cu"
        merged = self.folder / source.name
        shutil.copy(source, merged)
        self.run("-i", f"--layout={program.layout}", merged, "--", "-std=c++17")
        # A forced layout is tried next to the program as it is, and to nothing else.
        after = {flags: self.report(merged, "--layout=soa", flags=flags) for flags in ((), SOURCE_ONLY)}
        before = {flags: self.report(source, flags=flags) for flags in ((), SOURCE_ONLY)}
        return Row(program, ratio(before[()], after[()]), ratio(before[SOURCE_ONLY], after[SOURCE_ONLY]),
                   choice(before[()], program.merged))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--cuda-path")
    parser.add_argument("--samples", type=Path, default=ROOT / "samples")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        restride = Restride(options.restride, options.cuda_path, folder)
        try:
            rows = [restride.row(program, options.samples) for program in PROGRAMS]
        except (OSError, RuntimeError) as error:
            print(f"table.py: {error}", file=sys.stderr)
            return 2
    print(page.table(rows))
    if options.page:
        (ROOT / "docs" / "thesis.md").write_text(page.page(rows))
    faults = [fault for row in rows for fault in row.faults()]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if options.check and faults else 0


if __name__ == "__main__":
    sys.exit(main())
