#!/usr/bin/env python3
"""Runs the samples and all their variants on a GPU, compares and times them.

Exits 1 when a variant does not compile, fails, or computes something else than
the original. README.md beside this file has command lines.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import measure
import summary
import variants


def parse_arguments(argv):
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=Path, default=root / "samples", help="folder of programs")
    parser.add_argument("--variants", type=Path, help="folder of emitted variants; read, or written with --restride")
    parser.add_argument("--restride", help="emit the variants with this restride first")
    parser.add_argument("--emit-only", action="store_true", help="stop after emitting")
    parser.add_argument("--originals-only", action="store_true", help="build and run the programs as they are")
    parser.add_argument("--only", action="append", default=[], metavar="PROGRAM", help="repeatable")
    parser.add_argument("--layout", action="append", default=[], help="measure these layouts and the original only; repeatable")
    parser.add_argument("--args", action="append", default=[], metavar="PROGRAM=ARGS",
                        help="arguments of a program, as in --args='lbm=256 128'; repeatable")
    parser.add_argument("--runs", type=int, default=3, help="runs of each binary; the median time counts")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="for one run")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90", help="nvcc's -arch, or native")
    parser.add_argument("--build", type=Path, help="folder for binaries, kept and reused (default: a temporary one)")
    parser.add_argument("--csv", type=Path, help="write the results here")
    parser.add_argument("-j", "--jobs", type=int, default=0, help="compilers at a time (default: one per core)")
    options = parser.parse_args(argv)
    if not options.originals_only and not options.variants:
        parser.error("give --variants=DIR, or --originals-only")
    if options.emit_only and not options.restride:
        parser.error("--emit-only needs --restride")
    if options.runs < 1:
        parser.error("--runs is at least 1")
    options.program_args = {}
    for entry in options.args:
        program, equals, arguments = entry.partition("=")
        if not equals:
            parser.error(f"--args={entry} lacks an equals sign")
        options.program_args[program] = arguments.split()
    return options


def build_and_run(options, originals, folder):
    """Builds everything, then yields the rows and picks of one program at a time."""
    programs = {original: [original] for original in originals}
    if not options.originals_only:
        for original, group in programs.items():
            group += [variant for variant in variants.find_variants(options.variants, original)
                      if not options.layout or variant.layout in options.layout]
    everything = [variant for group in programs.values() for variant in group]
    flags = ("-O3", "-std=c++17", f"-arch={options.arch}")
    builds = measure.compile_all(everything, options.nvcc, flags, folder, options.jobs)

    for original, group in programs.items():
        arguments = options.program_args.get(original.program, [])
        results = measure.run_all({v: builds[v] for v in group}, arguments, options.runs, options.timeout)
        report = None if options.originals_only else variants.read_report(options.variants, original.program)
        rows = summary.make_rows(original, results, report)
        yield rows, summary.make_picks(rows, report)


def emit(options, originals):
    """Whether restride managed to emit all variants."""
    failures = variants.emit(options.restride, originals, options.variants, ["-std=c++17"], options.jobs)
    for program, message in failures:
        print(f"{program}: {message}", file=sys.stderr)
    return not failures


def main(argv=None):
    options = parse_arguments(argv)
    originals = variants.find_originals(options.samples, options.only)
    missing = set(options.only) - {original.program for original in originals}
    if missing or not originals:
        print(f"no such program in {options.samples}: {', '.join(sorted(missing)) or 'any'}", file=sys.stderr)
        return 2
    good = emit(options, originals) if options.restride else True
    if options.emit_only:
        return int(not good)

    all_rows, all_picks = [], []
    with tempfile.TemporaryDirectory() as scratch:
        # Shown as they come: whoever stops the run keeps what was measured.
        for rows, picks in build_and_run(options, originals, options.build or scratch):
            all_rows += rows
            all_picks += picks
            print(summary.format_rows(rows) + "\n", flush=True)
            for row in rows:
                if row.status != summary.OK:
                    good = False
                    print(f"{row.program} {row.candidate} {row.layout}: {row.error}", file=sys.stderr, flush=True)
            if options.csv:
                with options.csv.open("w") as stream:
                    summary.write_csv(stream, all_rows)
    if all_picks:
        print(summary.format_picks(all_picks))
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
