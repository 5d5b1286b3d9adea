"""Records: random fields, and their definition as text."""

from dataclasses import dataclass, field
from math import prod

import scalars
from context import AWKWARD_FIELDS, AWKWARD_RECORDS, FIELD_NAMES, PART_NAMES, RECORD_NAMES
from pieces import Piece
from scalars import Scalar


@dataclass(frozen=True)
class Leaf:
    """A field of one value, possibly inside nested records and member arrays."""

    key: str  # pos.x
    steps: tuple  # (name, dimensions) from the outside
    scalar: Scalar

    def text(self, index):
        """What follows the element; index(length) gives the text of an index."""
        return "".join("." + name + "".join(f"[{index(length)}]" for length in lengths) for name, lengths in self.steps)


@dataclass
class Field:
    name: str
    type: object  # Scalar or Record
    lengths: tuple = ()


@dataclass
class Method:
    name: str
    kind: str  # value, change, static, plus, compound
    reads: frozenset = frozenset()
    writes: frozenset = frozenset()
    result: str = "float"


@dataclass
class Record:
    name: str  # as the rest of the program names it
    fields: list = field(default_factory=list)
    style: str = "struct"  # struct, typedef, typedef-tag, class, builtin
    alignment: int = 0
    private: bool = False
    constructor: bool = False
    methods: list = field(default_factory=list)
    members: list = field(default_factory=list)  # pieces of methods
    namespace: str = ""
    alias: str = ""

    def leaves(self):
        found = []
        for member in self.fields:
            step = (member.name, member.lengths)
            if isinstance(member.type, Record):
                found += [Leaf(f"{member.name}.{leaf.key}", (step, *leaf.steps), leaf.scalar) for leaf in member.type.leaves()]
            else:
                found.append(Leaf(member.name, (step,), member.type))
        return found

    def keys(self):
        return frozenset(leaf.key for leaf in self.leaves())

    def values(self):
        """How many values an element has."""
        return sum(prod(length for _, lengths in leaf.steps for length in lengths) for leaf in self.leaves())

    def nested(self):
        """Fields that are records themselves, and no arrays."""
        return [member for member in self.fields if isinstance(member.type, Record) and not member.lengths]

    def short_name(self):
        return self.name.rpartition("::")[2]

    def spelled(self, context):
        """One of its names."""
        if self.alias and context.chance(0.4):
            return self.alias
        if context.sometimes("elaborated") and not self.namespace and self.style in ("struct", "typedef-tag"):
            return "struct " + self.inner_name()
        return self.name

    def inner_name(self):
        """Its name where its members are declared."""
        return self.short_name() + ("_" if self.style == "typedef-tag" else "")

    def definition(self):
        name = self.short_name()
        aligned = f"__align__({self.alignment}) " if self.alignment else ""
        head, tail = {
            "struct": (f"struct {aligned}{name} {{\n", "};\n\n"),
            "class": (f"class {aligned}{name} {{\n" + ("" if self.private else "public:\n"), "};\n\n"),
            "typedef": (f"typedef struct {aligned}{{\n", f"}} {name};\n\n"),
            "typedef-tag": (f"typedef struct {aligned}{name}_ {{\n", f"}} {name};\n\n"),
        }[self.style]
        fields = field_lines(self.fields)
        if self.private:
            fields.append("\npublic:\n")
        if self.constructor:
            fields += constructors(self)
        piece = Piece(fields, self.members, head=head, tail=tail, defines=[name, self.inner_name()], record=True)
        if self.alias:
            using = Piece(f"using {self.alias} = {name};\n\n", defines=self.alias, kept=True)
            return Piece(piece, using, kept=True)
        if self.namespace:
            piece = Piece(piece, head=f"namespace {self.namespace} {{\n", tail=f"}} // namespace {self.namespace}\n\n",
                          defines=self.namespace)
        return piece


def type_name(type):
    return type.name


def field_lines(fields):
    """Neighbours of one type share a line, as people write it."""
    lines, position = [], 0
    while position < len(fields):
        end = position + 1
        while end < len(fields) and end - position < 3 and fields[end].type is fields[position].type:
            end += 1
        declared = [Piece(f.name + "".join(f"[{length}]" for length in f.lengths), defines="." + f.name)
                    for f in fields[position:end]]
        lines.append(Piece(declared, head=type_name(fields[position].type) + " ", sep=", ", tail=";\n", group=True))
        position = end
    return lines


def constructors(record):
    name = record.short_name()
    parameters = Piece([Piece(f"{f.type.name} {f.name}_", needs="." + f.name, kept=True) for f in record.fields], sep=", ")
    start = Piece([Piece(f"{f.name}({f.name}_)", needs="." + f.name, kept=True) for f in record.fields], sep=", ")
    return [f"{name}() = default;\n", Piece(f"__host__ __device__ {name}(", parameters, ") : ", start, " {}\n", kept=True,
                                            defines="constructor of " + record.name, needs="." + record.fields[0].name)]


