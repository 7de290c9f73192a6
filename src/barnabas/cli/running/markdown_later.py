"""Help without importing rich.markdown, which takes longer than all else of it.

Typer imports that beside the rest of rich, and uses it only where help is written in Markdown, as none here
is.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_NAME = "rich.markdown"


@contextmanager
def markdown_later() -> Generator[None]:
    """What is imported meanwhile gets a rich.markdown that is loaded when it is used."""
    if _NAME in sys.modules:
        yield
        return
    sys.modules[_NAME] = stand_in = _RichMarkdown(_NAME)
    try:
        yield
    finally:
        if sys.modules.get(_NAME) is stand_in:
            del sys.modules[_NAME]


def _loaded(name: str) -> Any:
    if isinstance(sys.modules.get(_NAME), _RichMarkdown):
        del sys.modules[_NAME]
    return getattr(import_module(_NAME), name)


class _LaterMarkdown:
    """Makes rich's own."""

    def __new__(cls, *arguments: Any, **given: Any) -> Any:
        return _loaded("Markdown")(*arguments, **given)


class _RichMarkdown(ModuleType):
    Markdown = _LaterMarkdown

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _loaded(name)
