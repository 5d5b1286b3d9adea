#!/usr/bin/env python3
"""Draws CUDA programs at random: a record, kernels over an array of it, and a main that times them.

A program follows from its number alone. What is drawn is what real programs differ in: the fields and their types,
which of them are read and written, how threads find their elements, how much is computed and how many elements there
are. README.md beside this file has command lines.
"""

import argparse
import random
import sys
from pathlib import Path

SIZES = {"float": 4, "double": 8, "int": 4, "short": 2, "unsigned char": 1}
MIXES = {
    "floats": ("float",),
    "doubles": ("double",),
    "floats and ints": ("float", "float", "int"),
    "mixed": ("float", "float", "double", "int", "short", "unsigned char"),
    "small": ("unsigned char", "short", "unsigned char", "int"),
}
NAMES = "a b c d e f g h p q s t u v w x y z aa bb cc dd ee ff gg hh pp qq".split()
INDICES = {  # arrays of indices, and what the host writes there
    "anywhere": "(int)(mix(i, n - 1) & (unsigned)(n - 1))",
    "nearby": "(int)((i + hash(i) % 64u) % (unsigned)n)",
}
REPEATS = 40
OUTPUTS = 1 << 21  # least size of the array of results

HEADER = r"""#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t status = (call);                                                                                       \
    if (status != cudaSuccess) {                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));                                  \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
"""

HASHES = """
// Pseudo-random bits for a counter.
static unsigned hash(unsigned k) {
  k = (k ^ k >> 16) * 0x7feb352du;
  k = (k ^ k >> 15) * 0x846ca68bu;
  return k ^ k >> 16;
}

// One to one below a power of two.
[[maybe_unused]] static unsigned mix(unsigned k, unsigned mask) {
  for (int round = 0; round < 3; ++round) {
    k = k * 0x9E3779B1u & mask;
    k ^= k >> 7;
  }
  return k;
}
"""

TIMING = """
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const int repeats = {repeats};
  for (int r = 0; r <= repeats; ++r) {{
    if (r == 1) // round 0 warms up
      CHECK(cudaEventRecord(begin));
{launches}
  }}
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
"""


class Kernel:
    """Lines of a body, and what it takes beside the records and their number."""

    def __init__(self, name, block):
        self.name, self.block = name, block
        self.threads = "n"
        self.launch = None  # grid and block, where they do not follow from threads
        self.arrays = []  # "out" and names of INDICES
        self.lines = []

    def parameters(self):
        kinds = {"out": "float *out"}
        return ["Rec *recs"] + [kinds.get(array, f"const int *{array}") for array in self.arrays] + ["int n"]

    def text(self):
        return f"__global__ void {self.name}({', '.join(self.parameters())}) {{\n" + "".join(f"  {line}\n" for line in self.lines) + "}\n"

    def call(self):
        grid = self.launch or f"({self.threads} + {self.block - 1}) / {self.block}, {self.block}"
        return f"    {self.name}<<<{grid}>>>({', '.join(['d_recs'] + ['d_' + array for array in self.arrays] + ['n'])});"


