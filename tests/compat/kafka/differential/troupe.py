"""The processes that play scripts: one for each package and generation, which lives as long as it can.

Owns a player's pipes and its end. What a player asks for is answered by the theatre.
"""

from __future__ import annotations

import ast
import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tests.compat.kafka.differential import packages
from tests.compat.kafka.differential.played.player import GENUINE, OURS
from tests.compat.kafka.differential.played.script import Script
from tests.compat.kafka.differential.played.stage import FAILED
from tests.compat.kafka.differential.theatre import Theatre

PLAYER = "tests.compat.kafka.differential.played.player"
START_SECONDS = 60.0


class Player:
    """One process. `side`: GENUINE or OURS. `path`: a folder that comes first in what it can import."""

    def __init__(
        self, side: str, generation: str, *, python: str = sys.executable, path: Path | None = None
    ) -> None:
        self.side = side
        self.generation = generation
        self._python = python
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._words: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._complaints: IO[str] | None = None

    def play(self, script: Script, theatre: Theatre | None) -> list[tuple[str, Any]]:
        """What the script saw: a label and a description each."""
        process = self._process or self._start()
        bootstrap = None if theatre is None else theatre.bootstrap
        self._tell(process, (script.module, script.name, bootstrap))
        while True:
            try:
                word = self._words.get(timeout=script.limit_seconds)
            except queue.Empty:
                return self._hung(script)
            if word is None:
                return self._ended("the player ended")
            if word[0] == "seen":
                return word[1]
            _, name, arguments, named = word
            self._tell(process, _answer(theatre, name, arguments, named))

    def close(self) -> None:
        self._end()
        complaints, self._complaints = self._complaints, None
        if complaints is not None:
            complaints.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            # A script's own processes may outlive it.
            _kill_group(process)
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def _start(self) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name != "BARNABAS_KAFKA_PYTHON"}
        path = [str(packages.ROOT), *([str(self._path)] if self._path else [])]
        # What a package does by the order of a set is not its word.
        environment |= {"PYTHONPATH": os.pathsep.join(reversed(path)), "PYTHONHASHSEED": "0"}
        self._words = queue.SimpleQueue()
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 it lasts as long as the process
        self._process = process = subprocess.Popen(
            [self._python, "-m", PLAYER, self.side, self.generation],
            cwd=packages.ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=_read, args=(process, self._words), daemon=True).start()
        try:
            ready = self._words.get(timeout=START_SECONDS)
        except queue.Empty:
            ready = None
        if ready is None:
            self._end()
            raise RuntimeError(f"no player of {self.side} {self.generation}: {self._complaint()}")
        return process

    def _tell(self, process: subprocess.Popen[str], words: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(ascii(words) + "\n")
        process.stdin.flush()

    def _hung(self, script: Script) -> list[tuple[str, Any]]:
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)
        # It writes where each thread is, and that takes a moment.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return self._ended(f"it was not over after {script.limit_seconds} s")

    def _ended(self, how: str) -> list[tuple[str, Any]]:
        self._end()
        return [(FAILED, [how, *self._complaint()])]

    def _complaint(self) -> list[str]:
        """The last lines of what a process wrote that has ended."""
        assert self._complaints is not None
        self._complaints.seek(0)
        lines = self._complaints.read().splitlines()
        self.close()
        return lines[-60:]


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
            return Player(side, generation, path=packages.ROOT / "src")
        python = sys.executable
        if generation == "1.2":
            if self._recording_python is None:
                raise ValueError("what the genuine 1.2.1 did is in the golden files")
            python = self._recording_python
        return Player(GENUINE, generation, python=python, path=packages.genuine(generation))


def _answer(theatre: Theatre | None, name: str, arguments: Any, named: Mapping[str, Any]) -> tuple[bool, Any]:
    if theatre is None:
        return False, "this script said that it needs no broker"
    try:
        return True, theatre.answer(name, *arguments, **named)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def _read(process: subprocess.Popen[str], words: queue.SimpleQueue[Any]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            words.put(ast.literal_eval(line))
    words.put(None)


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
