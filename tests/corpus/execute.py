"""Running the binaries of the manifest on a GPU, and comparing each with the original's run."""

import csv
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import check
from build import ORIGINAL


@dataclass
class Run:
    folder: Path  # where it ran and left its files
    stdout: str = ""
    status: int = 0
    error: str = ""  # why there is nothing to compare
    seconds: float = 0.0


@dataclass
class Row:
    """What the table says of one variant after running."""

    program: str
    layout: str
    same: str  # yes, NO, or a dash when there was nothing to run
    seconds: float = 0.0  # wall time of the whole program, for the reader only
    note: str = ""
    gpu: str = ""


def gpu_name():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""
    except FileNotFoundError:
        return ""


def run_once(program, binary, inputs, folder):
    """Runs a binary in a fresh folder that holds its input files."""
    folder.mkdir(parents=True)
    for name in program.inputs:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(inputs / name, folder / name)
    shutil.copy(binary, folder / "main")  # programs print argv[0]
    (folder / "main").chmod(0o755)
    run = Run(folder)
    start = time.monotonic()
    try:
        done = subprocess.run(["./main", *program.arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=program.timeout_s)
        run.stdout, run.status = done.stdout, done.returncode
        if run.status < 0:
            run.error = f"killed by signal {-run.status}: {done.stderr.strip()[-200:]}"
    except subprocess.TimeoutExpired:
        run.error = f"no answer in {program.timeout_s} s"
    run.seconds = time.monotonic() - start
    return run


def run_program(program, variants, binaries, scratch):
    """A row for the original, run twice, and one for each variant; equal binaries run once."""
    inputs = binaries / "inputs" / program.name
    by_layout = {variant.layout: variant for variant in variants}
    original = by_layout.pop(ORIGINAL)
    if not original.binary:
        yield Row(program.name, ORIGINAL, "NO", note=f"does not compile: {original.compile_error}")
        return
    first = run_once(program, binaries / original.binary, inputs, scratch / "first")
    again = run_once(program, binaries / original.binary, inputs, scratch / "again")
    reason = check.failure(program, first) or check.compare(program, first, again, aligned=False)
    if not reason and program.copies and not check.read_copies(first.folder / "transfers.txt"):
        reason = "copies nothing to the host, as far as transfers.cu sees"
    yield Row(program.name, ORIGINAL, "NO" if reason else "yes", first.seconds, reason)
    if check.failure(program, first):
        return
    runs = {}
    for layout, variant in by_layout.items():
        if not variant.binary or variant.binary == original.binary:
            yield Row(program.name, layout, "-", note=variant.error or variant.compile_error or "text unchanged")
            continue
        if variant.binary not in runs:
            runs[variant.binary] = run_once(program, binaries / variant.binary, inputs, scratch / layout)
        run = runs[variant.binary]
        aligned = any(array.moved_to.startswith("aos-align") for array in variant.arrays)
        reason = check.compare(program, first, run, aligned)
        yield Row(program.name, layout, "NO" if reason else "yes", run.seconds, reason)


def run_all(programs, variants, binaries):
    """Rows as they come."""
    gpu = gpu_name()
    for program in programs:
        mine = [variant for variant in variants if variant.program == program.name]
        if mine:
            with tempfile.TemporaryDirectory() as scratch:
                for row in run_program(program, mine, binaries, Path(scratch)):
                    row.gpu = gpu
                    yield row


COLUMNS = ("program", "layout", "same", "seconds", "note", "gpu")


def write_csv(path, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row.program, row.layout, row.same, f"{row.seconds:.1f}", row.note, row.gpu] for row in rows)


def read_csv(path):
    with path.open(newline="") as stream:
        return [Row(**{**row, "seconds": float(row["seconds"])}) for row in csv.DictReader(stream)]