class Program:
    def __init__(self, number):
        self.r = random.Random(number)
        self.types = self.draw_types()
        self.names = NAMES[:len(self.types)]
        size = sum(SIZES[kind] for kind in self.types)
        self.count = 1 << 22
        while self.count * size > 300e6:
            self.count //= 2
        if self.r.random() < 0.15:  # what L2 holds
            self.count = self.r.choice((1 << 18, 1 << 19))
        self.block = self.r.choice((64, 128, 128, 256, 256, 256, 512))
        self.kernels = []
        for shape in self.draw_shapes():
            kernel = Kernel(f"k{len(self.kernels)}", self.block)
            shape(self, kernel)
            self.kernels.append(kernel)

    def draw_types(self):
        count = self.r.choice((2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 12, 13, 16, 20, 28))
        mix = MIXES[self.r.choice(("floats", "floats", "floats", "floats and ints", "floats and ints", "doubles", "mixed", "small"))]
        return [self.r.choice(mix) for _ in range(count)]

    def draw_shapes(self):
        if self.r.random() < 0.8:
            return [self.r.choice(ALONE)]
        return [self.r.choice(TOGETHER) for _ in range(self.r.randint(2, 3))]

    def fields(self, most=None):
        return sorted(self.r.sample(range(len(self.types)), self.r.randint(1, min(most or len(self.types), len(self.types)))))

    def is_real(self, field):
        return self.types[field] in ("float", "double")

    def read(self, field, record):
        """A statement that uses a field of a record in the sum s."""
        value = f"(float){record}.{self.names[field]}"
        return self.r.choices((
            f"s += {value} * {self.r.uniform(0.1, 1.5):.2f}f;",
            f"s = fmaf(s, 0.5f, {value});",
            f"s += sqrtf(fabsf({value}) + 1.0f);",
            f"s += 1.0f / (2.0f + fabsf({value}));",
            f"s += expf(-fabsf({value}));",
        ), (60, 15, 10, 8, 7))[0]

    def write(self, field, record):
        """A statement that changes a field of a record."""
        place, kind = f"{record}.{self.names[field]}", self.types[field]
        if self.is_real(field):
            return self.r.choice((f"{place} = s * 0.01f;", f"{place} += s * 0.0001f;", f"{place} = 0.5f * {place} + 0.001f * s;"))
        return self.r.choice((f"{place} = ({kind})((int)s & 63);", f"{place} = ({kind})({place} ^ 1);",
                              f"{place} = ({kind})(({place} + 1) & 63);"))

    def set(self, field, record):
        """A statement that sets a field to what no other depends on."""
        value = f"s * 0.{1 + field % 8}1f" if self.is_real(field) else f"((i + {field}) & 31)"
        return f"{record}.{self.names[field]} = ({self.types[field]})({value});"

    def work(self):
        trips = self.r.choice((0, 0, 0, 8, 32))
        return [f"for (int m = 0; m < {trips}; ++m)", "  s = fmaf(s, 0.99f, 0.01f * m);"] if trips else []

    def text(self):
        arrays = sorted({array for kernel in self.kernels for array in kernel.arrays})
        members = "".join(f"  {kind} {name};\n" for kind, name in zip(self.types, self.names))
        kernels = "\n".join(kernel.text() for kernel in self.kernels)
        return (HEADER + f"\nstruct Rec {{\n{members}}};\n\n{kernels}{HASHES}\nint main(int argc, char **argv) {{\n" +
                self.set_up(arrays) +
                TIMING.format(repeats=REPEATS, launches="\n".join(kernel.call() for kernel in self.kernels)) +
                self.results(arrays) + "}\n")

    def set_up(self, arrays):
        lines = [f"int n = argc > 1 ? atoi(argv[1]) : {self.count};", "std::vector<Rec> recs(n);",
                 "for (int i = 0; i < n; ++i) {", "  unsigned h = hash(i);"]
        for field, name in enumerate(self.names):
            value = f"(h >> {field % 24} & 255) / 256.0f + 0.5f" if self.is_real(field) else f"h >> {field % 24} & 63"
            lines.append(f"  recs[i].{name} = ({self.types[field]})({value});")
        lines += ["}", "Rec *d_recs;", "CHECK(cudaMalloc(&d_recs, n * sizeof(Rec)));",
                  "CHECK(cudaMemcpy(d_recs, recs.data(), n * sizeof(Rec), cudaMemcpyHostToDevice));"]
        for array in arrays:
            if array == "out":
                lines += [f"int outs = std::max(n, {OUTPUTS});", "float *d_out;", "CHECK(cudaMalloc(&d_out, outs * sizeof(float)));",
                          "CHECK(cudaMemset(d_out, 0, outs * sizeof(float)));"]
            else:
                lines += [f"std::vector<int> {array}(n);", "for (int i = 0; i < n; ++i)", f"  {array}[i] = {INDICES[array]};",
                          f"int *d_{array};", f"CHECK(cudaMalloc(&d_{array}, n * sizeof(int)));",
                          f"CHECK(cudaMemcpy(d_{array}, {array}.data(), n * sizeof(int), cudaMemcpyHostToDevice));"]
        return "".join(f"  {line}\n" for line in lines)

    def results(self, arrays):
        total = " + ".join(f"{field + 1} * r.{name}" for field, name in enumerate(self.names))
        lines = ["CHECK(cudaMemcpy(recs.data(), d_recs, n * sizeof(Rec), cudaMemcpyDeviceToHost));",
                 "unsigned long long check = 0;", "for (const Rec &r : recs)", f"  check = check * 31 + (long long)(({total}) * 256);"]
        if "out" in arrays:
            lines += ["std::vector<float> out(outs);",
                      "CHECK(cudaMemcpy(out.data(), d_out, outs * sizeof(float), cudaMemcpyDeviceToHost));",
                      "for (float v : out)", "  check = check * 31 + (long long)(v * 256);"]
        lines += ["float ms;", "CHECK(cudaEventElapsedTime(&ms, begin, end));",
                  'printf("check %llu\\ntime_ms %.4f\\n", check, ms / repeats);', "CHECK(cudaFree(d_recs));"]
        return "\n" + "".join(f"  {line}\n" for line in lines)


