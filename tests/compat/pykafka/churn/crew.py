"""Workers of a churned group as processes: started, killed, paused, and what they wrote down.

Owns the processes and their files; knows nothing of what the churn asks of the group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.compat.pykafka.churn.owners import FOREVER

MEMBER = Path(__file__).with_name("member.py")


@dataclass(frozen=True)
class Group:
    """What all members are told."""

    hosts: str
    zookeeper: str
    topic: str
    name: str
    session_timeout_ms: int
    backoff_ms: int

    @property
    def arguments(self) -> list[str]:
        return [
            *("--hosts", self.hosts, "--zookeeper", self.zookeeper, "--topic", self.topic),
            *("--group", self.name, "--session-timeout-ms", str(self.session_timeout_ms)),
            *("--backoff-ms", str(self.backoff_ms)),
        ]


class Given(NamedTuple):
    """A message: when the call for it began, and when it was had."""

    at: float
    asked_at: float
    partition: int
    offset: int


class Member:
    """One worker: of ours, or of the genuine package where `genuine_site` is its folder."""

    def __init__(self, group: Group, folder: Path, number: int, genuine_site: Path | None) -> None:
        self.is_ours = genuine_site is None
        self.out = folder / f"{'ours' if self.is_ours else 'genuine'}-{number}.txt"
        self.errors = self.out.with_suffix(".log")
        environment = dict(os.environ)
        command = [sys.executable, "-W", "ignore", str(MEMBER), *group.arguments, "--out", str(self.out)]
        if genuine_site is None:
            command.append("--facade")
        else:
            environment["PYTHONPATH"] = str(genuine_site)
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, env=environment, stdout=errors, stderr=errors)
        self.is_paused = False
        self.asleep: list[tuple[float, float]] = []
        """When it was paused, and since when it is dead."""
        self._id: str | None = None

    @property
    def consumer_id(self) -> str | None:
        """The consumer's id once it is known."""
        if self._id is None and self.out.exists():
            self._id = next((words[2] for words in self._lines("id")), None)
        return self._id

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def messages(self) -> list[Given]:
        """Each message that it was given."""
        return [
            Given(float(at), float(asked_at), int(partition), int(offset))
            for _, at, asked_at, partition, offset in self._lines("message")
        ]

    @property
    def end(self) -> str | None:
        return next((" ".join(words[2:]) for words in self._lines("end")), None)

    def kill(self) -> None:
        killed_at = time.time()
        self.process.kill()
        self.process.wait()
        self.is_over(killed_at)

    def is_over(self, since: float) -> None:
        """Tells that it is dead from then on, if that was not known before."""
        if not self.asleep or self.asleep[-1][1] != FOREVER:
            self.asleep.append((since, FOREVER))

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.is_paused = True
        self.asleep.append((time.time(), FOREVER))

    def resume(self) -> None:
        self.asleep[-1] = (self.asleep[-1][0], time.time())
        self.process.send_signal(signal.SIGCONT)
        self.is_paused = False

    def stop(self, timeout_seconds: float = 20) -> None:
        """Asks it to end in order, and kills it if it does not."""
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + timeout_seconds
        while self.is_alive and time.monotonic() < deadline:
            time.sleep(0.05)
        self.kill()

    def _lines(self, kind: str) -> Iterator[list[str]]:
        if not self.out.exists():
            return
        for line in self.out.read_text().splitlines():
            words = line.split(" ")
            # A killed process may have written half of its last line.
            if words[0] == kind and (kind != "message" or len(words) == 5):
                yield words
