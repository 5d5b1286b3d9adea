#!/usr/bin/env python3
"""Prints a random CUDA program.

    generate.py --seed N [--features COUNT] [--with FEATURE,…] [--output DIR]

The same seed gives the same program. The program is free of races and of undefined behaviour, and prints every
value that it computes. A program of several files is printed with a line `//--- NAME` before each.
"""

import argparse
import sys
from pathlib import Path

from compose import program
from context import FEATURES


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--features", type=int, metavar="COUNT", help="how many features to mix (default: up to the seed)")
    parser.add_argument("--with", dest="wanted", default="", metavar="A,B", help="features that it has in any case")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write the files here")
    options = parser.parse_args(argv)
    files = program(options.seed, options.features, features(options.wanted)).files()
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (options.output / name).write_text(text)
    elif len(files) == 1:
        print(*files.values(), end="")
    else:
        print(join(files), end="")
    return 0


def features(text):
    """Those of a list on the command line."""
    chosen = {name for name in text.split(",") if name}
    if chosen - FEATURES.keys():
        sys.exit(f"no such feature: {', '.join(sorted(chosen - FEATURES.keys()))}")
    return chosen


def join(files):
    """Several files as one text, as split-file takes apart."""
    return "".join(f"//--- {name}\n{text}" for name, text in files.items())


if __name__ == "__main__":
    sys.exit(main())
