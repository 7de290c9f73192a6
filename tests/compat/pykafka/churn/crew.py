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
        self._resumed_at: list[float] = []
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

    def messages(self) -> list[tuple[float, int, int]]:
        """When, partition and offset of each message that it was given."""
        return [
            (float(at), int(partition), int(offset)) for _, at, partition, offset in self._lines("message")
        ]

    def messages_taken_while_awake(self) -> list[tuple[float, int, int]]:
        """`messages`, but for the first after each pause: a call had that in hand when the pause began."""
        messages = self.messages()
        for resumed in self._resumed_at:
            first = next((each for each in messages if each[0] >= resumed), None)
            if first is not None:
                messages.remove(first)
        return messages

    @property
    def end(self) -> str | None:
        return next((" ".join(words[2:]) for words in self._lines("end")), None)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        self._resumed_at.append(time.time())
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
            if words[0] == kind and (kind != "message" or len(words) == 4):
                yield words
