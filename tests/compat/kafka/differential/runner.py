"""Plays a script with the genuine package and with ours, and compares what each saw.

Owns what the golden files of 1.2.1 are like.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

from tests.compat.kafka.differential.played.script import Script
from tests.compat.kafka.differential.troupe import Troupe
from tests.compat.playing.comparing import compared, lines_of
from tests.compat.playing.played.parent import GENUINE, OURS
from tests.compat.playing.theatre import Theatre

GOLDENS = Path(__file__).parent / "goldens"


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
    return compared(script.name, seen[GENUINE], seen[OURS])


def difference_from_golden(script: Script, troupe: Troupe, theatre: Theatre | None) -> str:
    """The same with what 1.2.1 did when it was recorded."""
    golden = goldens_of(script.module).get(script.name)
    if golden is None:
        return f"{script.name} was not recorded: see tests.compat.kafka.differential.record"
    return compared(script.name, golden, lines_of(troupe.player(OURS, "1.2").play(script, theatre)))


def goldens_of(module: str) -> dict[str, list[str]]:
    """The lines of each script of a module."""
    path = golden_path(module)
    return json.loads(path.read_text()) if path.exists() else {}


def golden_path(module: str) -> Path:
    return GOLDENS / f"{module.rpartition('.')[2]}.json"
