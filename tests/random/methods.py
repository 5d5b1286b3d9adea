"""Member functions and operators of records."""

from body import Body
from context import Locals
from pieces import Piece
from records import Method
from scalars import FLOAT
from scope import NOTHING, Element, Scope


class MethodMaker:
    def __init__(self, context):
        self.context = context
        self.body = Body(context)

    def add(self, record):
        """Gives the record the methods that the program's features ask for."""
        context = self.context
        if record.private:
            self.accessors(record)
        if record.style == "typedef":
            return
        if context.sometimes("const-method", 0.8):
            self.method(record, "value", "norm")
        if context.sometimes("mutating-method", 0.9):
            self.method(record, "change", "move")
        if context.sometimes("dot-method", 0.8):
            self.dot(record)
        if context.sometimes("comparison", 0.8):
            self.equal(record)
        if context.sometimes("static-method", 0.8):
            self.start(record)
        if context.sometimes("operator", 0.8) and record.values() <= 12:
            self.plus(record)
        if context.sometimes("operator-compound", 0.9) and record.values() <= 12:
            self.compound(record)

    def accessors(self, record):
        for field in record.fields:
            name, type = field.name, field.type.name
            record.members.append(Piece(
                f"__host__ __device__ {type} get_{name}() const {{ return {name}; }}\n"
                f"__host__ __device__ void set_{name}({type} {name}_) {{ {name} = {name}_; }}\n",
                defines=(f".get_{name}", f".set_{name}"), needs="." + name, kept=True))

    def method(self, record, kind, name):
        context = self.context
        name = name if name not in [f.name for f in record.fields] else name + "Of"
        keys = frozenset(context.sample(sorted(record.keys()), 3))
        method = Method(name, kind, keys, keys if kind == "change" else NOTHING, context.pick(["float", "unsigned"]))
        names = Locals(context, *(f.name for f in record.fields))
        scope = Scope(names, device=False, calls=False)
        # Within a private record, the fields themselves are at hand.
        inside = Element(record, "", keys, method.writes, space="local")
        scope.elements.append(inside)
        parameter = names.new("d")
        private, record.private = record.private, False
        if kind == "change":
            scope.scalars.append((parameter, FLOAT))
            body = [made for made in (self.body.assign(scope), self.body.compound(scope)) if made]
            text = f"__host__ __device__ void {name}(float {parameter}) {{\n"
        else:
            body = ["return ", self.body.values.value(method.result, scope), ";\n"]
            text = f"__host__ __device__ {method.result} {name}() const {{\n"
        record.private = private
        record.methods.append(method)
        record.members.append(Piece(body, head=text, tail="}\n", defines="." + name, scope=True))

    def leaf_lines(self, record, line):
        """A line for each value of the record, with loops for member arrays."""
        lines = []
        for leaf in record.leaves():
            counters = iter("klmn")
            loops = []

            def index(length):
                counter = next(counters) + "_"
                loops.append(f"for (int {counter} = 0; {counter} < {length}; ++{counter})\n")
                return counter
            text = leaf.text(index)
            lines.append(Piece("".join(loops), line(leaf, text), needs=["." + name for name, _ in leaf.steps], kept=True))
        return lines

    def plus(self, record):
        name = record.inner_name()
        member = self.context.chance(0.5)
        left, other = ("(*this)", "o") if member else ("a", "b")
        head = f"operator+(const {name} &o) const" if member else f"operator+(const {name} &a, const {name} &b)"
        lines = self.leaf_lines(record, lambda leaf, text: f"result{text} = {self.sum(leaf, left + text, other + text)};\n")
        record.members.append(Piece(f"{name} result = {left};\n", lines, "return result;\n", tail="}\n", scope=True,
                                    head=f"{'' if member else 'friend '}__host__ __device__ {name} {head} {{\n",
                                    defines="operator+ of " + record.name))
        record.methods.append(Method("+", "plus", record.keys()))

    def compound(self, record):
        name = record.inner_name()
        lines = self.leaf_lines(record, lambda leaf, text: f"this->{text[1:]} = {self.sum(leaf, 'this->' + text[1:], 'o' + text)};\n")
        record.members.append(Piece(lines, "return *this;\n", tail="}\n", scope=True, defines="operator+= of " + record.name,
                                    head=f"__host__ __device__ {name} &operator+=(const {name} &o) {{\n"))
        record.methods.append(Method("+=", "compound", record.keys(), record.keys()))

    def dot(self, record):
        """float dot(const P &o) const"""
        name = record.inner_name()
        leaves = [leaf for leaf in record.leaves() if leaf.scalar.kind == "float"] or record.leaves()[:1]
        terms = []
        for leaf in leaves[:3]:
            text = leaf.text(lambda length: "0")
            terms.append(Piece(f"{leaf.scalar.read_as('float', '(*this)' + text)} * {leaf.scalar.read_as('float', 'o' + text)}"))
        record.members.append(Piece("return ", Piece(terms, sep=" + ", group=True), ";\n", tail="}\n", scope=True, group=True,
                                    head=f"__host__ __device__ float dot(const {name} &o) const {{\n", defines=".dot"))
        record.methods.append(Method("dot", "dot", record.keys()))

    def equal(self, record):
        """bool operator==(const P &o) const, and its negation"""
        name = record.inner_name()
        leaves = [leaf.text(lambda length: "0") for leaf in record.leaves()[:3]]
        terms = Piece([Piece(f"(*this){text} == o{text}") for text in leaves], sep=" && ", group=True)
        record.members.append(Piece(f"__host__ __device__ bool operator==(const {name} &o) const {{\nreturn ", terms, ";\n}\n"
                                    f"__host__ __device__ bool operator!=(const {name} &o) const {{\nreturn !(*this == o);\n}}\n",
                                    group=True, defines="operator== of " + record.name))
        record.methods.append(Method("==", "equal", record.keys()))

    def start(self, record):
        """static P make(unsigned s)"""
        name = record.inner_name()
        lines = self.leaf_lines(record, lambda leaf, text: f"result{text} = {leaf.scalar.of_index('s', 5, self.context.number(0, 50))};\n")
        record.members.append(Piece(f"{name} result;\n", lines, "return result;\n", tail="}\n", scope=True,
                                    head=f"static __host__ __device__ {name} make(unsigned s) {{\n", defines="make of " + record.name))
        record.methods.append(Method("make", "static"))

    def sum(self, leaf, left, right):
        kind = leaf.scalar.kind
        if kind in ("float", "double"):
            return f"{left} + {right} * 0.5" + ("f" if kind == "float" else "")
        return leaf.scalar.of_unsigned(f"{leaf.scalar.read_as('unsigned', left)} + {leaf.scalar.read_as('unsigned', right)}")
