"""The processor time that this process and all below it have taken.

On a machine that others use, too, time on the clock says little about who does less work.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """With those that have ended and were waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # Behind the name, which may have anything in it.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            pid = int(folder.name)
            parents[pid] = int(fields[1])
            ticks[pid] = sum(int(field) for field in fields[11:15])
    return sum(ticks[pid] for pid in ticks if _is_below(pid, parents)) / TICKS_A_SECOND


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    ancestor = pid
    while ancestor != os.getpid():
        if ancestor not in parents:
            return False
        ancestor = parents[ancestor]
    return True
