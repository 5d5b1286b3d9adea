"""Compiling a program for the CPU, with ../emulation, in place of nvcc."""

import shutil
import sys
import tempfile
from pathlib import Path

import fetch
from build import first_errors

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "emulation"))


def load(name):
    """A module of ../emulation. Its run.py has the name of ours."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"emulation_{name}", HERE.parent / "emulation" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compiler(sanitize):
    """A function as compile_all wants it: (program, folder, binary) to why it does not compile."""
    emulation, programs = load("run"), load("program")
    toolchain = emulation.Toolchain(sanitize=sanitize)

    def compile_one(program, folder, binary):
        with tempfile.TemporaryDirectory() as scratch:
            source, built = Path(scratch) / "source", Path(scratch) / "built"
            shutil.copytree(folder, source)
            try:
                fetch.apply_edits(program.name, program.small_edits, source)
                units = [source / name for name in program.sources]
                flags = [*program.flags, "-I", str(HERE / "emulated"), "-include", str(HERE / "emulated/copies.h")]
                shutil.copy(toolchain.build(programs.collect(units), flags, built), binary)
            except (emulation.BuildError, RuntimeError, OSError) as error:
                return first_errors(str(error)) or str(error)[-300:]
        return ""

    return compile_one
