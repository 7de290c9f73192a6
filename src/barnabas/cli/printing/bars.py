"""Bars that show how far a command is."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

_BAR_WIDTH = 40
_TIME_WIDTH = len("0:00:00")
_BYTES_WIDTH = len("1023.9/1023.9 MB")


def bar(name: str, total: int, console: Console, *, is_of_bytes: bool = False) -> Progress:
    """A bar that is gone when it ends, with its one task. A narrow terminal gets fewer columns: there rich
    would break numbers in two."""
    counts: ProgressColumn = DownloadColumn() if is_of_bytes else MofNCompleteColumn()
    columns: list[ProgressColumn] = [counts]
    room = console.width - (_BYTES_WIDTH if is_of_bytes else 2 * len(str(total)) + 1)
    if (width := cell_len(name) + 1) <= room:
        columns.insert(0, TextColumn(name.replace("{", "{{").replace("}", "}}"), markup=False))
        room -= width
    if (width := _TIME_WIDTH + 1) <= room:
        columns.append(TimeRemainingColumn())
        room -= width
    if room >= _BAR_WIDTH + 1:
        columns.insert(columns.index(counts), BarColumn(_BAR_WIDTH))
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    progress.add_task("", total=total)
    return progress
