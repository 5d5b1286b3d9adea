"""The public programs, where they come from, and what is expected of each.

Nothing of theirs is kept in this repository: `fetch.py` brings them, at these
commits, into a folder outside of it.
"""

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

LAYOUTS = ("soa", "asta32", "aos-align16")
FASTEST = "fastest"  # no --layout: what restride picks by itself


@dataclass(frozen=True)
class Repository:
    name: str
    url: str
    commit: str


@dataclass(frozen=True)
class Edit:
    """A line changed in the fetched copy, before anything else happens to it."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class ResultFile:
    """A file the program writes. Without a tolerance it must be the same bytes;
    with one, each number may differ by that part of its column's largest magnitude."""

    name: str
    tolerance: Optional[float] = None


@dataclass(frozen=True)
class Program:
    name: str
    repository: Repository
    root: str  # folder of the repository that becomes the program's
    sources: Tuple[str, ...]  # all translation units
    arguments: Tuple[str, ...] = ()
    flags: Tuple[str, ...] = ("-std=c++17",)
    only: Tuple[str, ...] = ()  # paths below root to take; empty: all
    edits: Tuple[Edit, ...] = ()
    inputs: Tuple[str, ...] = ()  # files read at run time
    timeout_s: int = 120
    small: Optional[Tuple[str, ...]] = None  # arguments for the emulation on the CPU; none: it cannot run there
    small_verdict: bool = True  # whether the verdict holds for small sizes too
    small_edits: Tuple[Edit, ...] = ()  # on top of the edits, for the emulation

    moves: Tuple[str, ...] = ()  # records whose arrays must take every layout
    refused: Optional[Dict[str, str]] = None  # record, array or record:layout, to a part of the sentence
    parallel: bool = False  # parallel arrays: by itself restride puts together others, or, where nothing moves, none
    picked: str = ""  # what restride must do to all of them by itself: kept, rewritten, or either

    verdict: str = ""  # a line that a right run prints, as a regular expression
    drop: Tuple[str, ...] = ()  # lines of standard output that differ from run to run
    results: Tuple[ResultFile, ...] = ()
    copies: bool = True  # whether copies back to the host are the same bits in every run
    note: str = ""  # for the reader of the table


HECBENCH = Repository("hecbench", "https://github.com/zjin-lcf/HeCBench", "f27000a5188f8ac79bd43fc95a1b3f890c18823d")
RSBENCH = Repository("rsbench", "https://github.com/ANL-CESAR/RSBench", "34b644787ea9af4fb188e1253da72e09bbed9989")
POLYBENCH = Repository("polybench", "https://github.com/sgrauerg/polybenchGpu", "5584aaa7d0be810ff5eb0b61c49fb64ecc81ba4c")
PROCUDA = Repository("procuda", "https://github.com/deeperlearning/professional-cuda-c-programming",
                     "ee58310bcdcec62a609f02b6c5193452d8102183")

# CUDA 13 has no cudaThreadSynchronize.
POLYBENCH_FLAGS = ("-std=c++17", "-DcudaThreadSynchronize=cudaDeviceSynchronize")
POLYBENCH_COMMON = tuple(f"common/polybench{name}" for name in (".c", ".h", "UtilFuncts.h"))


def standard_size(file, line, letters, size):
    """The extents of what PolyBench runs if it is not told otherwise."""
    old = "/* Default if unspecified. */\n" + "".join(line.format(letter) for letter in letters)
    return Edit(file, old, old.replace("1024", str(size)))


TIMES = r"(?i)\btime\b"  # lines that print times say so, in most of these programs

# Parallel arrays have the name of the record that they would get.
MRC = "X1X2DOutputDX1DX2"
D3Q19 = "FlagsBoundaryValuesDir"

