"""The processes that play scripts: one for each package and generation."""

from __future__ import annotations

import sys

from tests.compat.kafka.differential import packages
from tests.compat.playing.played.parent import GENUINE, OURS
from tests.compat.playing.players import ROOT, Player

PLAYER = "tests.compat.kafka.differential.played.player"


class Troupe:
    """The players of a run. `recording_python`: a Python 3.6 on which the genuine 1.2.1 runs."""

    def __init__(self, recording_python: str | None = None) -> None:
        self._recording_python = recording_python
        self._players: dict[tuple[str, str], Player] = {}

    def player(self, side: str, generation: str) -> Player:
        key = (side, generation)
        if key not in self._players:
            self._players[key] = self._hire(side, generation)
        return self._players[key]

    def close(self) -> None:
        for player in self._players.values():
            player.close()

    def _hire(self, side: str, generation: str) -> Player:
        if side == OURS:
            return Player(PLAYER, side, generation, path=ROOT / "src")
        python = sys.executable
        if generation == "1.2":
            if self._recording_python is None:
                raise ValueError("what the genuine 1.2.1 did is in the golden files")
            python = self._recording_python
        return Player(PLAYER, GENUINE, generation, python=python, path=packages.genuine(generation))
