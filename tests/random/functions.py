"""Device functions that take an array, an element or a copy of one."""

from dataclasses import dataclass

from body import Body
from context import FUNCTION_NAMES, Locals
from pieces import Piece
from scalars import FLOAT
from scope import NOTHING, Array, Element, Scope

# How an element is handed over: what the parameter looks like, and its feature.
STYLES = {"array": "pass-pointer", "offset": "pass-offset", "pointer": "pass-address", "value": "pass-value",
          "const-reference": "pass-const-reference", "reference": "pass-reference", "twice": "pass-twice"}


@dataclass
class Function:
    name: str
    record: object
    style: str
    result: object  # float, unsigned, void or a record
    reads: frozenset
    writes: frozenset
    const: bool
    qualifiers: str
    extra: bool  # takes a float, too
    number: int = 0  # template <int K>
    places: object = None
    context: object = None
    spaces: tuple = ("global",)
    called: bool = False
    template: bool = False

    def takes(self, element, scope):
        """Whether the element may be handed to the function."""
        if element.record is not self.record or not element.dot:
            return False
        if not scope.device and "__host__" not in self.qualifiers:
            return False
        if not (self.reads <= element.reads and self.writes <= element.writes):
            return False
        if self.style in ("value", "const-reference"):
            return self.style == "value" or not self.reads or element.readable()
        if element.const and not self.const:
            return False
        if self.style == "reference":
            return True
        if element.space not in self.spaces and not self.context.has("mixed-callers"):
            return False
        if self.style == "pointer":
            return bool(element.address)
        return element.array is not None and bool(element.index)

    def usable(self, scope):
        return any(self.takes(element, scope) for _, element in self.candidates(scope))

    def candidates(self, scope):
        found = self.places.readable(scope)
        return found + [(1, self.places.own(scope, a)) for a in scope.arrays if a.owned and scope.own and a.extent == scope.extent]

    def call(self, values, scope):
        context, elements, self.called = self.context, [], True
        while not elements:  # spelt anew each time
            elements = [element for _, element in self.candidates(scope) if self.takes(element, scope)]
        element = context.pick(elements)
        text = element.array.text if element.array else ""
        if self.style in ("array", "offset"):
            arguments = [text, element.index]
            if self.style == "offset":
                index = element.index if element.index.isidentifier() else f"({element.index})"
                arguments = context.pick([[f"{text} + {index}", "0"], [f"&{text}[{element.index}]", "0"],
                                          [f"{text} + 2", f"{index} - 2"]])
        elif self.style == "pointer":
            arguments = [element.address]
        elif self.style == "twice":
            arguments = [element.dot, text, element.index]
        else:
            arguments = [element.dot]
        if self.extra:
            arguments.append(values.small_float(scope))
        template = f"<{self.number}>" if self.number else ""
        return [f"{self.name}{template}({', '.join(arguments)})"]


