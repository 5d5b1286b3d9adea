"""Simple statements: fields set, elements loaded, stored and given other names."""

from dataclasses import replace

from pieces import Piece
from records import Record
from scalars import FLOAT, UNSIGNED
from scope import Array, Element
from values import Values

COMPOUND = {"float": ["+=", "-=", "*="], "double": ["+=", "-=", "*="], "signed": ["+=", "-=", "^="],
            "unsigned": ["+=", "-=", "*=", "^=", "|=", "&="], "bool": ["^=", "|=", "&="]}


class Statements:
    def __init__(self, context):
        self.context = context
        self.values = Values(context)
        self.places = self.values.places

    # Fields

    def target(self, scope, wanted=lambda leaf: True):
        """An element and one of its leaves, to be written."""
        element = self.places.written_element(scope)
        leaves = [leaf for leaf in element.record.leaves() if leaf.key in element.writes and wanted(leaf)] if element else []
        return (element, self.context.pick(leaves)) if leaves else (None, None)

    def set(self, element, leaf, value, scope):
        """The text of an assignment to a field, without the semicolon."""
        if element.record.private:
            dot = element.arrow + "->" if element.arrow else element.dot + "." if element.dot else ""
            return [f"{dot}set_{leaf.key}(", value, ")"]
        return [self.places.member(element, leaf, scope), " = ", value]

    def assign(self, scope):
        element, leaf = self.target(scope)
        if not element:
            return None
        value = self.values.for_leaf(leaf.scalar, scope)
        if self.context.sometimes("chained", 0.4) and not element.record.private:
            same = [other for other in element.record.leaves() if other.scalar is leaf.scalar and other.key in element.writes]
            value = [Piece(self.places.member(element, self.context.pick(same), scope), " = "), value]
        return Piece(self.set(element, leaf, value, scope), ";\n")

    def compound(self, scope):
        element, leaf = self.target(scope, lambda leaf: leaf.scalar.kind != "enum")
        if not element:
            return None
        kind, context = leaf.scalar.kind, self.context
        text = self.places.member(element, leaf, scope)
        if element.record.private:
            value = self.values.for_leaf(leaf.scalar, scope)
            return Piece(self.set(element, leaf, [f"{text} + ", value] if kind in ("float", "double", "unsigned") else value, scope),
                         ";\n")
        if kind in ("signed", "unsigned") and context.chance(0.25):
            return Piece(context.pick([f"++{text}", f"{text}++", f"--{text}", f"{text}--"]), ";\n")
        operator = context.pick(COMPOUND[kind])
        if operator == "*=" and kind != "unsigned":
            value = [context.pick(["0.5f", "1.5f", "-0.75f"])]
        elif kind == "signed":
            value = ["(int)((", self.values.value("unsigned", scope), ") & 0x3fu)"]
        else:
            value = self.values.value(kind, scope)
        return Piece(f"{text} {operator} ", value, ";\n")

    def local_value(self, scope):
        type = self.context.pick([FLOAT, FLOAT, UNSIGNED])
        element = self.places.read_element(scope)
        # People call it like the field.
        name = self.context.pick([leaf.steps[-1][0] for leaf in element.record.leaves()] if element else ["v"])
        name = scope.names.new(name if len(name) > 1 or self.context.chance(0.4) else "v")
        written = "auto" if self.context.sometimes("auto", 0.3) else type.name
        const = "const " if self.context.chance(0.3) else ""
        piece = Piece(f"{const}{written} {name} = ", self.values.value(type.name, scope), ";\n", defines=name)
        scope.scalars.append((name, type))
        return piece

    # Elements

    def load(self, scope):
        context = self.context
        element = self.places.read_element(scope, lambda e: e.readable() and e.dot)
        if not element:
            return None
        name, type = scope.names.new(context.pick(["t", "e", "tmp", "self", "cur"])), element.record.spelled(context)
        auto = context.sometimes("auto", 0.5)
        text = context.pick([f"{'auto' if auto else type} {name} = {element.dot};\n"] * 5 + [
            f"{type} {name}({element.dot});\n", f"{type} {name};\n{name} = {element.dot};\n", f"const {type} {name} = {element.dot};\n"])
        const = text.startswith("const")
        scope.elements.append(Element(element.record, name, element.record.keys(), frozenset() if const else element.record.keys(),
                                      address="&" + name, space="local", const=const))
        return Piece(text, defines=name)

    def store(self, scope):
        element = self.places.written_element(scope, lambda e: e.writable() and e.dot)
        value = element and self.values.whole(element.record, scope)
        if not value:
            return None
        if self.context.sometimes("chained", 0.2):
            other = self.places.written_element(scope, lambda e: e.writable() and e.dot and e.record is element.record)
            value = [Piece(f"{other.dot} = "), value]
        record = element.record
        if self.context.sometimes("aggregate", 0.3) and not record.private and not record.constructor and record.values() <= 16:
            value = [self.values.aggregate(record, scope)]
        return Piece(f"{element.dot} = ", value, ";\n")

    def alias(self, scope, element, name, text, arrow, *more):
        scope.elements.append(replace(element, dot=f"(*{name})" if arrow else name, arrow=name if arrow else "",
                                      address=name if arrow else "&" + name, array=None))
        return Piece(text, defines=(name, *more))

    def some_element(self, scope):
        """An element of an array, to be given another name; read only or not."""
        places = self.places
        of_array = lambda e: e.address and e.space != "local"
        element = places.written_element(scope, of_array) if self.context.chance(0.6) else None
        element = element or places.read_element(scope, of_array)
        if not element:
            return None, ""
        const = element.const or not element.writes and self.context.chance(0.8)
        if const:
            element = replace(element, writes=frozenset(), const=True)
        return element, "const " if const else ""

    def pointer_alias(self, scope):
        element, const = self.some_element(scope)
        if not element:
            return None
        name = scope.names.new(self.context.pick(["q", "it", "me", "ptr"]))
        type = "auto" if self.context.sometimes("auto", 0.3) else const + element.record.name
        after = "const " if self.context.chance(0.15) else ""
        if self.context.sometimes("late-alias", 0.5) and type != "auto":
            return self.alias(scope, element, name, f"{type} *{name};\n{name} = {element.address};\n", True)
        return self.alias(scope, element, name, f"{type} *{after}{name} = {element.address};\n", True)

    def reference_alias(self, scope):
        element, const = self.some_element(scope)
        if not element:
            return None
        name = scope.names.new(self.context.pick(["r", "ref", "me", "self"]))
        type = const + ("auto" if self.context.sometimes("auto", 0.3) else element.record.name)
        return self.alias(scope, element, name, f"{type} &{name} = {element.dot};\n", False)

    def offset_alias(self, scope):
        """A pointer into the middle, subscripted from there."""
        arrays = [a for a in scope.arrays if a.space == "global" and (a.owned or a.shared) and a.extent == scope.extent]
        if not arrays or not scope.own:
            return None
        array, step = self.context.pick(arrays), self.context.number(1, 9)
        const = "const " if array.const or not array.owned else ""
        name = scope.names.new(self.context.pick(["q", "rest", "mid"]))
        element = self.places.own(scope, replace(array, text=name))
        element.dot, element.arrow, element.array = f"{name}[{scope.signed_own()} - {step}]", "", None
        element.address = f"{name} + ({scope.signed_own()} - {step})"
        if const:
            element = replace(element, writes=frozenset(), const=True)
        scope.elements.append(element)
        return Piece(f"{const}{array.record.name} *{name} = {array.text} + {step};\n", defines=name)

    def changing_alias(self, scope):
        """The index changes after the alias was made."""
        arrays = [a for a in scope.arrays if a.owned and a.extent == scope.extent and not a.const and a.space == "global"]
        if not arrays or not scope.own:
            return None
        array = self.context.pick(arrays)
        index, name = scope.names.new("j"), scope.names.new(self.context.pick(["q", "r"]))
        pointer = self.context.chance(0.5)
        declared = f"*{name} = &{array.text}[{index}]" if pointer else f"&{name} = {array.text}[{index}]"
        text = f"int {index} = {scope.own};\n{array.record.name} {declared};\n{index} = {index} / 2 + 1;\n"
        element = Element(array.record, name, array.shared | array.owned, array.owned, array=array)
        return self.alias(scope, element, name, text, pointer, index)

    def nested_whole(self, scope):
        """A nested record copied, loaded or built as a whole."""
        def covers(keys, member, element):
            return {key for key in element.record.keys() if key.startswith(member.name + ".")} <= keys
        target = self.places.written_element(scope, lambda e: any(covers(e.writes, m, e) for m in e.record.nested()))
        if not target:
            return None
        member = self.context.pick([m for m in target.record.nested() if covers(target.writes, m, target)])
        source = self.places.read_element(scope, lambda e: any(m.type is member.type and covers(e.reads, m, e)
                                                               for m in e.record.nested()))
        written = (target.dot + "." if target.dot else "") + member.name
        if source and self.context.chance(0.7):
            other = self.context.pick([m for m in source.record.nested() if m.type is member.type and covers(source.reads, m, source)])
            text = (source.dot + "." if source.dot else "") + other.name
            if self.context.chance(0.5):
                name = scope.names.new("v")
                first = member.type.fields[0]
                change = "" if isinstance(first.type, Record) or first.lengths else Piece(
                    f"{name}.{first.name} = ", self.values.small(first.type, scope), ";\n")
                return Piece(f"{member.type.name} {name} = {text};\n", change, f"{written} = {name};\n", defines=name)
            return Piece(f"{written} = {text};\n")
        if member.type.style == "builtin":
            values = [Piece(self.values.small(f.type, scope), kept=True) for f in member.type.fields]
            return Piece(f"{written} = make_{member.type.name}(", Piece(values, sep=", ", kept=True), ");\n")
        return Piece(f"{written} = {member.type.name}", self.values.aggregate(member.type, scope), ";\n")

    def local_array(self, scope):
        element = self.places.read_element(scope, lambda e: e.readable() and e.dot)
        value = element and self.values.whole(element.record, scope)
        if not value:
            return None
        name, record = scope.names.new("pair"), element.record
        scope.arrays.append(Array(name, record, "2", shared=record.keys(), space="local"))
        for index in "01":
            scope.elements.append(Element(record, f"{name}[{index}]", record.keys(), record.keys(), space="local"))
        return Piece(f"{record.name} {name}[2] = {{{element.dot}, ", value, "};\n", defines=name)

    def self_assign(self, scope):
        element = self.places.written_element(scope, lambda e: e.writable() and e.dot)
        return Piece(f"{element.dot} = {element.dot};\n") if element else None
