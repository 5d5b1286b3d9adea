#!/usr/bin/env python3
"""Runs a CUDA program on the CPU.

    run.py [options] FILE.cu... [-- program's arguments]
    run.py [options] --folder DIR [-- program's arguments]

The files are the translation units of one program (with --folder, all .cu and .cpp files of DIR). Prints what the
program prints and exits with its status: 99 when it did what no CUDA program may do, 124 when it took too long, 2 when
it cannot be built.

  --cxxflags=FLAGS  -I, -D, -U, -std and -include are used, other flags of nvcc's or Clang's are skipped
  --sanitize        with the address and undefined-behaviour sanitizers
  --limit=SECONDS   time for the program, default 60
  --cache=DIR       where the compiled headers and runtime are kept, default in the temporary folder
  --keep=DIR        write the C++ here

The compiler is $CLANGXX, clang++-22 or clang++.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import program as programs
from program import Program
from to_cpp import Unclear

HERE = Path(__file__).resolve().parent
# Floats agree bit by bit, and what C++ leaves undefined is the same in all variants.
FLAGS = """-O1 -w -ffp-contract=off -fwrapv -fno-strict-aliasing -ftrivial-auto-var-init=pattern
 -fpch-instantiate-templates -fno-finite-loops -fno-threadsafe-statics -fstack-clash-protection -D__CUDA__ -D__CUDACC__""".split()
# A misaligned access, which a GPU refuses, is an illegal instruction here.
ALIGNED = "-fsanitize=alignment -fsanitize-trap=alignment".split()
SANITIZE = "-g1 -fsanitize=address,undefined -fno-sanitize=function,vptr -fno-sanitize-recover=undefined".split()


class BuildError(Exception):
    pass


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: str


@dataclass
class Flags:
    """Compiler flags that make a difference here."""

    standard: str
    include_dirs: list[str]
    others: list[str]


def parse_flags(flags: list[str]) -> Flags:
    parsed = Flags("-std=c++17", [], [])
    waiting = iter(flags)
    for flag in waiting:
        if flag.startswith("-std="):
            parsed.standard = flag
        elif flag in ("-I", "-isystem", "-iquote"):
            parsed.include_dirs.append(next(waiting, "."))
        elif flag.startswith("-I"):
            parsed.include_dirs.append(flag[2:])
        elif flag in ("-D", "-U", "-include"):
            parsed.others += [flag, next(waiting, "")]
        elif flag.startswith(("-D", "-U")):
            parsed.others.append(flag)
    return parsed


def call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise BuildError(done.stderr.strip() or f"{command[0]} failed")


class Toolchain:
    """Clang with the headers compiled and the runtime at hand, for one C++ standard at a time."""

    def __init__(self, cache: Path | None = None, sanitize: bool = False):
        self.cache = cache or Path(tempfile.gettempdir()) / f"cuda-emulation-{os.getuid()}"
        self.flags = FLAGS + ["-I", str(HERE / "include")] + (SANITIZE if sanitize else ALIGNED)
        # GCC starts faster, and brings the sanitizers' libraries. Gold is the fastest linker where there is one.
        self.linker = ["g++", *(SANITIZE[1:2] if sanitize else [])]
        self.linker += next(([f"-fuse-ld={name}"] for name in ("gold", "lld") if shutil.which(f"ld.{name}")), [])
        self.compiler = os.environ.get("CLANGXX") or ("clang++-22" if shutil.which("clang++-22") else "clang++")
        self.prepared: dict[str, Path] = {}

    def prepare(self, standard: str) -> Path:
        """The folder with prelude.pch and the runtime's objects."""
        if standard in self.prepared:
            return self.prepared[standard]
        version = subprocess.run([self.compiler, "--version"], capture_output=True, text=True).stdout
        key = hashlib.sha256(repr((version, standard, self.flags)).encode())
        sources = sorted((HERE / "runtime").glob("*.cpp"))
        for path in sorted(HERE.glob("include/**/*.h")) + sorted(HERE.glob("runtime/*")):
            key.update(f"{path} {path.stat().st_mtime_ns}".encode() + path.read_bytes())
        folder = self.cache / key.hexdigest()[:16]
        if not folder.is_dir():
            self.cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.cache) as scratch:
                made = Path(scratch) / "made"
                made.mkdir()
                header = ["-x", "c++-header", str(HERE / "include" / "prelude.h"), "-o", str(made / "prelude.pch")]
                call([self.compiler, standard, *self.flags, *header])
                for source in sources:
                    output = ["-c", str(source), "-o", str(made / f"{source.stem}.o")]
                    call([self.compiler, "-std=c++17", *self.flags, "-O2", *output])
                try:
                    made.rename(folder)
                except OSError:  # another process was faster
                    pass
        self.prepared[standard] = folder
        return folder

    def build(self, program: Program, flags: list[str], folder: Path) -> Path:
        """Writes the program as C++ to this folder and compiles it there."""
        parsed = parse_flags(flags)
        ready = self.prepare(parsed.standard)
        try:
            units = programs.rewrite(program, folder / "source")
        except Unclear as unclear:
            raise BuildError(str(unclear)) from unclear
        includes = [folder / "source" / name for name in program.include_dirs] + parsed.include_dirs
        options = [parsed.standard, *self.flags, *parsed.others, *(f"-I{path}" for path in includes)]
        objects = []
        for n, unit in enumerate(units):
            objects.append(str(folder / f"{n}.o"))
            cuda = ["-include-pch", str(ready / "prelude.pch")] if unit.suffix == ".cu" else ["-U__CUDA__", "-U__CUDACC__"]
            call([self.compiler, *options, *cuda, "-x", "c++", "-c", str(unit), "-o", objects[-1]])
        binary = folder / "program"
        runtime = [str(path) for path in sorted(ready.glob("*.o"))]
        call([*self.linker, *objects, *runtime, "-lpthread", "-o", str(binary)])
        return binary


