"""The files of a program, and what Python makes of them.

Knows no rules. Sources for Pythons before 3.7, where `async` was a name, are read as well.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ASYNC_AS_A_NAME", "files_under", "parsed", "text_of"]

ASYNC_AS_A_NAME = "asynk"
"""What the name `async` is in a tree: of the same length, so that columns stay."""
_ASYNC = re.compile(
    r"\basync\b(?=\s*[=,)\].:]|$)|(?<=[.,(])\s*\basync\b(?!\s+(?:def|for|with))", re.MULTILINE
)
_NOT_LOOKED_INTO = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}


def files_under(path: Path) -> Iterator[Path]:
    """The Python files of a folder, without installed packages and hidden folders; or the file itself."""
    if path.is_file():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.name in _NOT_LOOKED_INTO:
            continue
        if entry.is_dir() and not entry.is_symlink():
            if not (entry / "pyvenv.cfg").exists():
                yield from files_under(entry)
        elif entry.suffix in (".py", ".pyi") and entry.is_file():
            yield entry


def text_of(file: Path) -> str:
    """Raises: SyntaxError for an encoding that is not known, UnicodeDecodeError, OSError."""
    with tokenize.open(file) as opened:
        return opened.read()


def parsed(text: str) -> ast.Module:
    """Raises: SyntaxError; ValueError for null bytes."""
    with warnings.catch_warnings():
        # What a program's own escapes are like is not what is looked for.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError:
            renamed = _ASYNC.sub(lambda found: found.group().replace("async", ASYNC_AS_A_NAME), text)
            if renamed == text:
                raise
            return ast.parse(renamed)
