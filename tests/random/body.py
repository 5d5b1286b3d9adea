"""Statements of kernels and device functions, and of host loops over elements."""

import re
from dataclasses import replace

from pieces import Piece, names_in
from scalars import FLOAT, UNSIGNED
from scope import Element
from forms import Forms


class Body(Forms):
    def __init__(self, context):
        super().__init__(context)
        # What makes a statement, how often, and the feature it belongs to.
        self.known = 0  # scalars that are parameters
        self.makers = [
            (self.assign, 30, None), (self.compound, 20, None), (self.local_value, 10, None),
            (self.load, 14, "whole-load"), (self.store, 12, "whole-store"), (self.store, 6, "element-copy"),
            (self.pointer_alias, 8, "pointer-alias"), (self.reference_alias, 8, "reference-alias"),
            (self.offset_alias, 6, "offset-alias"), (self.changing_alias, 6, "alias-then-change"),
            (self.nested_whole, 8, "nested-whole"), (self.call, 14, None), (self.atomic, 12, None),
            (self.loop, 10, "uniform-loop"), (self.branch, 10, "divergence"), (self.switch, 6, "switch"),
            (self.side_effect, 6, "side-effect-index"), (self.shadow, 8, "shadowing"), (self.local_array, 6, "local-array"),
            (self.method, 8, "mutating-method"), (self.operator, 8, "operator-compound"), (self.walk, 6, "pointer-walk"),
            (self.field_address, 6, "member-address"), (self.self_assign, 6, "self-assign"),
            (self.declared_pair, 8, "declared-pairs"), (self.value_of_change, 8, "value-of-change"), (self.binding, 6, "binding"),
            (self.device_lambda, 8, "device-lambda"), (self.pass_member_array, 12, "pass-member-array"),
            (self.range_for, 8, "range-for"), (self.if_initialiser, 8, "if-initialiser"), (self.unbraced, 10, "unbraced"),
            (self.member_reference, 6, "member-reference"), (self.exchange, 8, "exchange"),
        ]

    def statements(self, scope, count):
        """`count` statements; each sees what those before it declare."""
        found = []
        makers = [(maker, weight) for maker, weight, feature in self.makers if not feature or self.context.has(feature)]
        for _ in range(4 * count):
            if len(found) >= count:
                break
            maker = self.context.rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
            made = maker(scope)
            if made:
                found.append(made)
        return found

    def spend(self, scope):
        """Statements by which what was computed reaches memory."""
        lines, declared = self.calls_of_all(scope), self.observed(scope)
        for first in range(0, len(declared), 3):
            element, leaf = self.target(scope, lambda leaf: leaf.scalar.kind in ("float", "double"))
            if not element or element.space == "local" or element.record.private:
                break
            terms = [Piece(text) for text in declared[first:first + 3]]
            lines.append(Piece(f"{self.places.member(element, leaf, scope)} += ", Piece(terms, sep=" + ", group=True), ";\n", group=True))
        return lines

    def observed(self, scope, handed=0):
        """What was computed and declared here, as terms of a sum."""
        context = self.context
        declared = [type.read_as("float", name) for name, type in scope.scalars[self.known:]]
        for element in scope.elements[handed:]:
            leaves = [leaf for leaf in element.record.leaves() if leaf.key in element.reads]
            if leaves:
                leaf = context.pick(leaves)
                declared.append(leaf.scalar.read_as("float", self.places.member(element, leaf, scope)))
        context.rng.shuffle(declared)
        return declared

    def calls_of_all(self, scope):
        """Calls of functions that nobody has called yet."""
        lines = []
        for function in self.context.functions:
            if scope.calls and not function.called and function.usable(scope) and self.context.chance(0.8):
                if function.writes:
                    lines.append(Piece(function.call(self.values, scope), ";\n"))
                elif isinstance(function.result, str):
                    name = scope.names.new("v")
                    lines.append(Piece(f"{function.result} {name} = ", function.call(self.values, scope), ";\n", defines=name))
                    scope.scalars.append((name, FLOAT if function.result == "float" else UNSIGNED))
                else:
                    name, keys = scope.names.new("t"), function.record.keys()
                    lines.append(Piece(f"{function.record.name} {name} = ", function.call(self.values, scope), ";\n", defines=name))
                    scope.elements.append(Element(function.record, name, keys, keys, address="&" + name, space="local"))
        return lines

    # Calls

    def call(self, scope):
        """A function that changes an element, called as a statement."""
        if not scope.calls:
            return None
        found = [f for f in self.context.functions if f.writes and f.usable(scope)]
        if not found:
            return None
        function = self.context.pick(found)
        if function.result in ("float", "unsigned") and self.context.chance(0.7):
            name = scope.names.new("v")
            called = Piece(f"{function.result} {name} = ", function.call(self.values, scope), ";\n", defines=name)
            scope.scalars.append((name, FLOAT if function.result == "float" else UNSIGNED))
            return called
        return Piece(function.call(self.values, scope), ";\n")

    def method(self, scope):
        element = self.places.written_element(scope, lambda e: e.dot and any(
            m.kind == "change" and m.reads <= e.reads and m.writes <= e.writes for m in e.record.methods))
        if not element:
            return None
        method = self.context.pick([m for m in element.record.methods if m.kind == "change"])
        dot = element.arrow + "->" if element.arrow else element.dot + "."
        return Piece(f"{dot}{method.name}(", self.values.value("float", scope, 1), ");\n")

    def operator(self, scope):
        element = self.places.written_element(scope, lambda e: e.dot and e.writable() and any(
            m.kind == "compound" for m in e.record.methods))
        value = element and self.values.whole(element.record, scope)
        needs = value and "operator+= of " + element.record.name
        return Piece(f"{element.dot} += ", value, ";\n", needs=needs) if value else None

    def atomic(self, scope):
        """An integer field of any element, counted by an atomic whose result nobody looks at."""
        context = self.context
        arrays = [a for a in scope.arrays if a.counted]
        if not arrays or not scope.device:
            return None
        array = context.pick(arrays)
        leaf = context.pick([leaf for leaf in array.record.leaves() if leaf.key in array.counted])
        element = self.places.at(array, self.places.wrapped(scope, array.extent), frozenset(), array.counted)
        text = self.places.member(element, leaf, scope)
        if leaf.scalar.kind == "unsigned" and leaf.scalar.bytes == 4:
            function = context.pick(["atomicAdd", "atomicAdd", "atomicXor", "atomicMax", "atomicOr"])
            # One kind of atomic for a field: two kinds would depend on their order.
            function = context.atomics.setdefault((array.record.name, leaf.key), function)
            value = self.values.value("unsigned", scope, 1)
        else:
            function, value = "atomicAdd", [f"({leaf.scalar.name})((", self.values.value("unsigned", scope, 1), ") & 0x1fu)"]
        return Piece(f"{function}(&{text}, ", value, ");\n")

    # Control flow

    def loop(self, scope):
        """A short loop; every thread sees the same elements."""
        if scope.depth > 1:
            return None
        context = self.context
        counter, sum = scope.names.new(context.pick("kjm")), scope.names.new(context.pick(["s", "sum", "acc"]))
        bound = context.pick(["4", "8", "7"])
        if scope.extent and scope.depth == 0 and context.chance(0.15) and not scope.extent.isdigit():
            bound = scope.extent
        type = context.pick(["int", "int", "unsigned", "size_t"] if bound.isdigit() else ["int"])
        inside = scope.inner(counters=[*scope.counters, (counter, bound)])
        line = Piece(f"{sum} += ", self.values.value("float", inside), ";\n")
        skip = [Piece("if (", self.values.condition(inside), ")\ncontinue;\n")] if context.chance(0.15) else []
        body = self.statements(inside, context.number(0, 2))
        body.insert(context.number(0, len(body)), line)
        body = skip + body
        head = context.pick([f"for ({type} {counter} = 0; {counter} < {bound}; ++{counter}) {{\n",
                             f"for ({type} {counter} = 0; {counter} < {bound}; {counter}++) {{\n"])
        scope.scalars.append((sum, FLOAT))
        return Piece(f"float {sum} = 0;\n", Piece(head, body, "}\n"), defines=(sum, counter))

    def branch(self, scope):
        if scope.depth > 1:
            return None
        context = self.context
        condition = self.values.condition(scope)
        then = self.statements(scope.inner(), context.number(1, 3))
        otherwise = self.statements(scope.inner(), context.number(1, 2)) if context.chance(0.4) else []
        # Without its condition, the statements remain.
        name = scope.names.new("branch") + " of if"
        parts = [Piece("if (", condition, ") {\n", defines=name), *then]
        if otherwise:
            parts += [Piece("} else {\n", needs=name), *otherwise]
        return Piece(parts, Piece("}\n", needs=name, kept=True))

    def switch(self, scope):
        if scope.depth > 1:
            return None
        element = self.places.read_element(scope, lambda e: e.dot)
        leaves = [leaf for leaf in element.record.leaves() if leaf.key in element.reads] if element else []
        enums = [leaf for leaf in leaves if leaf.scalar.kind == "enum"]
        if not enums:
            return None
        leaf = self.context.pick(enums)
        first, second, _ = leaf.scalar.enumerators
        return Piece(f"switch ({self.places.member(element, leaf, scope)}) {{\n",
                     Piece(f"case {first}: {{\n", self.statements(scope.inner(), 1), "break;\n}\n"),
                     Piece(f"case {second}: {{\n", self.statements(scope.inner(), 1), "break;\n}\n"),
                     Piece("default: {\n", self.statements(scope.inner(), 1), "}\n"), "}\n")

    def side_effect(self, scope):
        """An index that changes while it is used, once per statement."""
        context = self.context
        arrays = [a for a in scope.arrays if a.owned and not a.const and a.extent == scope.extent]
        if not arrays or not scope.own:
            return None
        array, index = context.pick(arrays), scope.names.new("at")
        leaf = context.pick([leaf for leaf in array.record.leaves() if leaf.key in array.owned])
        # What is written, and where it starts so that it gives the thread's own element.
        written, start = context.pick([(f"{index}++", ""), (f"{index}--", ""), (f"{index} += 1", " - 1"), (f"{index} ^= 1", " ^ 1")])
        start = scope.own + start
        element = self.places.at(array, written, array.shared | array.owned, array.owned)
        element.dot, element.arrow = f"{array.text}[{element.index}]", ""
        if array.owned >= array.record.keys() and context.chance(0.4):
            value = self.values.whole(array.record, scope)
            if value:
                return Piece(f"int {index} = {start};\n", f"{element.dot} = ", value, ";\n", defines=index)
        if array.record.private:
            return None
        value = self.values.for_leaf(leaf.scalar, scope)
        operator = "+=" if leaf.scalar.kind in ("float", "double", "unsigned") and context.chance(0.4) else "="
        return Piece(f"int {index} = {start};\n{self.places.member(element, leaf, scope)} {operator} ", value, ";\n", defines=index)

    def shadow(self, scope):
        """A block whose local has the name of an array, an index or an element."""
        names = [a.text for a in scope.arrays if a.text.isidentifier()] + [scope.own] * scope.own.isidentifier()
        if not names or scope.depth > 1:
            return None
        name = self.context.pick(names)
        value = self.values.value("float", scope, 1)
        # An initialiser does not see the name outside.
        if name in names_in(text_of(Piece(value))):
            value = [self.values.constant("float")]

        def unhidden(text):
            return not re.search(rf"\b{name}\b", text)
        inside = scope.inner()
        inside.arrays = [a for a in inside.arrays if unhidden(a.text) and unhidden(a.extent)]
        inside.elements = [e for e in inside.elements if unhidden(e.dot) and unhidden(e.address)]
        inside.elements = [replace(e, array=None) for e in inside.elements]
        if name == scope.own:
            inside.own = ""
        inside.scalars = [*inside.scalars, (name, FLOAT)]
        inside.calls = False
        body = self.statements(inside, self.context.number(1, 3))
        return Piece(f"{{\nfloat {name} = ", value, ";\n", body, "}\n") if body else None

    # What restride refuses

    def walk(self, scope):
        arrays = [a for a in scope.arrays if a.owned and not a.const and a.extent == scope.extent and not a.record.private]
        if not arrays or not scope.own:
            return None
        array = self.context.pick(arrays)
        leaf = self.context.pick([leaf for leaf in array.record.leaves() if leaf.key in array.owned])
        name = scope.names.new("walker")
        return Piece(f"{array.record.name} *{name} = {array.text};\n{name} += {scope.own};\n",
                     f"{name}->{self.places.leaf(leaf, scope)[1:]} = ", self.values.for_leaf(leaf.scalar, scope), ";\n", defines=name)

    def field_address(self, scope):
        element, leaf = self.target(scope)
        if not element or element.record.private:
            return None
        name = scope.names.new("field")
        return Piece(f"{leaf.scalar.name} *{name} = &{self.places.member(element, leaf, scope)};\n",
                     f"*{name} = ", self.values.for_leaf(leaf.scalar, scope), ";\n", defines=name)


def text_of(piece):
    return piece.own_text() + " ".join(text_of(child) for child in piece.children())
