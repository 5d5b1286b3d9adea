"""Measured times beside what restride says of the same array.

A case is one array of one program: what each of its layouts took, from a CSV
that run.py wrote, and the candidate of a report that it belongs to.
"""

import csv
from dataclasses import dataclass

import summary
import variants

TIMED_WITH_COPIES = {"frames", "geo_project"}  # programs whose time_ms holds the copies; those of all others are launches alone


class Time(float):
    """Milliseconds, and those of each run where there were several."""

    def __new__(cls, value, runs=()):
        time = super().__new__(cls, value)
        time.runs = tuple(runs)
        return time


@dataclass
class Case:
    program: str
    array: str  # the folder's name, as in the CSV
    times_ms: dict  # of layouts that compute what the original does
    source: str  # the source layout
    report: dict  # the candidate in the report

    def pick(self):
        return summary.picked_layout(self.report)

    def best(self):
        return min(self.times_ms, key=self.times_ms.get)

    def name(self):
        return f"{self.program} {self.array}"

    def predicted_cycles(self):
        """{layout: cycles}, for those that were measured too."""
        copies = self.program in TIMED_WITH_COPIES
        return {v["layout"]: v["predicted_cycles"] + (v["conversion_cycles"] if copies else 0)
                for v in self.report["variants"] if v["layout"] in self.times_ms}

    def transactions(self):
        """{layout: 32-byte sectors that all requests of all launches ask for}."""
        return {v["layout"]: sum(map(kernel_sectors, v["kernels"]))
                for v in self.report["variants"] if v["layout"] in self.times_ms}


def kernel_sectors(kernel):
    grid = kernel.get("occupancy", {})
    warps = grid.get("grid_blocks", 0) * grid.get("warps_per_block", 0)
    per_warp = sum(a["requests_per_warp"] * a["sectors_per_request"] for a in kernel["accesses"])
    return kernel["calls"] * warps * per_warp


def read_csv(stream):
    """{program: {array: {layout: ms}}} and the rows that did not compute what the original does; the original's time is
    that of the array "". A grouped layout has its groups behind the name: an array may be measured in several."""
    times, wrong = {}, []
    for row in csv.DictReader(stream):
        if row["check_ok"] != "1" or not row["time_ms"]:
            wrong.append((row["program"], row["candidate"], row["layout"]))
            continue
        arrays = times.setdefault(row["program"], {})
        groups = row.get("groups") or ""
        arrays.setdefault(row["candidate"], {})[row["layout"] + (f" {groups}" if groups else "")] = Time(
            row["time_ms"], map(float, (row.get("runs_ms") or "").split()))
    return times, wrong


def make_cases(times, reports):
    """The cases of all programs that were measured, and the names of those that the reports ({program: report}) do not
    know or refuse."""
    cases, unknown = [], []
    for program, arrays in times.items():
        for array, layouts in arrays.items():
            if array in ("", variants.IN_PLACE):
                continue
            candidate = summary.find_candidate(reports.get(program), array)
            if not candidate or not candidate["variants"]:
                unknown.append(f"{program} {array}")
                continue
            # The groups that the report proposes are its grouped layout; others are layouts it does not know.
            proposed = {f"grouped {summary.groups_text(v)}": "grouped" for v in candidate["variants"] if v["layout"] == "grouped"}
            source = candidate["source_layout"]
            known = {proposed.get(layout, layout): time for layout, time in layouts.items()}
            if source not in known and "" in arrays:
                known[source] = arrays[""][variants.ORIGINAL]
            cases.append(Case(program, array, known, source, candidate))
    return cases, unknown
