#!/usr/bin/env python3
"""Runs restride over every .cu file of a folder of programs, and over broken
files made from them. Whatever it is given, it must answer in time and exit
with 0 (understood) or 2 (an error, reported); this exits 1 if it does not.
"""

import argparse
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MEMORY_BYTES = 8 << 30
STRAY = (b"(", b")", b"{", b"}", b"<", b">>>", b"*", b"&", b";", b"[", b"#", b'"', b"template", b"struct ", b"\\\n")
INTERESTING = re.compile(rb"(struct|class)[^;]*\{.*__global__", re.DOTALL)
TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Job:
    name: str
    file: Path
    folder: Path  # the working folder: where the Makefile is
    flags: tuple


@dataclass
class Answer:
    job: Job
    kind: str  # one of KINDS
    tail: str = ""  # of what it printed, where the kind is bad
    reasons: tuple = ()  # the sentences of its refusals, without names


KINDS = ("can be laid out anew", "refused", "no arrays", "does not parse", "does not compile when rewritten", "crash", "hang")
BAD = KINDS[4:]


def makefile_flags(text):
    """The flags of a Makefile that matter for parsing; what depends on variables is left out."""
    flags = []
    for line in text.replace("\\\n", " ").splitlines():
        if re.match(r"\s*\w*FLAGS\s*[:+?]?=", line):
            words = line.partition("=")[2].partition("#")[0].split()
            if "-g" in words:  # a debug build's
                continue
            flags += [w for w in words if re.match(r"-(I|D|std=)", w) and "$" not in w]
    if not any(flag.startswith("-std=") for flag in flags):
        flags.append("-std=c++17")
    return tuple(dict.fromkeys(flags))


def find_jobs(root, pattern):
    """A job for each .cu file, with the flags of the nearest Makefile above it."""
    jobs = []
    for file in sorted(root.glob(pattern)):
        folder = file.parent
        while folder != root and not (folder / "Makefile").exists():
            folder = folder.parent
        makefile = folder / "Makefile"
        flags = makefile_flags(makefile.read_text(errors="replace")) if makefile.exists() else ("-std=c++17",)
        jobs.append(Job(str(file.relative_to(root)), file, folder if makefile.exists() else file.parent, flags))
    return jobs


def classify(status, output):
    """The kind of an answer, from the exit status and everything that was printed."""
    if status not in (0, 2) or "PLEASE submit a bug report" in output:
        return "crash"
    if status == 2:
        return "does not parse"
    if "rewritten program does not compile" in output:
        return "does not compile when rewritten"
    if "can be laid out anew" in output or re.search(r"\bbecomes? .* as asked", output):
        return "can be laid out anew"
    return "refused" if "is left alone" in output else "no arrays"


def sentences(output):
    """The reasons of the refusals in what restride printed, each once, without names and numbers."""
    found = re.findall(r"note: (?:\S+ )?refused: (.*)", output)
    return tuple(dict.fromkeys(re.sub(r"\b\d+\b", "N", re.sub(r"'[^']*'", "'…'", sentence)) for sentence in found))


def limits(cpu_s):
    """Processor time and not time of day: a busy machine is not a hang."""
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def command(restride, layout, job):
    return [restride, "-j1", f"--layout={layout}" if layout else "--list", str(job.file), "--", *job.flags]


def ask(restride, layout, timeout_s, job):
    try:
        done = subprocess.run(command(restride, layout, job), cwd=job.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=100 * timeout_s, preexec_fn=limits(timeout_s))
    except subprocess.TimeoutExpired:
        return Answer(job, "hang")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Answer(job, "hang")
    output = (done.stdout + done.stderr).decode(errors="replace")
    kind = classify(done.returncode, output)
    start = max(output.find("Stack dump:"), output.find("rewritten program does not compile"), 0)
    return Answer(job, kind, f"exit {done.returncode}\n{output[start : start + 3000]}" if kind in BAD else "", sentences(output))