class Nvcc:
    """In place of Toolchain: the program itself, for the machine's GPU."""

    def prepare(self, standard: str) -> None:
        pass

    def build(self, program: Program, flags: list[str], folder: Path) -> Path:
        parsed = parse_flags(flags)
        units = programs.copy(program, folder / "source")
        includes = [folder / "source" / name for name in program.include_dirs] + parsed.include_dirs
        binary = folder / "program"
        options = [parsed.standard, "-w", "-arch=sm_90", *parsed.others, *(f"-I{path}" for path in includes)]
        call(["nvcc", *options, "-o", str(binary), *map(str, units)])
        return binary


def execute(binary: Path, arguments: list[str] = [], limit: float = 60, folder: Path | None = None) -> Result:
    """Runs a program; fresh host memory holds the same bytes every time."""
    environment = os.environ | {
        "MALLOC_PERTURB_": "90",
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:exitcode=99",
        "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
    }
    try:
        done = subprocess.run(
            [str(binary), *arguments], capture_output=True, timeout=limit, env=environment, cwd=folder, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as late:
        return Result(124, late.stdout or b"", f"still running after {limit:g} s")
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Result(code, done.stdout, done.stderr.decode(errors="replace"))


def main() -> int:
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cxxflags", default="")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments[:split])
    units = options.files + (programs.units_of(options.folder) if options.folder else [])
    if not units:
        parser.error("no file")
    flags = shlex.split(options.cxxflags)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            program = programs.collect(units, [Path(d) for d in parse_flags(flags).include_dirs])
            toolchain = Toolchain(options.cache, options.sanitize)
            binary = toolchain.build(program, flags, options.keep or Path(scratch))
        except (BuildError, OSError) as error:
            print(f"run.py: {error}", file=sys.stderr)
            return 2
        result = execute(binary, arguments[split + 1 :], options.limit)
    sys.stdout.buffer.write(result.out)
    sys.stderr.write(result.err)
    return result.code


if __name__ == "__main__":
    sys.exit(main())
