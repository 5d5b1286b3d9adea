"""A program as a tree of pieces, so that a failing one can be made smaller.

A piece is text and smaller pieces. It says which names it declares; the names it
uses are read off its text. When a piece is left out, so is everything that uses a
name which nobody declares any more: what remains is a program that compiles.
"""

import re

NO_CODE = re.compile(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/')
NAME = re.compile(r"(\.|->)?\s*(?<!\w)([A-Za-z_]\w*)")


def names_in(text):
    """Identifiers of a text; those after a dot or an arrow begin with a dot."""
    return {("." if member else "") + name for member, name in NAME.findall(NO_CODE.sub('""', text))}


class Piece:
    """`parts`, joined by `sep`, between `head` and `tail`.

    defines  names that it declares; a member's begins with a dot
    needs    names that it uses beyond those of its text
    kept     only goes with a name it needs or with the piece around it
    scope    a function: names declared inside are found inside only
    record   a struct: inside, a member needs no dot
    group    goes when all pieces in it are gone
    """

    def __init__(self, *parts, defines=(), needs=(), sep="", head="", tail="", kept=False, scope=False,
                 record=False, group=False):
        self.parts = list(flatten(parts))
        self.defines = (defines,) if isinstance(defines, str) else tuple(defines)
        self.needs = (needs,) if isinstance(needs, str) else tuple(needs)
        self.sep, self.head, self.tail = sep, head, tail
        self.kept, self.scope, self.record, self.group = kept, scope, record, group

    def own_text(self):
        return " ".join([self.head, *(part for part in self.parts if isinstance(part, str)), self.tail])

    def children(self):
        return [part for part in self.parts if isinstance(part, Piece)]


def flatten(parts):
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from flatten(part)
        else:
            yield part


class Document:
    """Files of pieces. A piece's number is its place in the order of the text."""

    def __init__(self, files):
        self.roots = files  # name: piece
        self.pieces, self.parents, self.scopes, self.in_record = [], [], [], []
        self.numbers = {}
        self.definers = {}  # (scope, name): numbers
        for root in files.values():
            self._add(root, -1, -1, False)
        self.needs = []
        for number, piece in enumerate(self.pieces):
            names = names_in(piece.own_text()) | set(piece.needs)
            places = (self._definers_seen_by(number, name) for name in sorted(names))
            self.needs.append([place for place in places if place and number not in place])
        self.removable = [number for number, piece in enumerate(self.pieces) if not piece.kept]

    def _add(self, piece, parent, scope, in_record):
        number = len(self.pieces)
        self.pieces.append(piece)
        self.parents.append(parent)
        self.numbers[id(piece)] = number
        inner = number if piece.scope else scope
        self.scopes.append(inner)
        self.in_record.append(in_record)
        for name in piece.defines:
            # What a function is called is known outside of it.
            self.definers.setdefault((scope if piece.scope else inner, name), set()).add(number)
        for child in piece.children():
            self._add(child, number, inner, in_record or piece.record)

    def _definers_seen_by(self, number, name):
        scope = self.scopes[number]
        while True:
            found = self.definers.get((scope, name))
            if found:
                return found
            if scope < 0:
                return self.definers.get((scope, "." + name)) if self.in_record[number] else None
            scope = self.scopes[self.parents[scope]] if self.parents[scope] >= 0 else -1

    def live(self, removed):
        """The numbers of the pieces that remain."""
        dead = set(removed)
        while True:
            before = len(dead)
            for number, piece in enumerate(self.pieces):
                if number in dead:
                    continue
                children = piece.children()
                if (self.parents[number] in dead or any(place <= dead for place in self.needs[number])
                        or piece.group and children and all(self.numbers[id(child)] in dead for child in children)):
                    dead.add(number)
            if len(dead) == before:
                return set(range(len(self.pieces))) - dead

    def files(self, removed=frozenset()):
        """{name: text} without the removed pieces; a file that is empty is left out."""
        live = self.live(removed)
        texts = {name: indent(self._text(root, live)) for name, root in self.roots.items()}
        return {name: text for name, text in texts.items() if text.strip()}

    def _text(self, piece, live):
        if self.numbers[id(piece)] not in live:
            return ""
        parts = [self._text(part, live) if isinstance(part, Piece) else part for part in piece.parts]
        if piece.sep:
            parts = [part for part in parts if part]
        return piece.head + piece.sep.join(parts) + piece.tail


def indent(text):
    """Indents lines by the braces around them."""
    lines, depth, hanging = [], 0, 0
    for line in text.split("\n"):
        line = line.strip()
        closing = len(line) - len(line.lstrip("}"))
        label = re.match(r"(public|private|default:|case )", line) is not None
        level = 0 if line.startswith("#") else max(0, depth - closing - label) + hanging
        lines.append("  " * level + line if line else "")
        # The one statement of an `if` or a `for` without braces.
        hanging = hanging + 1 if re.match(r"(if|for) \(.*\)$|else$", line) else 0
        depth += line.count("{") - line.count("}")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"
