"""What code at one place may touch: arrays, elements, local values.

A program is free of races by construction. Per kernel and array, a field is either
`shared` (read at any element, written by nobody), `owned` (read and written by the
thread of the element) or `counted` (changed by atomics, at any element, read by nobody).
"""

from dataclasses import dataclass, field, replace

from context import Locals
from records import Record

NOTHING = frozenset()
SMALLEST_EXTENT = 32  # elements of an array whose number is not written in the code


@dataclass
class Array:
    text: str  # p, v.data, table
    record: Record
    extent: str  # its elements in scope: n, 64
    shared: frozenset = NOTHING
    owned: frozenset = NOTHING
    counted: frozenset = NOTHING
    space: str = "global"  # global, constant, block, local, host
    const: bool = False
    pointer: bool = True  # and not declared as an array


@dataclass
class Element:
    record: Record
    dot: str  # p[i], t, (*q); empty inside a method
    reads: frozenset
    writes: frozenset
    arrow: str = ""  # q, (p + i): also written q->x
    address: str = ""  # of type T *
    array: Array = None
    index: str = ""
    space: str = "global"
    const: bool = False

    def readable(self):
        return self.record.keys() <= self.reads

    def writable(self):
        return self.record.keys() <= self.writes


@dataclass
class Scope:
    names: Locals
    device: bool = True
    own: str = ""  # the index of the thread's own element
    extent: str = ""  # own < extent
    unsigned: bool = False  # the type of own
    block: int = 0  # threads of a block, where that is fixed
    arrays: list = field(default_factory=list)
    elements: list = field(default_factory=list)
    scalars: list = field(default_factory=list)  # (name, Scalar), constant
    variables: list = field(default_factory=list)  # (name, Scalar), may be changed
    counters: list = field(default_factory=list)  # loop variables: (name, what it stays under)
    indices: list = field(default_factory=list)  # arrays of int, all under the extent
    permutations: list = field(default_factory=list)  # the same, without repetition
    depth: int = 0
    calls: bool = True

    def signed_own(self):
        return f"(int){in_parentheses(self.own)}" if self.unsigned else self.own

    def inner(self, **changes):
        """For a block inside: what it declares is gone after it."""
        lists = {name: list(getattr(self, name)) for name in ("arrays", "elements", "scalars", "variables", "counters")}
        return replace(self, **{**lists, "depth": self.depth + 1, **changes})