PROGRAMS = (
    Program("nbody", HECBENCH, "src/nbody-cuda", ("main.cu", "GSimulation.cu"), ("6000", "10"), small=("64", "3"),
            moves=("Particle",), verdict=r"^PASS$", drop=(TIMES, "Average Performance")),
    Program("projectile", HECBENCH, "src/projectile-cuda", ("Projectile.cu",), ("10",), small=("2",),
            small_edits=(Edit("Projectile.cu", "num_elements = 10000000", "num_elements = 5000"),),
            moves=("Projectile",), verdict=r"^PASS$", drop=(TIMES,)),
    Program("bezier-surface", HECBENCH, "src/bezier-surface-cuda", ("main.cu",), ("-n", "1024"), small=("-g", "32", "-n", "64"),
            inputs=("input/control.txt",), moves=("XYZ",), verdict=r"^PASS$", drop=(TIMES,),
            note="writes past its array unless -n is a multiple of the block size"),
    Program("interleave", HECBENCH, "src/interleave-cuda", ("main.cu",), ("100",), small=("1",),
            small_edits=(Edit("main.cu", "#define COUNT 4096", "#define COUNT 4"),),
            moves=("INTERLEAVED_T",), refused={"NON_INTERLEAVED_T": "one object and not an array"}, drop=(TIMES,)),
    Program("sheath", HECBENCH, "src/sheath-cuda", ("main.cu",),
            edits=(Edit("main.cu", "#define NUM_TS 1000 ", "#define NUM_TS 200 "), Edit("main.cu", "ts % 1000 ", "ts % 200 ")),
            small=(), small_edits=(
                Edit("main.cu", "#define NUM_TS 200 ", "#define NUM_TS 25 "), Edit("main.cu", "ts % 200 ", "ts % 25 "),
                Edit("main.cu", "#define NUM_IONS 500000", "#define NUM_IONS 1000"),
                Edit("main.cu", "#define NUM_ELECTRONS 500000", "#define NUM_ELECTRONS 1000")),
            moves=("Particle",), drop=(TIMES, "dphi"), results=(ResultFile("result.dat", 1e-2),), copies=False,
            note="float atomics: the order of additions differs from run to run"),
    Program("lavaMD", HECBENCH, "src/lavaMD-cuda", ("main.cu", "util/num/num.cu", "util/timer/timer.cu"), ("-boxes1d", "10"),
            small=("-boxes1d", "2"), flags=("-std=c++17", "-DOUTPUT"), moves=("box_str", "FOUR_VECTOR"),
            refused={f"FOUR_VECTOR.{name}": "written by a macro's body" for name in ("rA_shared", "rB_shared")}, drop=(r"^[0-9.]+ s$",),
            results=(ResultFile("result.txt"),)),
    Program("su3", HECBENCH, "src/su3-cuda", ("su3_nn_bench.cu",), tuple("-i 10 -l 16 -t 128 -v 3 -w 1".split()),
            small=tuple("-i 1 -l 2 -t 128 -v 3 -w 0".split()), flags=("-std=c++17", "-DMILC_COMPLEX"), moves=("site", "fsu3_matrix"),
            refused={f"{record}:{FASTEST}": "in text that the preprocessor leaves out" for record in ("site", "fsu3_matrix")},
            drop=(TIMES, "GFLOP", "GByte", "memory usage", "allocation"), copies=False,
            note="checks its result with assert; copies fields back that nobody wrote"),
    Program("chemv", HECBENCH, "src/chemv-cuda", ("main.cu", "kernel.cu"), small=(),
            edits=(Edit("main.cu", "#define REPEAT 1000", "#define REPEAT 1"),), moves=("ComplexFloat",), drop=(TIMES,),
            note="its own check compares NaNs, and passes, if the kernels run 1000 times as in the original"),
    Program("simpleMathAoS", PROCUDA, "examples", ("chapter04/simpleMathAoS.cu",), small=(),
            small_edits=(Edit("chapter04/simpleMathAoS.cu", "#define LEN 1<<22", "#define LEN 1<<12"),),
            only=("chapter04/simpleMathAoS.cu", "common/common.h"), moves=("innerStruct",), drop=("elapsed",)),
    Program("gamma-correction", HECBENCH, "src/gamma-correction-cuda", ("main.cu",), ("512", "512", "256", "10"),
            small=("32", "32", "64", "1"),
            moves=("ImgPixel",), picked="kept", verdict=r"^PASS$", drop=(TIMES,)),
    Program("layout", HECBENCH, "src/layout-cuda", ("main.cu",), ("10",),
            refused={"AppleTree": "comes from a cast from 'int *'", "ApplesOnTrees": "comes from a cast from 'int *'"},
            verdict=r"^PASS$", drop=(TIMES,)),
    Program("rsbench", RSBENCH, "cuda", tuple(f"{name}.cu" for name in "main simulation io init material utils".split()),
            ("-s", "small", "-m", "event"), small=tuple("-s small -m event -l 100 -P 20 -W 5".split()), small_verdict=False,
            moves=("Pole", "Window"), refused={"PEnergyMatSamples": "whose parameter cannot be followed"}, verdict=r"^Verification checksum: 880018 \(Valid\)$",
            drop=(TIMES, "Runtime", "Initialization Complete", "Lookups/s"), copies=False,
            note="with -std=c++17, as CUDA 13's Thrust wants it; the Makefile says c++14"),
    Program("aidw", HECBENCH, "src/aidw-cuda", ("main.cu",), ("10", "1", "1"), small=("1", "1", "1"),
            small_edits=(Edit("main.cu", "numk * 1024", "numk * 512"),),
            parallel=True, moves=("Dxyz", "Ixyz"), verdict=r"^PASS$", drop=(TIMES,)),
    Program("haccmk", HECBENCH, "src/haccmk-cuda", ("haccmk.cu",), ("10",), small=("1",),
            small_edits=(Edit("haccmk.cu", "  n1 = 784;", "  n1 = 100;"), Edit("haccmk.cu", "  n2 = 15000;", "  n2 = 500;")),
            parallel=True, moves=("Vxyz2", "Xxyyzz"), verdict=r"^PASS$", drop=(TIMES,)),
    Program("particle-diffusion", HECBENCH, "src/particle-diffusion-cuda", ("motionsim.cu",), ("100", "2"), small=("5", "2"),
            small_edits=(Edit("motionsim.cu", "n_particles = 147456;", "n_particles = 300;"),),
            parallel=True, moves=("ARandomXY", "AParticleXY"), verdict=r"^PASS$", drop=(TIMES, "Simulation time")),
    Program("lulesh", HECBENCH, "src/lulesh-cuda", tuple(f"lulesh{name}.cu" for name in ("", "-init", "-util", "-viz")),
            tuple("-i 2 -s 16 -r 11 -b 1 -c 1".split()), flags=("-std=c++17", "-DVERIFY"), small=tuple("-i 1 -s 3 -r 11 -b 1 -c 1".split()),
            parallel=True, moves=("Xyz",), drop=(TIMES, "FOM", "Grind")),
    Program("mrc", HECBENCH, "src/mrc-cuda", ("main.cu",), ("1000000", "10"), small=("1000", "1"),
            parallel=True, refused={MRC: "is cast to 'const float4 *'"}, verdict=r"^PASS$", drop=(TIMES,),
            note="all of its accesses are coalesced"),
    Program("d3q19-bgk", HECBENCH, "src/d3q19-bgk-cuda", ("main.cu",), ("102",),
            parallel=True,
            refused={D3Q19: "is written by a macro's body", **{f"u0:{layout}": "several arrays are parts of one allocation" for layout in LAYOUTS}},
            verdict=r": OK$", drop=(TIMES, r"^[0-9.]+$")),
    Program("SYR2K", POLYBENCH, ".", ("CUDA/SYR2K/syr2k.cu",), flags=POLYBENCH_FLAGS,
            only=("CUDA/SYR2K/syr2k.cu", "CUDA/SYR2K/syr2k.cuh", *POLYBENCH_COMMON),
            small=(), small_edits=(standard_size("CUDA/SYR2K/syr2k.cuh", "#define N{} 1024\n", "IJ", 64),),
            parallel=True, moves=("Ab",), verdict=r"Percent: 0$", drop=(r"^[0-9.]+$", "setting device")),
    Program("2MM", POLYBENCH, ".", ("CUDA/2MM/2mm.cu",), flags=POLYBENCH_FLAGS,
            only=("CUDA/2MM/2mm.cu", "CUDA/2MM/2mm.cuh", *POLYBENCH_COMMON),
            small=(), small_edits=(standard_size("CUDA/2MM/2mm.cuh", "# define N{} 1024\n", "IJKL", 64),),
            parallel=True, moves=("AB",), verdict=r"Percent: 0$", drop=(r"^[0-9.]+$", "setting device")),
)
