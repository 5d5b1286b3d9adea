"""Expressions: lists of text and pieces. A term after the first is a piece, so that reduction can drop it."""

from pieces import Piece
from records import Record
from scope import Places, in_parentheses

KINDS = {"float": "f", "double": "", "unsigned": "u", "bool": ""}


class Values:
    def __init__(self, context):
        self.context = context
        self.places = Places(context)

    def constant(self, kind):
        context = self.context
        if kind == "bool":
            return context.pick(["true", "false"])
        if kind == "unsigned":
            return f"{context.number(0, 99)}u"
        return f"{context.number(-9, 9)}.{context.pick(['0', '25', '5', '75'])}{KINDS[kind]}"

    def named(self, kind, scope):
        """A local value or a parameter."""
        found = scope.scalars + scope.variables
        if found and self.context.chance(0.8):
            name, type = self.context.pick(found)
            return type.read_as(kind, name)
        if scope.counters and kind in ("float", "double", "unsigned"):
            return f"({kind}){self.context.pick(scope.counters)[0]}"
        if scope.own and kind in ("float", "double", "unsigned"):
            return f"({kind}){in_parentheses(scope.own)}"
        return self.constant(kind)

    def field(self, kind, scope):
        element = self.places.read_element(scope)
        if not element:
            return self.named(kind, scope)
        leaves = [leaf for leaf in element.record.leaves() if leaf.key in element.reads]
        alike = [leaf for leaf in leaves if leaf.scalar.kind == kind]
        leaf = self.context.pick(alike if alike and self.context.chance(0.6) else leaves)
        text = self.places.member(element, leaf, scope)
        if element.array and element.array.space == "global" and self.context.sometimes("ldg", 0.3):
            if (leaf.scalar.name in ("float", "int", "unsigned", "double") and scope.device and not element.record.private
                    and leaf.key not in element.array.owned and element.array.const):
                text = f"__ldg(&{text})"
        return leaf.scalar.read_as(kind, text)

    def call(self, kind, scope):
        """A call of a function or a method that gives a value, or nothing."""
        found = [function for function in self.context.functions if function.result == kind and not function.writes
                 and function.usable(scope)]
        if found and scope.calls and self.context.chance(0.6):
            return self.context.pick(found).call(self, scope)
        dotted = self.dot_method(kind, scope)
        if dotted:
            return dotted
        element = self.places.read_element(scope, lambda e: any(m.kind == "value" and m.result == kind and m.reads <= e.reads
                                                                for m in e.record.methods))
        if not element or not element.dot:
            return None
        method = self.context.pick([m for m in element.record.methods if m.kind == "value" and m.result == kind
                                    and m.reads <= element.reads])
        if element.arrow and self.context.chance(0.5):
            return [f"{element.arrow}->{method.name}()"]
        return [f"{element.dot}.{method.name}()"]

    def dot_method(self, kind, scope):
        """p[i].dot(p[j])"""
        def able(element):
            return element.dot and element.readable() and any(m.kind == "dot" for m in element.record.methods)
        element = self.places.read_element(scope, able) if kind == "float" else None
        if not element:
            return None
        other = self.places.read_element(scope, lambda e: able(e) and e.record is element.record)
        return [f"{element.dot}.dot({other.dot})"]

    def term(self, kind, scope, depth):
        context = self.context
        dice = context.rng.random()
        if dice < 0.55:
            text = self.field(kind, scope)
        elif dice < 0.7:
            text = self.named(kind, scope)
        elif dice < 0.8 and depth < 2:
            return ["(", self.value(kind, scope, depth + 1), ")"]
        elif dice < 0.93 and depth < 2:
            called = self.call(kind, scope)
            if called:
                return called
            text = self.field(kind, scope)
        elif depth < 2 and context.has("conditional-value"):
            return ["(", self.condition(scope, depth + 1), " ? ", self.value(kind, scope, depth + 1), " : ",
                    self.constant(kind), ")"]
        else:
            text = self.constant(kind)
        if context.sometimes("macro-argument", 0.15) and kind in ("float", "double") and context.square:
            return [f"{context.square}(", text, ") * 0.125f"]
        return [text]

    def value(self, kind, scope, depth=0):
        if kind == "bool":
            return self.condition(scope, depth)
        operators = {"float": [" + ", " - "], "double": [" + ", " - "], "unsigned": [" + ", " - ", " * "]}[kind]
        if kind in ("float", "double") and self.context.chance(0.4):
            first = [*self.term(kind, scope, depth), f" * {self.context.pick(['0.5', '0.25', '1.5', '-0.5'])}{KINDS[kind]}"]
        else:
            first = self.term(kind, scope, depth)
        more = self.context.rng.choices([0, 1, 2], [40, 45, 15])[0] if depth < 2 else 0
        return first + [Piece(self.context.pick(operators), self.term(kind, scope, depth + 1)) for _ in range(more)]

    def equality(self, scope):
        """p[i] == t"""
        def able(element):
            return element.dot and element.readable() and any(m.kind == "equal" for m in element.record.methods)
        element = self.places.read_element(scope, able)
        other = element and self.places.read_element(scope, lambda e: able(e) and e.record is element.record)
        return [f"({element.dot} {self.context.pick(['==', '!='])} {other.dot})"] if other else None

    def condition(self, scope, depth=0):
        context = self.context
        if context.sometimes("comparison", 0.4):
            compared = self.equality(scope)
            if compared:
                return compared
        kind = context.pick(["float", "float", "unsigned"])
        left = self.term(kind, scope, 2)
        operator = context.pick([" < ", " > ", " <= ", " >= ", " != ", " == "])
        parts = ["(", left, operator, self.term(kind, scope, 2), ")"]
        if depth < 2 and context.chance(0.2):
            parts += [Piece(context.pick([" && ", " || "]), "(", self.term("unsigned", scope, 2), " % 3u != 0u)")]
            return ["(", parts, ")"]
        return parts

    def for_leaf(self, leaf_scalar, scope):
        """A value that may be assigned to a field of this type."""
        kind = leaf_scalar.kind
        if kind in ("float", "double"):
            return self.value(kind, scope)
        if kind == "bool":
            return self.condition(scope)
        before, after = leaf_scalar.of_unsigned("\0").split("\0")
        return [before, self.value("unsigned", scope), after]

    def aggregate(self, type, scope, lengths=()):
        """{…} for a record, a member array or one value."""
        if lengths:
            return Piece([Piece(self.aggregate(type, scope, lengths[1:]), kept=True) for _ in range(lengths[0])],
                         sep=", ", head="{", tail="}", kept=True)
        if isinstance(type, Record):
            return Piece([Piece(self.aggregate(f.type, scope, f.lengths), needs="." + f.name, kept=True) for f in type.fields],
                         sep=", ", head="{", tail="}", kept=True)
        return self.small(type, scope)

    def small_float(self, scope):
        names = [name for name, type in scope.scalars if type.kind == "float"]
        return self.context.pick(names) if names else self.constant("float")

    def small(self, type, scope):
        """One short value of a type, for long initialisers."""
        kind = type.kind if type.kind in ("float", "double") else "unsigned"
        text = self.field(kind, scope) if self.context.chance(0.5) else self.named(kind, scope)
        return text if kind != "unsigned" else type.of_unsigned(text)

    def whole(self, record, scope, depth=0):
        """A value of the record's type."""
        context = self.context
        element = self.places.read_element(scope, lambda e: e.record is record and e.readable() and e.dot)
        functions = [f for f in context.functions if f.result is record and f.usable(scope)] if scope.calls else []
        if functions and depth < 1 and context.chance(0.4):
            return context.pick(functions).call(self, scope)
        if element and depth < 1 and context.sometimes("element-condition", 0.3):
            other = self.whole(record, scope, 1)
            return ["(", self.condition(scope, 1), " ? ", element.dot, " : ", other, ")"] if other else [element.dot]
        if any(m.kind == "static" for m in record.methods) and context.chance(0.3):
            return [Piece(f"{record.name}::make(", self.value("unsigned", scope, 1), ")", kept=True, needs="make of " + record.name)]
        plus = [m for m in record.methods if m.kind == "plus"]
        if element and plus and depth < 1 and context.chance(0.4):
            more = self.whole(record, scope, 1)
            return [element.dot, Piece(" + ", more, needs="operator+ of " + record.name)] if more else [element.dot]
        if element and (depth or not (context.has("aggregate") or record.constructor) or context.chance(0.6)):
            return [element.dot]
        if record.constructor:
            return self.constructed(record, scope)
        if context.sometimes("empty-value", 0.4):
            return [record.name, context.pick(["()", "{}"])]
        if record.private or record.values() > 16:
            return [element.dot] if element else None
        return [record.name, self.aggregate(record, scope)]

    def constructed(self, record, scope):
        plain = [f for f in record.fields if not isinstance(f.type, Record) and not f.lengths]
        arguments = [Piece(self.small(f.type, scope), needs="." + f.name, kept=True) for f in plain]
        return [f"{record.name}", Piece(arguments, sep=", ", head="(", tail=")", kept=True, needs="constructor of " + record.name)]
