"""`barnabas.both_ways`: a generator's tasks are done, awaited or not, and it receives their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from barnabas.both_ways import awaited, waited


def both(work: Callable[[], Generator[Any, Any, Any]], do: Callable[[Any], Any], *thrown_in: Any) -> Any:
    """What comes of it either way, which has to be the same."""

    async def awaits(task: Any) -> Any:
        return do(task)

    plain = waited(work(), do, *thrown_in)
    assert asyncio.run(awaited(work(), awaits, *thrown_in)) == plain
    return plain


def test_each_task_is_done_and_its_result_sent_back() -> None:
    def work() -> Generator[int, str, list[str]]:
        return [(yield 0), (yield 1), (yield 2)]

    assert both(work, str) == ["0", "1", "2"]


def test_work_that_has_nothing_done_gives_its_result_at_once() -> None:
    def work() -> Generator[int, str, int]:
        yield from ()
        return 7

    assert both(work, str) == 7


def test_errors_of_the_given_types_are_thrown_into_the_work_which_may_go_on() -> None:
    def fails(task: Any) -> Any:
        if task == "bad":
            raise LookupError(task)
        return task

    def work() -> Generator[str, str, str]:
        try:
            yield "bad"
        except LookupError as error:
            return (yield f"after {error.args[0]}")
        return "not told"

    assert both(work, fails) == "after bad"
    assert both(work, fails, LookupError) == "after bad"


def test_other_errors_are_raised_and_not_thrown_into_the_work() -> None:
    told: list[BaseException] = []

    def fails(_task: Any) -> Any:
        raise KeyError

    def work() -> Generator[str, str, None]:
        try:
            yield "bad"
        except Exception as error:
            told.append(error)

    async def awaits(task: Any) -> Any:
        fails(task)

    with pytest.raises(KeyError):
        waited(work(), fails, ValueError)
    with pytest.raises(KeyError):
        asyncio.run(awaited(work(), awaits, ValueError))
    assert told == []
