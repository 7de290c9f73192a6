"""Finds public names that have no docstring, or that no page of the site's reference shows.

    .venv/bin/python scripts/public_names.py

Public is what a module of MODULES lists in `__all__`, or else what it defines without an underscore; with
the methods and properties of public classes. Fields of dataclasses and members of enums are told of by
their class.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe
from docstrings_of_bases import DocstringsOfBases

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
MODULES = (
    "barnabas",
    "barnabas.aio",
    "barnabas.broker_errors",
    "barnabas.compat",
    "barnabas.error_codes",
    "barnabas.errors",
    "barnabas.events",
    "barnabas.formats",
    "barnabas.observe.opentelemetry",
    "barnabas.observe.prometheus",
    "barnabas.registry",
    "barnabas.spark.errors",
    "barnabas.spark.lineage",
    "barnabas.spark.listener",
    "barnabas.stats",
    "barnabas.steps",
    "barnabas.testing",
)

Named = tuple[str, griffe.Object]


def load() -> griffe.Module:
    """The package as it is written: the kernel by its stubs."""
    package = griffe.load(
        "barnabas",
        search_paths=[ROOT / "src"],
        allow_inspection=False,
        resolve_aliases=True,
        extensions=griffe.load_extensions(DocstringsOfBases),
    )
    assert isinstance(package, griffe.Module)
    return package


def public_names(package: griffe.Module, module_name: str) -> Iterator[Named]:
    """What a module offers, by its full name there."""
    module = package[module_name.partition(".")[2]] if "." in module_name else package
    if module.exports is not None:
        names = [str(name) for name in module.exports]
    else:
        names = [
            name
            for name, member in module.members.items()
            if not name.startswith("_") and not member.is_alias and not member.is_module
        ]
    for name in names:
        yield f"{module_name}.{name}", as_defined(module[name])


def members_of(name: str, owner: griffe.Object) -> Iterator[Named]:
    """Methods and properties, inherited ones included."""
    if isinstance(owner, griffe.Class):
        for member_name, member in owner.all_members.items():
            if not member_name.startswith("_"):
                yield f"{name}.{member_name}", as_defined(member)


def as_defined(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def needs_docstring(member: griffe.Object) -> bool:
    return not member.is_attribute or "property" in member.labels


def names_on_pages(pages: Iterator[str]) -> set[str]:
    """What the pages ask mkdocstrings to show."""
    return {name for page in pages for name in re.findall(r"^::: (\S+)", page, re.MULTILINE)}


def problems(package: griffe.Module, shown: set[str]) -> list[str]:
    found: dict[str, None] = {}
    for module_name in MODULES:
        for name, member in public_names(package, module_name):
            if name not in shown and module_name not in shown:
                found[f"{name} is on no page of docs/reference/: add `::: {name}` to one"] = None
            for each_name, each in [(name, member), *members_of(name, member)]:
                if needs_docstring(each) and not each.has_docstring:
                    found[f"{each_name} has no docstring: {each.relative_filepath}:{each.lineno}"] = None
    return list(found)


def all_problems() -> list[str]:
    """Of this checkout, a line each."""
    return problems(load(), names_on_pages(path.read_text() for path in REFERENCE.glob("*.md")))


def main() -> None:
    found = all_problems()
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
