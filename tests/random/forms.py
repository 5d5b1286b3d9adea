"""Statements that are rarer in programs, and that a rewriter of source text can trip over."""

from pieces import Piece
from scalars import FLOAT, UNSIGNED
from scope import Element
from statements import Statements


class Forms(Statements):
    def declared_pair(self, scope):
        """P t = p[i], u = p[j];"""
        first = self.places.read_element(scope, lambda e: e.readable() and e.dot)
        second = first and self.places.read_element(scope, lambda e: e.readable() and e.dot and e.record is first.record)
        if not second:
            return None
        names = [scope.names.new(name) for name in self.context.pick([("t", "u"), ("mine", "other"), ("e1", "e2")])]
        keys = first.record.keys()
        scope.elements += [Element(first.record, name, keys, keys, address="&" + name, space="local") for name in names]
        parts = [Piece(f"{name} = {element.dot}", defines=name) for name, element in zip(names, (first, second))]
        return Piece(parts, head=first.record.name + " ", sep=", ", tail=";\n", group=True)

    def value_of_change(self, scope):
        """unsigned v = p[i].count++;"""
        element, leaf = self.target(scope, lambda leaf: leaf.scalar.kind in ("float", "double", "unsigned"))
        if not element or element.record.private:
            return None
        text, name = self.places.member(element, leaf, scope), scope.names.new("old")
        type = FLOAT if leaf.scalar.kind in ("float", "double") else UNSIGNED
        if type is UNSIGNED:
            value = self.context.pick([f"{text}++", f"++{text}", f"({text} += 3u)", f"({text} ^= 5u)"])
        else:
            value = self.context.pick([f"({text} += 2.0f)", f"({text} = {text} * 0.5f)", f"{text}++"])
        piece = Piece(f"{type.name} {name} = ({type.name}){value};\n", defines=name)
        scope.scalars.append((name, type))
        return piece

    def binding(self, scope):
        """auto [x, y] = p[i];"""
        element = self.places.read_element(scope, lambda e: e.readable() and e.dot and not e.record.private)
        if not element:
            return None
        names = [scope.names.new(f"{field.name}_") for field in element.record.fields]
        for name, field in zip(names, element.record.fields):
            if not hasattr(field.type, "fields") and not field.lengths:
                scope.scalars.append((name, field.type))
        parts = Piece([Piece(name, needs="." + field.name, defines=name, kept=True) for name, field in zip(names, element.record.fields)],
                      sep=", ", kept=True)
        return Piece("const auto [", parts, f"] = {element.dot};\n")

    def device_lambda(self, scope):
        """auto get = [&](int k) { return p[k].x; };"""
        arrays = [a for a in scope.arrays if a.shared and a.space in ("global", "block", "constant") and not a.record.private
                  and a.text.isidentifier()]
        if not arrays or not scope.own:
            return None
        array = self.context.pick(arrays)
        leaf = self.context.pick([leaf for leaf in array.record.leaves() if leaf.key in array.shared])
        name, index, value = scope.names.new("get"), scope.names.new("k"), scope.names.new("got")
        capture = self.context.pick(["&", "=", "&"])
        element = self.places.at(array, index, array.shared, frozenset())
        text = leaf.scalar.read_as("float", self.places.member(element, leaf, scope))
        at = [self.places.wrapped(scope, array.extent) for _ in range(2)]
        scope.scalars.append((value, FLOAT))
        return Piece(f"auto {name} = [{capture}](int {index}) {{ return {text}; }};\n",
                     f"float {value} = {name}({at[0]})", Piece(f" + {name}({at[1]})"), ";\n", defines=(name, value))

    def member_array(self, scope):
        """Its first field that is a plain member array of floats or ints: (element, field) that may be read."""
        def arrays(element):
            return [f for f in element.record.fields if len(f.lengths) == 1 and not hasattr(f.type, "fields")
                    and f.type.kind in ("float", "signed", "unsigned") and f.name in element.reads]
        element = self.places.read_element(scope, lambda e: e.dot and arrays(e))
        return (element, self.context.pick(arrays(element))) if element else (None, None)

    def pass_member_array(self, scope):
        """total(p[i].v)"""
        element, field = self.member_array(scope)
        if not element or not scope.calls:
            return None
        name = scope.names.new("v")
        scope.scalars.append((name, FLOAT))
        function = self.context.adder(field.type.name)
        return Piece(f"float {name} = {function}({element.dot}.{field.name}, {field.lengths[0]});\n", defines=name)

    def range_for(self, scope):
        """for (float f : p[i].v)"""
        element, field = self.member_array(scope)
        if not element:
            return None
        sum, name = scope.names.new("sum"), scope.names.new("f")
        scope.scalars.append((sum, FLOAT))
        kind = self.context.pick([field.type.name, "auto", f"const {field.type.name} &", "const auto &"])
        return Piece(f"float {sum} = 0;\nfor ({kind} {name} : {element.dot}.{field.name})\n{sum} += (float){name};\n",
                     defines=(sum, name))

    def if_initialiser(self, scope):
        """if (float v = p[i].x; v > 1) …"""
        element, leaf = self.target(scope)
        if not element or scope.depth > 1:
            return None
        name, inside = scope.names.new("v"), scope.inner()
        value = self.values.value("float", scope)
        inside.scalars.append((name, FLOAT))
        return Piece(f"if (float {name} = ", value, f"; {name} > 1.0f) {{\n", self.assign(inside) or "", "}\n", defines=name)

    def unbraced(self, scope):
        """A statement that is all of an if, an else or a for."""
        if scope.depth > 1:
            return None
        context, tag = self.context, scope.names.new("only") + " statement"
        inside = scope.inner()
        makers = [self.assign, self.compound] + [self.store] * context.has("whole-store")
        if context.chance(0.3):
            counter = scope.names.new("k")
            inside.counters = [*inside.counters, (counter, "4")]
            statement = context.pick(makers)(inside)
            if not statement:
                return None
            head = Piece(f"for (int {counter} = 0; {counter} < 4; ++{counter})\n", needs=tag, defines=counter)
            return Piece(head, Piece(statement, defines=tag, kept=True, group=True))
        then, otherwise = context.pick(makers)(inside), context.pick(makers)(inside) if context.chance(0.5) else None
        if not then:
            return None
        # The condition can go and leave the statement, but not the other way round.
        head = tag + " if"
        parts = [Piece("if (", self.values.condition(scope), ")\n", needs=tag, defines=head),
                 Piece(then, defines=tag, kept=True, group=True)]
        if otherwise:
            parts += [Piece("else\n", needs=[head, tag + " else"]), Piece(otherwise, defines=tag + " else", kept=True, group=True)]
        return Piece(parts)

    def exchange(self, scope):
        """exchange(p[i], t)"""
        element = self.places.written_element(scope, lambda e: e.dot and e.writable() and e.record.name in self.context.exchanges)
        other = element and self.places.written_element(scope, lambda e: e.dot and e.writable() and e.record is element.record)
        if not other or not scope.calls:
            return None
        return Piece(f"{self.context.exchanges[element.record.name]}({element.dot}, {other.dot});\n")

    def member_reference(self, scope):
        element, leaf = self.target(scope)
        if not element or element.record.private:
            return None
        name = scope.names.new("field")
        return Piece(f"{leaf.scalar.name} &{name} = {self.places.member(element, leaf, scope)};\n", f"{name} = ",
                     self.values.for_leaf(leaf.scalar, scope), ";\n", defines=name)