class FunctionMaker:
    def __init__(self, context):
        self.context = context
        self.body = Body(context)

    def make(self, record, part=False):
        """A function of the record, or None; with its declaration and its definition."""
        context = self.context
        styles = [style for style, feature in STYLES.items() if context.has(feature)]
        if part:  # a nested record is no element of an array
            styles = [style for style in styles if style in ("value", "const-reference", "reference")]
        if not styles:
            return None
        style = context.pick(styles)
        keys = record.keys()
        by_value = style in ("value", "const-reference")
        changes = not by_value and context.chance(0.8 if style in ("twice", "reference") else 0.5)
        writes = keys if changes else NOTHING
        whole = context.has("return-record") and context.chance(0.5) and not writes
        partial = not whole and not by_value and style != "twice" and context.chance(0.4)
        reads = frozenset(context.sample(sorted(keys), max(1, len(keys) - 1))) if partial else keys
        if writes and partial:
            writes = reads
        result = record if whole else context.pick(["void", "void", "float"]) if writes else context.pick(["float", "unsigned"])
        qualifiers = context.pick(["__device__ ", "__device__ inline ", "static __device__ "])
        if context.sometimes("host-device-function"):
            qualifiers = context.pick(["__host__ __device__ ", "__host__ __device__ inline "])
        # Two of one name and one record could be called alike.
        mine = {f.name for f in context.functions if f.record is record}
        same = [f.name for f in context.functions if f.name not in mine and f.style == style and not f.template]
        name = context.pick(same) if same and context.sometimes("overload", 0.7) else context.global_name(FUNCTION_NAMES)
        function = Function(name, record, style, result, reads, writes,
                            const=not writes and context.chance(0.8), qualifiers=qualifiers, extra=context.chance(0.3),
                            places=self.body.places, context=context)
        if context.has("host-callers") and "__host__" in qualifiers:
            function.spaces = ("global", "host")
        pieces = self.define(function)
        context.functions.append(function)
        return pieces

    def define(self, function):
        context, record = self.context, function.record
        names = Locals(context)
        scope = Scope(names, device="__host__" not in function.qualifiers)
        const = "const " if function.const else ""
        overloaded = any(f.name == function.name for f in context.functions)
        template = function.template = not overloaded and context.sometimes("template-function")
        typed = template and function.style != "twice" and context.chance(0.6)
        type = "Any" if typed else record.name
        if template and not typed:
            function.number = context.number(2, 4)
        parameters = []

        def array():
            name, index = names.new(context.pick("pqabv")), names.new(context.pick(["i", "k", "at"]))
            pointer = context.pointer(type, name, function.const)
            parameters.extend([context.pick([pointer] * 3 + [f"{const}{type} {name}[]"]), f"int {index}"])
            scope.elements.append(self.body.places.at(Array(name, record, index, const=function.const), index,
                                                      function.reads, function.writes))

        def element(declared, name, **more):
            parameters.append(declared + name)
            scope.elements.append(Element(record, reads=function.reads, writes=function.writes, **more))

        name = names.new(context.pick(["e", "it", "self", "a", "v"]))
        if function.style in ("array", "offset"):
            array()
        elif function.style == "pointer":
            element(context.pointer(type, "", function.const), name, dot=f"(*{name})", arrow=name, address=name, const=function.const)
        elif function.style == "value":
            parameters.append(f"{type} {name}")
            scope.elements.append(Element(record, name, record.keys(), record.keys(), address="&" + name, space="local"))
        else:
            if function.style == "twice":  # the array changes while the element is looked at
                element(context.pick([f"{record.name} ", f"const {record.name} &"]), name, dot=name, const=True, space="local")
                scope.elements[-1].writes = NOTHING
                array()
            else:
                constant = function.style == "const-reference" or not function.writes
                element(f"const {type} &" if constant else f"{type} &", name, dot=name, const=constant)
        if function.extra:
            scope.scalars.append((names.new("w"), FLOAT))
            parameters.append("float " + scope.scalars[-1][0])
        self.body.known = len(scope.scalars)
        handed = len(scope.elements)
        statements = self.body.statements(scope, context.number(1, 4))
        declared = self.body.observed(scope, handed)[:4]
        if function.result == "void":
            end = self.body.spend(scope) if function.writes else ""
        elif isinstance(function.result, str):
            terms = declared if function.result == "float" else [f"({term} > 1.0f ? 2u : 5u)" for term in declared]
            end = ["return ", self.body.values.value(function.result, scope), [Piece(" + ", term) for term in terms], ";\n"]
        else:
            end = ["return ", self.body.values.whole(record, scope), ";\n"]
        result = function.result if isinstance(function.result, str) else function.result.name
        if typed and not isinstance(function.result, str):
            result = type
        head = f"{function.qualifiers}{result} {function.name}({', '.join(parameters)})"
        if typed:
            head = "template <typename Any>\n" + head
        elif template:
            head = "template <int K>\n" + head
        definition = Piece(statements, end, head=head + " {\n", tail="}\n\n", defines=function.name, scope=True,
                           needs=record.short_name())
        if context.sometimes("prototype") and not template:
            return Piece(head + ";\n", needs=function.name, kept=True), definition
        return None, definition
