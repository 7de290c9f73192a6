"""Rows as a table, or as a line for each field where that is wider than the terminal. Nothing is ever cut.

Knows nothing of where rows come from, and of terminals only how wide they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.text import Text

_GAP = "  "
_NAME = "bold"


def laid_out(columns: Sequence[str], rows: Iterable[Sequence[Any]], width: int | None) -> Iterator[Text]:
    """The lines. Columns are aligned, and numbers stand to the right. `width` is None where there is room for
    any line, as in a file."""
    found = [list(row) for row in rows]
    texts = [["-" if cell is None else str(cell).expandtabs() for cell in row] for row in found]
    widths = [max(map(_width, cells)) for cells in zip(columns, *texts, strict=True)]
    if width is not None and found and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        return _by_field(columns, texts, width)
    to_the_right = [
        bool(found) and all(isinstance(row[index], int) or row[index] is None for row in found)
        for index in range(len(columns))
    ]
    return _by_row(columns, texts, widths, to_the_right)


def _by_row(
    columns: Sequence[str], texts: Iterable[Sequence[str]], widths: list[int], to_the_right: list[bool]
) -> Iterator[Text]:
    for number, cells in enumerate((columns, *texts)):
        for line in zip_longest(*(cell.split("\n") for cell in cells), fillvalue=""):
            filled: list[str] = []
            for text, width, is_right in zip(line, widths, to_the_right, strict=True):
                space = " " * (width - cell_len(text))
                filled.append(space + text if is_right else text + space)
            yield Text(_GAP.join(filled).rstrip(), style="" if number else _NAME)


def _by_field(columns: Sequence[str], texts: Iterable[Sequence[str]], width: int) -> Iterator[Text]:
    """A value stands below its name where there is no room beside it: the terminal would break a number in
    two."""
    indent = max(map(_width, columns)) + len(_GAP)
    for number, cells in enumerate(texts):
        if number:
            yield Text()
        for column, cell in zip(columns, cells, strict=True):
            name = Text(column, style=_NAME)
            lines = cell.split("\n")
            if indent + _width(cell) > width:
                yield name
                yield from map(Text, lines)
            else:
                yield Text.assemble(name, " " * (indent - cell_len(column)), lines[0])
                yield from (Text(" " * indent + line) for line in lines[1:])


def _width(cell: str) -> int:
    return max(map(cell_len, cell.split("\n")))