# --- shapes: how threads find their elements --------------------------------------

THREAD = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def guard(condition="i >= n"):
    return [THREAD, f"if ({condition})", "  return;"]


def indent(lines):
    return ["  " + line for line in lines]


def loop(head, body):
    return [head + " {"] + indent(body) + ["}"]


def in_place(p, k):
    """Reads and writes fields of the thread's own record, perhaps only where a flag is set."""
    writes = [p.write(f, "r") for f in p.fields(max(1, len(p.types) // 2))]
    flags = [f for f in range(len(p.types)) if not p.is_real(f)]
    if flags and p.r.random() < 0.4:
        writes = loop(f"if (r.{p.names[p.r.choice(flags)]} & 1)", writes)
    k.lines = guard() + ["Rec &r = recs[i];", "float s = 0;"] + [p.read(f, "r") for f in p.fields()] + p.work() + writes


def stream(p, k):
    k.arrays = ["out"]
    k.lines = guard() + ["Rec &r = recs[i];", "float s = 0;"] + [p.read(f, "r") for f in p.fields()] + p.work() + ["out[i] = s;"]


def initialize(p, k):
    k.lines = guard() + ["Rec &r = recs[i];", "float s = i & 255;"] + [p.set(f, "r") for f in p.fields()]


def stencil(p, k):
    fields = p.fields(6)
    offsets = p.r.sample((-2, -1, 0, 1, 2), p.r.randint(2, 5))
    k.arrays = ["out"]
    k.lines = (guard("i < 2 || i >= n - 2") + ["float s = 0;"] +
               [p.read(f, f"recs[i + {offset}]") for offset in offsets for f in fields] + p.work() + ["out[i] = s;"])


def image(p, k):
    """Five points of two dimensions."""
    shift = (p.count.bit_length() - 1) // 2
    width, height = 1 << shift, p.count >> shift
    fields = p.fields(5)
    k.arrays = ["out"]
    k.launch = f"dim3({width // 32}, {(height + 7) // 8}), dim3(32, 8)"
    k.lines = (["int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;",
                f"int width = {width}, height = n / width;", "if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)", "  return;",
                "int i = y * width + x;", "float s = 0;"] +
               [p.read(f, f"recs[i{point}]") for point in ("", " - 1", " + 1", " - width", " + width") for f in fields] +
               ["out[i] = s;"])


def own_records(p, k, at, length, writes):
    k.threads = f"n / {length}"
    body = [f"Rec &r = recs[{at}];"] + [p.read(f, "r") for f in p.fields()]
    if writes:
        body += [p.write(f, "r") for f in p.fields(max(1, len(p.types) // 2))]
    k.arrays = ["out"]
    k.lines = (guard(f"i >= n / {length}") + ["float s = 0;"] + loop(f"for (int j = 0; j < {length}; ++j)", body) + ["out[i] = s;"])


def chunk(p, k):
    """Each thread walks records that lie together."""
    length = p.r.choice((4, 8, 16, 32, 64))
    own_records(p, k, f"i * {length} + j", length, p.r.random() < 0.5)


def rows(p, k):
    """Each thread walks a column of rows."""
    length = p.r.choice((16, 32, 64))
    own_records(p, k, f"j * (n / {length}) + i", length, p.r.random() < 0.5)


def grid_stride(p, k):
    k.arrays = ["out"]
    k.launch = f"{p.r.choice((132, 264, 528))}, {p.block}"
    k.lines = ([THREAD.replace("int i", "int t"), "float s = 0;"] +
               loop("for (int i = t; i < n; i += gridDim.x * blockDim.x)", ["Rec &r = recs[i];"] + [p.read(f, "r") for f in p.fields()]) +
               ["out[t] = s;"])


def gather(p, k):
    index = p.r.choice(tuple(INDICES))
    k.arrays = [index, "out"]
    k.lines = guard() + [f"const Rec &r = recs[{index}[i]];", "float s = 0;"] + [p.read(f, "r") for f in p.fields()] + p.work() + ["out[i] = s;"]


def neighbours(p, k):
    k.arrays = ["nearby", "out"]
    k.lines = guard() + ["float s = 0;"] + loop(
        f"for (int j = 0; j < {p.r.choice((4, 8, 16))}; ++j)",
        ["const Rec &r = recs[nearby[(i + j * 97) % n]];"] + [p.read(f, "r") for f in p.fields(6)]) + ["out[i] = s;"]


def follow(p, k):
    """From element to element, by an index."""
    k.arrays = ["anywhere", "out"]
    k.lines = guard() + ["float s = 0;", "int at = i;"] + loop(
        "for (int j = 0; j < 4; ++j)",
        ["at = anywhere[at];", "const Rec &r = recs[at];"] + [p.read(f, "r") for f in p.fields(6)]) + ["out[i] = s;"]


def table(p, k):
    """All threads walk the same records."""
    k.threads = 1 << 18
    k.arrays = ["out"]
    k.lines = guard(f"i >= {1 << 18}") + ["float s = i * 0.001f;"] + loop(
        f"for (int j = 0; j < {p.r.choice((64, 256, 1000))}; ++j)",
        ["const Rec &r = recs[j];"] + [p.read(f, "r") for f in p.fields()] + ["s *= 0.5f;"]) + ["out[i] = s;"]


def lookup(p, k):
    """Each thread reads a record of a table, which its number says."""
    k.threads = OUTPUTS
    k.arrays = ["out"]
    k.lines = (guard(f"i >= {OUTPUTS}") +
               ["unsigned h = i * 2654435761u;", f"const Rec &r = recs[(h >> 12) % {p.r.choice((256, 4096, 16384))}u];", "float s = 0;"] +
               [p.read(f, "r") for f in p.fields()] + ["out[i] = s;"])


def scatter(p, k):
    k.arrays = ["anywhere"]
    k.lines = guard() + ["Rec &r = recs[anywhere[i]];", "float s = i & 127;"] + [p.set(f, "r") for f in p.fields()]


def shared(p, k):
    """A block's fields in shared memory, which its threads go through."""
    fields = p.fields(5)
    k.arrays = ["out"]
    k.lines = ([f"__shared__ float tile[{len(fields)}][{p.block}];", THREAD, "float s = 0;"] +
               [f"tile[{place}][threadIdx.x] = i < n ? (float)recs[i].{p.names[f]} : 0;" for place, f in enumerate(fields)] +
               ["__syncthreads();", f"for (int j = 0; j < {p.r.choice((8, 32))}; ++j)",
                "  s += " + " + ".join(f"tile[{place}][(threadIdx.x + j) % {p.block}]" for place in range(len(fields))) + ";",
                "if (i < n)", "  out[i] = s;"])


ALONE = (in_place, in_place, in_place, stream, stream, initialize, stencil, image, chunk, chunk, rows, grid_stride, gather, gather,
         neighbours, follow, table, lookup, scatter, shared)
TOGETHER = (in_place, in_place, stream, initialize, stencil, chunk, rows, gather)


def name_of(number):
    return f"drawn_{number}"


def write(folder, names):
    """Writes the programs of these names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.cu").write_text(Program(int(name.split("_")[1])).text())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the programs go")
    parser.add_argument("--first", type=int, default=1, help="number of the first one")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args(argv)
    write(options.folder, [name_of(number) for number in range(options.first, options.first + options.count)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
