"""Plays a script with the genuine package and with ours, and compares what each saw.

Owns how a difference is shown, and what the golden files of 1.2.1 are like.
"""

from __future__ import annotations

import difflib
import json
import pprint
import threading
from pathlib import Path
from typing import Any

from tests.compat.kafka.differential.played.player import GENUINE, OURS
from tests.compat.kafka.differential.played.script import Script
from tests.compat.kafka.differential.played.stage import FAILED, GAVE_UP
from tests.compat.kafka.differential.theatre import Theatre
from tests.compat.kafka.differential.troupe import Troupe

GOLDENS = Path(__file__).parent / "goldens"

Seen = list[tuple[str, Any]]


def difference(script: Script, generation: str, troupe: Troupe, theatre: Theatre | None) -> str:
    """The lines by which what the two saw differs; empty if it does not."""
    seen: dict[str, list[str]] = {}

    def play(side: str) -> None:
        seen[side] = lines_of(troupe.player(side, generation).play(script, theatre))

    threads = [threading.Thread(target=play, args=(side,), daemon=True) for side in (GENUINE, OURS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _compared(script, seen[GENUINE], seen[OURS])


def difference_from_golden(script: Script, troupe: Troupe, theatre: Theatre | None) -> str:
    """The same with what 1.2.1 did when it was recorded."""
    golden = goldens_of(script.module).get(script.name)
    if golden is None:
        return f"{script.name} was not recorded: see tests.compat.kafka.differential.record"
    return _compared(script, golden, lines_of(troupe.player(OURS, "1.2").play(script, theatre)))


def goldens_of(module: str) -> dict[str, list[str]]:
    """The lines of each script of a module."""
    path = golden_path(module)
    return json.loads(path.read_text()) if path.exists() else {}


def golden_path(module: str) -> Path:
    return GOLDENS / f"{module.rpartition('.')[2]}.json"


def lines_of(seen: Seen) -> list[str]:
    return [line for label, value in seen for line in _lines(label, value)]


def _lines(label: str, value: Any) -> list[str]:
    return [f"{label}:", *("    " + line for line in pprint.pformat(value, width=100).splitlines())]


def is_broken(lines: list[str]) -> bool:
    return any(line.startswith((FAILED, GAVE_UP)) for line in lines)


def _compared(script: Script, genuine: list[str], ours: list[str]) -> str:
    if not genuine:
        return f"{script.name} recorded nothing"
    if is_broken(genuine):
        return "with the genuine package:\n" + "\n".join(genuine)
    return "\n".join(difflib.unified_diff(genuine, ours, GENUINE, OURS, lineterm="", n=2))
