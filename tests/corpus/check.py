"""Whether a run computed what the original's run did. Values in, values out."""

import re
from pathlib import Path


def without(text, drop):
    """The lines of a text that no expression of `drop` is found in."""
    return [line for line in text.splitlines() if not any(re.search(pattern, line) for pattern in drop)]


def first_difference(one, other):
    """Of two lists of lines: empty, or the first place where they differ."""
    for number, (left, right) in enumerate(zip(one, other), 1):
        if left != right:
            return f"line {number}: '{left}' became '{right}'"
    return "" if len(one) == len(other) else f"{len(one)} lines became {len(other)}"


def parse_row(line):
    """The numbers of a line of numbers, else None."""
    try:
        return [float(word) for word in line.replace(",", " ").split()] or None
    except ValueError:
        return None


def deviation(one, other):
    """The largest difference of two texts' numbers, as a part of the largest magnitude in that column of the first
    text. Lines that are no rows of numbers must be equal. Returns (deviation, what is different in kind or empty)."""
    left, right = one.splitlines(), other.splitlines()
    if len(left) != len(right):
        return 0.0, f"{len(left)} lines became {len(right)}"
    rows = []
    for number, (a, b) in enumerate(zip(left, right), 1):
        x, y = parse_row(a), parse_row(b)
        if x is None or y is None or len(x) != len(y):
            if a != b:
                return 0.0, f"line {number}: '{a}' became '{b}'"
            continue
        rows.append((number, x, y))
    scale = {}
    for _, x, _ in rows:
        for column, value in enumerate(x):
            scale[column] = max(scale.get(column, 0.0), abs(value))
    worst = 0.0
    for number, x, y in rows:
        for column, (a, b) in enumerate(zip(x, y)):
            if a == b or (a != a and b != b):  # NaN stays NaN
                continue
            if not abs(a - b) < float("inf"):
                return 0.0, f"line {number}: {a:g} became {b:g}"
            worst = max(worst, abs(a - b) / scale[column] if scale[column] else float("inf"))
    return worst, ""


def compare_file(result, one, other):
    """Empty, or how a result file differs. A file that is not there is a difference."""
    if not one.exists() or not other.exists():
        return f"no {result.name}"
    a, b = one.read_bytes(), other.read_bytes()
    if result.tolerance is None:
        return "" if a == b else f"{result.name} differs"
    worst, kind = deviation(a.decode(errors="replace"), b.decode(errors="replace"))
    if kind:
        return f"{result.name}, {kind}"
    return "" if worst <= result.tolerance else f"{result.name} differs by {worst:.2g} of the largest value"


def compare_copies(one, other, sizes_may_differ):
    """Of two lists of (bytes, hash), a line per copy to the host: empty, or how they differ. Where the record itself
    was aligned, the host's is larger too, and such copies cannot be compared."""
    if len(one) != len(other):
        return f"{len(one)} copies to the host became {len(other)}"
    for number, ((bytes_a, hash_a), (bytes_b, hash_b)) in enumerate(zip(one, other), 1):
        if bytes_a != bytes_b:
            if not sizes_may_differ:
                return f"copy {number} to the host: {bytes_a} bytes became {bytes_b}"
        elif hash_a != hash_b:
            return f"copy {number} to the host, of {bytes_a} bytes, brings other bits"
    return ""


def read_copies(path):
    path = Path(path)
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


def failure(program, run):
    """Empty, or why a run is no right run of the program, whatever the original did."""
    if run.error:
        return run.error
    if program.verdict and not re.search(program.verdict, run.stdout, re.M):
        return f"does not print '{program.verdict}'"
    return ""


def compare(program, original, run, aligned):
    """Empty, or how a run differs from the original's. `aligned`: records may have grown."""
    reason = failure(program, run)
    if not reason and run.status != original.status:
        reason = f"exit status {original.status} became {run.status}"
    if not reason:
        reason = first_difference(without(original.stdout, program.drop), without(run.stdout, program.drop))
    for result in program.results:
        reason = reason or compare_file(result, original.folder / result.name, run.folder / result.name)
    if program.copies and not reason:
        reason = compare_copies(read_copies(original.folder / "transfers.txt"), read_copies(run.folder / "transfers.txt"),
                                sizes_may_differ=aligned)
    return reason
