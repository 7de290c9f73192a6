"""What programs for 1.2 and older look for here: named tuples and errors."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka import errors, structs

__all__ = [*dict.fromkeys([*structs.__all__, *errors.__all__])]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'kafka.common' has no attribute {name!r}")
    return getattr(structs, name)
