#!/usr/bin/env python3
"""Rewrites whole programs, a folder each, and runs them on the CPU (../emulation): what they print and what they copy to
the host must stay as it is. Numbers among the arguments of a Makefile's `run` are made small. Programs that the emulation
cannot build or run, or that differ from themselves, prove nothing and are only counted. Exits 1 if a variant does not
compile or computes something else.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import check
import emulate
import sweep

SOURCES = (".cu", ".cpp", ".cc", ".c")
TIMES = [r"(?i)tim(e|ing)|\b[mun]?s(ec)?\b|/s\b|flops|bandwidth|throughput|speed|elapsed|perf"]
SAME, NOT_MOVED, NOT_RUN = "same", "not moved", "cannot be run"
OTHER, NOT_BUILT, FAILED = "computes something else", "does not compile", "restride failed"
KINDS = (SAME, NOT_MOVED, NOT_RUN, OTHER, NOT_BUILT, FAILED)
BAD = KINDS[3:]


@dataclass(frozen=True)
class Job:
    folder: Path
    units: tuple  # relative to it
    flags: tuple
    arguments: tuple


@dataclass(frozen=True)
class Answer:
    name: str
    kind: str
    why: str = ""


def small(arguments):
    """Numbers that count elements or rounds, so that a CPU ends in a minute."""
    def one(word):
        if not re.fullmatch(r"\d+", word):
            return word
        number = int(word)
        return str(min(number, 64) if number > 1000 else min(number, 3) if number >= 50 else number)
    return tuple(map(one, arguments))


def arguments_of(makefile):
    run = re.search(r"\./(?:\$\(\w+\)|\w+)[ \t]+(.*)", makefile)
    return small(run.group(1).partition(">")[0].split()) if run else ()


def find_jobs(root, pattern):
    jobs = []
    for makefile in sorted(root.glob(f"{pattern}/Makefile")):
        text, folder = makefile.read_text(errors="replace"), makefile.parent
        units = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in SOURCES)
        if any(unit.endswith(".cu") for unit in units):
            jobs.append(Job(folder, tuple(units), sweep.makefile_flags(text), arguments_of(text)))
    return jobs


class Runner:
    def __init__(self, options):
        self.options = options
        self.emulation, self.programs = emulate.load("run"), emulate.load("program")
        self.toolchain = self.emulation.Toolchain()
        self.toolchain.prepare("-std=c++17")

    def run(self, job, folder, scratch):
        """Exit status, lines and hashes of the copies to the host; or why there are none, as a string."""
        flags = [*job.flags, "-I", str(emulate.HERE / "emulated"), "-include", str(emulate.HERE / "emulated/copies.h")]
        try:
            program = self.programs.collect([folder / unit for unit in job.units])
            binary = self.toolchain.build(program, flags, scratch / "built")
        except (self.emulation.BuildError, OSError, UnicodeError, ValueError) as error:
            return f"build: {str(error)[:300]}"
        shutil.copytree(folder, scratch / "run")
        try:
            done = subprocess.run([binary, *job.arguments], cwd=scratch / "run", stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=self.options.limit)
        except subprocess.TimeoutExpired:
            return f"no answer in {self.options.limit} s"
        if done.returncode not in (0, 1):
            return f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-200:]}"
        copies = scratch / "run/transfers.txt"
        return done.returncode, check.without(done.stdout.decode(errors="replace"), TIMES), copies.read_text() if copies.exists() else ""

    def answers(self, job):
        """One for each layout; one alone if the original cannot be run."""
        name = job.folder.name
        with tempfile.TemporaryDirectory() as scratch:
            scratch = Path(scratch)
            original = self.run(job, job.folder, scratch / "original")
            if isinstance(original, str):
                return [Answer(name, NOT_RUN, original)]
            if self.run(job, job.folder, scratch / "again") != original:
                return [Answer(name, NOT_RUN, "differs from run to run")]
            return [self.variant(job, layout, original, scratch / layout) for layout in self.options.layouts.split(",")]

    def variant(self, job, layout, original, scratch):
        name, folder = f"{job.folder.name} {layout}", scratch / "source"
        shutil.copytree(job.folder, folder)
        command = [self.options.restride, "-j1", "-i", f"--layout={layout}", *job.units, "--", *job.flags]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            return Answer(name, FAILED, f"no answer in {self.options.timeout} s")
        kind = sweep.classify(done.returncode, done.stdout + done.stderr)
        if kind in sweep.BAD:
            return Answer(name, FAILED, f"{kind}: {done.stderr[-300:]}")
        if kind != "can be laid out anew":
            return Answer(name, NOT_MOVED)
        got = self.run(job, folder, scratch)
        compared = 2 if layout.startswith("aos-") else 3  # a record that grew is copied as a whole where host and device share it
        if got[:compared] == original[:compared]:
            return Answer(name, SAME)
        if isinstance(got, str):
            return Answer(name, NOT_BUILT if got.startswith("build") else OTHER, got)
        lines = check.first_difference(original[1], got[1])
        return Answer(name, OTHER, lines or ("exit status" if original[0] != got[0] else "copies to the host"))


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--programs", type=Path, required=True, metavar="DIR", help="as HeCBench/src")
    parser.add_argument("--glob", default="*-cuda", help="folders in it that are programs (default: %(default)s)")
    parser.add_argument("--layouts", default="soa,asta32,aos-align16,grouped")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="for one run of a program")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS", help="for restride")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    options.restride = sweep.executable(options.restride)
    return options


def main(argv=None):
    options = parse_arguments(argv)
    jobs = find_jobs(options.programs.resolve(), options.glob)
    if not jobs:
        print(f"no programs {options.glob} in {options.programs}", file=sys.stderr)
        return 2
    runner, counts = Runner(options), Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(runner.answers, jobs):
            for answer in found:
                counts[answer.kind] += 1
                print(f"{answer.kind}: {answer.name}{answer.why and ': '}{answer.why}", flush=True)
    print(f"{len(jobs)} programs; " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]))
    return int(any(counts[kind] for kind in BAD))


if __name__ == "__main__":
    sys.exit(main())
