"""Plays a script with the genuine package and with ours, and compares what each saw.

The genuine one plays on a broker of its time, and once: what it saw there is what ours is to see anywhere.
"""

from __future__ import annotations

from tests.compat.playing.comparing import compared, lines_of
from tests.compat.playing.played.parent import GENUINE, OURS
from tests.compat.playing.players import ROOT, Player
from tests.compat.playing.theatre import Theatre
from tests.compat.pykafka import packages
from tests.compat.pykafka.differential.brokers import NEW_RELEASE, OLD_RELEASE, TheatreWithZooKeeper
from tests.compat.pykafka.differential.played.script import FRAIL_KAFKA, KAFKA, Script

PLAYER = "tests.compat.pykafka.differential.played.player"


class Runner:
    """The players of a run, and what the genuine one saw."""

    def __init__(self) -> None:
        self._players: dict[str, Player] = {}
        self._genuine: dict[str, list[str]] = {}

    def genuine(self, script: Script, old: Theatre | None) -> list[str]:
        """`old`: a broker of the time of pykafka."""
        if script.name not in self._genuine:
            self._genuine[script.name] = self._seen(GENUINE, script, old)
        return self._genuine[script.name]

    def ours(self, script: Script, theatre: Theatre | None) -> list[str]:
        return self._seen(OURS, script, theatre)

    def difference(self, script: Script, old: Theatre | None, theatre: Theatre | None) -> str:
        """The lines by which what the two saw differs; empty if it does not."""
        return compared(script.name, self.genuine(script, old), self.ours(script, theatre))

    def close(self) -> None:
        for player in self._players.values():
            player.close()

    def _seen(self, side: str, script: Script, theatre: Theatre | None) -> list[str]:
        if side not in self._players:
            path = ROOT / "src" if side == OURS else packages.genuine()
            self._players[side] = Player(PLAYER, side, path=path)
        if isinstance(theatre, TheatreWithZooKeeper):
            theatre.restore()
        return lines_of(self._players[side].play(script, theatre))


def releases_of(script: Script) -> tuple[str, ...]:
    """Where ours plays it."""
    return (OLD_RELEASE, NEW_RELEASE) if script.broker in (KAFKA, FRAIL_KAFKA) else (OLD_RELEASE,)