def make_enum(context):
    name = context.global_name(["Kind", "State", "Phase", "Mode"])
    scoped = context.has("enum-class")
    values = [context.global_name([f"{name}{letter}"]) for letter in "ABC"]
    base = context.pick(["", " : unsigned char", " : short"]) if scoped else ""
    size = {"": 4, " : unsigned char": 1, " : short": 2}[base]
    text = f"enum {'class ' if scoped else ''}{name}{base} {{ {', '.join(values)} }};\n\n"
    enumerators = tuple(f"{name}::{value}" if scoped else value for value in values)
    return Scalar(name, "enum", size, enumerators), Piece(text, defines=(name, *values))


def make_vector(name):
    element, count = scalars.VECTORS[name]
    return Record(name, [Field(letter, element) for letter in "xyzw"[:count]], style="builtin")


class RecordMaker:
    def __init__(self, context, give_methods):
        self.context, self.give_methods = context, give_methods
        self.definitions = []  # pieces, in order
        self.enum = None
        self.parts = []

    def scalar(self):
        context = self.context
        if context.sometimes("bool", 0.2):
            return scalars.BOOL
        if (context.has("enum") or context.has("enum-class")) and context.chance(0.2):
            if not self.enum:
                self.enum, piece = make_enum(context)
                self.definitions.append(piece)
            return self.enum
        if context.sometimes("mixed-sizes"):
            return context.pick(scalars.SMALL + scalars.WIDE)
        return context.pick(scalars.COMMON)

    def part(self, depth):
        """A small record to nest."""
        context = self.context
        if context.has("vector-field") and (context.chance(0.6) or not context.has("user-vector")):
            return make_vector(context.pick(scalars.VECTORS))
        if self.parts and context.chance(0.5):
            return context.pick(self.parts)
        record = Record(context.global_name(PART_NAMES), style=context.pick(["struct", "struct", "typedef"]))
        same = context.pick(scalars.COMMON) if context.chance(0.6) else None
        names = "xyzw" if context.chance(0.6) else context.sample(FIELD_NAMES, 4)
        record.fields = [Field(name, same or self.scalar()) for name in names[: context.number(2, 4)]]
        if depth < 1 and self.parts and context.chance(0.3):
            record.fields.append(Field("inner", context.pick(self.parts)))
        self.give_methods(record)
        self.definitions.append(record.definition())
        self.parts.append(record)
        return record

    def field(self, name):
        context = self.context
        nested = context.has("nested") or context.has("nested-array") or context.has("vector-field") or context.has("user-vector")
        if nested and context.chance(0.35):
            lengths = (context.number(2, 3),) if context.sometimes("nested-array") else ()
            return Field(name, self.part(0), lengths)
        lengths = ()
        if context.sometimes("member-array", 0.3):
            lengths = (context.pick([2, 3, 3, 4, 5, 18]),)
        if context.sometimes("array-2d", 0.25):
            lengths = (context.number(2, 3), context.number(2, 3))
        return Field(name, self.scalar(), lengths)

    def record(self):
        context = self.context
        names = RECORD_NAMES + (AWKWARD_RECORDS if context.has("awkward-names") else [])
        record = Record(context.global_name(names))
        count = context.number(2, 5)
        if context.has("many-fields"):
            count = context.number(6, 12)
        if context.has("single-field"):
            count = 1
        if context.sometimes("private-fields", 0.7):
            record.private, record.style = True, "class"
        fields = FIELD_NAMES + (2 * AWKWARD_FIELDS if context.has("awkward-names") else [])
        names = context.sample(dict.fromkeys(context.sample(fields, len(fields))), count)
        if record.private:
            record.fields = [Field(name, self.scalar()) for name in names]
        else:
            same = context.pick(scalars.COMMON) if context.chance(0.4) else None
            record.fields = [Field(name, same) if same and context.chance(0.7) else self.field(name) for name in names]
        if not record.private:
            styles = [feature for feature in ("typedef-struct", "class-public") if context.sometimes(feature, 0.7)]
            if styles:
                record.style = {"typedef-struct": context.pick(["typedef", "typedef-tag"]), "class-public": "class"}[styles[0]]
        if context.sometimes("aligned-record", 0.6):
            record.alignment = context.pick([8, 16])
        if context.sometimes("type-alias", 0.8):
            record.alias = context.global_name([record.name + "Type", "Item_t", "Elem"])
        elif context.has("namespace") and context.chance(0.8):
            record.namespace = "sim"
            record.name = "sim::" + record.name
        plain = all(isinstance(f.type, Scalar) and not f.lengths for f in record.fields)
        if plain and not record.style.startswith("typedef"):
            record.constructor = record.private or context.sometimes("constructor", 0.8)
        context.records.append(record)
        return record
