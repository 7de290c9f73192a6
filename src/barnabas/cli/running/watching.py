"""A table that is shown again and again, until Ctrl-C or as often as is wanted.

Knows nothing of what is in it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from barnabas.cli.options import UsageError
from barnabas.cli.output import print_json, print_table
from barnabas.values import frozen

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")]
Interval = Annotated[
    float, typer.Option("--interval", min=0.1, metavar="SECONDS", help="With --watch: how often.")
]
Looks = Annotated[
    int | None, typer.Option("--looks", min=1, metavar="NUMBER", help="With --watch: end after so many.")
]
DEFAULT_INTERVAL = 2.0


@frozen
class WatchedTable:
    """`title`: lines above the table. `as_json`: what a script reads."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    as_json: object
    title: str = ""


def show(
    look: Callable[[], WatchedTable],
    *,
    as_json: bool,
    watch: bool = False,
    interval: float = DEFAULT_INTERVAL,
    looks: int | None = None,
) -> None:
    """Once, or with `watch` every `interval` seconds: on a terminal in its place, elsewhere one below the
    other, JSON as a line each time. Raises: UsageError."""
    if not watch:
        if looks is not None:
            raise UsageError("--looks is for --watch")
        found = look()
        if as_json:
            print_json(found.as_json)
        else:
            _print(found, found.title)
        return
    shown = _one_below_the_other(as_json) if as_json or not sys.stdout.isatty() else _in_place()
    # To end by Ctrl-C is usual.
    with contextlib.suppress(KeyboardInterrupt), shown as show_one:
        for number in itertools.count(1):
            show_one(look())
            if number == looks:
                return
            time.sleep(interval)


@contextlib.contextmanager
def _one_below_the_other(as_json: bool) -> Generator[Callable[[WatchedTable], None]]:
    def show_one(found: WatchedTable) -> None:
        if as_json:
            print(json.dumps(found.as_json), flush=True)
        else:
            _print(found, _titled(found))
            sys.stdout.flush()

    yield show_one


@contextlib.contextmanager
def _in_place() -> Generator[Callable[[WatchedTable], None]]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    from barnabas.cli.printing.tables import laid_out

    console = Console(highlight=False, markup=False)
    with Live(console=console, auto_refresh=False) as live:

        def show_one(found: WatchedTable) -> None:
            lines = list(laid_out(found.columns, found.rows, console.width))
            # Below the title, and above a line that says so, where not all have room.
            room = console.height - 2
            if len(lines) > room:
                left_out = len(lines) - room + 1
                lines[room - 1 :] = [Text(f"... and {left_out:,} lines more than this terminal has")]
            live.update(Group(Text(_titled(found), style="dim"), *lines), refresh=True)

        yield show_one


def _print(found: WatchedTable, title: str) -> None:
    if title:
        print(title)
    print_table(found.columns, found.rows)


def _titled(found: WatchedTable) -> str:
    return f"{datetime.now():%H:%M:%S}  {found.title}".rstrip()
