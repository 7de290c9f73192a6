"""Finds idioms that are hard to understand in what users read. `scripts/refused_words.toml` lists them.

    .venv/bin/python scripts/check_words.py

Looks at the documents (README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and docs/), at the texts of
messages and logs in src/, and at the docstrings that the site's reference shows. The help of commands is in
docs/command-line.md. Comments and other docstrings are for developers, and are not looked at.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import public_names

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
# They quote kafka-python.
QUOTING = (
    "src/barnabas/compat/kafka/consumer/simple.py",
    "src/barnabas/compat/kafka_engine/generations/errors.py",
)

Text = tuple[Path, int, str]
"""A file, the line where the text begins, and the text."""


def refused() -> list[tuple[re.Pattern[str], str]]:
    """Each idiom, and what is better."""
    listed = tomllib.loads((ROOT / "scripts" / "refused_words.toml").read_text())
    return [(re.compile(pattern, re.IGNORECASE), better) for pattern, better in listed.items()]


def texts_of_documents() -> Iterator[Text]:
    for name in DOCUMENTS:
        place = ROOT / name
        for path in sorted(place.rglob("*.md")) if place.is_dir() else [place]:
            yield path, 1, path.read_text(encoding="utf-8")


def texts_of_messages() -> Iterator[Text]:
    """All strings in src/ that are no docstrings."""
    for path in sorted(set((ROOT / "src").rglob("*.py")) - {ROOT / name for name in QUOTING}):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield path, node.lineno, node.value


def texts_of_reference() -> Iterator[Text]:
    package = public_names.load()
    for module_name in public_names.MODULES:
        for name, member in public_names.public_names(package, module_name):
            for _, each in [(name, member), *public_names.members_of(name, member)]:
                if each.docstring is not None and isinstance(each.filepath, Path):
                    yield each.filepath, each.docstring.lineno or 1, each.docstring.value


def problems(texts: Iterable[Text]) -> list[str]:
    """A line each."""
    idioms = refused()
    found: dict[str, None] = {}
    for path, first_line, text in texts:
        for pattern, better in idioms:
            for match in pattern.finditer(text):
                line = first_line + text.count("\n", 0, match.start())
                words = " ".join(match[0].split())
                found[f"{path.relative_to(ROOT)}:{line}: {words!r}: write {better}"] = None
    return list(found)


if __name__ == "__main__":
    if found := problems(chain(texts_of_documents(), texts_of_messages(), texts_of_reference())):
        sys.exit("\n".join(found))
