"""Rewriting each program to each layout, and compiling what came out. Needs no GPU."""

import hashlib
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from programs import FASTEST

ORIGINAL = "original"
HOOKS = ("-Xlinker", "--wrap=cudaMemcpy", "-Xlinker", "--wrap=cudaMemcpyAsync", "-Xlinker", "-s")


@dataclass
class Array:
    """What became of one array of records."""

    name: str
    moved_to: str = ""  # the layout it got; empty when left as it is
    reasons: list = field(default_factory=list)  # file:line: sentence, why it was refused

    def record(self):
        return self.name.partition(".")[0]


@dataclass
class Variant:
    program: str
    layout: str
    arrays: list = field(default_factory=list)
    error: str = ""  # restride failed
    compile_error: str = ""
    binary: str = ""  # relative to the folder of binaries; empty when the text is the original's

    def moved(self):
        return [array for array in self.arrays if array.moved_to]


def arrays_of(report, layout):
    """The arrays of a report of restride's, for a run with that layout forced."""
    arrays = []
    for candidate in report["candidates"]:
        array = Array(candidate["name"])
        if candidate["status"] in ("forced", "rewritten") and candidate.get("winner") != candidate["source_layout"]:
            array.moved_to = candidate["winner"]
        else:
            array.reasons = [f"{refusal['file'].removeprefix('./')}:{refusal['line']}: {refusal['reason']}"
                             for refusal in candidate["refusals"] if refusal.get("layout", layout) == layout]
        arrays.append(array)
    return arrays


def rewrite(program, layout, original, folder, restride, timeout_s):
    """A copy of the program in `folder`, rewritten there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    report = folder.parent / f"{layout}.json"
    report.unlink(missing_ok=True)
    options = [] if layout == FASTEST else [f"--layout={layout}"]
    command = [restride, "--in-place", "-j2", *options, f"--report={report.resolve()}", *program.sources, "--", *program.flags]
    variant = Variant(program.name, layout)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired:
        variant.error = f"no answer in {timeout_s} s"
        return variant
    (folder.parent / f"{layout}.log").write_text(done.stderr)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines()[-1:]
        variant.error = f"exit {done.returncode}: {lines[0] if lines else ''}"
    else:
        variant.arrays = arrays_of(json.loads(report.read_text()), layout)
    return variant


def text_of(folder):
    """A hash of all files of a program."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def first_errors(output):
    return "; ".join([line for line in output.splitlines() if "error" in line][:3])


def compile_hook(nvcc, scratch):
    """The object file of transfers.cu."""
    hook = (scratch / "transfers.o").resolve()
    subprocess.run([nvcc, "-O3", "-arch=sm_90", "-c", str(Path(__file__).with_name("transfers.cu")), "-o", str(hook)], check=True)
    return hook


def compile_program(program, folder, binary, nvcc, hook):
    """Compiles with nvcc. Empty, or why it does not compile."""
    command = [nvcc, "-O3", "-arch=sm_90", *program.flags, *program.sources, str(hook), *HOOKS, "-o", str(binary.resolve())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return ""
    return first_errors(done.stderr + done.stdout) or f"exit {done.returncode}"


def compile_all(programs, variants, sources, binaries, compile_one, jobs):
    """Compiles each distinct text once, into `binaries`; fills in each variant's binary.
    compile_one(program, folder, binary) says why it does not compile."""
    by_name = {program.name: program for program in programs}
    distinct, keys = {}, []
    for variant in variants:
        folder = sources / variant.program / variant.layout
        key = (variant.program, text_of(folder))
        keys.append(key)
        distinct.setdefault(key, (folder, binaries / f"{variant.program}-{variant.layout}"))

    def one(key):
        folder, binary = distinct[key]
        return key, compile_one(by_name[key[0]], folder, binary)

    with ThreadPoolExecutor(jobs) as pool:
        errors = dict(pool.map(one, distinct))
    for variant, key in zip(variants, keys):
        variant.compile_error = errors[key]
        variant.binary = "" if errors[key] else distinct[key][1].name


def write_manifest(path, variants, about):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**about, "variants": [asdict(variant) for variant in variants]}, indent=1) + "\n")


def read_manifest(path):
    """The variants, and what else is known about how they were made."""
    data = json.loads(path.read_text())
    variants = [Variant(**{**entry, "arrays": [Array(**array) for array in entry["arrays"]]}) for entry in data.pop("variants")]
    return variants, data
