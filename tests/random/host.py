"""The host's side: main, what it launches, and everything that is no array of records."""

from math import gcd

from body import Body
from context import Locals
from host_arrays import HostArray
from pieces import Piece
from scope import Array, Scope
from transfers import Transfers

DEVICE_NAMES = {"local": ["d_{}", "d{}", "{}_dev", "dev_{}"], "global": ["g_{}", "device_{}"]}


class Host:
    def __init__(self, context, number):
        self.context = context
        self.number = number  # elements of every array
        self.names = Locals(context, "i")
        self.functions, self.globals, self.declarations = [], [], []
        self.size_variables = {}
        self.includes = {"cstdio", "cstdlib"}
        self.macro, self.sizes = self.error_check(), ""
        self.is_macro = context.sometimes("host-static")
        self.count = context.global_name(["NUM", "LENGTH"]) if self.is_macro else self.names.new(context.pick(["n", "n", "count", "N"]))
        self.stream = self.names.new("stream") if context.has("async") else ""
        self.transfers = Transfers(context, self)
        self.body = Body(context)
        self.arrays, self.inputs, self.launchers = [], {}, {}
        self.launch_functions, self.launch_declarations = [], []

    # Error checks and sizes

    def error_check(self):
        context = self.context
        if context.has("check-macro"):
            name = context.global_name(["CHECK", "checkCudaErrors", "CUDA_CHECK", "GPU_CHECK", "HANDLE_ERROR"])
            body = context.pick([
                ["do {", "cudaError_t status = (call);", "if (status != cudaSuccess) {",
                 'fprintf(stderr, "%s\\n", cudaGetErrorString(status));', "exit(1);", "}", "} while (0)"],
                ["{", "cudaError_t err_ = call;", "if (err_ != cudaSuccess)", "exit(2);", "}"]])
            text = " \\\n".join([f"#define {name}(call)", *body])
            self.globals.append(Piece(text + "\n\n", defines=name))
            return name
        if context.has("check-function"):
            name = context.global_name(["check", "gpuAssert"])
            self.globals.append(Piece(f"static void {name}(cudaError_t status) {{\nif (status != cudaSuccess)\nexit(1);\n}}\n\n",
                                      defines=name))
            return name
        return ""

    def check(self, call):
        if self.context.sometimes("check-if", 0.5):
            return f"if ({call} != cudaSuccess)\nexit(3);\n"
        return f"{self.macro}({call});\n" if self.macro else call + ";\n"

    def size_macro(self):
        if not self.sizes:
            self.sizes = self.context.global_name(["BYTES", "SIZE_OF"])
            self.globals.append(Piece(f"#define {self.sizes}(type, count) ((count) * sizeof(type))\n", defines=self.sizes))
        return self.sizes

    def count_declaration(self):
        name = self.count
        if self.is_macro:
            self.globals.insert(0, Piece(f"#define {name} {self.number}\n", defines=name, kept=True))
            return []
        return [Piece(self.context.pick([f"const int {name} = {self.number};\n", f"int {name} = {self.number};\n"]), defines=name, kept=True)]

    # Arrays

    def array(self, record):
        context, names = self.context, self.names
        label = record.short_name().lower()[: context.pick([1, 99])].strip("_") or "r"
        styles = ["malloc"] * 3 + [style for style, feature in (("new", "host-new"), ("vector", "host-vector"), ("static", "host-static"),
                                                               ("pinned", "pinned"), ("managed", "managed")) for _ in range(3)
                                   if context.has(feature)]
        style = context.pick(styles)
        handles = ["local"] * 2
        if style != "managed":
            handles += [handle for handle, feature in (("struct", "struct-holder"), ("global", "global-pointer"),
                                                       ("class", "class-holder")) for _ in range(2) if context.has(feature)]
        handle = context.pick(handles)
        if style == "managed":
            device = host = names.new(label)
        else:
            host = (context.global_name if style == "static" else lambda choices: names.new(context.pick(choices)))(
                [f"h_{label}", f"{label}s", f"host_{label}", f"h{label}"])
            names.taken.add(host)
            if handle == "class":
                device = names.new("solver") + ".items()"
            elif handle == "struct":
                device = self.holder_name() + "." + names.new(f"{label}s")
            elif handle == "global":
                device = context.global_name([pattern.format(label) for pattern in DEVICE_NAMES[handle]])
                names.taken.add(device)
                self.globals.append(Piece(f"static {record.name} *{device};\n", defines=device))
            else:
                device = names.new(context.pick(DEVICE_NAMES[handle]).format(label))
        if style == "vector":
            self.includes.add("vector")
        capacity = context.number(1, 40) if context.sometimes("capacity") and handle != "class" else 0
        array = HostArray(record, host, device, style, handle, capacity)
        self.arrays.append(array)
        return array

    def holder_name(self):
        held = [array.device.partition(".")[0] for array in self.arrays if array.handle == "struct"]
        return held[0] if held else self.names.new("buffers")

    def index_array(self, kind):
        """An array of int on the device: indices, or a permutation."""
        if kind not in self.inputs:
            host, device = self.names.new("h_" + kind), self.names.new("d_" + kind)
            factor = next(f for f in self.context.sample(range(3, 40), 37) if gcd(f, self.number) == 1 or kind == "index")
            text = (f"int *{host} = (int *)malloc({self.count} * sizeof(int)), *{device};\n"
                    f"for (int i = 0; i < {self.count}; ++i)\n{host}[i] = (i * {factor} + {self.context.number(0, 30)}) % {self.count};\n"
                    + self.check(f"cudaMalloc(&{device}, {self.count} * sizeof(int))")
                    + self.check(f"cudaMemcpy({device}, {host}, {self.count} * sizeof(int), cudaMemcpyHostToDevice)"))
            self.inputs[kind] = (device, Piece(text, defines=(host, device)))
        return self.inputs[kind][0]

    def output_array(self):
        if "output" not in self.inputs:
            host, device = self.names.new("h_out"), self.names.new("d_out")
            text = (f"float *{host} = new float[{self.count}], *{device};\n"
                    + self.check(f"cudaMalloc(&{device}, {self.count} * sizeof(float))")
                    + self.check(f"cudaMemset({device}, 0, {self.count} * sizeof(float))"))
            self.inputs["output"] = (device, Piece(text, defines=(host, device)))
            self.output = (host, device)
        return self.inputs["output"][0]

    # Launches

    def arguments(self, kernel, chosen, offset, inside=True):
        """The texts of a launch's arguments; or those of a function that launches, which makes up some itself."""
        context, rest = self.context, iter(chosen)
        count = f"{self.count} - {offset}" if offset else self.count
        texts = []
        for parameter in kernel.parameters:
            if parameter.kind == "array":
                pointer = next(rest).device + (f" + {offset}" if offset else "")
                texts.append(f"{parameter.view}{{{pointer}, {count}}}" if parameter.view and inside else pointer)
            elif parameter.kind == "count":
                texts += [count] if inside else []
            elif parameter.kind == "output":
                texts.append(self.output_array())
            elif parameter.kind == "scalar":
                texts += [] if not inside else [f"{context.number(0, 9)}{'u' if parameter.type.kind == 'unsigned' else '.25f'}"]
            else:
                texts.append(self.index_array(parameter.kind))
        return ", ".join(texts if inside else [*texts, count])

    def configuration(self, kernel):
        context, count = self.context, self.count
        if kernel.rows:
            grid = f"({count} + 63) / 64, dim3(16, 4)"
        else:
            block = kernel.block or context.pick([32, 64, 64, 128])
            grid = context.pick([f"({count} + {block - 1}) / {block}, {block}", f"dim3(({count} + {block - 1}) / {block}), dim3({block})"])
        if kernel.dynamic:
            grid += f", {kernel.block} * sizeof({kernel.dynamic.name})"
            return f"{grid}, {self.stream}" if self.stream and context.chance(0.6) else grid
        return f"{grid}, 0, {self.stream}" if self.stream and context.chance(0.6) else grid

    def plain_configuration(self, kernel):
        """For a function that launches."""
        if kernel.rows:
            return "(count + 63) / 64, dim3(16, 4)"
        block = kernel.block or 64
        shared = f", {block} * sizeof({kernel.dynamic.name})" if kernel.dynamic else ""
        return f"(count + {block - 1}) / {block}, {block}{shared}"

    def choose(self, kernel):
        """Arrays for a launch: one that is written is not passed twice."""
        chosen = []
        for parameter in kernel.arrays():
            found = [a for a in self.arrays if a.record is parameter.record and not any(a is other for other in chosen)]
            if not found:
                found = [self.array(parameter.record)]
            chosen.append(self.context.pick(found))
        return chosen

    def launch(self, kernel):
        """One launch, or a loop of steps."""
        context = self.context
        chosen = self.choose(kernel)
        offset = context.number(1, 8) if context.sometimes("offset-launch", 0.6) and not kernel.whole else 0
        call = f"{kernel.name}{kernel.template}<<<{self.configuration(kernel)}>>>({self.arguments(kernel, chosen, offset)});\n"
        if context.has("two-units") or context.sometimes("launch-function", 0.4):
            call = self.launch_function(kernel, chosen, offset)
        local = all(array.handle == "local" and array.style != "managed" and not array.capacity for array in chosen)
        if context.sometimes("swap", 0.8) and len(chosen) == 2 and chosen[0].record is chosen[1].record and local:
            a, b, step, kept = chosen[0].device, chosen[1].device, self.names.new("s"), self.names.new("swapped")
            exchange = f"std::swap({a}, {b});\n"
            if context.chance(0.6):
                exchange = f"{chosen[0].record.name} *{kept} = {a};\n{a} = {b};\n{b} = {kept};\n"
            else:
                self.includes.add("utility")
            return Piece(f"for (int {step} = 0; {step} < {context.number(2, 3)}; ++{step}) {{\n", call, Piece(exchange), "}\n")
        if context.sometimes("several-launches", 0.5):
            step = self.names.new("step")
            return Piece(f"for (int {step} = 0; {step} < 2; ++{step}) {{\n", call, "}\n")
        if context.sometimes("lambda", 0.6) and local:
            name = self.names.new("go")
            return Piece(f"auto {name} = [{context.pick(['&', '=', '&'])}] {{ {call.strip()} }};\n{name}();\n", defines=name)
        return Piece(call)

    def launch_function(self, kernel, chosen, offset):
        """A function of the host that launches; what it is given, and the call."""
        texts = self.arguments(kernel, chosen, offset, inside=False)
        if kernel.name not in self.launchers:
            name = self.launchers[kernel.name] = self.context.global_name([f"run_{kernel.name}"])
            names = Locals(self.context, "count")
            parameters, handed = [], []
            for parameter in kernel.parameters:
                if parameter.kind in ("count", "scalar"):
                    handed.append("count" if parameter.kind == "count" else "3u" if parameter.type.kind == "unsigned" else "0.5f")
                    continue
                handed.append(names.new("p"))
                type = {"array": parameter.record and parameter.record.name, "output": "float"}.get(parameter.kind, "const int")
                parameters.append(f"{type} *{handed[-1]}")
                if parameter.view:
                    handed[-1] = f"{parameter.view}{{{handed[-1]}, count}}"
            grid = self.plain_configuration(kernel)
            head = f"{'' if self.context.has('two-units') else 'static '}void {name}({', '.join([*parameters, 'int count'])})"
            self.launch_declarations.append(Piece(head + ";\n", needs=name, kept=True))
            self.launch_functions.append(Piece(f"{kernel.name}{kernel.template}<<<{grid}>>>({', '.join(handed)});\n",
                                               tail="}\n\n", defines=name, scope=True, head=head + " {\n"))
        return f"{self.launchers[kernel.name]}({texts});\n"

    def host_loop(self, array):
        """Elements used by the host, in its own array or in managed memory."""
        names = Locals(self.context, *self.names.taken)
        scope = Scope(names, device=False, own=names.new("i"), extent=self.count)
        scope.arrays = [Array(array.host, array.record, self.count, owned=array.record.keys(),
                              space="global" if array.style == "managed" else "host")]
        scope.calls = not self.context.has("two-units")
        statements = self.body.statements(scope, self.context.number(1, 3))
        statements += self.body.spend(scope)
        self.names.taken |= names.taken
        wait = self.check("cudaDeviceSynchronize()") if array.style == "managed" else ""
        return Piece(wait, f"for (int {scope.own} = 0; {scope.own} < {self.count}; ++{scope.own}) {{\n", statements, "}\n")
