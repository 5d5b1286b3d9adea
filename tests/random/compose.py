"""Puts a whole program together: records, functions, kernels and main, in one file or several."""

from context import Context
from functions import FunctionMaker
from host import Host
from kernels import KernelMaker
from methods import MethodMaker
from pieces import Document, Piece
from records import RecordMaker
from scope import NOTHING, Array
from separate import SeparateMaker


class Composer:
    def __init__(self, seed, mixed=None, wanted=()):
        self.context = context = Context(seed, mixed, wanted)
        self.seed = seed
        self.methods = MethodMaker(context)
        self.records = RecordMaker(context, self.methods.add)
        self.functions = FunctionMaker(context)
        self.kernels = KernelMaker(context)
        self.device_globals, self.before, self.after = [], [], []  # the last two: lines of main around the launches

    def document(self):
        """The program of the seed."""
        context = self.context
        if context.has("macro-argument"):
            name = context.square = context.global_name(["SQ", "SQUARE"])
            self.records.definitions.append(Piece(f"#define {name}(x) ((x) * (x))\n\n", defines=name))
        count = 2 if context.has("two-records") else 1
        for _ in range(count):
            record = self.records.record()
            self.methods.add(record)
            self.records.definitions.append(record.definition())
        self.host = Host(context, context.number(40, 300))
        self.device_arrays()
        prototypes, functions = [], []
        for record in context.records:
            for _ in range(context.number(0, 3)):
                made = self.functions.make(record)
                if made:
                    prototypes.append(made[0])
                    functions.append(made[1])
            functions += self.stepper(record)
        for part in self.records.parts if context.has("nested-whole") else []:
            made = self.functions.make(part, part=True)
            if made:
                prototypes.append(made[0])
                functions.append(made[1])
        functions += self.exchange()
        kernels = []
        for _ in range(context.number(1, 3) if context.mixed > 6 else context.number(1, 2)):
            made = self.kernels.make(context.records)
            prototypes.append(made[0])
            kernels.append(made[1])
        self.separate = []
        if context.has("pointer-struct") and not context.has("two-units") or context.has("separate-arrays"):
            made, self.separate = SeparateMaker(context).make(self.host)
            kernels += made
        main = self.main()
        functions = self.adders() + functions
        return self.files([piece for piece in prototypes if piece], functions, kernels, main)

    def stepper(self, record):
        """P *skip(P *p, int k) { return p + k; }"""
        context = self.context
        if not (context.sometimes("return-pointer", 0.8) or context.has("return-reference")):
            return []
        name = context.steppers[record.name] = context.global_name(["skip", "at", "element"])
        body = context.pick(["return p + k;\n", "return &p[k];\n"])
        head = f"static __host__ __device__ {record.name} *{name}({record.name} *p, int k) {{\n"
        if context.sometimes("return-reference", 0.7):
            context.references.add(record.name)
            body, head = "return p[k];\n", head.replace(" *" + name, " &" + name)
        return [Piece(body, head=head, tail="}\n\n", defines=name, scope=True)]

    def exchange(self):
        """void exchange(P &a, P &b)"""
        found = []
        for record in self.context.records if self.context.has("exchange") else []:
            name = self.context.exchanges[record.name] = self.context.global_name(["exchange", "swap_items"])
            head = f"static __host__ __device__ void {name}({record.name} &a, {record.name} &b) {{\n"
            found.append(Piece(f"{record.name} t = a;\na = b;\nb = t;\n", head=head, tail="}\n\n", defines=name, scope=True))
        return found

    def adders(self):
        return [Piece("float sum = 0;\nfor (int k = 0; k < length; ++k)\nsum += (float)values[k];\nreturn sum;\n", tail="}\n\n",
                      head=f"static __host__ __device__ float {name}(const {type} *values, int length) {{\n", defines=name, scope=True)
                for type, name in self.context.adders.items()]

    def device_arrays(self):
        """Arrays that live in constant or device memory from the start."""
        context, host = self.context, self.host
        for feature, space in (("constant-array", "__constant__"), ("device-array", "__device__")):
            if not context.has(feature) or context.has("two-units"):
                continue
            record = context.pick(context.records)
            constant = space == "__constant__"
            name = context.global_name(["table", "palette", "coefficients"] if constant else ["store", "state_d", "pool"])
            length = str(context.pick([4, 8, 16]) if constant else host.number)
            values = host.names.new("h_" + name)
            self.device_globals.append(Piece(f"{space} {record.name} {name}[{length}];\n", defines=name))
            size = context.pick([f"sizeof({values})", f"{length} * sizeof({record.name})", f"sizeof({name})"])
            self.before.append(lambda record=record, name=name, values=values, length=length, size=size: Piece(
                f"{record.name} {values}[{length}];\nfor (int i = 0; i < {length}; ++i) {{\n",
                host.transfers.fill_lines(record, values), "}\n", host.check(f"cudaMemcpyToSymbol({name}, {values}, {size})"),
                kept=True, needs=name, defines=values))
            if constant:
                self.kernels.constants.append(Array(name, record, length, record.keys(), NOTHING, NOTHING, "constant", True))
            else:
                self.kernels.statics.append((name, record))
                self.after.append(lambda record=record, name=name, values=values, length=length, size=size: Piece(
                    host.check(f"cudaMemcpyFromSymbol({values}, {name}, {size})"), f"for (int i = 0; i < {length}; ++i) {{\n",
                    host.transfers.print_lines(record, values), 'printf("\\n");\n}\n', needs=name))

    def main(self):
        context, host = self.context, self.host
        transfers = host.transfers
        launches = [host.launch(kernel) for kernel in context.kernels]
        if context.has("several-launches"):
            launches += [host.launch(context.pick(context.kernels)) for _ in range(context.number(1, 2))]
        arrays = host.arrays
        transfers.holder(arrays)
        lines = host.count_declaration()
        body = []
        if host.stream:
            body.append(Piece(f"cudaStream_t {host.stream};\n", host.check(f"cudaStreamCreate(&{host.stream})"), kept=True,
                              defines=host.stream))
        plain = [array for array in arrays if array.style != "managed"]
        for array in plain:
            body += transfers.host_memory(array)
        body += transfers.declare(arrays)
        for array in arrays:
            body += transfers.allocate(array)
        for array in arrays:
            body += transfers.fill(array)
        if context.has("host-loop"):
            usable = [array for array in arrays if array.style != "vector"]
            body += [host.host_loop(context.pick(usable))] if usable else []
        for position, array in enumerate(plain):
            body += transfers.upload(array, plain[:position])
        body += [make() for make in self.before]
        body += [piece for _, piece in host.inputs.values()]
        managed = [array for array in arrays if array.style == "managed"]
        for position, launch in enumerate(launches):
            body.append(launch)
            if managed and position == 0 and context.sometimes("host-loop"):
                body.append(host.host_loop(context.pick(managed)))
        for array in arrays:
            body += transfers.download(array)
        body += [make() for make in self.after]
        body += self.print_output()
        body.append(self.separate)
        if context.sometimes("print-size", 0.8):
            body.append(Piece(f'printf("%d\\n", (int)sizeof({context.pick(context.records).name}));\n'))
        for array in arrays:
            body += transfers.release(array)
        return Piece(lines, host.declarations, body, head="int main() {\n", tail="return 0;\n}\n", kept=True, scope=True)

    def print_output(self):
        host = self.host
        if "output" not in host.inputs:
            return []
        to, source = host.output
        return [Piece(host.check(f"cudaMemcpy({to}, {source}, {host.count} * sizeof(float), cudaMemcpyDeviceToHost)"),
                      f'for (int i = 0; i < {host.count}; ++i)\nprintf("%a\\n", {to}[i]);\n')]

    def files(self, prototypes, functions, kernels, main):
        """Which piece goes to which file."""
        context, host = self.context, self.host
        includes = "".join(f"#include <{name}>\n" for name in sorted(host.includes | {"cstdint"}))
        comment = f"// Seed {self.seed}: {', '.join(sorted(context.features))}.\n"
        records = self.records.definitions
        if context.has("device-namespace") and not context.has("two-units"):
            name = context.pick(["", "gpu_code"])
            start, end = f"namespace {name} {{\n\n" if name else "namespace {\n\n", "} // namespace\n\n"
            kernels = [start, *prototypes, *functions, *kernels, end, f"using namespace {name};\n\n" if name else ""]
            prototypes, functions = [], []
        device = [*self.device_globals, *self.kernels.view_pieces, *prototypes, *functions, *kernels]
        rest = [*host.globals, *host.launch_functions, *host.functions, main]
        if not (context.has("header") or context.has("two-units")):
            return Document({"main.cu": Piece(comment, includes, "\n", records, device, rest, kept=True)})
        header = context.records[0].short_name().lower().strip("_") + ".h"
        guard = header.upper().replace(".", "_")
        start, end = context.pick([("#pragma once\n", ""), (f"#ifndef {guard}\n#define {guard}\n", "#endif\n")])
        include = f'#include "{header}"\n'
        if context.has("two-units"):
            shared = Piece(start, "#include <cstdint>\n\n", records, host.launch_declarations, end, kept=True)
            return Document({
                "main.cu": Piece(comment, include, includes, "\n", host.globals, host.functions, main, kept=True),
                "kernels.cu": Piece(include, "\n", device, host.launch_functions, kept=True), header: shared})
        return Document({"main.cu": Piece(comment, include, includes, "\n", device, rest, kept=True),
                         header: Piece(start, "#include <cstdint>\n\n", records, end, kept=True)})


def program(seed, mixed=None, wanted=()):
    """`wanted`: features that it has in any case."""
    return Composer(seed, mixed, wanted).document()
