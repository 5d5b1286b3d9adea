#!/usr/bin/env python3
"""How good restride's choice is where a program has several candidates: its
predicted cycles against those of the best of all combinations of some layouts,
each candidate in each of them. restride itself decides one after the other."""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LAYOUTS = ("aos-align16", "soa")


def kernel_cycles(variant):
    """{kernel: cycles of all its launches}."""
    cycles = {}
    for kernel in variant["kernels"]:
        cycles[kernel["name"]] = cycles.get(kernel["name"], 0.0) + kernel["cycles"] * kernel["calls"]
    return cycles


def program_cycles(steps):
    """Of a program whose candidates moved one after the other: what the last step that met a kernel says of it, and the
    conversions of every step, each of which knows its own array only."""
    kernels = {}
    for variant in steps:
        kernels.update(kernel_cycles(variant))
    return sum(kernels.values()) + sum(variant["conversion_cycles"] for variant in steps)


def separate(candidates):
    """Candidates with a choice, of which no two share an array: of parallel arrays there may be several groups."""
    out, taken = [], set()
    for candidate in candidates:
        arrays = set(candidate["array"].split(", "))
        if candidate["status"] != "refused" and not arrays & taken:
            out.append(candidate)
            taken |= arrays
    return out


def combinations(candidates, layouts):
    """All choices of a layout for each candidate; the tool's own is among them."""
    options = [tuple(dict.fromkeys((c["source_layout"], c["winner"], *layouts))) for c in candidates]
    return list(itertools.product(*options))


def totals(candidates, choices, force):
    """{choice: predicted cycles}; a choice that a refusal forbids is left out. force(candidate, layouts so far, layout)
    gives the variants of a report, the source layout first, by name; choices with the same beginning share its calls."""
    steps, out = {(): []}, {}

    def reach(choice):
        if choice in steps:
            return steps[choice]
        before = reach(choice[:-1])
        if before is None:
            steps[choice] = None
            return None
        variants = force(candidates[len(choice) - 1], choice[:-1], choice[-1])
        steps[choice] = before + [variants[choice[-1]]] if choice[-1] in variants else None
        return steps[choice]

    for choice in choices:
        if reach(choice) is not None:
            out[choice] = program_cycles(reach(choice))
    return out


def ratio(candidates, all_totals):
    """Predicted cycles of the chosen combination over the best one's: 1 where nothing is better."""
    chosen = tuple(c["winner"] for c in candidates)
    return all_totals[chosen] / min(all_totals.values())


class Restride:
    """Rewrites copies of one file, each with one more candidate moved."""

    def __init__(self, restride, file, scratch):
        self.restride, self.scratch = restride, scratch
        self.folder((), ()).mkdir()
        shutil.copy(file, self.folder((), ()) / "in.cu")

    def folder(self, names, layouts):
        return self.scratch / ("+".join(f"{name}.{layout}" for name, layout in zip(names, layouts)) or "original")

    def report(self, folder, *options):
        report = folder / "report.json"
        done = subprocess.run([self.restride, "--quiet", f"--report={report}", *options, str(folder / "in.cu"), "--", "-std=c++17"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-1000:])
        return json.loads(report.read_text())["candidates"]

    def forcer(self, candidates):
        names = [c["name"].replace("::", "-") for c in candidates]

        def force(candidate, before, layout):
            source = self.folder(names, before)
            found = [c for c in self.report(source, "--list") if c["array"] == candidate["array"]]
            if not found:
                return {}
            folder = self.folder(names, (*before, layout))
            shutil.copytree(source, folder)
            moves = layout != candidate["source_layout"]
            options = [f"--layout={layout if moves else LAYOUTS[0]}", f"--struct={found[0]['name']}", *(["-i"] if moves else [])]
            reported = [c for c in self.report(folder, *options) if c["array"] == candidate["array"]]
            return {variant["layout"]: variant for c in reported for variant in c["variants"]}

        return force


def measure(restride, file, layouts):
    """(candidates, totals) of one file; nothing where it has no two candidates."""
    with tempfile.TemporaryDirectory() as scratch:
        tool = Restride(restride, file, Path(scratch))
        candidates = separate(tool.report(tool.folder((), ())))
        if len(candidates) < 2:
            return None
        return candidates, totals(candidates, combinations(candidates, layouts), tool.forcer(candidates))


def main(argv=None):
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--layout", action="append", default=[], help=f"repeatable; default: {' and '.join(LAYOUTS)}")
    parser.add_argument("--file", type=Path, action="append", default=[], help="repeatable; default: all samples")
    options = parser.parse_args(argv)
    print(f"{'':20}{'ratio':>7}  chosen; best")
    for file in options.file or sorted((root / "samples").glob("*.cu")):
        try:
            measured = measure(options.restride, file, options.layout or LAYOUTS)
        except (OSError, RuntimeError) as error:
            print(f"{file.name}: {error}", file=sys.stderr)
            return 2
        if not measured:
            continue
        candidates, all_totals = measured
        best = min(all_totals, key=all_totals.get)
        chosen = ", ".join(f"{c['name']} {c['winner']}" for c in candidates)
        print(f"{file.name:20}{ratio(candidates, all_totals):7.3f}  {chosen}; {', '.join(best)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
