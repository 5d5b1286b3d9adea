#!/usr/bin/env python3
"""Shows that arrays come back: programs are rewritten to a layout, and from there to aos.

    check.py --restride=BIN [options] SOURCE... [-- compiler flags]

A SOURCE is a .cu file. It is copied, rewritten with --layout=L -i, then with --layout=aos -i, and must have the tokens
that it had before. A second --layout=L -i must change nothing. One line for each program and layout that fails; exit
status 1 if any does. Exceptions are listed here, with the reason.

  --restride=BIN     the binary to test
  --cuda-path=DIR    the toolkit that restride parses with
  --layouts=A,B      default soa,asta32,grouped,aos-align16
  --per-program=N    only N of the layouts for a program, others for the next one
  --keep=DIR         keep what was written of programs that fail
  -j N               programs at a time, default one per processor
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

EMULATION = Path(__file__).resolve().parents[1] / "emulation"
sys.path.insert(0, str(EMULATION))
from tokens import read  # noqa: E402

sys.path.remove(str(EMULATION))

LAYOUTS = ["soa", "asta32", "grouped", "aos-align16"]

# File name, layout ("" for all) and why it does not come back.
EXCEPTIONS = [
    ("header.cu", "", "several files in one, which lit splits"),
    ("parallel-arrays.cu", "", "folded arrays stay one array of structs"),
    ("struct-of-pointers.cu", "", "folded arrays stay one array of structs"),
    ("struct-beside-others.cu", "", "folded arrays stay one array of structs"),
    ("nested-pointers.cu", "", "folded arrays stay one array of structs"),
    ("device-objects.cu", "aos-align16", "one of its structs is aligned where it is declared"),
    ("references.cu", "", "its notes cannot say which of two like lines took a reference to an element"),
]


# Lines for lit and FileCheck, as %strip of the golden tests.
CHECK_LINE = re.compile(r"^ *// [A-Z][A-Z0-9-]*:.*\n", re.MULTILINE)


@dataclass
class Result:
    name: str
    layout: str
    status: str  # same, tokens, unmoved, aligned in place, or what failed
    detail: str = ""

    @property
    def good(self):
        return self.status in ("same", "tokens", "unmoved", "aligned in place")


def tokens_of(text):
    """All tokens, those of preprocessor lines too."""
    source = read(text)
    macros = [token.text for name, body in source.macros for token in body]
    return [token.text for token in source.code] + macros


def same_tokens(one, other):
    return tokens_of(one) == tokens_of(other)


def compare(original, back):
    if original == back:
        return "same"
    return "tokens" if same_tokens(original, back) else "differs"


def reason_for(name, layout):
    for file, of, reason in EXCEPTIONS:
        if file == name and of in ("", layout):
            return reason
    return None


def choose(layouts, index, count):
    """`count` of the layouts, others for the next program."""
    if not count or count >= len(layouts):
        return layouts
    return [layouts[(index * count + place) % len(layouts)] for place in range(count)]


class Checker:
    def __init__(self, options):
        self.options = options
        self.tool = [options.restride] + ([f"--cuda-path={options.cuda_path}"] if options.cuda_path else [])

    def run(self, file, layout):
        command = [*self.tool, "-i", f"--layout={layout}", str(file), "--", *self.options.flags]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)

    def check(self, source, layout):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / source.name
            file.write_text(CHECK_LINE.sub("", source.read_text(errors="surrogateescape")), errors="surrogateescape")
            result = self.steps(source, file, layout)
            if not result.good and self.options.keep:
                kept = Path(self.options.keep)
                kept.mkdir(parents=True, exist_ok=True)
                for left in Path(folder).iterdir():
                    shutil.copyfile(left, kept / f"{source.stem}.{layout}.{left.name.removeprefix(source.stem).lstrip('.')}")
            return result

    def steps(self, source, file, layout):
        def result(status, detail=""):
            return Result(source.name, layout, status, detail)

        original = file.read_text(errors="surrogateescape")
        run = self.run(file, layout)
        if run.returncode:
            return result("failed", run.stderr.strip())
        moved = file.read_text(errors="surrogateescape")
        if moved == original:
            return result("unmoved")
        shutil.copyfile(file, file.with_suffix(".moved"))
        run = self.run(file, layout)
        if run.returncode or file.read_text(errors="surrogateescape") != moved:
            return result("changed again", run.stderr.strip())
        run = self.run(file, "aos")
        file.with_suffix(".said").write_text(run.stderr)
        if run.returncode:
            return result("failed on the way back", run.stderr.strip())
        back = file.read_text(errors="surrogateescape")
        if back == moved and "// restride: " not in moved:
            return result("aligned in place")
        if back == moved:
            notes = [line for line in run.stderr.splitlines() if "refused:" in line]
            return result("stays", notes[0] if notes else "")
        return result(compare(original, back))


def parse_arguments(arguments):
    flags = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--cuda-path")
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--per-program", type=int, default=0)
    parser.add_argument("--keep")
    parser.add_argument("-j", "--jobs", type=int, default=None)
    options = parser.parse_args(arguments)
    options.layouts, options.flags = options.layouts.split(","), flags
    return options


def main(arguments):
    options = parse_arguments(arguments)
    checker = Checker(options)
    sources = sorted(options.sources)
    tasks = [(s, layout) for i, s in enumerate(sources) for layout in choose(options.layouts, i, options.per_program)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda task: checker.check(*task), tasks))
    counts, failed = {}, False
    for one in results:
        counts[one.status] = counts.get(one.status, 0) + 1
        reason = reason_for(one.name, one.layout)
        if not one.good and not reason:
            failed = True
            print(f"{one.name} {one.layout}: {one.status}" + (f": {one.detail}" if one.detail else ""))
    print(", ".join(f"{counts[status]} {status}" for status in sorted(counts)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