def break_text(text, chance):
    """A file as somebody might send it by accident: cut off, with tokens lost, moved or doubled, or bytes flipped."""
    how = chance.choice(("cut", "bytes", "lose", "double", "swap", "insert"))
    if how == "cut":
        return text[: chance.randrange(len(text))]
    if how == "bytes":
        data = bytearray(text)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)
    tokens = TOKEN.findall(text)
    for _ in range(chance.randint(1, 3)):
        i, j = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        if how == "lose":
            tokens[i] = b""
        elif how == "double":
            tokens[i] *= chance.randint(2, 5)
        elif how == "swap":
            tokens[i], tokens[j] = tokens[j], tokens[i]
        else:
            tokens[i] += chance.choice(STRAY)
    return b"".join(tokens)


def broken_jobs(jobs, count, seed, folder):
    """Broken files of a random choice of those jobs that have records and kernels. The same seed gives the same files."""
    broken = []
    jobs = [job for job in jobs if INTERESTING.search(job.file.read_bytes())] or jobs
    for number in range(count if jobs else 0):
        chance = random.Random(f"{seed}:{number}")
        job = chance.choice(jobs)
        text = break_text(job.file.read_bytes() or b" ", chance)
        file = folder / f"{number}-{job.file.name}"
        file.write_bytes(text)
        # Its own includes are found as before.
        broken.append(Job(f"broken {number} of {job.name}", file.resolve(), job.folder, (*job.flags, f"-I{job.file.parent.resolve()}")))
    return broken


def report(title, answers, restride, layout, keep, show):
    counts = Counter(answer.kind for answer in answers)
    print(f"{title}: {len(answers)} files; " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]), flush=True)
    reasons = Counter(reason for answer in answers for reason in answer.reasons)
    for reason, files in reasons.most_common(show):
        print(f"{files:6} files: {reason}")
    bad = [answer for answer in answers if answer.kind in BAD]
    for answer in bad:
        job = answer.job
        if keep and job.name.startswith("broken"):
            keep.mkdir(parents=True, exist_ok=True)
            kept = keep / job.file.name
            kept.write_bytes(job.file.read_bytes())
            job = Job(job.name, kept.resolve(), job.folder, job.flags)
        print(f"\n{answer.kind}: {job.name}\n  (cd {shlex.quote(str(job.folder))} && {shlex.join(command(restride, layout, job))})")
        print("\n".join("  " + line for line in answer.tail.splitlines()[:14]), flush=True)
    return not bad


def executable(name):
    """Programs are run in other folders; a name without a folder is looked for on PATH."""
    return str(Path(name).resolve()) if "/" in name else name


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restride", required=True)
    parser.add_argument("--programs", type=Path, required=True, metavar="DIR", help="as HeCBench/src")
    parser.add_argument("--glob", default="*-cuda/**/*.cu", help="files below it (default: %(default)s)")
    parser.add_argument("--layout", help="rewrite to this layout, in memory, instead of --list")
    parser.add_argument("--broken", type=int, default=0, metavar="N", help="also N broken files")
    parser.add_argument("--only-broken", action="store_true")
    parser.add_argument("--reasons", type=int, default=0, metavar="N", help="print the N most frequent reasons of refusals")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep broken files that were not answered well")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="processor time for one file")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    options.restride = executable(options.restride)
    return options


def main(argv=None):
    options = parse_arguments(argv)
    jobs = find_jobs(options.programs.resolve(), options.glob)
    if not jobs:
        print(f"no files {options.glob} in {options.programs}", file=sys.stderr)
        return 2
    good = True
    with ThreadPoolExecutor(options.jobs) as pool, tempfile.TemporaryDirectory() as scratch:
        def sweep(title, batch):
            answers = list(pool.map(lambda job: ask(options.restride, options.layout, options.timeout, job), batch))
            return report(title, answers, options.restride, options.layout, options.keep, options.reasons)
        if not options.only_broken:
            good = sweep("as they are", jobs)
        if options.broken:
            good = sweep("broken", broken_jobs(jobs, options.broken, options.seed, Path(scratch))) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
