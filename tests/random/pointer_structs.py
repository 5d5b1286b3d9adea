"""A struct of pointers to parallel arrays: what it looks like, how main fills it, and how kernels get it."""

from pieces import Piece

NAMES = ("Fields", "Columns", "State", "Mesh")
OUTER_NAMES = ("Domain", "Simulation", "World")


class PointerStruct:
    """
    by_value  the kernel takes the struct; else main hands it the pointers one by one
    outer     the struct is a member of another one: main's variable, and maybe what the kernel takes
    filled    from variables of main; by cudaMalloc(&f.x, …) in main; by a function that returns it, or gets it by
              reference or pointer
    """

    def __init__(self, context, types, written):
        self.context, self.types = context, types
        self.name = context.global_name(NAMES)
        self.by_value = context.chance(0.8)
        self.outer = context.global_name(OUTER_NAMES) if context.chance(0.3) else ""
        self.whole = bool(self.outer) and self.by_value and context.chance(0.4)
        self.filled = context.pick(["variables", "variables", "direct", "direct", "result", "reference", "pointer"])
        self.has_variables = self.filled == "variables"
        self.const = [name for name in types if name not in written and self.has_variables and context.chance(0.2)]
        self.counted = context.chance(0.5)

    def definition(self):
        members, line, context = [], [], self.context

        def end_line():
            if line:
                const, type = line[0]
                members.append(f"{const}{type} " + ", ".join("*" + name for _, name in line[1:]) + ";\n")
                line.clear()

        for name, type in self.types.items():
            kind = ("const " if name in self.const else "", type)
            if not line or line[0] != kind or context.chance(0.3):
                end_line()
                line.append(kind)
            line.append((kind, name))
        end_line()
        if self.counted:
            members.insert(context.pick([0, len(members)]), "int length;\n")
        pieces = [Piece(*members, head=f"struct {self.name} {{\n", tail="};\n\n", defines=self.name)]
        if self.outer:
            inner = [f"{self.name} fields;\n", "float scale;\n"]
            pieces.append(Piece(*context.sample(inner, 2), head=f"struct {self.outer} {{\n", tail="};\n\n", defines=self.outer))
        return pieces

    # In device code

    def parameter(self):
        const = self.context.pick(["", "", "const "])
        return f"{const}{self.outer if self.whole else self.name} f"

    def inner(self, variable):
        """The struct, where a kernel's parameter or main's variable is the outer one."""
        return variable + ".fields"

    def member(self, variable, name):
        whole = self.whole and variable == "f"
        return f"{self.inner(variable) if whole else variable}.{name}"

    def as_argument(self):
        """What a kernel hands a device function."""
        return self.inner("f") if self.whole else "f"

    # In main

    def prepare(self, host, device, allocate, release):
        self.host, self.device, self.make, self.free = host, device, allocate, release
        self.variable = host.names.new("world" if self.outer else "fields")
        self.object = self.inner(self.variable) if self.outer else self.variable

    def assign(self, to, access="."):
        lines = [self.make(name, f"{to}{access}{name}") for name in self.types]
        return lines + ([f"{to}{access}length = n;\n"] if self.counted else [])

    def define(self, head, *lines):
        name = head.partition("(")[0].split()[-1].strip("*&")
        self.host.functions.append(Piece(*lines, head=head + " {\n", tail="}\n\n", defines=name, scope=True))
        return name

    def fill(self):
        """Lines of main that make the variable and its arrays."""
        context = self.context
        declared = Piece(f"{self.outer or self.name} {self.variable};\n", defines=self.variable)
        label = context.global_name(["makeFields", "allocate", "create"])
        if self.filled == "variables":
            lines = [self.make(name, self.device[name]) for name in self.types]
            stored = [f"{self.object}.{name} = {self.device[name]};\n" for name in self.types]
            if self.counted:
                stored.append(f"{self.object}.length = n;\n")
            return [*lines, declared, *stored]
        if self.filled == "direct":
            return [declared, *self.assign(self.object)]
        if self.filled == "result":
            made = self.define(f"static {self.name} {label}(int n)", f"{self.name} result;\n", *self.assign("result"), "return result;\n")
            if self.outer:
                return [declared, f"{self.object} = {made}(n);\n"]
            return [Piece(f"{self.name} {self.variable} = {made}(n);\n", defines=self.variable)]
        reference = self.filled == "reference"
        made = self.define(f"static void {label}({self.name} {'&' if reference else '*'}to, int n)", *self.assign("to", "." if reference else "->"))
        return [declared, f"{made}({'' if reference else '&'}{self.object}, n);\n"]

    def pointers(self, device):
        """How main names the arrays: by their variables, or as members."""
        if self.has_variables and self.context.chance(0.6):
            return {name: device[name] for name in self.types}
        return {name: device[name] if name in self.const else f"{self.object}.{name}" for name in self.types}

    def argument(self):
        return self.variable if self.whole or not self.outer else self.object

    def release(self, device):
        if self.filled != "variables" and self.context.chance(0.4):
            name = self.context.global_name(["destroy", "release"])
            self.define(f"static void {name}({self.name} &of)", *[self.free(f"of.{field}") for field in self.types])
            return [f"{name}({self.object});\n"]
        return [self.free(device[name]) for name in self.types]
