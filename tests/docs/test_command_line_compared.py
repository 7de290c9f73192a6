"""docs/command-line-compared.md: the command line of each of its tasks does the task, on both brokers.

What a command has to show, or to leave behind, is listed by task in `compared_tasks.py`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.compared_place import Place, prepared
from tests.docs.compared_tasks import DONE, Done

PAGE = Path(__file__).parents[2] / "docs" / "command-line-compared.md"
HEAD = ["Task", "barnabas", "kcat", "rpk", "Kafka's own tools"]
COMMAND = re.compile(r"`barnabas (.+)`")


def rows() -> list[list[str]]:
    """The cells of each row of each table, without those of heads."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row != HEAD and not row[0].startswith("---")]


ROWS = rows()


@pytest.fixture(scope="module", params=["embedded", "apache"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The clusters, the registry and the folder, which is the current one, that the page's commands name."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("compared")
    os.chdir(folder)
    try:
        with prepared(folder, request.param) as place:
            yield place
    finally:
        os.chdir(before)


def test_the_page_has_49_tasks_and_every_cell_of_them() -> None:
    assert len(ROWS) == 49
    assert len({row[0] for row in ROWS}) == 49
    for row in ROWS:
        assert len(row) == len(HEAD)
        assert COMMAND.fullmatch(row[1])
        assert all(cell == "-" or "`" in cell or cell.startswith("in part: ") for cell in row[2:])


def test_what_each_task_shows_is_known() -> None:
    assert set(DONE) == {row[0] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_command_does_the_task(place: Place, row: list[str]) -> None:
    found = COMMAND.fullmatch(row[1])
    assert found is not None
    words = shlex.split(found[1].replace("localhost:9192", place.other.bootstrap))
    done: Done = DONE[row[0]]
    ended = place.here(*words, input=done.input, ok=False)
    assert ended.returncode == done.status, ended.stderr
    done.check(place, ended)
