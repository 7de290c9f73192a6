"""A process that plays scripts with one package, which lives as long as it can.

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
from typing import IO, Any, Protocol

from tests.compat.playing.played.stage import FAILED
from tests.compat.playing.theatre import Theatre

ROOT = Path(__file__).parents[3]
START_SECONDS = 60.0

# Python 3.11 counts for all threads together how deep a literal is, and players are heard side by side.
_parsing = threading.Lock()


class Played(Protocol):
    """What a player needs to know of a script."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def limit_seconds(self) -> float: ...


class Player:
    """One process. `module`: what Python runs in it, with `arguments`. `path`: a folder that comes first in
    what it can import."""

    def __init__(
        self, module: str, *arguments: str, python: str = sys.executable, path: Path | None = None
    ) -> None:
        self._module = module
        self._arguments = arguments
        self._python = python
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._complaints: IO[str] | None = None

    def play(self, script: Played, theatre: Theatre | None) -> list[tuple[str, Any]]:
        """What the script saw: a label and a description each."""
        process = self._process or self._start()
        place = None if theatre is None else theatre.place
        self._tell(process, (script.module, script.name, place))
        while True:
            try:
                line = self._lines.get(timeout=script.limit_seconds)
            except queue.Empty:
                return self._hung(script)
            if line is None:
                return self._ended("the player ended")
            with _parsing:
                word = ast.literal_eval(line)
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
        path = [str(ROOT), *([str(self._path)] if self._path else [])]
        # What a package does by the order of a set is not its word.
        environment |= {"PYTHONPATH": os.pathsep.join(reversed(path)), "PYTHONHASHSEED": "0"}
        self._lines = queue.SimpleQueue()
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 it lasts as long as the process
        self._process = process = subprocess.Popen(
            [self._python, "-m", self._module, *self._arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=_read, args=(process, self._lines), daemon=True).start()
        try:
            ready = self._lines.get(timeout=START_SECONDS)
        except queue.Empty:
            ready = None
        if ready is None:
            self._end()
            raise RuntimeError(f"no player of {self._arguments}: {self._complaint()}")
        return process

    def _tell(self, process: subprocess.Popen[str], words: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(ascii(words) + "\n")
        process.stdin.flush()

    def _hung(self, script: Played) -> list[tuple[str, Any]]:
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


def _answer(theatre: Theatre | None, name: str, arguments: Any, named: Mapping[str, Any]) -> tuple[bool, Any]:
    if theatre is None:
        return False, "this script said that it needs no broker"
    try:
        return True, theatre.answer(name, *arguments, **named)
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
