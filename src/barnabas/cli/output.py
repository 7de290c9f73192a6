"""What commands print: tables for people, JSON for scripts, short notes on stderr.

Results go to stdout, all else to stderr, so that a pipe carries results only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from barnabas.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

plural = partial(counted, grouping=",")


@cache
def stderr() -> Console:
    # Rich is imported where something is drawn with it: that takes longer than many a command.
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Aligned columns without lines, numbers to the right; on a terminal that is too narrow for that, a line
    for each field."""
    from rich.console import Console

    from barnabas.cli.printing.tables import laid_out

    console = Console(highlight=False, markup=False)
    for line in laid_out(columns, rows, console.width if sys.stdout.isatty() else None):
        console.print(line, soft_wrap=True)


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool) -> None:
    """A table, or a list of objects of JSON. `columns` are the names there, in snake_case."""
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    shown = [[_in_table(cell) for cell in row] for row in rows]
    print_table([column.upper().replace("_", " ") for column in columns], shown)


def _in_table(cell: Any) -> Any:
    if isinstance(cell, list):
        return ",".join(str(each) for each in cast("list[Any]", cell)) or None
    return {True: "yes", False: "no"}[cell] if isinstance(cell, bool) else cell


def note(text: str) -> None:
    """One line for people, on stderr."""
    print(text, file=sys.stderr, flush=True)


def nearest(given: str, known: Iterable[str]) -> str:
    """`; did you mean 'flights'?`, or nothing where nothing is near."""
    from difflib import get_close_matches

    found = get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""
