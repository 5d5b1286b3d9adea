"""What is expected of each variant, and the table for the documentation."""

from build import ORIGINAL
from programs import FASTEST


def refused_by(program, array, layout):
    """The expected part of the sentence that refuses an array in that layout; None when it must move."""
    expected = program.refused or {}
    return next((expected[key] for key in (array.name, f"{array.record()}:{layout}", array.record()) if key in expected), None)


def why(array):
    """All reasons of an array in a line, the place of a sentence once."""
    places = {}
    for reason in array.reasons:
        file, line, sentence = reason.split(":", 2)
        places.setdefault(sentence.strip(), []).append(f"{file}:{line}")
    more = lambda where: f"{where[0]} and {len(where) - 1} more" if len(where) > 1 else where[0]
    return "; ".join(f"{sentence} ({more(where)})" for sentence, where in places.items())


def unexpected(program, variant):
    """What of a rewriting is not as programs.py says, a line each."""
    if variant.layout == ORIGINAL:
        return [f"does not compile: {variant.compile_error}"] if variant.compile_error else []
    lines = [variant.error] if variant.error else []
    if variant.compile_error:
        lines.append(f"does not compile: {variant.compile_error}")
    if variant.error:
        return lines
    if program.parallel and variant.layout == FASTEST:
        expected = [array for array in variant.arrays if program.moves or (array.reasons and refused_by(program, array, FASTEST))]
        return lines + [f"{array.name}: {why(array) or 'moved'}" for array in variant.arrays if array not in expected]
    for record in {*program.moves, *(name.partition(".")[0] for name in program.refused or {} if ":" not in name)}:
        if not any(array.record() == record for array in variant.arrays):
            lines.append(f"{record}: no array of it is found")
    for array in variant.arrays:
        sentence = refused_by(program, array, variant.layout)
        if sentence is not None:
            if array.moved_to or not any(sentence in reason for reason in array.reasons):
                lines.append(f"{array.name}: must be refused, {sentence}, but {why(array) or 'moved or kept'}")
        elif variant.layout == FASTEST:
            picked = "rewritten" if array.moved_to else "kept"
            if array.reasons or program.picked not in ("", picked):
                lines.append(f"{array.name}: {why(array) or picked}")
        elif array.record() in program.moves and not array.moved_to:
            lines.append(f"{array.name}: {why(array) or 'not moved'}")
    return lines


def outcome(program, variant):
    """The cell that says what restride did."""
    if variant.error:
        return f"error: {variant.error}"
    wanted = [array for array in variant.arrays if array.record() in program.moves and refused_by(program, array, variant.layout) is None]
    arrays = wanted or variant.arrays
    moved = [array for array in arrays if array.moved_to]
    if not arrays:
        return "no array found"
    if variant.layout == FASTEST and moved:
        return ", ".join(f"{array.name.rpartition('.')[2]} {array.moved_to}" for array in moved)
    if len(moved) == len(arrays):
        return "moved"
    if moved:
        return f"{len(moved)} of {len(arrays)} moved"
    return "refused" if any(array.reasons for array in arrays) else "kept"


def escaped(text):
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def cell(program, variant, row):
    """What became of a program in a layout: what moved, and how far it came."""
    done = outcome(program, variant)
    if not variant.moved():
        return done
    if variant.compile_error:
        came = "does not compile"
    else:
        came = {"yes": "same", "NO": "DIFFERS"}.get(row.same if row else "", "compiles")
    return came if done == "moved" else f"{done}: {came}"


def main_table(programs, variants, rows):
    """A row per program, a column per layout."""
    results = {(row.program, row.layout): row for row in rows}
    layouts = list(dict.fromkeys(variant.layout for variant in variants if variant.layout != ORIGINAL))
    by_place = {(variant.program, variant.layout): variant for variant in variants}
    lines = [f"| program | records | {' | '.join(layouts)} |", "| --- | --- |" + " --- |" * len(layouts)]
    for program in programs:
        made = [(by_place.get((program.name, layout)), results.get((program.name, layout))) for layout in layouts]
        cells = [escaped(cell(program, variant, row)) if variant else "" for variant, row in made]
        records = program.moves or tuple(dict.fromkeys(name.partition(".")[0] for name in program.refused))
        lines.append(f"| {program.name} | {', '.join(records)} | {' | '.join(cells)} |")
    return lines


def refusal_table(variants):
    """Every array that stayed, with the sentences."""
    refusals = {}
    for variant in variants:
        for array in variant.arrays:
            if array.reasons and not array.moved_to:
                refusals.setdefault((variant.program, array.name, why(array)), []).append(variant.layout)
    layouts = {variant.layout for variant in variants if variant.layout != ORIGINAL}
    lines = ["| program | array | layouts | why, and where |", "| --- | --- | --- | --- |"]
    for (program, name, reason), refused in refusals.items():
        which = "all" if layouts <= set(refused) else ", ".join(refused)
        lines.append(f"| {program} | {name} | {which} | {escaped(reason)} |")
    return lines


def origin_table(programs):
    """Where the programs come from, and what is done to them."""
    lines = ["| program | from | arguments | notes |", "| --- | --- | --- | --- |"]
    for program in programs:
        repository = program.repository
        origin = f"[{program.root}]({repository.url}/tree/{repository.commit[:12]}/{program.root})"
        notes = [program.note] if program.note else []
        notes += [f"`{edit.old.strip()}` becomes `{edit.new.strip()}`" for edit in program.edits]
        lines.append(f"| {program.name} | {origin} | `{' '.join(program.arguments) or '-'}` | {escaped('; '.join(notes))} |")
    return lines


def markdown(programs, variants, rows, about):
    """The page, from its beginning to the list of programs."""
    return "\n".join([about, "", summary(programs, variants, rows) + ".", "", *main_table(programs, variants, rows),
                      "", "## Left alone, and why", "", *refusal_table(variants),
                      "", "## The programs", "", *origin_table(programs), ""])


def summary(programs, variants, rows):
    """One line for the terminal."""
    forced = [v for v in variants if v.layout not in (ORIGINAL, FASTEST)]
    moved = [v for v in forced if v.moved()]
    same = {(row.program, row.layout): row.same for row in rows}
    equal = [v for v in moved if same.get((v.program, v.layout)) == "yes"]
    return (f"{len(programs)} programs, {len(forced)} pairs of a program and a layout; in {len(moved)} arrays moved, "
            f"{sum(not v.compile_error for v in moved)} of these compile, {len(equal)} compute the same")
