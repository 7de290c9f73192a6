"""What the terminal shows while the demo works: progress bars and the time of each step.

Knows nothing of Kafka, and of Spark only how a query tells of its progress.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql.streaming import StreamingQuery
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Timings:
    """The seconds that each step took, in order."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._steps: list[tuple[str, float]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self._steps.append((name, time.monotonic() - started))

    def summary(self) -> str:
        total = time.monotonic() - self._started
        return " · ".join(f"{name} {seconds:.1f} s" for name, seconds in [*self._steps, ("in all", total)])


def bars(console: Console) -> Progress:
    return Progress(
        TextColumn("       {task.description:<8}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


class RowsRead:
    """How many records a streaming query has read, counted from what it reports after each micro-batch."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._last_batch = -1
        self._count = 0

    def count(self) -> int:
        for progress in self._query.recentProgress:
            if progress.batchId > self._last_batch:
                self._last_batch = progress.batchId
                self._count += progress.numInputRows
        return self._count
