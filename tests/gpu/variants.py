"""Which programs there are to build: the samples and the variants of each.

A variants folder is DIR/<program>/<candidate>/<layout>/<files>, with restride's
report beside the candidates as DIR/<program>/report.json. Files that end in
.ptx are by-products and ignored. `emit` makes such a folder; it also rewrites a
copy of each program in place, which becomes the candidate IN_PLACE.
"""

import hashlib
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ORIGINAL = "original"  # the layout name of an unchanged program
IN_PLACE = "in-place"  # the candidate name of a program after restride -i


@dataclass(frozen=True)
class Variant:
    program: str
    candidate: str  # empty for the original
    layout: str
    files: tuple  # of (relative name, Path): all files of the program

    def key(self, flags):
        """Equal for variants that compile to the same binary."""
        digest = hashlib.sha256(repr(list(flags)).encode())
        for name, path in sorted(self.files):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


def files_below(folder):
    return tuple((str(path.relative_to(folder)), path)
                 for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.suffix != ".ptx")


def find_originals(samples, only=()):
    """Samples are single .cu files, or folders of files that link together."""
    found = []
    for path in sorted(Path(samples).iterdir()):
        files = files_below(path) if path.is_dir() else ((path.name, path),)
        if any(name.endswith(".cu") for name, _ in files) and (not only or path.stem in only):
            found.append(Variant(path.stem, "", ORIGINAL, files))
    return found


def find_variants(folder, original):
    """Every candidate and layout that was emitted for one program. What a
    variant leaves alone comes from the original."""
    found = []
    for layout in sorted(Path(folder, original.program).glob("*/*/")):
        changed = dict(files_below(layout))
        if changed:
            files = tuple({**dict(original.files), **changed}.items())
            found.append(Variant(original.program, layout.parent.name, layout.name, files))
    return found


def read_report(folder, program):
    """restride's report on one program, or None where there is none."""
    path = Path(folder, program, "report.json")
    return json.loads(path.read_text()) if path.is_file() else None


def emit(restride, originals, folder, flags, jobs):
    """Runs restride on every program. Returns (program, message) of failures."""

    def one(original):
        out = Path(folder, original.program)
        shutil.rmtree(out, ignore_errors=True)
        copies = out / IN_PLACE / "winners"
        for name, path in original.files:
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copies / name)
        sources = [(str(path), str(copies / name)) for name, path in original.files if name.endswith(".cu")]
        emitting = [f"--emit-variants={out}", f"--report={out / 'report.json'}", *(path for path, _ in sources)]
        rewriting = ["-i", *(copy for _, copy in sources)]
        for command in (emitting, rewriting):
            done = subprocess.run([restride, "--quiet", *command, "--", *flags], capture_output=True, text=True)
            if done.returncode != 0:
                return original.program, f"restride {' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}"
        return None

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return [failure for failure in pool.map(one, originals) if failure]