class Places:
    """Writes indices, elements and fields down, in any of the ways people do."""

    def __init__(self, context):
        self.context = context

    def wrapped(self, scope, extent):
        """An index text under `extent`, for any element that may be read."""
        context, own = self.context, scope.own
        choices = [(6, f"({own} + {context.number(1, 9)}) % {extent}")] if own else []
        if own and extent == scope.extent:
            choices += [(8, own), (4, f"{extent} - 1 - {in_parentheses(own)}")]
            if context.has("low-precedence"):
                choices += [(4, f"{own} < {extent} - 1 ? {own} + 1 : 0"), (4, f"{own} > 0 ? {own} - 1 : {own}"),
                            (3, f"{own} & 15"), (2, f"{own} > 20"), (1, f"!{in_parentheses(own)}"),
                            (1, f"{own} == 3 || {own} > 40"), (2, f"({own} ^ 1) < {extent} ? {own} ^ 1 : {own}"), (2, f"{own} >> 1")]
            if context.has("indirect"):
                choices += [(8, f"{name}[{own}]") for name in scope.indices + scope.permutations]
        for counter, bound in scope.counters:
            smallest = int(extent) if extent.isdigit() else SMALLEST_EXTENT
            inside = bound == extent or bound.isdigit() and int(bound) <= smallest
            choices.append((14, counter if inside else f"{counter} % {extent}"))
        choices += [(1, "0"), (1, "0" if extent.isdigit() else str(context.number(1, 9))), (1, f"{extent} - 1")]
        if scope.device and own:
            choices.append((1, f"threadIdx.x % {extent}"))
        text = context.rng.choices([text for _, text in choices], [weight for weight, _ in choices])[0]
        if context.sometimes("conversion-index", 0.3):
            text = f"{context.pick(['(unsigned)', '(size_t)', '(long long)', '(short)', 'int'])}({text})"
        return text

    def gathered(self, scope, array):
        """An index that comes from an array of records: p[p[i].next % n]."""
        kinds = ("unsigned", "bool", "enum") if array.space == "global" else ("unsigned",)
        found = [leaf for leaf in array.record.leaves() if leaf.scalar.kind in kinds and leaf.key in array.shared]
        if not found or array.record.private:
            return None
        leaf = self.context.pick(found)
        text = f"{array.text}[{self.wrapped(scope, array.extent)}]{self.leaf(leaf, scope)}"
        if leaf.scalar.kind == "unsigned":
            return f"{text} % {array.extent}"
        return f"(int){text}" if leaf.scalar.kind == "enum" and "::" in leaf.scalar.enumerators[0] else text

    def at(self, array, index, reads, writes):
        """Element `index` of an array, written in one of many ways."""
        context = self.context
        shown = in_parentheses(index)
        element = Element(array.record, f"{array.text}[{index}]", reads, writes, array=array, index=index, space=array.space,
                          const=array.const,
                          address=context.pick([f"&{array.text}[{index}]", f"{array.text} + {shown}"]))
        if context.sometimes("star", 0.25):
            element.dot = context.pick([f"(*({array.text} + {shown}))", f"(*({array.text} + {shown}))", f"({shown}[{array.text}])"]
                                       if context.has("index-pointer") else [f"(*({array.text} + {shown}))"])
        if context.sometimes("parentheses", 0.3):
            element.dot = context.pick([f"({element.dot})", f"({array.text})[{index}]", f"{array.text}[({index})]"])
        if context.sometimes("trivia", 0.2):
            element.dot = context.pick([f"{array.text}[ {index} ]", f"{array.text} [{index}]", f"{array.text}[{index} /* own */]",
                                        f"{array.text} /* [0] */ [{index}]", f"{array.text}[\n{index}]"])
        if context.sometimes("arrow", 0.4):
            element.arrow = context.pick([f"({array.text} + {shown})", f"({array.text} + {shown})", f"(&{array.text}[{index}])"])
        step = context.steppers.get(array.record.name)
        if step and array.space == "global" and not array.const and context.chance(0.2):
            called = f"{step}({array.text}, {index})"
            if array.record.name in context.references:
                element.dot, element.arrow, element.address = called, "", "&" + called
            else:
                element.arrow = element.address = called
        if context.sometimes("comma", 0.05) and shown == index:
            element.dot = f"{array.text}[(0, {index})]"
        if index == "0" and context.chance(0.5):
            element.arrow = array.text
        return element

    def own(self, scope, array):
        return self.at(array, scope.own, array.shared | array.owned, array.owned)

    def any(self, scope, array):
        """An element that may only be read, and only in its shared fields."""
        index = self.wrapped(scope, array.extent)
        if self.context.sometimes("nested-access", 0.4):
            index = self.gathered(scope, array) or index
        return self.at(array, index, array.shared, NOTHING)

    def parts(self, element):
        """Nested records of an element, as elements of their own."""
        found = []
        for field in element.record.fields:
            if isinstance(field.type, Record) and field.type.style != "builtin" and element.dot:
                index = "".join(f"[{self.context.number(0, length - 1)}]" for length in field.lengths)
                key = len(field.name) + 1
                reads, writes = (frozenset(leaf[key:] for leaf in keys if leaf.startswith(field.name + "."))
                                 for keys in (element.reads, element.writes))
                text = f"{element.dot}.{field.name}{index}"
                found.append(Element(field.type, text, reads, writes, space=element.space, const=element.const,
                                     address="&" + text if self.context.has("member-address") else ""))
        return found

    def with_parts(self, found):
        if self.context.has("nested-whole"):
            found += [(1, part) for _, element in list(found) for part in self.parts(element)]
        return found

    def readable(self, scope):
        """Elements to read from: those with a name, and some of the arrays'."""
        found = [(5, element) for element in scope.elements if element.reads]
        for array in scope.arrays:
            if scope.own and (array.owned or array.shared) and array.extent == scope.extent:
                found.append((3, self.own(scope, array)))
            if array.shared:
                found.append((3, self.any(scope, array)))
        return self.with_parts(found)

    def read_element(self, scope, wanted=lambda element: True):
        found = [(weight, element) for weight, element in self.readable(scope) if wanted(element)]
        if not found:
            return None
        return self.context.rng.choices([element for _, element in found], [weight for weight, _ in found])[0]

    def written_element(self, scope, wanted=lambda element: True):
        found = [(2, element) for element in scope.elements if element.writes]
        for array in scope.arrays:
            if array.owned and scope.own:
                element = self.own(scope, array)
                found.append((4, element))
        found = [(weight, element) for weight, element in self.with_parts(found) if wanted(element)]
        if not found:
            return None
        return self.context.rng.choices([element for _, element in found], [weight for weight, _ in found])[0]

    def leaf(self, leaf, scope):
        """What follows the element: .v[k]"""
        context = self.context

        def index(length):
            choices = [str(context.number(0, length - 1))] * 2
            if context.has("member-array") or context.has("array-2d"):
                choices += [f"{name} % {length}" for name, _ in scope.counters] * 2
                if scope.own:
                    choices.append(f"{in_parentheses(scope.own)} % {length}")
            return context.pick(choices)
        return leaf.text(index)

    def member(self, element, leaf, scope):
        """The field of the element, as an expression that can be read; assigned too unless it is private."""
        text = self.leaf(leaf, scope)
        if element.record.private:
            text = f".get_{leaf.key}()" if element.dot else text
        if not element.dot:
            return text[1:]
        if element.arrow and self.context.chance(0.7):
            return element.arrow + "->" + text[1:]
        if self.context.sometimes("trivia", 0.1):
            return element.dot + self.context.pick([" . ", " .", ". ", "\n.", " /* . */."]) + text[1:]
        return element.dot + text


def in_parentheses(text):
    return text if text.replace("_", "a").isalnum() else f"({text})"
