"""Kernels: parameters, what each array is for, the thread's index, and a body."""

from dataclasses import dataclass, field

from body import Body
from context import KERNEL_NAMES, POINTER_NAMES, Locals
from pieces import Piece
from scalars import FLOAT, INT, UNSIGNED
from scope import NOTHING, Array, Element, Scope


@dataclass(eq=False)
class Parameter:
    kind: str  # array, count, scalar, index, permutation, output
    record: object = None
    type: object = None
    writes: bool = False
    view: str = ""  # the struct by value that an array comes in


@dataclass
class Kernel:
    name: str
    parameters: list = field(default_factory=list)
    block: int = 0  # threads of a block, where the kernel depends on it
    whole: bool = False  # wants the full extent: it reads indices from an array
    template: str = ""  # <3>
    element: str = ""  # the record's type, as a template's parameter
    dynamic: object = None  # the record of its shared memory, where the launch gives that
    rows: bool = False  # two-dimensional blocks

    def arrays(self):
        return [p for p in self.parameters if p.kind == "array"]


ATOMIC_TYPES = ("int", "unsigned", "uint32_t", "unsigned long long")


class KernelMaker:
    def __init__(self, context):
        self.context = context
        self.body = Body(context)
        self.constants = []  # arrays in constant memory: Array
        self.statics = []  # arrays in device memory, declared there: (name, record)
        self.view_pieces = []

    def roles(self, record, const):
        """Which fields are shared, owned, counted."""
        context, keys = self.context, record.keys()
        if const:
            return keys, NOTHING, NOTHING
        counted = NOTHING
        if context.sometimes("atomic", 0.6) and not record.private:
            able = sorted(leaf.key for leaf in record.leaves() if leaf.scalar.name in ATOMIC_TYPES)
            counted = frozenset(context.sample(able, 1))
        shared = NOTHING
        if context.sometimes("shared-fields", 0.5):
            shared = frozenset(context.sample(sorted(keys - counted), len(keys) // 2))
        return shared, keys - shared - counted, counted

    def arrays(self, kernel, records, names, scope, parameters):
        """The arrays of records: parameters and what the body sees of them."""
        context = self.context
        count = 2 if context.sometimes("two-arrays", 0.6) or len(records) > 1 and context.chance(0.7) else 1
        read_only = context.sometimes("reads-only", 0.5)
        for number in range(count):
            record = records[0] if len(records) == 1 or number == 0 and context.chance(0.6) else context.pick(records)
            const = read_only or number > 0 and context.chance(0.6)
            name = names.new(context.pick(POINTER_NAMES))
            shared, owned, counted = self.roles(record, const)
            written = const and context.chance(0.8)
            prefix = "const " if written else ""
            view = ""
            if context.sometimes("view", 0.6) and number == 0:
                view, text = self.view(record, names, parameters)
            else:
                text = name
                type = record.spelled(context)
                if context.sometimes("template-record", 0.7) and number == 0:
                    type = kernel.element = names.new("Elem")
                restricted = context.sometimes("restrict", 0.6)
                fixed = "const " if context.chance(0.1) and not context.has("reassigned") else ""
                pointer = context.pointer(type, f"{fixed}{'__restrict__ ' if restricted else ''}{name}", written)
                parameters.append(pointer if restricted or context.chance(0.9) else f"{prefix}{type} {name}[]")
            kernel.parameters.append(Parameter("array", record, writes=not const, view=view))
            scope.arrays.append(Array(text, record, "", shared, owned, counted, const=written and text == name))

    def view(self, record, names, parameters):
        """The pointer comes inside a struct by value."""
        name = self.context.global_name([record.short_name() + "View"])
        self.view_pieces.append(Piece(f"struct {name} {{\n{record.name} *items;\nint count;\n}};\n\n",
                                      defines=(name, ".items", ".count")))
        view = names.new("view")
        parameters.append(f"{name} {view}")
        return name, view + ".items"

    def make(self, records):
        context = self.context
        kernel = Kernel(context.global_name(KERNEL_NAMES))
        names = Locals(context)
        scope = Scope(names)
        parameters = []
        self.arrays(kernel, records, names, scope, parameters)
        if not any(p.writes for p in kernel.arrays()) or context.chance(0.15):
            output = names.new("out")
            parameters.append(f"float *{output}")
            kernel.parameters.append(Parameter("output"))
        else:
            output = ""
        for feature, kind, found in (("indirect", "index", scope.indices), ("permutation", "permutation", scope.permutations)):
            if context.sometimes(feature, 0.7):
                name = names.new({"index": "idx", "permutation": "order"}[kind])
                parameters.append(f"const int *{name}")
                found.append(name)
                kernel.parameters.append(Parameter(kind))
                kernel.whole = True
        extent = names.new(context.pick(["n", "n", "n", "count", "N_"]))
        parameters.append(f"int {extent}")
        kernel.parameters.append(Parameter("count"))
        for array in scope.arrays:
            array.extent = extent
        for _ in range(context.pick([0, 1, 1, 2])):
            type = context.pick([FLOAT, FLOAT, UNSIGNED])
            name = names.new(context.pick(["dt", "c", "w", "seed", "scale"]))
            parameters.append(f"{type.name} {name}")
            scope.scalars.append((name, type))
            kernel.parameters.append(Parameter("scalar", type=type))
        scope.extent = extent
        for array in self.constants:
            if array.record in records or context.chance(0.3):
                scope.arrays.append(array)
        for name, record in self.statics:
            if context.chance(0.7):
                scope.arrays.append(Array(name, record, extent, *self.roles(record, context.chance(0.3)), pointer=False))
        template = self.template(kernel, scope, names)
        if context.has("shuffled-parameters"):
            # Texts and what they mean stay side by side.
            order = context.sample(range(len(parameters)), len(parameters))
            parameters = [parameters[place] for place in order]
            kernel.parameters = [kernel.parameters[place] for place in order]
        separator = ",\n" if context.sometimes("trivia", 0.3) else ", "
        head = f"{template}{self.attributes(kernel)}{kernel.name}({separator.join(parameters)})"
        definition = Piece(*self.lines(kernel, scope, output), head=head + " {\n", tail="}\n\n", defines=kernel.name, scope=True)
        context.kernels.append(kernel)
        if context.sometimes("prototype", 0.5):
            return Piece(head + ";\n", needs=kernel.name, kept=True), definition
        return None, definition

    def attributes(self, kernel):
        if not self.context.has("kernel-attributes"):
            return "__global__ void "
        bounds = f"__launch_bounds__({kernel.block or 256}) "
        return self.context.pick([f"__global__ void {bounds}", f"__global__ {bounds}void ", "static __global__ void ",
                                  f"__global__ static void {bounds}"])

    def template(self, kernel, scope, names):
        if kernel.element:
            return f"template <typename {kernel.element}>\n"
        if not self.context.sometimes("kernel-template", 0.6):
            return ""
        name = names.new("K")
        if self.context.chance(0.5):
            kernel.template = f"<{self.context.number(1, 5)}>"
            scope.scalars.append((name, INT))
            return f"template <int {name}>\n"
        kernel.template = "<float>"
        return f"template <typename {name}>\n"

    def lines(self, kernel, scope, output):
        """The body: the index, what is staged, the statements."""
        context, names = self.context, scope.names
        thread = names.new(context.pick(["i", "i", "idx", "tid", "gid"]))
        kernel.rows = context.sometimes("block-2d", 0.4)
        where = "blockIdx.x * blockDim.x + threadIdx.x"
        if kernel.rows:
            where = "(blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
        staged = context.sometimes("staging", 0.6) and not kernel.rows
        type = "int" if not context.sometimes("odd-index", 0.7) else context.pick(
            ["unsigned", "const int", "size_t", "long long", "short", "const unsigned", "unsigned short"])
        scope.unsigned = "unsigned" in type or type == "size_t"
        lines = []
        if context.sometimes("null-test", 0.5) and scope.arrays[0].text.isidentifier():
            text = scope.arrays[0].text
            lines.append(Piece(context.pick([f"if (!{text})\nreturn;\n", f"if ({text} == nullptr)\nreturn;\n"])))
        declared = f"{type} {thread} = {where};\n"
        stage = self.stage(kernel, scope, thread) if staged else None
        scope.own = thread
        end, changing = "", None
        if stage:
            lines += [declared, stage, f"if ({thread} >= {scope.extent})\nreturn;\n"]
        elif context.sometimes("grid-stride", 0.6) and not kernel.rows and "const" not in type and "short" not in type:
            lines.append(f"for ({type} {thread} = {where}; {thread} < {scope.extent}; {thread} += blockDim.x * gridDim.x) {{\n")
            end = "}\n"
        elif context.sometimes("guard-block", 0.6):
            lines += [declared, f"if ({thread} < {scope.extent}) {{\n"]
            end = "}\n"
        else:
            lines += [declared, f"if ({thread} >= {scope.extent})\nreturn;\n"]
        if scope.permutations and context.chance(0.7):
            scope.unsigned = False
            # The thread's own element is another one, once for each thread.
            scope.own = names.new("slot")
            lines.append(f"int {scope.own} = {scope.permutations[0]}[{thread}];\n")
            changing = scope.own
        elif context.sometimes("row-column", 0.8):
            row, column, width = names.new("row"), names.new("col"), context.pick([4, 7, 8, 16])
            lines.append(f"int {row} = {thread} / {width}, {column} = {thread} % {width};\n")
            scope.own, scope.unsigned = f"{row} * {width} + {column}", False
        elif context.chance(0.15):
            scope.own = names.new("j")
            lines.append(f"int {scope.own} = {scope.extent} - 1 - {thread};\n")
        self.body.known = len(scope.scalars)
        statements = self.body.statements(scope, context.number(2, 7))
        statements += self.body.spend(scope)
        if output:
            statements.append(Piece(f"{output}[{thread}] = ", self.body.values.value("float", scope), ";\n"))
        if context.sometimes("reassigned", 0.5) and not changing:
            statements += self.reassigned(scope)
        return [*lines, *statements, end]

    def reassigned(self, scope):
        """The pointer itself moves on, and is used from there."""
        arrays = [a for a in scope.arrays if a.owned and not a.const and a.pointer and a.text.isidentifier() and a.extent == scope.extent]
        if not arrays:
            return []
        array = self.context.pick(arrays)
        leaf = self.context.pick([leaf for leaf in array.record.leaves() if leaf.key in array.owned])
        element = Element(array.record, f"{array.text}[{scope.signed_own()} - 2]", array.owned, array.owned)
        scope.arrays = [a for a in scope.arrays if a is not array]
        scope.elements = [e for e in scope.elements if array.text not in e.dot]
        value = self.body.values.for_leaf(leaf.scalar, scope)
        move = self.context.pick([f"{array.text} = {array.text} + 2;\n", f"{array.text} += 2;\n"])
        return [Piece(move, self.body.set(element, leaf, value, scope), ";\n")]

    def stage(self, kernel, scope, thread):
        """Elements go through shared memory before they are used by other threads of the block."""
        context = self.context
        arrays = [a for a in scope.arrays if a.space == "global" and not a.counted and a.extent == scope.extent]
        if not arrays:
            return None
        array = context.pick(arrays)
        kernel.block = context.pick([32, 64])
        name, record = scope.names.new(context.pick(["tile", "cache", "sh"])), array.record
        tile = Array(name, record, str(kernel.block), shared=record.keys(), space="block")
        scope.arrays.append(tile)
        local, text = "threadIdx.x", f"__shared__ {record.name} {name}[{kernel.block}];\n"
        if context.sometimes("dynamic-shared", 0.7):
            # Two kernels must not declare one name with two types.
            name = tile.text = context.global_name(["tile_d", "cache_d"])
            kernel.dynamic, text = record, f"extern __shared__ {record.name} {name}[];\n"
        if context.chance(0.4):
            local = scope.names.new("lane")
            text += f"int {local} = threadIdx.x;\n"
        load = f"{name}[{local}] = {array.text}[{thread}];\n"
        if array.owned:
            # Only its own place, and that of the first thread of a block, is sure to be in range.
            tile.extent = "1"
            load = f"if ({thread} < {scope.extent})\n{load}"
        elif context.chance(0.5):
            load = f"{name}[{local}] = {array.text}[{thread} < {scope.extent} ? {thread} : 0];\n"
        else:
            load = f"if ({thread} < {scope.extent})\n{load}else\n{name}[{local}] = {array.text}[0];\n"
        scope.elements.append(Element(record, f"{name}[{local}]", record.keys(), NOTHING, space="block", array=tile, index=local,
                                      address=f"&{name}[{local}]"))
        return Piece(text, load, "__syncthreads();\n", defines=(name, local))
