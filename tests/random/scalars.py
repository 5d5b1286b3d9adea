"""Types of one value: how they are printed, set, and turned into one another.

All arithmetic is defined: integers are computed as `unsigned` and signed fields
only ever hold small numbers, so that nothing overflows.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    name: str
    kind: str  # float, double, signed, unsigned, bool, enum
    bytes: int
    enumerators: tuple = ()

    def of_index(self, i, a, b):
        """A value made of the integer expression `i`; a is odd, b any number."""
        unsigned = f"(unsigned)({i}) * {a}u + {b}u"
        if self.kind == "float":
            return f"({unsigned}) % 97u * 0.125f - {b % 7}.5f"
        if self.kind == "double":
            return f"({unsigned}) % 193u * 0.0625 - {b % 11}.25"
        return self.of_unsigned(unsigned)

    def of_unsigned(self, text):
        """The value for an expression of type unsigned, which need not stand in parentheses."""
        if self.kind == "signed":
            mask = "0x7f" if self.bytes == 1 else "0x3fff" if self.bytes == 2 else "0xfffff"
            return f"({self.name})(({text}) & {mask}u)"
        if self.kind == "bool":
            return f"({text}) % 3u == 0"
        if self.kind == "enum":
            return f"({self.name})(({text}) % {len(self.enumerators)}u)"
        if self.kind == "unsigned":
            return text if self.name == "unsigned" else f"({self.name})({text})"
        return f"({self.name})(({text}) % 1024u)"

    def printed(self, text):
        """A printf conversion that shows every bit, and its argument."""
        if self.kind in ("float", "double"):
            return "%a", text
        if self.kind == "enum":
            return "%d", f"(int){text}"
        if self.kind == "bool" or self.bytes < 4:
            return "%d", text
        if self.bytes == 8:
            return ("%lld", f"(long long){text}") if self.kind == "signed" else ("%llu", f"(unsigned long long){text}")
        return ("%d" if self.kind == "signed" else "%u"), text

    def read_as(self, kind, text):
        """The field's value as a `float`, `double`, `unsigned` or `bool` expression."""
        if kind == "bool":
            if self.kind == "bool":
                return text
            return f"{text} > {1 if self.kind != 'enum' else self.enumerators[0]}"
        if kind == "unsigned":
            if self.kind in ("float", "double"):
                return f"({text} > 1.5 ? 7u : 2u)"
            return text if self.name == "unsigned" else f"(unsigned){text}"
        if self.kind == "bool":
            return f"({text} ? 1.5f : 0.25f)"
        if self.kind == "enum":
            return f"({kind})(int){text}"
        return text if self.kind == kind else f"({kind}){text}"


def scalar(name, kind, size):
    return Scalar(name, kind, size)


FLOAT, DOUBLE = scalar("float", "float", 4), scalar("double", "double", 8)
INT, UNSIGNED = scalar("int", "signed", 4), scalar("unsigned", "unsigned", 4)
BOOL = scalar("bool", "bool", 1)
LONG, UNSIGNED_LONG = scalar("long long", "signed", 8), scalar("unsigned long long", "unsigned", 8)
SMALL = (scalar("unsigned char", "unsigned", 1), scalar("signed char", "signed", 1), scalar("short", "signed", 2),
         scalar("unsigned short", "unsigned", 2), scalar("uint8_t", "unsigned", 1), scalar("uint16_t", "unsigned", 2),
         scalar("int16_t", "signed", 2), scalar("char", "signed", 1))
WIDE = (DOUBLE, LONG, UNSIGNED_LONG, scalar("size_t", "unsigned", 8), scalar("int64_t", "signed", 8))
COMMON = (FLOAT, FLOAT, FLOAT, FLOAT, INT, INT, UNSIGNED, scalar("uint32_t", "unsigned", 4))

# CUDA's vectors: element, number of elements.
VECTORS = {"float2": (FLOAT, 2), "float3": (FLOAT, 3), "float4": (FLOAT, 4), "double2": (DOUBLE, 2), "int2": (INT, 2),
           "uint3": (UNSIGNED, 3), "uchar4": (SMALL[0], 4), "ushort2": (SMALL[3], 2)}
