"""Device memory of an array of records: allocated, copied into and out of, released."""

from host_arrays import ArrayMaker
from pieces import Piece


class Transfers(ArrayMaker):
    # Allocation

    def declare(self, arrays):
        """The device pointers."""
        context, lines = self.context, []
        local = [array for array in arrays if array.handle == "local"]
        if context.has("declared-together") and len(local) > 1 and all(a.record is local[0].record for a in local):
            return [Piece([Piece(f"*{a.device}", defines=a.device) for a in local], sep=", ", head=local[0].record.name + " ",
                          tail=";\n", group=True)]
        for array in local:
            array.auto = context.sometimes("make-function", 0.3) and not array.capacity and array.style != "managed"
            if array.auto:
                continue
            start = context.pick([" = nullptr", " = NULL", " = 0"]) if context.has("null-initialised") else ""
            lines.append(Piece(f"{array.record.spelled(context)} *{array.device}{start};\n", defines=array.device))
        return lines

    def allocate(self, array):
        context, record, host = self.context, array.record, self.host
        size = self.size(record, self.count(array)) if array.capacity else self.full_size(array)
        cast = context.pick(["", "", "(void **)"])
        if array.style == "managed":
            return [Piece(self.check(f"cudaMallocManaged({cast}&{array.device}, {size})"), kept=True)]
        if array.handle == "class":
            return []  # its constructor does
        lines = []
        if array.auto or context.sometimes("make-function", 0.7) and not array.capacity:
            if record.name not in self.makers:
                name = self.makers[record.name] = context.global_name(["allocate", "make", "create"])
                allocation = self.check(f"cudaMalloc({cast}&fresh, {self.size(record, 'count')})")
                host.functions.append(Piece(f"{record.name} *fresh;\n", allocation, "return fresh;\n", tail="}\n\n", scope=True,
                                            head=f"static {record.name} *{name}(int count) {{\n", defines=name))
            call = f"{array.device} = {self.makers[record.name]}({host.count});\n"
            if array.auto:
                return [Piece(context.pick(["auto ", "auto *"]) + call, defines=array.device)]
            return [Piece(call, kept=True)]
        if context.sometimes("out-parameter", 0.8):
            name = context.global_name(["allocate_into"])
            host.functions.append(Piece(self.check(f"cudaMalloc(to, {self.size(record, 'count')})"), tail="}\n\n", scope=True,
                                        head=f"static void {name}({record.name} **to, int count) {{\n", defines=name))
            return [Piece(f"{name}(&{array.device}, {self.count(array)});\n", kept=True)]
        if context.sometimes("reallocate", 0.7):
            small = self.check(f"cudaMalloc(&{array.device}, {self.size(record, '8')})")
            lines.append(Piece(small, self.check(f"cudaFree({array.device})")))
        if context.sometimes("async-allocation", 0.7) and host.stream:
            allocation = f"cudaMallocAsync({cast}&{array.device}, {size}, {host.stream})"
            return lines + [Piece(self.check(allocation), self.check(f"cudaStreamSynchronize({host.stream})"), kept=True)]
        return lines + [Piece(self.check(f"cudaMalloc({cast}&{array.device}, {size})"), kept=True)]

    def release(self, array):
        if array.handle == "class":
            return []
        return [Piece(self.check(f"cudaFree({array.device})"))] + ([] if array.style == "managed" else self.release_host(array))

    # Copies

    def copy(self, to, source, size, kind):
        context, host = self.context, self.host
        kind = f"cudaMemcpy{kind}"
        if context.sometimes("async", 0.7) and host.stream:
            stream = "" if context.chance(0.15) else f", {host.stream}"
            return self.check(f"cudaMemcpyAsync({to}, {source}, {size}, {kind}{stream})")
        return self.check(f"cudaMemcpy({to}, {source}, {size}, {kind})")

    def upload(self, array, others):
        """Every element gets a value, from the host, another array or by a memset."""
        context, host, record = self.context, self.host, array.record
        device, count = array.device, host.count
        if array.style == "managed":
            return []
        filled = [other for other in others if other.record is record and other.style != "managed"]
        if context.sometimes("device-copy", 0.6) and filled and array.handle != "class":
            other = context.pick(filled)
            return [Piece(self.copy(device, other.device, self.full_size(array), "DeviceToDevice"), kept=True)]
        if array.handle == "class":
            return [Piece(f"{device.partition('.')[0]}.upload({array.pointer()});\n", kept=True)]
        if context.sometimes("host-function", 0.35):
            if (record.name, "up") not in self.copiers:
                name = self.copiers[record.name, "up"] = context.global_name(["upload", "to_device"])
                copy = self.check(f"cudaMemcpy(to, from, {self.size(record, 'count')}, cudaMemcpyHostToDevice)")
                host.functions.append(Piece(copy, tail="}\n\n", scope=True, defines=name,
                    head=f"static void {name}({record.name} *to, const {record.name} *from, int count) {{\n"))
            return [Piece(f"{self.copiers[record.name, 'up']}({device}, {array.pointer()}, {count});\n", kept=True)]
        if context.sometimes("chunked-copy", 0.6):
            start, step = host.names.new("from"), context.number(7, 50)
            left = f"({count} - {start} < {step} ? {count} - {start} : {step})"
            copy = self.copy(f"{device} + {start}", array.element(start), self.size(record, left), "HostToDevice")
            return [Piece(f"for (int {start} = 0; {start} < {count}; {start} += {step}) {{\n", copy, "}\n", kept=True)]
        part = context.number(3, 18)
        if context.sometimes("memset", 0.6):
            # Any bytes make a number, but not a bool or an enum.
            plain = all(leaf.scalar.kind not in ("bool", "enum") for leaf in record.leaves())
            value = context.pick(["0", "0", "1", "0x3f"] if plain else ["0"])
            cleared = self.check(f"cudaMemset({device}, {value}, {self.full_size(array)})")
            after = self.copy(device, array.pointer(), self.size(record, str(part)), "HostToDevice") if context.chance(0.7) else ""
            if after and context.sometimes("offset-copy"):
                after = self.copy(f"{device} + {part}", array.element(part), self.size(record, str(part + 1)), "HostToDevice")
            partial = self.check(f"cudaMemset({device} + 2, 0, {self.size(record, '3')})") if context.chance(0.2) else ""
            return [Piece(cleared, kept=True), Piece(after), Piece(partial)]
        if context.sometimes("offset-copy", 0.6):
            rest = self.size(record, f"({count} - {part})")
            to, source = context.pick([(f"{device} + {part}", array.element(part)), (f"&{device}[{part}]", f"&{array.host}[{part}]")])
            return [Piece(self.copy(device, array.pointer(), self.size(record, str(part)), "HostToDevice"), kept=True),
                    Piece(self.copy(to, source, rest, "HostToDevice"), kept=True)]
        source = context.pick([array.pointer(), f"&{array.host}[0]"]) if array.style == "vector" else array.host
        return [Piece(self.copy(device, source, self.full_size(array), "HostToDevice"), kept=True)]

    def download(self, array):
        """Back into the host's array, the whole or a part; and printed."""
        context, host, record = self.context, self.host, array.record
        if array.style == "managed":
            return [Piece(self.check("cudaDeviceSynchronize()"), kept=True), *self.show(array)]
        lines = []
        if context.sometimes("prefix-copy", 0.5) and array.handle != "class":
            size = self.size(record, context.pick([str(context.number(5, 39)), f"({host.count} / 2)"]))
            lines.append(Piece(self.copy(array.pointer(), array.device, size, "DeviceToHost")))
        elif array.handle == "class":
            lines.append(Piece(f"{array.device.partition('.')[0]}.download({array.pointer()});\n"))
        elif context.sometimes("offset-copy", 0.3):
            start = context.number(1, 20)
            size = self.size(record, f"({host.count} - {start})")
            lines.append(Piece(self.copy(array.element(start), f"{array.device} + {start}", size, "DeviceToHost")))
        else:
            lines.append(Piece(self.copy(array.pointer(), array.device, self.full_size(array), "DeviceToHost")))
        if context.sometimes("element-upload", 0.7) and array.handle != "class":
            index = context.number(0, 20)
            to = context.pick([f"{array.device} + {index}", f"&{array.device}[{index}]"])
            copy = self.check(f"cudaMemcpy({to}, {array.element(index + 3)}, sizeof({record.name}), cudaMemcpyHostToDevice)")
            lines.insert(0, Piece(copy))
        if context.sometimes("device-copy", 0.4) and array.handle != "class":
            others = [a for a in host.arrays if a.record is record and a is not array and a.handle != "class" and a.style != "managed"]
            for other in others[:1]:
                size = self.size(record, str(context.number(4, 15)))
                copy = self.copy(f"{array.device} + 2", f"{other.device} + {context.number(3, 9)}", size, "DeviceToDevice")
                lines.insert(0, Piece(copy))
        if context.sometimes("element-download", 0.7) and array.handle != "class":
            name, index = host.names.new("one"), context.number(0, 20)
            source = context.pick([f"{array.device} + {index}", f"&{array.device}[{index}]"])
            copy = self.check(f"cudaMemcpy(&{name}, {source}, sizeof({record.name}), cudaMemcpyDeviceToHost)")
            lines.append(Piece(f"{record.name} {name};\n", copy, self.print_lines(record, name, False), 'printf("\\n");\n'))
        if context.sometimes("field-download", 0.8):
            leaf = next((leaf for leaf in record.leaves() if len(leaf.steps) == 1 and not leaf.steps[0][1]), None)
            if leaf:
                name = host.names.new("value")
                copy = self.check(f"cudaMemcpy(&{name}, &{array.device}[3].{leaf.key}, sizeof({leaf.scalar.name}), cudaMemcpyDeviceToHost)")
                conversion, text = leaf.scalar.printed(name)
                lines.append(Piece(f"{leaf.scalar.name} {name};\n", copy, f'printf("{conversion}\\n", {text});\n'))
        if host.stream:
            lines.append(Piece(self.check(f"cudaStreamSynchronize({host.stream})"), kept=True))
        return lines + self.show(array)

    def holder(self, arrays):
        """The struct or class that the device pointers of some arrays are members of."""
        context, host = self.context, self.host
        members = [array for array in arrays if array.handle == "struct"]
        if members:
            variable = members[0].device.partition(".")[0]
            name = context.global_name(["Buffers", "Device", "Arrays"])
            fields = [Piece(f"{a.record.name} *{a.device.partition('.')[2]};\n", defines="." + a.device.partition(".")[2])
                      for a in members]
            host.globals.append(Piece(f"struct {name} {{\n", fields, "};\n\n", defines=name))
            host.declarations.append(Piece(f"{name} {variable};\n", defines=variable))
        for array in arrays:
            if array.handle == "class":
                variable = array.device.partition(".")[0]
                name, record = context.global_name(["Solver", "Simulation", "Model"]), array.record.name
                size = self.size(array.record, "count_")
                host.globals.append(Piece(
                    f"class {name} {{\n{record} *items_;\nint count_;\n\npublic:\nexplicit {name}(int count) : count_(count) {{\n",
                    self.check(f"cudaMalloc(&items_, {size})"), f"}}\n~{name}() {{ cudaFree(items_); }}\n",
                    f"void upload(const {record} *from) {{ ", self.check(f"cudaMemcpy(items_, from, {size}, cudaMemcpyHostToDevice)")
                    .strip(), f" }}\nvoid download({record} *to) const {{ ",
                    self.check(f"cudaMemcpy(to, items_, {size}, cudaMemcpyDeviceToHost)").strip(),
                    f" }}\n{record} *items() const {{ return items_; }}\n}};\n\n", defines=name, scope=True))
                host.declarations.append(Piece(f"{name} {variable}({host.count});\n", defines=variable))
