"""Parallel arrays of numbers, and structs that hold their pointers: a kernel that reads and changes them, and its part
of main in a block of its own."""

from pieces import Piece
from pointer_structs import PointerStruct

TYPES = ("float", "float", "double", "int", "unsigned", "short")
NAMES = (("x", "y", "z"), ("px", "py", "pz", "w"), ("re", "im"), ("key", "cost", "left"), ("uu", "vv"), ("lo_x", "lo_y", "lo_z"))


class SeparateMaker:
    """Arrays that a kernel writes are only touched at the thread's own element; the others anywhere."""

    def __init__(self, context):
        self.context = context

    def make(self, host):
        """What stands in front of main, and the lines of main."""
        context = self.context
        names = list(context.pick(NAMES))
        self.types = {name: context.pick(TYPES) for name in names}
        if context.chance(0.4):
            self.types = dict.fromkeys(names, self.types[names[0]])
        self.written = context.rng.sample(names, context.number(0, len(names) - 1))
        self.read = [name for name in names if name not in self.written]
        one_file = not context.has("two-units")
        self.holder = PointerStruct(context, self.types, self.written) if context.has("pointer-struct") and one_file else None
        self.launcher = "" if one_file else context.global_name(["gather_arrays", "runSeparate"])
        self.helper = context.global_name(["peek_at", "distance", "weigh"]) if context.chance(0.4) else ""
        kernel = context.global_name(["gatherAll", "combine", "smooth"])
        pieces = [self.helper_function(), self.kernel(kernel, names)]
        if self.holder:
            pieces = [self.holder.definition(), *pieces]
        main = self.main(host, kernel, names)
        return pieces, main

    def inside(self, name, variable="f"):
        """The pointer, in a function that is given the arrays."""
        return self.holder.member(variable, name) if self.by_value() else name

    def by_value(self):
        return self.holder is not None and self.holder.by_value

    def index(self, depth=2):
        context = self.context
        inner = "i" if depth == 0 or context.chance(0.3) else self.index(depth - 1)
        whole = [name for name in self.read if self.types[name] in ("int", "unsigned", "short")]
        choices = [f"order[{inner}]", f"({inner} * 3 + 1) % n", f"(n - 1 - {inner})", inner]
        if whole:
            choices.append(f"(int)((unsigned){self.inside(context.pick(whole))}[{inner}] % (unsigned)n)")
        return context.pick(choices)

    def value(self):
        context = self.context
        terms = [f"{context.number(1, 3)} * (int){self.inside(name)}[{self.index()}]"
                 for name in context.rng.sample(self.read, min(len(self.read), 2))]
        if context.chance(0.3):
            terms.append(f"(int)*({self.inside(context.pick(self.read))} + {self.index()})")
        if self.helper and context.chance(0.5):
            given = [self.holder.as_argument()] if self.by_value() else self.read
            terms.append(f"{self.helper}({', '.join([*given, self.index()])})")
        return " + ".join(terms)

    def declared(self, name, const, restrict=""):
        return f"{const if name in self.read else ''}{self.types[name]} *{restrict}{name}"

    def helper_function(self):
        """A device function that is given the arrays that are only read."""
        if not self.helper:
            return []
        context = self.context
        if self.by_value():
            parameters = [context.pick([f"{self.holder.name} a", f"const {self.holder.name} &a"])]
        else:
            parameters = [self.declared(name, "const ") for name in self.read]
        terms = [f"(int){self.inside(name, 'a')}[k]" for name in self.read]
        return Piece(f"return ({' + '.join(terms)}) & 0xff;\n", head=f"__device__ int {self.helper}({', '.join([*parameters, 'int k'])}) {{\n",
                     tail="}\n\n", defines=self.helper, scope=True)

    def parameters(self, names):
        context = self.context
        restrict = context.pick(["", "__restrict__ "])
        const = "const " if self.helper else context.pick(["", "const "])
        if self.by_value():
            parameters = [self.holder.parameter()]
        else:
            parameters = [self.declared(name, const, restrict) for name in names]
        parameters += [f"const int *{restrict}order", f"int *{restrict}out", "int n"]
        if context.chance(0.3):
            context.rng.shuffle(parameters)
        self.order = [p.split()[-1].strip("*&") for p in parameters]
        self.plain = ", ".join(parameters).replace("__restrict__ ", "")
        return ", ".join(parameters)

    def kernel(self, kernel, names):
        context = self.context
        head = f"__global__ void {kernel}({self.parameters(names)}) {{\n"
        lines = []
        for _ in range(context.number(1, 3)):
            lines.append(f"sum += ({self.value()}) & 0xfff;\n")
        for name in self.written:
            own = self.inside(name) + "[i]"
            lines.append(context.pick([f"{own} = ({self.types[name]})(({self.value()}) & 0xff);\n",
                                       f"{own} += ({self.types[name]})(sum & 7);\n",
                                       f"if (sum & 1)\n{own} = ({self.types[name]})(i & 15);\n"]))
        if context.chance(0.4):
            lines.append(f"for (int k = 0; k < 3; ++k)\nsum += (int){self.inside(context.pick(self.read))}[(order[i] + k) % n] & 0xff;\n")
        return Piece("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n)\nreturn;\nint sum = 0;\n", *lines, "out[i] = sum;\n",
                     head=head, tail="}\n\n", defines=kernel, scope=True)

    def launch(self, host, kernel, given):
        """Where kernels have a file of their own, through a function there."""
        grid = "<<<(n + 63) / 64, 64>>>"
        if not self.launcher:
            return f"{kernel}{grid}({given});\n"
        head = f"void {self.launcher}({self.plain})"
        host.launch_declarations.append(Piece(head + ";\n", needs=self.launcher, kept=True))
        host.launch_functions.append(Piece(f"{kernel}{grid}({', '.join(self.order)});\n", tail="}\n\n", defines=self.launcher, scope=True,
                                           head=head + " {\n"))
        return f"{self.launcher}({given});\n"

    def main(self, host, kernel, names):
        context, count = self.context, self.context.number(40, 200)
        device = {name: host.names.new(f"d_{name}") for name in [*names, "order", "out"]}
        values = {name: host.names.new(f"h_{name}") for name in [*names, "order", "out"]}
        types = {**self.types, "order": "int", "out": "int"}
        size = context.pick([lambda name: f"n * sizeof({types[name]})", lambda name: f"sizeof({types[name]}) * n"])

        def allocate(name, pointer):
            return host.check(f"cudaMalloc({context.pick(['', '(void **)'])}&{pointer}, {size(name)})")

        def release(pointer):
            return host.check(f"cudaFree({pointer})")

        holder = self.holder
        if holder:
            holder.prepare(host, device, allocate, release)
        lines = [Piece(f"const int n = {count};\n", defines="n", kept=True)]
        for name, type in types.items():
            lines.append(Piece(f"static {type} {values[name]}[{count}];\n", defines=values[name]))
            if not holder or name not in holder.types or holder.has_variables:
                lines.append(Piece(f"{type} *{device[name]};\n", defines=device[name]))
        filled = [f"{values[name]}[i] = ({types[name]})((i * {2 * position + 3} + {position}) % 101);\n" for position, name in enumerate(names)]
        lines.append("".join(["for (int i = 0; i < n; ++i) {\n", *filled, f"{values['order']}[i] = (i * 7 + 2) % n;\n}}\n"]))
        lines += [allocate(name, device[name]) for name in types if not holder or name not in holder.types]
        if holder:
            lines += holder.fill()
            device = {**device, **holder.pointers(device)}
        for name in [*names, "order"]:
            if name in self.written and context.chance(0.3):
                lines.append(host.check(f"cudaMemset({device[name]}, 0, {size(name)})"))
            elif name in names and context.chance(0.3):
                for first, length in ("0", "n / 2"), ("n / 2", "(n - n / 2)"):
                    lines.append(host.check(f"cudaMemcpy({device[name]} + {first}, {values[name]} + {first}, {length} * sizeof({types[name]}), "
                                            "cudaMemcpyHostToDevice)"))
            else:
                lines.append(host.check(f"cudaMemcpy({device[name]}, {values[name]}, {size(name)}, cudaMemcpyHostToDevice)"))
        texts = {**device, "n": "n", **({"f": holder.argument()} if holder else {})}
        # Without one of these, a value would be read that nobody wrote.
        lines = [line if isinstance(line, Piece) else Piece(line, kept=True) for line in lines]
        given = ", ".join(texts[name] for name in self.order)
        lines.append(self.launch(host, kernel, given) * context.number(1, 2))
        shown = [*self.written, "out", *([context.pick(self.read)] if context.chance(0.3) else [])]
        for name in shown:
            lines.append(host.check(f"cudaMemcpy({values[name]}, {device[name]}, {size(name)}, cudaMemcpyDeviceToHost)"))
            lines.append(f'for (int i = 0; i < n; ++i)\nprintf("%a\\n", (double){values[name]}[i]);\n')
        lines += [release(device[name]) for name in types if not holder or name not in holder.types]
        if holder:
            lines += holder.release(device)
        return Piece([line if isinstance(line, Piece) else Piece(line) for line in lines], head="{\n", tail="}\n", scope=True)
