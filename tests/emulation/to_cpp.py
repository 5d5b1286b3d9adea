"""Turns CUDA source into plain C++ for the headers in include/.

    k<T, 3><<<g, b>>>(a)          (::emulated::configure(g, b), k<T, 3>(a), ::emulated::launched())
    __global__ void k(P *p) { … } __global__ void k(P *p) { ::emulated::run([=]() mutable { … }); }
    extern __shared__ T x[];      static T (&x)[] = *reinterpret_cast<T (*)[]>(::emulated::sharedMemory);
    cudaLaunchKernel((const void *)k, …    cudaLaunchKernel(k, …

A kernel is called once, so overloads, template arguments, defaults and
conversions are the compiler's; its body runs once per thread. Lines stay where
they are. What cannot be rewritten raises Unclear.
"""

from tokens import Brackets, Source, Token, read

NOT_CALLEES = {"if", "while", "for", "switch", "return", "else", "do"}


class Unclear(Exception):
    """A place in the source that is not understood."""

    def __init__(self, name: str, text: str, offset: int, what: str):
        super().__init__(f"{name}:{text.count(chr(10), 0, offset) + 1}: {what}")


class Rewriter:
    """Collects the edits of one list of tokens."""

    def __init__(self, name: str, text: str, tokens: list[Token], kernel_words: set[str]):
        self.name, self.text, self.tokens, self.kernel_words = name, text, tokens, kernel_words
        self.brackets = Brackets(tokens)
        self.edits: list[tuple[int, int, str]] = []  # start, end, text

    def run(self) -> list[tuple[int, int, str]]:
        for i, token in enumerate(self.tokens):
            if token.kind == "word":
                if token.text in self.kernel_words:
                    self.kernel(i)
                elif token.text == "__shared__":
                    self.shared(i)
                elif token.text == "__noinline__" and not self.is_mark(i - 1, "("):
                    self.replace(i, i, "__attribute__((noinline))")
                elif token.text in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and self.is_mark(i + 1, "("):
                    self.drop_cast(i + 2)
            elif self.is_run(i, "<<<") and not self.is_mark(i - 1, "<", next_to=i):
                self.launch(i)
        return self.edits

    def is_mark(self, i: int, text: str, next_to: int | None = None) -> bool:
        if not 0 <= i < len(self.tokens) or self.tokens[i].text != text or self.tokens[i].kind != "mark":
            return False
        return next_to is None or abs(self.tokens[i].start - self.tokens[next_to].start) == 1

    def is_run(self, i: int, text: str) -> bool:
        return all(self.is_mark(i + k, mark) for k, mark in enumerate(text)) and (
            self.tokens[i + 2].start == self.tokens[i].start + 2
        )

    def unclear(self, i: int, what: str) -> Unclear:
        return Unclear(self.name, self.text, self.tokens[min(i, len(self.tokens) - 1)].start, what)

    def slice(self, first: int, last: int) -> str:
        """The text from one token to another, both included."""
        return self.text[self.tokens[first].start : self.tokens[last].end] if first <= last else ""

    def replace(self, first: int, last: int, text: str) -> None:
        """The edits keep the number of lines."""
        lost = self.slice(first, last).count("\n") - text.count("\n")
        self.edits.append((self.tokens[first].start, self.tokens[last].end, text + "\n" * max(lost, 0)))

    def insert(self, offset: int, text: str) -> None:
        self.edits.append((offset, offset, text))

    def launch(self, i: int) -> None:
        begin = self.callee(i)
        end = i + 3
        while end < len(self.tokens) and not (self.is_run(end, ">>>") and not self.is_mark(end + 3, ">", next_to=end + 2)):
            end = self.brackets.after(end)
        if not self.is_mark(end + 3, "(") or end + 3 not in self.brackets.closing:
            raise self.unclear(i, "no '>>>(' for this '<<<'")
        start, stop = self.tokens[i].start, self.tokens[end + 2].end
        self.insert(self.tokens[begin].start, f"(::emulated::configure({self.text[start + 3 : stop - 3]}), ")
        self.edits.append((start, stop, ""))
        self.insert(self.tokens[self.brackets.after(end + 3) - 1].end, ", ::emulated::launched())")

    def callee(self, i: int) -> int:
        """The first token of what stands before '<<<': a name with its qualifiers and template arguments, or a call,
        subscript or parenthesis."""
        k = i - 1
        while k >= 0:
            if self.is_mark(k, ">"):
                k = self.template_name(k)
            if k >= 0 and k in self.brackets.opening:
                k = self.brackets.opening[k]
                before = self.tokens[k - 1] if k else None
                if before and (before.kind == "word" and before.text not in NOT_CALLEES or before.text in ("]", ">")):
                    k -= 1
                    continue
                return k
            if k < 0 or self.tokens[k].kind != "word":
                break
            if k and self.tokens[k - 1].text == "template":
                k -= 1
            if k and self.tokens[k - 1].text in ("::", ".", "->"):
                before = self.tokens[k - 2] if k > 1 else None
                if before and (before.kind == "word" and before.text not in NOT_CALLEES or before.text in (")", "]", ">")):
                    k -= 2
                    continue
                return k - 1
            return k
        raise self.unclear(i, "no kernel before this '<<<'")

    def template_name(self, k: int) -> int:
        """The name before the template arguments that end at k; -1 where there is none."""
        depth = 0
        while k >= 0 and self.tokens[k].text not in (";", "{", "}"):
            k = self.brackets.opening.get(k, k)
            depth += self.is_mark(k, ">") - self.is_mark(k, "<")
            k -= 1
            if depth == 0:
                return k
        return -1

    def kernel(self, i: int) -> None:
        """Wraps the body of the kernel that the word at i declares; a declaration has none."""
        waiting = [i + 1]  # several where the preprocessor chooses between heads
        while waiting:
            k = waiting.pop()
            while k < len(self.tokens) and self.tokens[k].text not in (";", "{", "}"):
                waiting += [end + 1 for end in self.brackets.closing.get(k, [])[:-1]]
                k = self.brackets.after(k)
            if self.is_mark(k, "{") and all(start != self.tokens[k].end for start, _, _ in self.edits):
                self.insert(self.tokens[k].end, " ::emulated::run([=]() mutable {")
                for end in self.brackets.closing.get(k, []):
                    self.insert(self.tokens[end].start, "});")

    def shared(self, i: int) -> None:
        first = i
        while first > 0 and self.tokens[first - 1].text not in (";", "{", "}", ":") and self.tokens[first - 1].kind != "directive":
            first -= 1
        words = [token.text for token in self.tokens[first : i + 4]]
        if "static" in words:
            self.replace(i, i, " ")
        if "extern" not in words:
            return
        last = i
        while last < len(self.tokens) and not self.is_mark(last, ";"):
            last = self.brackets.after(last)
        kind, name, depth, k = "", "", 0, first
        while k < min(last, len(self.tokens)) and not self.is_mark(k, "["):
            text = self.tokens[k].text
            depth += (text == "<") - (text == ">")
            if text == "," and depth == 0:
                break
            if text in ("alignas", "__align__", "__attribute__") and self.is_mark(k + 1, "("):
                k = self.brackets.after(k + 1)
                continue
            if self.is_mark(k + 1, "["):
                name = text
            elif text not in ("extern", "__shared__"):
                kind += text + " "
            k += 1
        end = k
        while self.is_mark(end, "["):
            end = self.brackets.after(end)
        if not name or end != last:
            raise self.unclear(i, "'extern __shared__' of one array is expected")
        extent = self.slice(k, last - 1)
        value = f"*reinterpret_cast<{kind}(*){extent}>(::emulated::sharedMemory)"
        self.replace(first, last, f"static {kind}(&{name}){extent} = {value};")

    def drop_cast(self, i: int) -> None:
        """Removes a cast to a pointer to void that starts at i."""
        k = i + 2 if self.tokens[i].text in ("reinterpret_cast", "static_cast") else i + 1
        end = k
        while end < len(self.tokens) and self.tokens[end].text in ("const", "void", "*"):
            end += 1
        if end > k and (self.is_mark(i, "(") and self.is_mark(end, ")") or k == i + 2 and self.is_mark(end, ">")):
            self.replace(i, end, "")


def kernel_macros(source: Source) -> set[str]:
    """Macros that stand for __global__ and what is around it, without a body."""
    return {
        name
        for name, body in source.macros
        if any(t.text == "__global__" for t in body) and not any(t.text == "{" for t in body)
    }


def to_cpp(text: str, name: str = "input", kernel_words: set[str] = frozenset()) -> str:
    """kernel_words: macros of other files that stand for __global__."""
    source = read(text)
    kernel_words = {"__global__"} | kernel_macros(source) | kernel_words
    edits = []
    for tokens in [source.code] + [body for _, body in source.macros]:
        edits += Rewriter(name, text, tokens, kernel_words).run()
    pieces, position = [], 0
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1])):
        if start < position:
            raise Unclear(name, text, start, "rewritten twice")
        pieces += [text[position:start], new]
        position = end
    return "".join(pieces) + text[position:]
