#!/usr/bin/env python3
"""How much of what nvcc compiles restride can read: every .cu file of a folder of programs, with the flags of its
Makefile as `make -n` prints them. nvcc is slow, so it is asked only about files that restride does not parse.
Exits 1 if less than --least percent of what nvcc accepts is read.
"""

import argparse
import csv
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SOURCES = (".cu", ".cpp", ".cc", ".c", ".cxx")
COMPILERS = ("nvcc", "nvc++", "g++", "gcc", "c++", "cc", "mpicxx", "mpic++")
ENTERS = re.compile(r"make(?:\[\d+\])?: Entering directory '(.*)'")
LEAVES = re.compile(r"make(?:\[\d+\])?: Leaving directory")
# What takes its value as an argument of its own and is no flag of the language.
OUTPUTS = ("-o", "-MF", "-MT", "-MQ")


@dataclass(frozen=True)
class Command:
    folder: Path
    flags: tuple
    sources: tuple  # absolute


@dataclass
class Result:
    file: Path
    parses: bool
    nvcc: str  # "accepts", "rejects", or "" where it was not asked
    error: str  # restride's first


def split_command(line):
    try:
        return shlex.split(line)
    except ValueError:
        return []


def commands_of(text, folder):
    """The compiler's command lines in what `make -n` printed in `folder`."""
    folders, found = [folder], []
    for line in text.replace("\\\n", " ").splitlines():
        if enters := ENTERS.match(line):
            folders.append(Path(enters[1]))
        elif LEAVES.match(line):
            folders.pop()
        for part in re.split(r"&&|;", line):
            words = split_command(part)
            if not words or Path(words[0]).name not in COMPILERS:
                continue
            flags, sources, skip = [], [], False
            for word in words[1:]:
                if skip or word in OUTPUTS:
                    skip = not skip
                elif word.endswith(SOURCES) and not word.startswith("-"):
                    sources.append((folders[-1] / word).resolve())
                elif not word.endswith((".o", ".a", ".so")):
                    flags.append(word)
            if sources:
                found.append(Command(folders[-1], tuple(flags), tuple(sources)))
    return found


def makefile_commands(folder, arch):
    """The commands of the Makefile in `folder`, with an architecture that the toolkit knows."""
    make = ["make", "-n", "-k", "-B", "-w", "CC=nvcc", f"ARCH={arch}", f"CUDA_ARCH={arch}", f"SM={arch.removeprefix('sm_')}"]
    done = subprocess.run(make, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=60, env={**os.environ, "LC_ALL": "C"})
    # Some write the number alone into ARCH.
    return commands_of(re.sub(r"\b(sm|compute)_sm_", r"\1_", done.stdout), folder.resolve())


def plan(root, pattern, arch):
    """A command for each file. One that no Makefile names (it is included, or unused) has the flags of its neighbours."""
    known, commands = {}, []
    for file in sorted(root.glob(pattern)):
        folder = file.parent
        while folder != root and not any((folder / name).exists() for name in ("Makefile", "makefile", "GNUmakefile")):
            folder = folder.parent
        if folder not in known:
            known[folder] = makefile_commands(folder, arch) if folder != root else []
        own = [c for c in known[folder] if file.resolve() in c.sources]
        nearest = own or [c for c in known[folder] if any(s.suffix == ".cu" for s in c.sources)] or known[folder]
        flags, where = (nearest[0].flags, nearest[0].folder) if nearest else (("-std=c++17",), file.parent)
        commands.append(Command(where, flags, (file.resolve(),)))
    return commands


def first_error(text):
    for line in text.splitlines():
        if "error:" in line or "error " in line:
            return line.strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def restride_parses(options, command):
    line = [options.restride, "--list", "-j1", *options.extra, str(command.sources[0]), "--", *command.flags]
    done = subprocess.run(line, cwd=command.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return done.returncode == 0, first_error(done.stderr)


def nvcc_accepts(options, command):
    """Both sides, as fast as nvcc can: nothing is optimised or assembled for more than one GPU."""
    flags = [f for f in command.flags if not re.match(r"-(O\d?|arch|-?gencode|code|dlto|G|lineinfo|c|dc|rdc)\b", f)]
    line = [options.nvcc, "-w", "-x", "cu", f"-arch={options.arch}", "-O0", "-Xcicc", "-O0", "-Xptxas", "-O0", *flags, "-dc",
            str(command.sources[0]), "-o", "/dev/null"]
    done = subprocess.run(line, cwd=command.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    return done.returncode == 0


def examine(options, command):
    parses, error = restride_parses(options, command)
    nvcc = ""
    if not parses:
        nvcc = options.verdicts.get(command.sources[0], "")
        if not nvcc and options.nvcc:
            nvcc = "accepts" if nvcc_accepts(options, command) else "rejects"
    return Result(command.sources[0], parses, nvcc, error)


def causes(results):
    """The first errors, without places and names, and how many files each stops."""
    def general(error):
        message = re.sub(r"^.*?(fatal error|error): ", "", error)
        return re.sub(r"'[^']*/([^'/]*)'", r"'\1'", message)
    return Counter(general(r.error) for r in results)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--programs", type=Path, required=True, metavar="DIR", help="as HeCBench/src")
    parser.add_argument("--glob", default="*-cuda/**/*.cu", help="files below it (default: %(default)s)")
    parser.add_argument("--verdicts", dest="verdicts_file", metavar="CSV", help="what nvcc said in an earlier run; it is not asked again")
    parser.add_argument("--only-failed", action="store_true", help="only files that did not parse in that run, and nvcc did not reject")
    parser.add_argument("--nvcc", default="", metavar="FILE", help="ask it about files that do not parse")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--extra", action="append", default=[], metavar="OPTION", help="one more option for restride")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    options.restride = str(Path(options.restride).resolve())
    return options


def main(argv=None):
    options = parse_arguments(argv)
    commands = plan(options.programs.resolve(), options.glob, options.arch)
    options.verdicts, failed = {}, set()
    if options.verdicts_file:
        with open(options.verdicts_file, newline="") as file:
            for row in csv.DictReader(file):
                path = (options.programs / row["file"]).resolve()
                options.verdicts[path] = row["nvcc"]
                if row["parses"] == "0" and row["nvcc"] != "rejects":
                    failed.add(path)
    if options.only_failed:
        commands = [c for c in commands if c.sources[0] in failed]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda c: examine(options, c), commands))
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(("file", "parses", "nvcc", "error"))
            for r in results:
                out.writerow((r.file.relative_to(options.programs.resolve()), int(r.parses), r.nvcc, r.error))
    read = [r for r in results if r.parses]
    failed = [r for r in results if not r.parses and r.nvcc != "rejects"]
    share = 100 * len(read) / max(1, len(read) + len(failed))
    print(f"{len(results)} files: {len(read)} parse, {len(failed)} do not, {len(results) - len(read) - len(failed)} nvcc rejects too; "
          f"{share:.1f} % of what nvcc accepts")
    for cause, files in causes(failed).most_common():
        print(f"{files:5} files: {cause}")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
