"""The life of one array of records on the host: declared, filled, allocated, copied, printed."""

from dataclasses import dataclass

from pieces import Piece


@dataclass
class HostArray:
    record: object
    host: str  # the host's array; for managed memory the same as the device's
    device: str  # how the device pointer is written
    style: str  # managed, malloc, new, vector, static, pinned
    handle: str = "local"  # local, global, struct, class
    capacity: int = 0  # elements allocated beyond n
    auto: bool = False  # declared where it is allocated

    def pointer(self):
        """The host's array as a `T *`."""
        return self.host + ".data()" if self.style == "vector" else self.host

    def element(self, index):
        """The address of a host element."""
        return f"&{self.host}[{index}]" if self.style == "vector" else f"{self.host} + {index}"


class ArrayMaker:
    """Writes the pieces of an array. `host` knows the count, the macro for checks and the stream."""

    def __init__(self, context, host):
        self.context = context
        self.host = host
        self.fillers, self.printers, self.makers, self.copiers = {}, {}, {}, {}  # record: function

    def check(self, call):
        return self.host.check(call)

    # Sizes

    def count(self, array):
        return self.host.count if not array.capacity else f"({self.host.count} + {array.capacity})"

    def size(self, record, count, pointer=""):
        """A byte count, in one of the ways people write it."""
        context = self.context
        if context.sometimes("size-macro") and not count.endswith(")"):
            return f"{self.host.size_macro()}({record.name}, {count})"
        of = record.spelled(context)
        if pointer and context.sometimes("sizeof-element"):
            of = context.pick([f"*{pointer}", f"{pointer}[0]"])
        of = f"sizeof({of})"
        return context.pick([f"{count} * {of}", f"{count} * {of}", f"{of} * {count}", f"(size_t){count} * {of}"])

    def full_size(self, array):
        """For the whole array: maybe a variable that is declared before."""
        if array.style == "vector" and self.context.sometimes("vector-size", 0.8) and not array.capacity:
            return f"{array.host}.size() * sizeof({array.record.name})"
        if self.context.sometimes("size-variable") and not array.capacity:
            name = self.host.size_variables.get(array.record.name)
            if not name:
                name = self.host.names.new(self.context.pick(["bytes", "size", "nbytes"]))
                self.host.size_variables[array.record.name] = name
                self.host.declarations.append(Piece(
                    f"{self.context.pick(['size_t', 'const size_t', 'int'])} {name} = "
                    f"{self.size(array.record, self.host.count)};\n", defines=name, kept=True))
            return name
        return self.size(array.record, self.host.count, array.device if array.handle == "local" else "")

    # The host's own memory

    def host_memory(self, array):
        name, record, host = array.host, array.record, self.host
        type = record.spelled(self.context)
        text = {
            "malloc": self.context.pick([f"{type} *{name} = ({type} *)malloc({self.size(record, host.count)});\n",
                                         f"{record.name} *{name} = ({record.name} *)calloc({host.count}, sizeof({record.name}));\n"]),
            "new": f"{record.name} *{name} = new {record.name}[{host.count}];\n",
            "vector": f"std::vector<{record.name}> {name}({host.count});\n",
            "pinned": f"{record.name} *{name};\n" + self.check(self.context.pick([
                f"cudaMallocHost(&{name}, {self.size(record, host.count)})",
                f"cudaMallocHost((void **)&{name}, {self.size(record, host.count)})",
                f"cudaHostAlloc(&{name}, {self.size(record, host.count)}, cudaHostAllocDefault)"])),
        }.get(array.style)
        if array.style == "static":
            host.globals.append(Piece(f"static {record.name} {name}[{host.number}];\n", defines=name))
            return []
        return [Piece(text, defines=name)]

    def release_host(self, array):
        free = {"malloc": f"free({array.host});\n", "new": f"delete[] {array.host};\n",
                "pinned": self.check(f"cudaFreeHost({array.host})")}.get(array.style)
        return [Piece(free)] if free else []

    # Values

    def values(self, record, line):
        """A line for each value of an element; loops for member arrays."""
        lines = []
        for number, leaf in enumerate(record.leaves()):
            counters, loops, used = iter(["k", "m", "u", "w"]), [], []

            def index(length):
                counter = next(counters) + "_"
                used.append(counter)
                loops.append(f"for (int {counter} = 0; {counter} < {length}; ++{counter})\n")
                return counter
            text = leaf.text(index)
            at = " + ".join(["i"] + [f"{counter} * {5 + 2 * place}" for place, counter in enumerate(used)])
            lines.append(Piece("".join(loops), line(leaf, text, at, number), kept=True,
                               needs=["." + name for name, _ in leaf.steps]))
        return lines

    def fill_lines(self, record, name):
        seed = self.context.number(0, 40)

        def line(leaf, text, at, number):
            value = leaf.scalar.of_index(at, 2 * (number + seed) + 3, seed * 7 + number)
            return f"{name}[i].set_{leaf.key}({value});\n" if record.private else f"{name}[i]{text} = {value};\n"
        return self.values(record, line)

    def print_lines(self, record, name, element=True):
        def line(leaf, text, at, number):
            text = f".get_{leaf.key}()" if record.private else text
            conversion, argument = leaf.scalar.printed(f"{name}[i]{text}" if element else name + text)
            return f'printf(" {conversion}", {argument});\n'
        lines = self.values(record, line)
        for piece in lines:
            piece.kept = False
        return lines

    def each(self, array, lines, before="", after="", function=""):
        """A loop over all elements, in place or in a function of its own."""
        head = f"for (int i = 0; i < {self.host.count}; ++i) {{\n{before}"
        return Piece(head, lines, after, "}\n", kept=True, needs=array.host)

    def fill(self, array):
        record, context = array.record, self.context
        if context.sometimes("host-function", 0.5):
            if record.name not in self.fillers:
                name = self.fillers[record.name] = context.global_name(["fill", "setup", "initialise"])
                self.host.functions.append(Piece("for (int i = 0; i < count; ++i) {\n", self.fill_lines(record, "it"), "}\n",
                    head=f"static void {name}({record.name} *it, int count) {{\n", tail="}\n\n", defines=name, scope=True))
            return [Piece(f"{self.fillers[record.name]}({array.pointer()}, {self.host.count});\n", kept=True)]
        return [self.each(array, self.fill_lines(record, array.host))]

    def show(self, array):
        record, context = array.record, self.context
        if context.sometimes("host-function", 0.5):
            if record.name not in self.printers:
                name = self.printers[record.name] = context.global_name(["show", "dump", "print_all"])
                self.host.functions.append(Piece('for (int i = 0; i < count; ++i) {\nprintf("%d", i);\n',
                    self.print_lines(record, "it"), 'printf("\\n");\n}\n', defines=name, scope=True, tail="}\n\n",
                    head=f"static void {name}(const {record.name} *it, int count) {{\n"))
            return [Piece(f"{self.printers[record.name]}({array.pointer()}, {self.host.count});\n")]
        piece = self.each(array, self.print_lines(record, array.host), 'printf("%d", i);\n', 'printf("\\n");\n')
        piece.kept = False
        return [piece]
