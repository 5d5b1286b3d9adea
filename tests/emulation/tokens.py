"""Tokens of CUDA C++: what to_cpp.py has to tell apart, and no more.

Comments and white space are left out, a literal is one token. A preprocessor
line stays outside the tokens around it; what a #define stands for is a list of
tokens of its own.
"""

import re
from typing import NamedTuple


class Token(NamedTuple):
    text: str
    start: int  # offsets in the file
    end: int
    kind: str  # word, number, literal, mark or directive


class Source(NamedTuple):
    text: str
    code: list[Token]  # with #if, #else and #endif as tokens
    macros: list[tuple[str, list[Token]]]  # each #define: its name and its body
    includes: list[str]  # names in quotes or angle brackets


LEXER = re.compile(
    r"""
      (?P<space>   (?:\s | \\\r?\n)+ )
    | (?P<comment> //(?:\\\r?\n | [^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<raw>     (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z) )
    | (?P<literal> (?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*') )
    | (?P<number>  \.?[0-9](?:[eEpP][+-] | '[0-9A-Za-z_] | [\w.])* )
    | (?P<word>    [A-Za-z_$]\w* )
    | (?P<mark>    :: | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(\w*)")
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]')
DEFINE = re.compile(r"[ \t]*#[ \t]*define(?:[ \t]|\\\r?\n)+(\w+)(\([^)]*\))?")


def lex(text: str, start: int, end: int) -> list[Token]:
    """The tokens of a part of the text that has no directives."""
    tokens = []
    while start < end:
        match = LEXER.match(text, start, end)
        kind = "literal" if match.lastgroup in ("raw", "delimiter") else match.lastgroup
        if kind not in ("space", "comment"):
            tokens.append(Token(match.group(), start, match.end(), kind))
        start = match.end()
    return tokens


def end_of_line(text: str, start: int) -> int:
    """Where a directive ends: at a line end that is neither continued nor in a comment."""
    while start < len(text) and text[start] != "\n":
        if text.startswith("//", start) or text.startswith("/*", start):
            start = LEXER.match(text, start).end()
        elif text[start] == "\\":
            start += 3 if text.startswith("\\\r\n", start) else 2
        elif text[start] == '"' and (match := LEXER.match(text, start)):
            start = match.end()
        else:
            start += 1
    return min(start, len(text))


def read(text: str) -> Source:
    source = Source(text, [], [], [])
    position, line_begins = 0, True
    while position < len(text):
        directive = line_begins and DIRECTIVE.match(text, position)
        if directive:
            end = end_of_line(text, position)
            name = directive[1]
            if name == "define" and (define := DEFINE.match(text, position, end)):
                source.macros.append((define[1], lex(text, define.end(), end)))
            elif name.startswith("include") and (include := INCLUDE.match(text, position, end)):
                source.includes.append(include[1])
            elif name in ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"):
                source.code.append(Token(name, position, end, "directive"))
            position = end
            continue
        match = LEXER.match(text, position)
        kind = "literal" if match.lastgroup in ("raw", "delimiter") else match.lastgroup
        if kind in ("space", "comment"):
            line_begins = (line_begins and kind == "comment") or "\n" in match.group()
        else:
            source.code.append(Token(match.group(), position, match.end(), kind))
            line_begins = False
        position = match.end()
    return source


PAIRS = {")": "(", "]": "[", "}": "{"}


class Brackets:
    """Which brackets belong together. Each branch of an #if starts with what was open before it, so that an opening
    bracket may have several closing ones, and none in a branch that leaves it open."""

    def __init__(self, tokens: list[Token]):
        self.opening: dict[int, int] = {}  # by index of the closing bracket
        self.closing: dict[int, list[int]] = {}  # by index of the opening bracket
        open_now: list[int] = []
        before: list[list[int]] = []
        for i, token in enumerate(tokens):
            if token.kind == "directive":
                if token.text.startswith("if"):
                    before.append(list(open_now))
                elif token.text.startswith("el") and before:
                    open_now = list(before[-1])
                elif token.text == "endif" and before:
                    before.pop()
            elif token.kind == "mark" and token.text in "([{":
                open_now.append(i)
            elif token.kind == "mark" and token.text in PAIRS:
                if open_now and tokens[open_now[-1]].text == PAIRS[token.text]:
                    self.opening[i] = open_now.pop()
                    self.closing.setdefault(self.opening[i], []).append(i)

    def after(self, i: int) -> int:
        """The token after i, or after the brackets that open there."""
        return self.closing[i][-1] + 1 if i in self.closing else i + 1
