"""Parallel arrays of numbers: a kernel that reads and changes them, and its part of main in a block of its own."""

from pieces import Piece

TYPES = ("float", "float", "double", "int", "unsigned", "short")
NAMES = (("x", "y", "z"), ("px", "py", "pz", "w"), ("re", "im"), ("key", "cost", "left"), ("uu", "vv"), ("lo_x", "lo_y", "lo_z"))


class SeparateMaker:
    """Arrays that a kernel writes are only touched at the thread's own element; the others anywhere."""

    def __init__(self, context):
        self.context = context

    def make(self, host):
        """The kernel, and the lines of main."""
        context = self.context
        names = list(context.pick(NAMES))
        self.types = {name: context.pick(TYPES) for name in names}
        self.written = context.rng.sample(names, context.number(0, len(names) - 1))
        self.read = [name for name in names if name not in self.written]
        kernel = context.global_name(["gatherAll", "combine", "smooth"])
        return self.kernel(kernel, names), self.main(host, kernel, names)

    def index(self, depth=2):
        context = self.context
        inner = "i" if depth == 0 or context.chance(0.3) else self.index(depth - 1)
        whole = [name for name in self.read if self.types[name] in ("int", "unsigned", "short")]
        choices = [f"order[{inner}]", f"({inner} * 3 + 1) % n", f"(n - 1 - {inner})", inner]
        if whole:
            choices.append(f"(int)((unsigned){context.pick(whole)}[{inner}] % (unsigned)n)")
        return context.pick(choices)

    def value(self):
        context = self.context
        terms = [f"{context.number(1, 3)} * (int){name}[{self.index()}]" for name in context.rng.sample(self.read, min(len(self.read), 2))]
        if context.chance(0.3):
            terms.append(f"(int)*({context.pick(self.read)} + {self.index()})")
        return " + ".join(terms)

    def kernel(self, kernel, names):
        context = self.context
        restrict = context.pick(["", "__restrict__ "])
        const = context.pick(["", "const "])
        parameters = [f"{const if name in self.read else ''}{self.types[name]} *{restrict}{name}" for name in names]
        parameters += [f"const int *{restrict}order", f"int *{restrict}out", "int n"]
        if context.chance(0.3):
            context.rng.shuffle(parameters)
        self.order = [p.split()[-1].rpartition("*")[2] for p in parameters]
        lines = []
        for _ in range(context.number(1, 3)):
            lines.append(f"sum += ({self.value()}) & 0xfff;\n")
        for name in self.written:
            lines.append(context.pick([f"{name}[i] = ({self.types[name]})(({self.value()}) & 0xff);\n",
                                       f"{name}[i] += ({self.types[name]})(sum & 7);\n",
                                       f"if (sum & 1)\n{name}[i] = ({self.types[name]})(i & 15);\n"]))
        if context.chance(0.4):
            lines.append(f"for (int k = 0; k < 3; ++k)\nsum += (int){context.pick(self.read)}[(order[i] + k) % n] & 0xff;\n")
        head = f"__global__ void {kernel}({', '.join(parameters)}) {{\n"
        return Piece("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n)\nreturn;\nint sum = 0;\n", *lines, "out[i] = sum;\n",
                     head=head, tail="}\n\n", defines=kernel, scope=True)

    def main(self, host, kernel, names):
        context, count = self.context, self.context.number(40, 200)
        device = {name: host.names.new(f"d_{name}") for name in [*names, "order", "out"]}
        values = {name: host.names.new(f"h_{name}") for name in [*names, "order", "out"]}
        types = {**self.types, "order": "int", "out": "int"}
        lines = [Piece(f"const int n = {count};\n", defines="n")]
        for name, type in types.items():
            lines.append(Piece(f"static {type} {values[name]}[{count}];\n", defines=values[name]))
            lines.append(Piece(f"{type} *{device[name]};\n", defines=device[name]))
        filled = [f"{values[name]}[i] = ({types[name]})((i * {2 * position + 3} + {position}) % 101);\n" for position, name in enumerate(names)]
        lines.append("".join(["for (int i = 0; i < n; ++i) {\n", *filled, f"{values['order']}[i] = (i * 7 + 2) % n;\n}}\n"]))
        size = context.pick([lambda name: f"n * sizeof({types[name]})", lambda name: f"sizeof({types[name]}) * n"])
        for name in types:
            lines.append(host.check(f"cudaMalloc({context.pick(['', '(void **)'])}&{device[name]}, {size(name)})"))
        for name in [*names, "order"]:
            if name in self.written and context.chance(0.3):
                lines.append(host.check(f"cudaMemset({device[name]}, 0, {size(name)})"))
            elif name in names and context.chance(0.3):
                for first, length in ("0", "n / 2"), ("n / 2", "(n - n / 2)"):
                    lines.append(host.check(f"cudaMemcpy({device[name]} + {first}, {values[name]} + {first}, {length} * sizeof({types[name]}), "
                                            "cudaMemcpyHostToDevice)"))
            else:
                lines.append(host.check(f"cudaMemcpy({device[name]}, {values[name]}, {size(name)}, cudaMemcpyHostToDevice)"))
        given = ", ".join("n" if name == "n" else device[name] for name in self.order)
        lines.append(f"{kernel}<<<(n + 63) / 64, 64>>>({given});\n" * context.number(1, 2))
        shown = [*self.written, "out", *([context.pick(self.read)] if context.chance(0.3) else [])]
        for name in shown:
            lines.append(host.check(f"cudaMemcpy({values[name]}, {device[name]}, {size(name)}, cudaMemcpyDeviceToHost)"))
            lines.append(f'for (int i = 0; i < n; ++i)\nprintf("%a\\n", (double){values[name]}[i]);\n')
        for name in types:
            lines.append(host.check(f"cudaFree({device[name]})"))
        return Piece([line if isinstance(line, Piece) else Piece(line) for line in lines], head="{\n", tail="}\n", scope=True)

