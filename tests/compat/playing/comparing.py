"""How what two runs of a script saw is compared, and how a difference is shown."""

from __future__ import annotations

import difflib
import pprint
from typing import Any

from tests.compat.playing.played.parent import GENUINE, OURS
from tests.compat.playing.played.stage import FAILED, GAVE_UP

Seen = list[tuple[str, Any]]


def lines_of(seen: Seen) -> list[str]:
    return [line for label, value in seen for line in _lines(label, value)]


def _lines(label: str, value: Any) -> list[str]:
    return [f"{label}:", *("    " + line for line in pprint.pformat(value, width=100).splitlines())]


def is_broken(lines: list[str]) -> bool:
    return any(line.startswith((FAILED, GAVE_UP)) for line in lines)


def compared(name: str, genuine: list[str], ours: list[str]) -> str:
    if not genuine:
        return f"{name} recorded nothing"
    if is_broken(genuine):
        return "with the genuine package:\n" + "\n".join(genuine)
    return "\n".join(difflib.unified_diff(genuine, ours, GENUINE, OURS, lineterm="", n=2))
