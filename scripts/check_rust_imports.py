"""Finds circles of imports between Rust files, and imports that run up a layer.

    python3 scripts/check_rust_imports.py [folder of a crate's sources]

A file stands on another if it names something of it: in a `use`, or by its path in the midst of code. What
a module re-exports is looked for in the file that has it. Modules of one layer that are listed in groups of
their own know nothing of each other. A module that is in no layer is an error: whoever adds one says where it
belongs. Knows Rust's paths and nothing of its types.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# From the lowest to the highest: layers, each of groups of modules.
LAYERS: list[list[list[str]]] = [
    [["sync"]],
    [
        ["checksums"],
        ["clock"],
        ["error"],
        ["fetch_room"],
        ["frame_bytes"],
        ["handed_out"],
        ["loan"],
        ["locks"],
        ["memory"],
        ["name_pattern"],
        ["shared_bytes"],
        ["signal"],
        ["still_held"],
    ],
    [["frame_memory"], ["lending"], ["partitioner"], ["spare_memory"]],
    [["compression"]],
    [["records"]],
    [["arrow"], ["compaction"], ["fetching"], ["producing"]],
    [["formats"], ["models"]],
    [["python::objects"], ["python::os"]],
    [["python::consume"], ["python::produce"], ["python::values"]],
    [["python::kafka_python"], ["python::librdkafka"], ["python::pykafka"]],
    [["python"]],
]
ROOT_FILES = {"lib.rs"}

IGNORED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
)
MODULE = re.compile(r"\bmod\s+(\w+)\s*\{")
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])(?:r#)?(\w+)((?:\s*::\s*\w+)+)")


@dataclass
class Module:
    """A module: its names, and those that it takes over from elsewhere, by the names that they have here."""

    path: tuple[str, ...]
    file: str
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)
    used: list[tuple[str, ...]] = field(default_factory=list)


def without_text(source: str) -> str:
    """The source without comments and literals."""
    return IGNORED.sub(lambda match: "\n" * match[0].count("\n") or " ", source)


def end_of_block(source: str, start: int) -> int:
    """Behind the brace that ends the block that begins before `start`."""
    depth = 1
    for index in range(start, len(source)):
        depth += {"{": 1, "}": -1}.get(source[index], 0)
        if depth == 0:
            return index + 1
    return len(source)


def use_tree(tree: str, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of a use declaration, each with the name that it has from then on; "*" for all names."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = (part.strip() for part in tree.partition(" as "))
        parts = tuple(part.strip().removeprefix("r#") for part in path.split("::") if part.strip())
        if parts and parts[-1] == "self":
            parts = parts[:-1]
        whole = before + parts
        if whole:
            yield whole, alias or whole[-1]
        return
    before += tuple(part.strip() for part in tree[:brace].split("::") if part.strip())
    depth, start = 0, brace + 1
    for index in range(brace, len(tree)):
        depth += {"{": 1, "}": -1}.get(tree[index], 0)
        if depth == 0 or (depth == 1 and tree[index] == ","):
            if tree[start:index].strip():
                yield from use_tree(tree[start:index], before)
            start = index + 1


class Crate:
    """The modules of a crate, and which of its files names what of which other."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[tuple[str, ...], Module] = {}
        for file in sorted(folder.rglob("*.rs")):
            name = file.relative_to(folder).as_posix()
            parts = tuple(name.removesuffix(".rs").split("/"))
            path = parts[:-1] if parts[-1] in ("mod", "lib") else parts
            self._read(path, name, without_text(file.read_text()))
        self.imports: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for module in list(self.modules.values()):
            for path in module.used:
                self._note(module, path)

    def _read(self, path: tuple[str, ...], file: str, source: str) -> None:
        module = self.modules[path] = Module(path, file)
        while (nested := MODULE.search(source)) is not None:
            end = end_of_block(source, nested.end())
            self._read((*path, nested[1]), file, source[nested.end() : end - 1])
            source = source[: nested.start()] + source[end:]
        for use in USE.finditer(source):
            for whole, name in use_tree(use[2]):
                if name == "*":
                    module.globs.append(whole[:-1])
                else:
                    module.names[name] = whole
                module.used.append(whole)
        for match in PATH.finditer(USE.sub(" ", source)):
            parts = re.split(r"\s*::\s*", match[2].strip())[1:]
            module.used.append((match[1], *parts))

    def _note(self, module: Module, path: tuple[str, ...]) -> None:
        found = self.find(module, path)
        if found is not None and found[0].file != module.file:
            self.imports[module.file][found[0].file].add(found[1])

    def find(
        self, module: Module, path: tuple[str, ...], seen: frozenset[object] = frozenset()
    ) -> tuple[Module, str] | None:
        """The module that has what a path means, and its name there; None for what is not of this crate."""
        if (module.path, path) in seen:
            return None
        seen |= {(module.path, path)}
        first, *rest = path
        if first == "crate":
            return self._within((), tuple(rest), seen)
        if first in ("self", "super"):
            start = module.path
            while path and path[0] in ("self", "super"):
                start = start[:-1] if path[0] == "super" else start
                path = path[1:]
            return self._within(start, path, seen)
        if (*module.path, first) in self.modules:
            return self._within(module.path, path, seen)
        if first in module.names and module.names[first] != path:
            return self.find(module, (*module.names[first], *rest), seen)
        return None

    def _within(
        self, start: tuple[str, ...], path: tuple[str, ...], seen: frozenset[object]
    ) -> tuple[Module, str] | None:
        while path and (*start, path[0]) in self.modules:
            start, path = (*start, path[0]), path[1:]
        module = self.modules.get(start)
        if module is None or not path or path[0] == "*":
            # A module by itself: what is used of it is named where it is used.
            return (module, "*") if module is not None and path else None
        taken_over = module.names.get(path[0])
        if taken_over is not None:
            return self.find(module, (*taken_over, *path[1:]), seen) or (module, path[0])
        return module, path[0]


