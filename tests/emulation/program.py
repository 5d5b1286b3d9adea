"""The files of a CUDA program: its translation units and the files of its own that they include."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tokens import read
from to_cpp import kernel_macros, to_cpp

UNITS = (".cu", ".cpp", ".cc", ".cxx")


@dataclass
class Program:
    root: Path  # the folder that all files lie in
    texts: dict[str, str]  # by path relative to root
    units: list[str]  # those that are compiled
    include_dirs: list[str] = field(default_factory=list)  # those inside root, relative to it


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def find(name: str, includer: Path, include_dirs: list[Path]) -> Path | None:
    for folder in [includer.parent, *include_dirs]:
        if (folder / name).is_file():
            return Path(os.path.abspath(folder / name))
    return None


def collect(units: list[Path], include_dirs: list[Path] = []) -> Program:
    """The program made of these units. Headers of the system are not part of it."""
    texts: dict[Path, str] = {}
    waiting = [Path(os.path.abspath(unit)) for unit in units]
    include_dirs = [Path(os.path.abspath(folder)) for folder in include_dirs]
    order = list(waiting)
    while waiting:
        path = waiting.pop()
        if path in texts:
            continue
        texts[path] = text_of(path)
        for name in read(texts[path]).includes:
            if included := find(name, path, include_dirs):
                waiting.append(included)
    root = Path(os.path.commonpath([path.parent for path in texts]))
    inside = [folder for folder in include_dirs if folder == root or root in folder.parents]
    relative = {path: path.relative_to(root).as_posix() for path in texts}
    return Program(
        root,
        {relative[path]: text for path, text in texts.items()},
        [relative[path] for path in order],
        [folder.relative_to(root).as_posix() for folder in inside],
    )


def units_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in UNITS)


def replace(program: Program, folder: Path) -> Program:
    """The program with the files in this folder in place of those of the same name."""
    texts = dict(program.texts)
    units = list(program.units)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".ptx"):
        name = path.relative_to(folder).as_posix()
        places = [name] if name in program.texts else [old for old in program.texts if old.endswith(f"/{name}")]
        place = places[0] if len(places) == 1 else os.path.normpath(Path(program.units[0]).parent / name)
        texts[place] = text_of(path)
        if path.suffix in UNITS and place not in program.texts:
            units.append(place)
    return Program(program.root, texts, units, program.include_dirs)


def copy(program: Program, folder: Path) -> list[Path]:
    """Writes the files as they are; where the units lie then."""
    for name, text in program.texts.items():
        write(folder / name, text)
    return [folder / unit for unit in program.units]


def rewrite(program: Program, folder: Path) -> list[Path]:
    """Writes the files as plain C++; where the units lie then. A unit that is C++ already stays as it is."""
    words = set().union(*(kernel_macros(read(text)) for text in program.texts.values()))
    for name, text in program.texts.items():
        plain = name in program.units and not name.endswith(".cu")
        # Messages and __FILE__ are the same wherever the file lies.
        write(folder / name, text if plain else f'#line 1 "{Path(name).name}"\n' + to_cpp(text, name, words))
    return [folder / unit for unit in program.units]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
