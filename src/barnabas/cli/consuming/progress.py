"""How far `consume` is, on stderr: a bar where an end is known, or rates. Knows nothing of topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from barnabas import Record
from barnabas.cli.output import note, plural, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

# A bar is for what takes a while.
_SECONDS_WORTH_A_BAR = 2.0


class Rates:
    """Tells each second how many records and bytes came, and in all at the end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._told = clock()
        self._records = self._bytes = self._new_records = self._new_bytes = 0

    def count(self, records: Sequence[Record]) -> None:
        self._new_records += len(records)
        self._new_bytes += sum(record.serialized_size for record in records)
        passed = self._clock() - self._told
        if passed >= 1.0:
            note(_rate("", self._new_records, self._new_bytes, passed))
            self._take()
            self._told += passed

    def end(self) -> None:
        self._take()
        passed = max(self._clock() - self._began, 0.001)
        note(_rate(f" in {passed:,.1f} s", self._records, self._bytes, passed))

    def _take(self) -> None:
        self._records += self._new_records
        self._bytes += self._new_bytes
        self._new_records = self._new_bytes = 0


class Bar:
    """A bar that appears once reading has taken a while, if stderr is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._began = time.monotonic()
        self._stack = ExitStack()
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def tell(self, left: int) -> None:
        if self._progress is None:
            if time.monotonic() - self._began < _SECONDS_WORTH_A_BAR or not stderr().is_terminal:
                return
            from barnabas.cli.printing.bars import bar

            self._progress = self._stack.enter_context(bar("records", self._total, stderr()))
        self._progress.update(self._progress.task_ids[0], completed=self._total - left)


def _rate(what: str, records: int, size: int, seconds: float) -> str:
    return (
        f"{plural(records, 'record')}, {size / 1e6:,.2f} MB{what}: "
        f"{records / seconds:,.0f} records/s, {size / 1e6 / seconds:,.2f} MB/s"
    )
