"""Whether restride moves a program's arrays and leaves what it computes alone."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

EMULATION = Path(__file__).resolve().parents[1] / "emulation"
# Its modules have names of their own folder; there is a run.py here, too.
sys.path.insert(0, str(EMULATION))
import program as programs  # noqa: E402
from check import difference, moving_to, why_weak  # noqa: E402
from run import BuildError, Nvcc, Toolchain, execute  # noqa: E402

sys.path.remove(str(EMULATION))

FLAGS = ["-std=c++17"]
LAYOUTS = ["soa", "asta32", "aos-align16", "asta8", "aos-align8", "asta128", "asta64", "asta16"]
TIME_LIMIT_S = 600  # the machine may be busy


@dataclass
class Failure:
    kind: str  # original, tool, compile, output, again
    candidate: str  # "all" for all arrays at once; empty where it does not matter
    layout: str
    detail: str

    def same(self, other):
        """Whether it shows the same fault, for reduction."""
        return (self.kind, self.layout, self.candidate == "all") == (other.kind, other.layout, other.candidate == "all")

    def __str__(self):
        return " ".join(part for part in (self.kind, self.candidate, self.layout) if part) + ": " + self.detail


@dataclass
class Outcome:
    failures: list = field(default_factory=list)
    moved: int = 0
    refused: int = 0
    variants: int = 0
    reasons: Counter = field(default_factory=Counter)


def general(reason):
    """A reason without the names of one program."""
    return re.sub(r"'[^']*'", "'…'", reason)


def rotate(layouts, seed, count):
    """`count` of the layouts; others for the next seed."""
    start = seed * count % len(layouts)
    return [layouts[(start + place) % len(layouts)] for place in range(min(count, len(layouts)))]


class Checker:
    def __init__(self, restride, cache=None, sanitize=False, cuda_path=None, again=False, gpu=False, onward=False):
        self.restride, self.again, self.onward = restride, again, onward
        self.cuda = [f"--cuda-path={cuda_path}"] if cuda_path else []
        self.toolchain = Nvcc() if gpu else Toolchain(cache, sanitize)
        self.toolchain.prepare(FLAGS[0])

    def check(self, files, layouts, all_layouts=()):
        """The program as it is, against one array at a time in `layouts` and all arrays in `all_layouts`."""
        with tempfile.TemporaryDirectory() as scratch:
            return Attempt(self, files, Path(scratch)).check(layouts, all_layouts)


class Attempt:
    """One program in a folder of its own."""

    def __init__(self, checker, files, folder):
        self.checker, self.folder = checker, folder
        source = folder / "source"
        for name, text in files.items():
            programs.write(source / name, text)
        self.program = programs.collect(programs.units_of(source))
        self.outcome = Outcome()
        self.seen, self.built = [self.program.texts], 0

    def run(self, program):
        self.built += 1
        binary = self.checker.toolchain.build(program, FLAGS, self.folder / f"run{self.built}")
        result = execute(binary, [], TIME_LIMIT_S)
        shutil.rmtree(binary.parent)
        # The sign of a NaN is the compiler's choice.
        return replace(result, out=result.out.replace(b"-nan", b"nan"))

    def fail(self, kind, candidate, layout, detail):
        self.outcome.failures.append(Failure(kind, candidate, layout, detail))

    def tool(self, arguments, units):
        """Whether restride succeeded."""
        command = [self.checker.restride, "--quiet", "-j1", *self.checker.cuda, *arguments, *map(str, units), "--", *FLAGS]
        layout = next((a.partition("=")[2] for a in arguments if a.startswith("--layout=")), "")
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.fail("tool", "all" if layout else "", layout, f"restride took more than {TIME_LIMIT_S} s")
            return False
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or [""]
            self.fail("tool", "all" if layout else "", layout, f"exit status {done.returncode}: {lines[0]}")
        return not done.returncode

    def check(self, layouts, all_layouts):
        try:
            expected = self.run(self.program)
        except BuildError as error:
            self.fail("original", "", "", f"does not compile: {first_error(error)}")
            return self.outcome
        why = f"exit status {expected.code}: {expected.err.strip()[:500]}" if expected.code else why_weak(expected)
        if why:
            self.fail("original", "", "", why)
            return self.outcome
        emitted = self.folder / "variants"
        if layouts and self.emit(emitted, layouts):
            self.one_at_a_time(expected, emitted, layouts)
        if self.outcome.moved or not layouts:
            for layout in all_layouts:
                self.all_at_once(expected, layout)
        return self.outcome

    def emit(self, emitted, layouts):
        report = self.folder / "report.json"
        # Layouts that are not compared need not be compiled.
        (self.program.root / ".restride.yaml").write_text(f"Layouts: [aos, {', '.join(layouts)}]\n")
        units = [self.program.root / unit for unit in self.program.units]
        if not self.tool([f"--emit-variants={emitted}", f"--report={report}"], units):
            return False
        for candidate in self.candidates(report):
            refused = candidate["status"] == "refused"
            self.outcome.refused += refused
            self.outcome.moved += not refused
            if refused:
                self.outcome.reasons.update({general(refusal["reason"]) for refusal in candidate["refusals"]})
        return True

    def candidates(self, report, layout=""):
        """Those of a report. A variant that does not compile is a failure, though restride goes on without it."""
        found = json.loads(report.read_text())["candidates"]
        for candidate in found:
            for refusal in candidate["refusals"]:
                if "does not compile" in refusal["reason"]:
                    self.fail("compile", "all" if layout else candidate["name"], layout or refusal["layout"], refusal["reason"])
        return found

    def one_at_a_time(self, expected, emitted, layouts):
        candidates = sorted(path for path in emitted.iterdir() if path.is_dir()) if emitted.is_dir() else []
        for candidate in candidates:
            for layout in layouts:
                if (candidate / layout).is_dir():
                    self.compare(expected, candidate.name, layout, programs.replace(self.program, candidate / layout))

    def all_at_once(self, expected, layout):
        folder = self.folder / "all" / layout
        units = programs.copy(self.program, folder)
        report = self.folder / "report.json"
        if not self.tool([*moving_to(layout), f"--report={report}"], units):
            return
        self.candidates(report, layout)
        moved = programs.replace(self.program, folder)
        self.compare(expected, "all", layout, moved)
        if self.checker.again and self.tool(moving_to(layout), units):
            if programs.replace(self.program, folder).texts != moved.texts:
                self.fail("again", "all", layout, "a second run changes the program again")
        if self.checker.onward and moved.texts != self.program.texts:
            self.move_on(expected, layout, units, folder)

    def move_on(self, expected, layout, units, folder):
        """From the layout to the next one, and back to what was there."""
        for next in rotate(LAYOUTS, LAYOUTS.index(layout) + 1, 1) + ["aos"]:
            if not self.tool(moving_to(next), units):
                return
            self.compare(expected, "all", f"{layout},{next}", programs.replace(self.program, folder))

    def compare(self, expected, candidate, layout, variant):
        if variant.texts in self.seen:
            return
        self.seen.append(variant.texts)
        self.outcome.variants += 1
        try:
            found = difference(expected, self.run(variant))
        except BuildError as error:
            self.fail("compile", candidate, layout, first_error(error))
            return
        if found:
            self.fail("output", candidate, layout, found)


def first_error(error):
    lines = str(error).splitlines()
    return next((line for line in lines if "error:" in line), lines[0] if lines else "")
