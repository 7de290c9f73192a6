"""What this process and those below it take and hold: processor time, and again and again memory, threads and
descriptors, by what the processes are for. Knows only what the system tells of processes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Held:
    """By all processes of one kind together, but for `resident_bytes`, which is the greatest one's."""

    processes: int = 0
    resident_bytes: int = 0
    threads: int = 0
    descriptors: int = 0

    def add(self, resident_bytes: int, threads: int, descriptors: int) -> None:
        self.processes += 1
        self.resident_bytes = max(self.resident_bytes, resident_bytes)
        self.threads += threads
        self.descriptors += descriptors


class Sampler(threading.Thread):
    """`kinds`: by the name of each a text that is in the commands of its processes, the first that fits."""

    def __init__(self, kinds: Mapping[str, str], every_seconds: float) -> None:
        super().__init__(daemon=True)
        self.samples: dict[str, list[Held]] = {kind: [] for kind in kinds}
        self._kinds = kinds
        self._every_seconds = every_seconds
        self._is_over = threading.Event()

    def run(self) -> None:
        while not self._is_over.wait(self._every_seconds):
            found: dict[str, Held] = {}
            for pid, stat in _stats_below().items():
                with suppress(OSError):
                    command = _command_of(pid)
                    kind = next((kind for kind, part in self._kinds.items() if part in command), None)
                    if kind is not None:
                        found.setdefault(kind, Held()).add(*_held_by(pid, stat))
            for kind, held in found.items():
                self.samples[kind].append(held)

    def stop(self) -> None:
        self._is_over.set()
        self.join()

    def quarters(self) -> dict[str, dict[str, list[int]]]:
        """Of each kind the most in each quarter of the time, from the first sample that is there."""
        return {
            kind: {
                each.name: quarters([getattr(held, each.name) for held in samples]) for each in fields(Held)
            }
            for kind, samples in self.samples.items()
        }


def quarters(samples: Sequence[Any]) -> list[Any]:
    """The most in each quarter of them."""
    edges = [len(samples) * number // 4 for number in range(5)]
    return [max(samples[start:end], default=0) for start, end in pairwise(edges)]


def processor_seconds() -> float:
    """That this process and all below it have taken, with those that have ended and were waited for. On a
    machine that others use, too, time on the clock says little about who does less work."""
    ticks = sum(int(field) for stat in _stats_below().values() for field in stat[11:15])
    return ticks / TICKS_A_SECOND


def _held_by(pid: int, stat: list[str]) -> tuple[int, int, int]:
    return int(stat[21]) * PAGE_BYTES, int(stat[17]), len(os.listdir(f"/proc/{pid}/fd"))


def _command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def _stats_below() -> dict[int, list[str]]:
    """Fields 3 (state) and further of proc_pid_stat(5), of this process and of all below it."""
    stats: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # Behind the name, which may have anything in it.
            stats[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
    return {pid: stat for pid, stat in stats.items() if _is_below(pid, stats)}


def _is_below(pid: int, stats: Mapping[int, list[str]]) -> bool:
    while pid != os.getpid():
        if pid not in stats:
            return False
        pid = int(stats[pid][1])
    return True
