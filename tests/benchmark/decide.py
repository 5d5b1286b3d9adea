#!/usr/bin/env python3
"""How long restride takes to decide all layouts of a file, against one
`nvcc -ptx` of it: wall time and peak memory of the whole process, taken in
turns so that both meet the same load on the machine."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass
class Sample:
    wall_s: float
    peak_mib: float  # of the largest process, children included


def measure(command, log):
    """Runs a command once; what it prints goes to the open file `log`."""
    log.seek(0)
    log.truncate()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        log.seek(0)
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}\n{log.read()[-2000:]}")
    return Sample(wall_s, usage.ru_maxrss / 1024)


def alternate(commands, runs):
    """{name: samples}, after one unmeasured run of each to warm the file cache."""
    with tempfile.TemporaryFile("w+") as log:
        for command in commands.values():
            measure(command, log)
        samples = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                samples[name].append(measure(command, log))
    return samples


def ratio_of_medians(samples):
    return median(s.wall_s for s in samples["restride"]) / median(s.wall_s for s in samples["nvcc"])


def report(samples):
    lines = [f"{'':10}{'min s':>9}{'median s':>10}{'max s':>9}{'peak MiB':>10}"]
    for name, of_one in samples.items():
        walls = [s.wall_s for s in of_one]
        peak = max(s.peak_mib for s in of_one)
        lines.append(f"{name:10}{min(walls):9.3f}{median(walls):10.3f}{max(walls):9.3f}{peak:10.0f}")
    lines.append(f"ratio of medians {ratio_of_medians(samples):.3f}")
    return "\n".join(lines)


def main(argv=None):
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--file", type=Path, default=root / "samples" / "particles.cu")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--option", action="append", default=[], help="an option for restride; repeatable")
    parser.add_argument("--limit", type=float, help="exit 1 when the ratio of medians is above this")
    options = parser.parse_args(argv)
    if options.runs < 1:
        parser.error("--runs is at least 1")

    with tempfile.TemporaryDirectory() as scratch:
        commands = {
            "restride": [options.restride, "--no-cache", *options.option, str(options.file), "--", "-std=c++17"],
            "nvcc": [options.nvcc, "-ptx", "-O3", "-std=c++17", f"-arch={options.arch}", "-o",
                     str(Path(scratch, "out.ptx")), str(options.file)],
        }
        try:
            samples = alternate(commands, options.runs)
        except (OSError, RuntimeError) as error:
            print(error, file=sys.stderr)
            return 2
    print(f"{options.file}, {options.runs} runs of each")
    print(report(samples))
    return int(options.limit is not None and ratio_of_medians(samples) > options.limit)


if __name__ == "__main__":
    sys.exit(main())
