#!/usr/bin/env python3
"""Shows on the CPU that CUDA programs compute the same in every layout.

    check.py --restride=BIN [options] SOURCE... [-- compiler flags]

A SOURCE is a program: a .cu file, a folder with all its .cu and .cpp files, or a file in split-file's format. Each runs
as it is, then as every variant of --emit-variants, then with all its arrays moved at once by --layout=L -i. What they
print and their exit status must be the same. One line for each variant that differs; exit status 1 if any does, if a
program prints nothing to compare, or if one cannot run. Programs without a main are skipped.

  --restride=BIN     the binary to test
  --cuda-path=DIR    the toolkit that restride parses with
  --layouts=A,B      only these
  --without=A,B      not these
  --arguments=ARGS   for the programs, as one string
  --limit=SECONDS    time for one run, default 60
  --gpu              compile with nvcc and run on this machine's GPU instead
  --sanitize         run with the address and undefined-behaviour sanitizers
  --cache=DIR        as for run.py
  --keep=DIR         keep the variants and what was built here
  -j N               runs at a time, default one per processor
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import program as programs
from program import Program
from run import BuildError, Nvcc, Result, Toolchain, execute, parse_flags
from tokens import read

PART = re.compile(r"^(?://|#)--- +(\S+)\s*$", re.MULTILINE)


class CheckError(Exception):
    pass


@dataclass
class Case:
    """A program and its variants."""

    name: str
    program: Program
    expected: Result | None = None
    variants: dict[str, Program] = field(default_factory=dict)  # by "candidate layout"
    problems: list[str] = field(default_factory=list)


def has_main(program: Program) -> bool:
    for unit in program.units:
        code = read(program.texts[unit]).code
        if any(a.text in ("int", "auto") and b.text == "main" and c.text == "(" for a, b, c in zip(code, code[1:], code[2:])):
            return True
    return False


def split(source: Path, folder: Path) -> list[Path]:
    """The units of a file that holds several, written to a folder."""
    pieces = PART.split(programs.text_of(source))[1:]
    for name, text in zip(pieces[::2], pieces[1::2]):
        programs.write(folder / name, text.removeprefix("\n"))
    return programs.units_of(folder)


def why_weak(result: Result) -> str | None:
    """Why a run proves nothing, if it does not."""
    if result.code in (99, 124) or result.code >= 128:
        lines = result.err.strip().splitlines() or [""]
        return f"exit status {result.code}: {lines[-1]}"
    checks = [line for line in result.out.splitlines() if not line.startswith(b"time")]
    if not re.search(rb"\d", b"\n".join(checks)):
        return "prints no value to compare" if result.out else "prints nothing"
    return None


def moving_to(layout: str) -> list[str]:
    """Nothing is to be ranked: the model that asks no ptxas takes two thirds of the time."""
    return [f"--layout={layout}", "--cost-model=thesis", "-i"]


def difference(expected: Result, got: Result) -> str | None:
    """The first difference of two runs, in words."""
    if why := why_weak(got):
        return why
    want, have = expected.out.splitlines(), got.out.splitlines()
    for n in range(max(len(want), len(have))):
        old, new = (lines[n].decode(errors="replace") if n < len(lines) else None for lines in (want, have))
        if old != new:
            return f"line {n + 1} is {'missing' if new is None else repr(new)}, was {'missing' if old is None else repr(old)}"
    if expected.out != got.out:
        return "ends of lines differ"
    return f"exit status {got.code}, was {expected.code}" if expected.code != got.code else None


class Checker:
    def __init__(self, options: argparse.Namespace, flags: list[str], folder: Path):
        self.options, self.flags, self.folder = options, flags, folder
        self.toolchain = Nvcc() if options.gpu else Toolchain(options.cache, options.sanitize)
        self.include_dirs = [Path(d).absolute() for d in parse_flags(flags).include_dirs]

    def restride(self, arguments: list[str], units: list[Path], flags: list[str]) -> None:
        tool = [self.options.restride, "--quiet", "-j1", *([f"--cuda-path={self.options.cuda_path}"] if self.options.cuda_path else [])]
        done = subprocess.run(
            [*tool, *arguments, *map(str, units), "--", *flags], capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            message = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise CheckError(f"restride {' '.join(arguments)}: {message[0]}")

    def run(self, name: str, program: Program) -> Result:
        folder = self.folder / name.replace(" ", "/") / "run"
        folder.mkdir(parents=True)
        binary = self.toolchain.build(program, self.flags, folder)
        result = execute(binary, shlex.split(self.options.arguments), self.options.limit)
        if not self.options.keep:
            shutil.rmtree(folder)
        return result

    def load(self, n: int, source: Path) -> Case | None:
        """A program, or nothing where there is none to run."""
        if source.is_dir():
            units = programs.units_of(source)
        else:
            units = [source]
            if source.is_file() and PART.search(programs.text_of(source)):
                units = split(source, self.folder / f"{n}-{source.stem}" / "split")
        if not units:
            raise CheckError(f"{source}: no .cu or .cpp file")
        program = programs.collect(units, self.include_dirs)
        return Case(f"{n}-{source.stem}", program) if has_main(program) else None

    def prepare(self, case: Case) -> None:
        """Runs the program as it is and makes its variants."""
        try:
            case.expected = self.run(f"{case.name} original", case.program)
            if why := why_weak(case.expected):
                raise CheckError(f"the original: {why}")
            self.make_variants(case)
        except (BuildError, CheckError, OSError) as error:
            case.problems.append(str(error).splitlines()[0])

    def make_variants(self, case: Case) -> None:
        emitted = self.folder / case.name / "variants"
        units = [case.program.root / unit for unit in case.program.units]
        self.restride([f"--emit-variants={emitted}"], units, self.flags)
        candidates = sorted(path for path in emitted.iterdir() if path.is_dir()) if emitted.is_dir() else []
        seen = [case.program.texts]
        layouts: set[str] = set()

        def add(name: str, program: Program) -> None:
            if program.texts not in seen:
                seen.append(program.texts)
                case.variants[name] = program

        for candidate in candidates:
            for folder in sorted(path for path in candidate.iterdir() if self.wanted(path.name)):
                layouts.add(folder.name)
                add(f"{candidate.name} {folder.name}", programs.replace(case.program, folder))
        # One array alone is the same program again.
        for layout in sorted(layouts) if len(candidates) > 1 else []:
            folder = self.folder / case.name / "all" / layout
            units = programs.copy(case.program, folder)
            self.restride(moving_to(layout), units, self.moved(case.program.root, folder))
            add(f"all {layout}", programs.replace(case.program, folder))

    def wanted(self, layout: str) -> bool:
        return (not self.options.layouts or layout in self.options.layouts.split(",")) and layout not in self.options.without.split(",")

    def moved(self, old: Path, new: Path) -> list[str]:
        """The flags, with folders inside old now inside new."""
        extra = [new / d.relative_to(old) for d in self.include_dirs if d == old or old in d.parents]
        return [f"-I{d}" for d in extra] + self.flags

    def compare(self, case: Case, name: str) -> None:
        try:
            found = difference(case.expected, self.run(f"{case.name} {name}", case.variants[name]))
        except BuildError as error:
            errors = [line for line in str(error).splitlines() if "error:" in line] or str(error).splitlines()
            found = f"does not compile: {errors[0]}"
        if found:
            case.problems.append(f"{name}: {found}")


def check(options: argparse.Namespace, flags: list[str], folder: Path) -> int:
    checker = Checker(options, flags, folder)
    cases, failed = [], 0
    for n, source in enumerate(options.sources):
        try:
            if case := checker.load(n, source):
                cases.append((source, case))
            else:
                print(f"{source}: skipped, no main")
        except (CheckError, OSError) as error:
            print(error)
            failed += 1
    checker.toolchain.prepare(parse_flags(flags).standard)
    with ThreadPoolExecutor(options.j) as pool:
        list(pool.map(lambda entry: checker.prepare(entry[1]), cases))
        work = [(case, name) for _, case in cases for name in case.variants]
        list(pool.map(lambda entry: checker.compare(*entry), work))
    for source, case in cases:
        for problem in sorted(case.problems):
            print(f"{source}: {problem}")
        failed += len(case.problems)
        if not case.problems and not case.variants:
            print(f"{source}: no variant")
    count = f"{len(work)} variants of {sum(bool(case.variants) for _, case in cases)} programs"
    print(f"{count}: {failed} problems" if failed else f"{count} agree")
    return 1 if failed or not work else 0


def main() -> int:
    arguments = sys.argv[1:]
    split_at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--cuda-path")
    parser.add_argument("--layouts")
    parser.add_argument("--without", default="")
    parser.add_argument("--arguments", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("-j", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments[:split_at])
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return check(options, arguments[split_at + 1 :], options.keep or Path(scratch))
        except BuildError as error:  # of the emulation itself
            print(f"check.py: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
