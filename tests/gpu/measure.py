"""Compiling variants, side by side, and running them, one at a time."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median


@dataclass
class Build:
    binary: Path
    error: str = ""  # the compiler's output when it failed


@dataclass
class Result:
    """What the runs of one variant printed."""

    error: str = ""  # why there is no result, else empty
    checks: list = field(default_factory=list)
    times_ms: list = field(default_factory=list)

    def check(self):
        """The value all runs agree on, or None."""
        return self.checks[0] if self.checks and len(set(self.checks)) == 1 and not self.error else None

    def time_ms(self):
        return median(self.times_ms) if self.times_ms and not self.error else None


def parse_output(text):
    """The checks, joined, and time_ms that a sample prints; None for what is absent."""
    check = ", ".join(re.findall(r"^check (.+)$", text, re.M)) or None
    time = re.search(r"^time_ms (\S+)$", text, re.M)
    try:
        return check, float(time[1]) if time else None
    except ValueError:
        return check, None


def compile_all(variants, nvcc, flags, folder, jobs):
    """Builds each distinct variant once. Returns {variant: Build}."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def one(item):
        key, variant = item
        binary = folder / key
        if binary.exists():  # from an earlier run, with the same sources and flags
            return key, Build(binary)
        source, scratch = folder / f"{key}.source", folder / f"{key}.part"
        for name, path in variant.files:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(path.read_bytes())
        sources = [str(source / name) for name, _ in variant.files if name.endswith(".cu")]
        command = [nvcc, *flags, f"-I{source}", "-o", str(scratch), *sources]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return key, Build(binary, (done.stderr + done.stdout).strip() or f"exit {done.returncode}")
        scratch.rename(binary)
        return key, Build(binary)

    keys = {variant: variant.key(flags) for variant in variants}
    distinct = {key: variant for variant, key in keys.items()}
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        builds = dict(pool.map(one, distinct.items()))
    return {variant: builds[key] for variant, key in keys.items()}


def run_once(binary, arguments, timeout_s, result):
    """Runs a binary and adds what it printed to the result."""
    try:
        done = subprocess.run([str(binary), *arguments], capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        result.error = f"no answer in {timeout_s} s"
        return
    if done.returncode != 0:
        result.error = f"exit {done.returncode}: {done.stderr.strip()[-500:]}"
        return
    check, time_ms = parse_output(done.stdout)
    if check is None or time_ms is None:
        result.error = "printed no check or no time_ms"
        return
    result.checks.append(check)
    result.times_ms.append(time_ms)


def run_all(builds, arguments, runs, timeout_s):
    """Runs the builds of one program in turns, so that drift of the GPU's clock
    meets all of them alike. Returns {variant: Result}; equal binaries share one."""
    results = {}
    for build in builds.values():
        if build.binary not in results:
            error = "does not compile: " + build.error[-2000:] if build.error else ""
            results[build.binary] = Result(error)
    for _ in range(runs):
        for binary, result in results.items():
            if not result.error:
                run_once(binary, arguments, timeout_s, result)
    return {variant: results[build.binary] for variant, build in builds.items()}
