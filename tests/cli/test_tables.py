"""Tables and bars on terminals of any width."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import subprocess
import termios
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.cli.conftest import command_line

from barnabas import Consumer, Producer
from barnabas.cli.printing.bars import bar
from barnabas.cli.printing.tables import laid_out
from barnabas.testing import ApacheKafka, EmbeddedBroker

COLUMNS = ["TOPIC", "PARTITION", "COMMITTED", "END OFFSET", "LAG", "HOST"]
NUMBERS = st.integers(min_value=-1, max_value=2**63 - 1)
WORDS = st.text(alphabet="abc-_.é漢", min_size=1, max_size=60)
ROWS = st.lists(st.tuples(WORDS, NUMBERS, NUMBERS | st.none(), NUMBERS, NUMBERS, WORDS), max_size=4)


def shown(rows: Sequence[Sequence[Any]], width: int | None, columns: Sequence[str] = COLUMNS) -> list[str]:
    return [line.plain for line in laid_out(columns, rows, width)]


@given(rows=ROWS, width=st.integers(min_value=1, max_value=250))
def test_every_value_is_whole_at_every_width(rows: list[tuple[Any, ...]], width: int) -> None:
    words = [word for line in shown(rows, width) for word in line.split()]
    wanted = ["-" if cell is None else str(cell) for row in rows for cell in row]
    names = {word for column in COLUMNS for word in column.split()}
    assert [word for word in words if word not in names] == wanted


@given(rows=ROWS, width=st.integers(min_value=1, max_value=250))
def test_a_terminal_breaks_no_number_that_fits_into_a_line(rows: list[tuple[Any, ...]], width: int) -> None:
    for line in laid_out(COLUMNS, rows, width):
        if rows and line.cell_len > width:
            assert len(line.plain.split()) == 1 or line.plain in COLUMNS


@given(rows=ROWS)
def test_numbers_end_below_each_other(rows: list[tuple[Any, ...]]) -> None:
    header, *lines = laid_out(["TOPIC", "LAG"], [row[:2] for row in rows], None)
    assert len(lines) == len(rows)
    if rows:
        assert {line.cell_len for line in (header, *lines)} == {header.cell_len}


def test_a_table_that_fits_is_one() -> None:
    rows = [("a", 0, 12333, True), ("bb", 11, None, True)]
    lines = [
        "TOPIC  PARTITION    LAG    OK",
        "a              0  12333  True",
        "bb            11      -  True",
    ]
    assert shown(rows, 29, ["TOPIC", "PARTITION", "LAG", "OK"]) == lines


def test_a_table_that_does_not_fit_has_a_line_for_each_field() -> None:
    rows = [("flights", 12333), ("birds", None)]
    fields = ["TOPIC  flights", "LAG    12333", "", "TOPIC  birds", "LAG    -"]
    assert shown(rows, 13, ["TOPIC", "LAG"]) == ["TOPIC", "flights", *fields[1:]]
    assert shown(rows, 14, ["TOPIC", "LAG"]) == ["TOPIC      LAG", "flights  12333", "birds        -"]
    assert shown([("a", 1, 2**62)], 20, ["T", "P", "LAG"]) == ["T    a", "P    1", "LAG", str(2**62)]


def test_a_value_of_several_lines_stays_in_its_column() -> None:
    rows = [("a\nbc", 1), ("d", 2)]
    assert shown(rows, None, ["WHAT", "N"]) == ["WHAT  N", "a     1", "bc", "d     2"]


def on_terminal(width: int, arguments: Sequence[str]) -> str:
    """What a command line prints on a terminal of so many columns."""
    ours, theirs = os.openpty()
    try:
        try:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
            environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
            process = subprocess.Popen(
                command_line(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=subprocess.PIPE,
                env={**environment, "TERM": "xterm"},
            )
        finally:
            os.close(theirs)
        with process:
            text = b""
            while piece := _read(ours):
                text += piece
            assert process.stderr is not None
            complaints = process.stderr.read()
        assert process.returncode == 0, complaints
    finally:
        os.close(ours)
    return text.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when nobody has it open any more.
        return b""


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_lag_is_whole_on_a_terminal(
    width: int, broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name = topic() + "-with-a-name-that-is-long-enough-to-fill-a-narrow-terminal"
    with Producer(broker.bootstrap) as producer:
        for _ in range(12_345):
            producer.send(name, b"x", partition=0)
    with Consumer(broker.bootstrap, group_id=name) as consumer:
        consumer.commit({(name, 0): 12})
    printed = on_terminal(width, ["groups", "describe", name, "-b", broker.bootstrap]).split()
    for value in ("12", "12345", "12333"):
        assert value in printed


@given(
    total=st.integers(min_value=0, max_value=10**18),
    width=st.integers(min_value=40, max_value=200),
    name=st.text(alphabet="abc.{}[]", min_size=1, max_size=80),
)
def test_a_bar_shows_its_numbers_whole(total: int, width: int, name: str) -> None:
    written = io.StringIO()
    console = Console(file=written, width=width, force_terminal=True, color_system=None)
    progress = bar(name, total, console)
    progress.update(progress.task_ids[0], completed=total // 2)
    console.print(progress.get_renderable())
    (line,) = written.getvalue().rstrip("\n").split("\n")
    assert f"{total // 2:{len(str(total))}d}/{total}" in line
