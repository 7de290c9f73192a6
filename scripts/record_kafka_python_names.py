#!/usr/bin/env python3
"""Writes down which names kafka-python has in each generation, out of its sources: what `barnabas migrate`
compares programs with.

    .venv/bin/python scripts/record_kafka_python_names.py [--check] 1.2=FOLDER 2=FOLDER 3=FOLDER

FOLDER is one that has the folder `kafka` of that release. What is the same in all generations is left out.
The result is src/barnabas/migrate/names_of_kafka_python.json. Reads sources with `ast` and imports nothing of
them, since 1.2.1 is for Pythons that are gone.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.migrate.sources import parsed

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "barnabas" / "migrate" / "names_of_kafka_python.json"
# Copies of other packages, measurements, what the package is built with, and what nobody imports by name.
LEFT_OUT = (
    *("kafka.vendor", "kafka.benchmarks", "kafka.cli", "kafka.selectors34", "kafka.socketpair"),
    *("kafka.protocol.schemas", "kafka.protocol.generate_stubs"),
)
# Their classes' methods are how messages are written down, and are many.
WITHOUT_METHODS = ("kafka.protocol", "kafka.record", "kafka.net")


class Package:
    """The modules of one release."""

    def __init__(self, folder: Path) -> None:
        self.trees: dict[str, ast.Module] = {}
        for file in sorted((folder / "kafka").rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not is_within(name, LEFT_OUT):
                self.trees[name] = parsed(file.read_text())
        self.is_folder = {
            name: any(each.startswith(f"{name}.") for each in self.trees) for name in self.trees
        }
        self.classes: dict[str, ast.ClassDef] = {}
        for name, tree in self.trees.items():
            if not is_within(name, WITHOUT_METHODS) and name != "kafka":
                self.classes |= {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def names(self, module: str, seen: frozenset[str] = frozenset()) -> set[str]:
        if module not in self.trees or module in seen:
            return set()
        found: set[str] = set()
        for node in statements(self.trees[module].body):
            if isinstance(node, ast.ImportFrom):
                if not f"{self._source_of(module, node)}.".startswith("kafka."):
                    continue
                for alias in node.names:
                    if alias.name == "*":
                        found |= self.names(self._source_of(module, node), seen | {module})
                    else:
                        found.add(alias.asname or alias.name)
            else:
                found |= set(bound(node))
        return {name for name in found if not name.startswith("_")}

    def _source_of(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.split(".")
        kept = len(parts) - node.level + (1 if self.is_folder[module] else 0)
        return ".".join([*parts[:kept], *([node.module] if node.module else [])])

    def methods(self, of: str) -> dict[str, str]:
        """Signatures by name, those of base classes included."""
        node = self.classes[of]
        found: dict[str, str] = {}
        for base in reversed(node.bases):
            name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
            if name in self.classes and name != of:
                found |= self.methods(name)
        for name in assigned_to_self(node):
            found.setdefault(name, "")
        for method in statements(node.body):
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                if not method.name.startswith("_") or method.name == "__init__":
                    found[method.name] = signature(method)
            elif isinstance(method, ast.Assign):
                found |= {name: "" for name in bound(method) if not name.startswith("_")}
        return found


def is_within(module: str, folders: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{folder}.") for folder in folders)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those that run when a module is imported, branches included."""
    for node in body:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                for inner in getattr(node, field, ()):
                    yield from statements(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def assigned_to_self(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()) if name[0] != "_":
                yield name
            case _:
                continue


def bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def signature(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """`(timeout_ms=0, max_records=None)` without values: `timeout_ms= max_records=`."""
    arguments = method.args
    is_static = any(
        isinstance(each, ast.Name) and each.id == "staticmethod" for each in method.decorator_list
    )
    names = [each.arg for each in [*arguments.posonlyargs, *arguments.args]]
    first_default = len(names) - len(arguments.defaults)
    shown = [name + ("=" if at >= first_default else "") for at, name in enumerate(names)][not is_static :]
    if arguments.vararg:
        shown.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        shown.append("*")
    shown += [
        each.arg + ("" if default is None else "=")
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        shown.append("**" + arguments.kwarg.arg)
    if any(isinstance(each, ast.Name) and each.id == "property" for each in method.decorator_list):
        return "property"
    return f"({' '.join(shown)})"


def recorded(packages: dict[str, Package]) -> dict[str, Any]:
    modules = sorted({name for package in packages.values() for name in package.trees if "._" not in name})
    names: dict[str, dict[str, str]] = {}
    for module in modules:
        of = {each: package.names(module) for each, package in packages.items() if module in package.trees}
        common = set.intersection(*of.values()) if len(of) == len(packages) else set[str]()
        names[module] = {each: " ".join(sorted(found - common)) for each, found in of.items()}
        if not any(names[module].values()):
            del names[module]
    calls: dict[str, dict[str, dict[str, str]]] = {}
    for kind in sorted({name for package in packages.values() for name in package.classes}):
        methods: dict[str, dict[str, str]] = defaultdict(dict)
        for each, package in packages.items():
            if kind in package.classes and not kind.startswith("_"):
                for method, shape in package.methods(kind).items():
                    methods[method][each] = shape
        there = [each for each, package in packages.items() if kind in package.classes]
        differing = {
            method: shapes
            for method, shapes in sorted(methods.items())
            if len(there) > 1 and (set(shapes) != set(there) or len(set(shapes.values())) > 1)
        }
        if differing:
            calls[kind] = differing
    return {"names": names, "calls": calls}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say whether it is up to date")
    parser.add_argument("packages", nargs="+", metavar="GENERATION=FOLDER")
    arguments = parser.parse_args()
    given = dict(each.split("=", 1) for each in arguments.packages)
    text = json.dumps(recorded({name: Package(Path(folder)) for name, folder in given.items()}), indent=1)
    if arguments.check:
        return int(TARGET.read_text() != text + "\n")
    TARGET.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
