#!/usr/bin/env python3
"""Random CUDA programs through restride: what they compute must not depend on the layout.

    run.py --restride=BIN --count=N [options]

Each program runs on the CPU (tests/emulation) as it is, then with one array at a time in another layout
(--emit-variants), then with all arrays in one (--layout=L -i). Exits 1 if a variant does not compile or computes something
else, if restride fails, or if it refuses so many arrays that the test proves little. A program that fails is reduced,
shown, and written to the --keep folder.
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from checking import LAYOUTS, Checker, rotate
from compose import program
from generate import features, join
from reduction import reduce


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True, metavar="BIN")
    parser.add_argument("--count", type=int, required=True, metavar="N", help="programs")
    parser.add_argument("--seed", type=int, default=1, help="of the first program (default 1)")
    parser.add_argument("--features", type=int, metavar="COUNT", help="features that a program mixes (default: various)")
    parser.add_argument("--with", dest="wanted", default="", metavar="A,B", help="features that every program has")
    parser.add_argument("--layouts", default=",".join(LAYOUTS), metavar="A,B", help="to choose from (default: all)")
    parser.add_argument("--per-program", type=int, default=2, metavar="N", help="layouts of one program (default 2)")
    parser.add_argument("--floor", type=float, default=0.5, help="least share of arrays that are moved (default 0.5)")
    parser.add_argument("--again", action="store_true", help="also: a second run of -i changes nothing")
    parser.add_argument("--onward", action="store_true", help="also: to the next layout, and back to aos")
    parser.add_argument("--gpu", action="store_true", help="compile with nvcc and run on this machine's GPU instead")
    parser.add_argument("--sanitize", action="store_true", help="run with the sanitizers, to test the generator")
    parser.add_argument("--no-reduce", action="store_true", help="show failing programs as they are")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write failing programs here")
    parser.add_argument("--cuda-path", metavar="DIR")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="programs at a time (default 2)")
    options = parser.parse_args(argv)
    options.layouts, options.wanted = options.layouts.split(","), features(options.wanted)
    return options


class Hunt:
    def __init__(self, options):
        self.options = options
        self.checker = Checker(options.restride, None, options.sanitize, options.cuda_path, options.again, options.gpu, options.onward)
        self.total, self.reasons, self.failed = Counter(), Counter(), []

    def layouts(self, seed):
        chosen = rotate(self.options.layouts, seed, self.options.per_program)
        return chosen, chosen[:1]

    def check(self, seed):
        document = program(seed, self.options.features, self.options.wanted)
        return document, self.checker.check(document.files(), *self.layouts(seed))

    def add(self, outcome):
        self.total.update(programs=1, variants=outcome.variants, moved=outcome.moved, refused=outcome.refused,
                          failed=bool(outcome.failures))
        self.reasons.update(outcome.reasons)

    def share(self):
        """Of arrays that were moved."""
        return self.total["moved"] / max(1, self.total["moved"] + self.total["refused"])

    def run(self):
        first, count = self.options.seed, self.options.count
        with ThreadPoolExecutor(self.options.jobs) as pool:
            waiting = {pool.submit(self.check, seed): seed for seed in range(first, first + count)}
            for done in as_completed(waiting):
                seed = waiting.pop(done)
                document, outcome = done.result()
                self.add(outcome)
                if outcome.failures:
                    self.failed.append((seed, outcome.failures))
                    self.show(seed, document, outcome.failures[0])
                if sys.stderr.isatty():
                    print(f"\r{self.total['programs']} of {count}, {self.total['failed']} failed ", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(file=sys.stderr)

    def show(self, seed, document, failure):
        """The failing program, as small as it gets."""
        print(f"\nseed {seed}: {failure}", flush=True)
        removed = frozenset()
        if failure.kind != "original" and not self.options.no_reduce:
            one = [failure.layout.partition(",")[0]] if failure.layout else self.layouts(seed)[0]
            layouts = ([], one) if failure.candidate == "all" else (one, [])
            removed = reduce(document, lambda files: any(f.same(failure) for f in self.checker.check(files, *layouts).failures))
        text = "".join(document.files(removed).values()) if len(document.files(removed)) == 1 else join(document.files(removed))
        print(text, flush=True)
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            (self.options.keep / f"{seed}.cu").write_text(f"// {failure}\n{text}")

    def table(self):
        total, arrays = self.total, self.total["moved"] + self.total["refused"]
        lines = [f"programs  {total['programs']:6}", f"variants  {total['variants']:6}", f"arrays    {arrays:6}",
                 f"moved     {total['moved']:6}  {100 * self.share():.0f} %", f"refused   {total['refused']:6}",
                 f"failed    {total['failed']:6}  {', '.join(str(seed) for seed, _ in sorted(self.failed))}"]
        if self.reasons:
            lines.append("\nrefusals of whole arrays")
            lines += [f"{count:6}  {reason}" for reason, count in self.reasons.most_common()]
        return "\n".join(lines)


def main(argv=None):
    hunt = Hunt(parse_arguments(argv))
    hunt.run()
    print(hunt.table())
    if hunt.share() < hunt.options.floor:
        print(f"only {100 * hunt.share():.0f} % of the arrays were moved; {100 * hunt.options.floor:.0f} % are expected", file=sys.stderr)
        return 1
    return int(bool(hunt.failed))


if __name__ == "__main__":
    sys.exit(main())