def circles(imports: dict[str, dict[str, set[str]]]) -> list[list[str]]:
    """Groups of files that stand on each other (Tarjan's strongly connected components of more than one)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(imports.get(file, {})):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            group: list[str] = []
            while not group or group[-1] != file:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for file in sorted(imports):
        if file not in index:
            visit(file)
    return found


def place_of(file: str, layers: list[list[list[str]]]) -> tuple[int, int] | None:
    """The layer and the group of a file: those of the longest module that it is in."""
    module = file.removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    best: tuple[int, tuple[int, int]] | None = None
    for number, layer in enumerate(layers):
        for group_number, group in enumerate(layer):
            for name in group:
                if (module == name or module.startswith(name + "::")) and (
                    best is None or len(name) > best[0]
                ):
                    best = (len(name), (number, group_number))
    return None if best is None else best[1]


def problems(folder: Path, layers: list[list[list[str]]]) -> list[str]:
    """What is wrong with the imports of the crate in this folder, a line each."""
    crate = Crate(folder)
    imports = crate.imports
    found: list[str] = []

    def arrow(file: str, other: str) -> str:
        return f"{file} -> {other} ({', '.join(sorted(imports[file][other]))})"

    for group in circles(imports):
        found.append(f"a circle of {len(group)} files:")
        found += [
            "    " + arrow(file, other) for file in group for other in sorted(imports[file]) if other in group
        ]
    for file in sorted({module.file for module in crate.modules.values()} - ROOT_FILES):
        place = place_of(file, layers)
        if place is None:
            found.append(f"{file} is in no layer: list its module in LAYERS of {Path(__file__).name}")
            continue
        for other in sorted(imports.get(file, {})):
            other_place = place_of(other, layers)
            if other_place is None:
                continue
            if other_place[0] > place[0]:
                found.append(f"up a layer: {arrow(file, other)}")
            elif other_place[0] == place[0] and other_place != place:
                found.append(f"between parts of a layer: {arrow(file, other)}")
    return found


def main() -> None:
    default = Path(__file__).resolve().parents[1] / "kernel" / "src"
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else default, LAYERS)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
