#!/usr/bin/env python3
"""Rewrites public CUDA programs to each layout, compiles and runs them, and
compares what they compute with what the originals do. README.md beside this
file has command lines. Exits 1 when anything is not as programs.py expects.
"""

import argparse
import datetime
import functools
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import build
import emulate
import execute
import fetch
import table
from build import ORIGINAL
from programs import FASTEST, LAYOUTS, PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "build-corpus", help="folder for sources and binaries")
    parser.add_argument("--restride", help="rewrite and compile with this restride")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=DIR",
                        help="a local checkout (hecbench, rsbench, procuda) instead of fetching; repeatable")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/restride-corpus", help="where fetched repositories stay")
    parser.add_argument("--only", action="append", default=[], metavar="PROGRAM", help="repeatable")
    parser.add_argument("--layout", action="append", default=[], choices=(*LAYOUTS, FASTEST), help="repeatable; default: all")
    parser.add_argument("--no-compile", action="store_true", help="stop after rewriting")
    parser.add_argument("--compile-only", action="store_true", help="rewrite nothing: compile what another machine rewrote into --work")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="compilers at a time")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one call of restride")
    parser.add_argument("--emulate", action="store_true", help="then run on the CPU what was rewritten, with small sizes")
    parser.add_argument("--sanitize", action="store_true", help="emulate with the address and undefined-behaviour sanitizers")
    parser.add_argument("--run", action="store_true", help="then run everything on this machine's GPU")
    parser.add_argument("--run-only", type=Path, metavar="FOLDER", help="only run FOLDER, another machine's build-corpus/binaries")
    parser.add_argument("--csv", type=Path, help="results of running: written, or read with --table")
    parser.add_argument("--table", type=Path, metavar="FILE.md", help="write the table from --work and --csv")
    options = parser.parse_args(argv)
    options.sources = {}
    for entry in options.source:
        name, equals, folder = entry.partition("=")
        if not equals:
            parser.error(f"--source={entry} lacks an equals sign")
        options.sources[name] = Path(folder)
    unknown = set(options.only) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    if options.compile_only and (options.restride or options.no_compile):
        parser.error("--compile-only takes neither --restride nor --no-compile")
    if not (options.restride or options.compile_only or options.emulate or options.run or options.run_only or options.table):
        parser.error("give --restride=BINARY, --compile-only, --emulate, --run, --run-only=FOLDER or --table=FILE.md")
    options.programs = [program for program in PROGRAMS if not options.only or program.name in options.only]
    return options


def prepare(options):
    """Fetches, rewrites and compiles into options.work. Returns the variants."""
    sources, binaries = options.work / "sources", options.work / "binaries"
    shutil.rmtree(binaries, ignore_errors=True)
    binaries.mkdir(parents=True)
    variants = []
    for program in options.programs:
        folder = sources / program.name
        fetch.fetch(program, PROGRAMS, folder / ORIGINAL, options.cache, options.sources)
        for name in program.inputs:
            target = binaries / "inputs" / program.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / ORIGINAL / name, target)
        variants.append(build.Variant(program.name, ORIGINAL))
        for layout in options.layout or (*LAYOUTS, FASTEST):
            variants.append(build.rewrite(program, layout, folder / ORIGINAL, folder / layout, options.restride, options.timeout))
            print(f"{program.name} {layout}: {table.outcome(program, variants[-1])}", flush=True)
    if not options.no_compile:
        compile_variants(options, variants)
    today = datetime.date.today().strftime("%d %B %Y").lstrip("0")
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    build.write_manifest(binaries / "manifest.json", variants, {"date": today, "commit": commit})
    return variants


def compile_variants(options, variants):
    """With nvcc, from options.work/sources into options.work/binaries."""
    sources = options.work / "sources"
    hook = build.compile_hook(options.nvcc, sources)
    compile_one = functools.partial(build.compile_program, nvcc=options.nvcc, hook=hook)
    build.compile_all(options.programs, variants, sources, options.work / "binaries", compile_one, options.jobs)


def compile_rewritten(options):
    """Compiles what a run with --no-compile left, on another machine maybe. Returns the variants."""
    manifest = options.work / "binaries/manifest.json"
    variants, about = build.read_manifest(manifest)
    names = {program.name for program in options.programs}
    wanted = [variant for variant in variants if variant.program in names]
    compile_variants(options, wanted)
    build.write_manifest(manifest, variants, about)
    return wanted


def prepare_emulation(options):
    """Compiles what was rewritten for the CPU, with smaller sizes. Returns the programs it can run."""
    variants, about = build.read_manifest(options.work / "binaries/manifest.json")
    emulated = options.work / "emulated"
    shutil.rmtree(emulated, ignore_errors=True)
    if (options.work / "binaries/inputs").exists():
        shutil.copytree(options.work / "binaries/inputs", emulated / "inputs")
    emulated.mkdir(exist_ok=True)
    programs = [replace(program, arguments=program.small, verdict=program.verdict if program.small_verdict else "")
                for program in options.programs if program.small is not None]
    names = {program.name for program in programs}
    variants = [variant for variant in variants if variant.program in names]
    build.compile_all(programs, variants, options.work / "sources", emulated, emulate.compiler(options.sanitize), options.jobs)
    build.write_manifest(emulated / "manifest.json", variants, about)
    return programs


def execute_all(options, programs, folder):
    variants, _ = build.read_manifest(folder / "manifest.json")
    rows = []
    for row in execute.run_all(programs, variants, folder):
        rows.append(row)
        print(f"{row.program} {row.layout}: {row.same} {row.seconds:.1f} s {row.note}", flush=True)
        if options.csv:  # whoever stops the run keeps what was done
            execute.write_csv(options.csv, rows)
    return rows


def write_table(options, rows):
    variants, about = build.read_manifest(options.work / "binaries/manifest.json")
    template = Path(__file__).with_name("page.md").read_text()
    gpu = next((row.gpu for row in rows if row.gpu), "no GPU yet")
    for word, value in ("DATE", about["date"]), ("COMMIT", about["commit"]), ("GPU", gpu):
        template = template.replace(f"${word}", value)
    text = template.rstrip("\n")
    options.table.write_text(table.markdown(options.programs, variants, rows, text))


def main(argv=None):
    options = parse_arguments(argv)
    good, rows = True, []
    if options.restride or options.compile_only:
        # A path may be relative to here; a bare name is looked up on PATH.
        if options.restride and "/" in options.restride:
            options.restride = str(Path(options.restride).resolve())
        by_name = {program.name: program for program in PROGRAMS}
        lines = {}
        for variant in compile_rewritten(options) if options.compile_only else prepare(options):
            for line in table.unexpected(by_name[variant.program], variant):
                lines.setdefault((variant.program, line), []).append(variant.layout)
        for (program, line), layouts in lines.items():
            print(f"unexpected: {program} ({', '.join(layouts)}): {line}", file=sys.stderr)
        good = not lines
    if options.emulate:
        rows = execute_all(options, prepare_emulation(options), options.work / "emulated")
        good = good and all(row.same != "NO" for row in rows)
    elif options.run or options.run_only:
        rows = execute_all(options, options.programs, options.run_only or options.work / "binaries")
        good = good and all(row.same != "NO" for row in rows)
    elif options.table and options.csv:
        rows = execute.read_csv(options.csv)
    if options.table:
        write_table(options, rows)
    manifest = options.run_only or options.work / "binaries"
    print(table.summary(options.programs, build.read_manifest(manifest / "manifest.json")[0], rows))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
