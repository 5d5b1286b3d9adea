"""Tables from results: every variant, then what restride picked against the
best that was measured."""

import csv
import re
from dataclasses import dataclass
from itertools import combinations
from math import exp, log

from variants import IN_PLACE, ORIGINAL

OK, MISMATCH, FAILED = "yes", "NO", "FAILED"
NEARLY_BEST = 1.03  # regret up to which a pick counts as the best: about what two runs differ by


@dataclass
class Row:
    program: str
    candidate: str
    layout: str
    status: str  # OK, MISMATCH or FAILED
    check: str = None
    time_ms: float = None
    ratio: float = None  # time over the original's time
    predicted_cycles: float = None
    picked: bool = False
    kernels: str = ""  # those that use the array, by the report
    runs_ms: tuple = ()  # of each run
    groups: str = ""  # of a grouped layout, by the report: fields between spaces, groups between slashes
    error: str = ""


def find_candidate(report, folder):
    """The report's candidate for a folder, which is named after the record,
    with the array where that is not enough. None unless exactly one fits."""

    def plain(*names):
        return re.sub(r"[^A-Za-z0-9]+", "", "".join(names))

    candidates = report["candidates"] if report else []
    for with_array in (False, True):
        found = [candidate for candidate in candidates
                 if plain(candidate["name"], candidate.get("array", "") if with_array else "") == plain(folder)]
        if len(found) == 1:
            return found[0]
    return None


def groups_text(variant):
    """Which fields lie together in a report's variant; empty for layouts whose name says it."""
    return "/".join(" ".join(group) for group in variant["groups"]) if variant["layout"] == "grouped" else ""


def picked_layout(candidate):
    """The layout that restride leaves a candidate in."""
    if candidate["status"] in ("rewritten", "forced"):
        return candidate["winner"]
    return candidate["source_layout"]


def make_rows(original, results, report):
    """One row per variant of a program, the original first."""
    base = results[original]
    rows = []
    for variant, result in results.items():
        row = Row(variant.program, variant.candidate, variant.layout, OK, result.check(), result.time_ms())
        row.runs_ms = tuple(result.times_ms)
        if result.error:
            row.status, row.error = FAILED, result.error
        elif result.check() is None:
            row.status, row.error = MISMATCH, "runs disagree: " + ", ".join(sorted(set(result.checks)))
        elif result.check() != base.check():
            row.status, row.error = MISMATCH, f"check {result.check()}, the original has {base.check()}"
        if row.time_ms and base.time_ms():
            row.ratio = row.time_ms / base.time_ms()
        candidate = find_candidate(report, variant.candidate)
        if candidate:
            row.picked = picked_layout(candidate) == variant.layout
            for scored in candidate.get("variants", []):
                if scored["layout"] == variant.layout:
                    row.predicted_cycles = scored["predicted_cycles"]
                    row.kernels = " ".join(kernel["name"] for kernel in scored.get("kernels", []))
                    row.groups = groups_text(scored)
        rows.append(row)
    return sorted(rows, key=lambda row: row.layout != ORIGINAL or row.candidate != "")


def kendall_tau(pairs):
    """How well the order of the first values is that of the second: 1 is the
    same order, -1 the reverse. None without two pairs."""
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in combinations(pairs, 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs) if signs else None


def make_picks(rows, report):
    """Per candidate of one program: what was picked, what was best, the regret,
    which is the time of the pick over the time of the best, the speedup of the
    pick, and Kendall's tau of the predicted and the measured order."""
    base = next(row for row in rows if row.layout == ORIGINAL)
    picks = []
    for name in sorted({row.candidate for row in rows} - {"", IN_PLACE}):
        candidate = find_candidate(report, name)
        if not candidate or not base.time_ms:
            continue
        times = {row.layout: row.time_ms for row in rows if row.candidate == name and row.status == OK}
        times.setdefault(candidate["source_layout"], base.time_ms)
        times = {layout: time for layout, time in times.items() if time}
        best = min(times, key=times.get)
        picked = picked_layout(candidate)
        regret = times[picked] / times[best] if picked in times else None
        speedup = base.time_ms / times[picked] if picked in times else None
        tau = kendall_tau([(row.predicted_cycles, row.time_ms) for row in rows if row.candidate == name
                           and row.status == OK and row.predicted_cycles and row.time_ms])
        picks.append((base.program, name, picked, best, regret, speedup, tau))
    return picks


def geometric_mean(values):
    values = list(values)
    return exp(sum(map(log, values)) / len(values)) if values else None


def text(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "*" if value else ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def format_table(header, rows):
    """Left-aligned columns as wide as their widest cell."""
    cells = [list(header)] + [[text(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)


def format_rows(rows):
    header = ("program", "candidate", "layout", "time_ms", "ratio", "check", "same", "predicted_cycles", "picked")
    return format_table(header, [(r.program, r.candidate, r.layout, r.time_ms, r.ratio, r.check, r.status,
                                  r.predicted_cycles, r.picked) for r in rows])


def format_picks(picks):
    lines = [format_table(("program", "candidate", "picked", "best", "regret", "speedup", "tau"), picks)]
    known = [pick for pick in picks if pick[4]]
    if known:
        lines.append(f"geometric mean: regret {geometric_mean(p[4] for p in known):.3f}, "
                     f"speedup {geometric_mean(p[5] for p in known):.3f}; "
                     f"worst pick against the original {min(p[5] for p in known):.3f}")
        lines.append(f"{sum(p[4] <= NEARLY_BEST for p in known)} of {len(known)} picks are within "
                     f"{NEARLY_BEST - 1:.0%} of the best")
    taus = [pick[6] for pick in picks if pick[6] is not None]
    if taus:
        lines.append(f"mean tau {sum(taus) / len(taus):.3f}")
    return "\n".join(lines)


def write_csv(stream, rows):
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("program", "candidate", "layout", "check_ok", "time_ms", "kernels", "groups", "runs_ms"))
    for row in rows:
        time = "" if row.time_ms is None else f"{row.time_ms:.4f}"
        runs = " ".join(f"{run:.4f}" for run in row.runs_ms) if len(row.runs_ms) > 1 else ""
        writer.writerow((row.program, row.candidate, row.layout, int(row.status == OK), time, row.kernels,
                         row.groups, runs))
