#!/usr/bin/env python3
"""Writes docs/accuracy.md: how well restride's choice agrees with measured times.

Reads the CSVs that run.py wrote and asks restride what it says of the same
programs, or reads what it said before. README.md beside this file has a command.
"""

import argparse
import csv
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import accuracy_page
import cases
import draw
import variants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Folder of programs of each CSV that the page is of; none: draw.py writes them. Those of other CSVs are in programs/.
SETS = {"programs-h200.csv": HERE / "programs", "samples-h200.csv": ROOT / "samples", "drawn-h200.csv": None}
# The kernels that the profile's fitted constants were found on. All else is unseen.
FITTED = frozenset("all_16 all_3 all_4 all_7 atomic_2 chunk16_4 chunk64_3 gather_1_of_8 gather_all_4 gather_all_7 "
                   "gather_all_8 heavy hotcold idw mm nbody one_of_8 scatter_4 scatter_8 stencil syr2k two_of_16 "
                   "two_of_8 update".split())
# What restride is asked: (compiler, cost model).
ASKED = (("clang", "throughput"), ("nvcc", "throughput"), ("clang", "thesis"))


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, required=True, help="folder of restride's reports; read, or written with --restride")
    parser.add_argument("--restride", help="ask this restride; without it the reports are read as they are")
    parser.add_argument("--cuda-path", help="passed on to restride")
    parser.add_argument("--csv", type=Path, action="append", help="measured times (default: those of the page)")
    parser.add_argument("--causes", type=Path, default=HERE / "causes.csv", help="why arrays failed: program,candidate,cause")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "accuracy.md")
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--clang-only", action="store_true", help="leave nvcc's PTX out, which takes most of the time")
    parser.add_argument("-j", "--jobs", type=int, default=0, help="restrides at a time (default: one per core)")
    options = parser.parse_args(argv)
    options.asked = [asked for asked in ASKED if not (options.clang_only and asked[0] == "nvcc")]
    options.csv = options.csv or [HERE / name for name in SETS if (HERE / name).exists()]
    return options


def report_folder(options, asked, csv_name):
    """Programs of two sets may have one name."""
    return options.reports / "-".join(asked) / Path(csv_name).stem


def ask(options, originals):
    """Runs restride for every program and every way of asking. Returns [(program, message)] of failures."""

    def one(job):
        name, original, asked = job
        out = report_folder(options, asked, name) / original.program
        out.mkdir(parents=True, exist_ok=True)
        command = [options.restride, "--quiet", f"--gpu={options.gpu}", f"--ptx-compiler={asked[0]}",
                   f"--cost-model={asked[1]}", f"--report={out / 'report.json'}", "-j1"]
        if options.cuda_path:
            command.append(f"--cuda-path={options.cuda_path}")
        command += [str(path) for name, path in original.files if name.endswith(".cu")] + ["--", "-std=c++17"]
        (out / "report.json").unlink(missing_ok=True)  # nothing old in place of a failure
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return (original.program, done.stderr[-2000:]) if done.returncode else None

    jobs = [(name, original, asked) for asked in options.asked for name, original in originals]
    with ThreadPoolExecutor(options.jobs or os.cpu_count()) as pool:
        return [failure for failure in pool.map(one, jobs) if failure]


def sources(options, csv_name, programs):
    """The programs of a set, in no folder of the project if they were drawn."""
    folder = SETS.get(csv_name, HERE / "programs")
    if not folder:
        folder = options.reports / "drawn"
        draw.write(folder, programs)
    return variants.find_originals(folder, tuple(programs))


def group_of(program, csv_name):
    for group in ("samples", "drawn"):
        if csv_name.startswith(group):
            return group
    return "fitted" if program in FITTED else "unseen"


def read_causes(path):
    """{(program, array): cause}; empty where there is no file."""
    if not path.exists():
        return {}
    with path.open() as stream:
        return {(row["program"], row["candidate"]): row["cause"] for row in csv.DictReader(stream)}


def main(argv=None):
    options = parse_arguments(argv)
    if not options.csv:
        print("no measured times", file=sys.stderr)
        return 2
    measured, wrong, machines = {}, [], {}
    for path in options.csv:
        with path.open() as stream:
            times, bad = cases.read_csv(stream)
        measured[path.name] = times
        wrong += bad
        note = path.with_suffix(".txt")  # the machine, in a sentence or two
        machines[path.name] = note.read_text().strip() if note.exists() else "machine not recorded"
    if options.restride:
        originals = [(name, original) for name, times in measured.items() for original in sources(options, name, times)]
        failures = ask(options, originals)
        for program, message in failures:
            print(f"{program}: {message}", file=sys.stderr)
        if failures:
            return 1

    page = accuracy_page.Page(options.gpu, machines, wrong, read_causes(options.causes))
    for asked in options.asked:
        for name, times in measured.items():
            reports = {program: variants.read_report(report_folder(options, asked, name), program) for program in times}
            if asked != accuracy_page.MODEL:  # may be asked about fewer programs
                times = {program: of for program, of in times.items() if reports[program]}
            found, unknown = cases.make_cases(times, reports)
            for case in found:
                page.add(asked, group_of(case.program, name), case)
            page.unknown.update((asked, array) for array in unknown)
    errors = page.errors()
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        return 1
    options.output.write_text(page.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
