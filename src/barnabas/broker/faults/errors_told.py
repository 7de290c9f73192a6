"""Which error an answer has, wherever in it that stands. Knows nothing of faults."""

from __future__ import annotations

from typing import Any, cast

from barnabas.error_codes import ErrorCode
from barnabas.net.server import CutShort
from barnabas.protocol.schema import Message, Response, Struct


def first_error(answered: Response | CutShort | None) -> str | None:
    """The first one by its name, None where all went well or nothing was to be answered."""
    code = _first_code(answered.response if isinstance(answered, CutShort) else answered)
    if not code:
        return None
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def _first_code(item: Any) -> int:
    if isinstance(item, list):
        items = cast("list[Any]", item)
        # Numbers and texts have no parts.
        return next((code for each in items if (code := _first_code(each))), 0) if _has_parts(items) else 0
    if not isinstance(item, Message | Struct):
        return 0
    fields = type(item).field_specifiers
    own = getattr(item, "error_code", 0)
    return own or next((code for name in fields if (code := _first_code(getattr(item, name)))), 0)


def _has_parts(items: list[Any]) -> bool:
    return bool(items) and isinstance(items[0], Struct | list)
