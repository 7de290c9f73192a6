"""The one way to wait in tests."""

from __future__ import annotations

import asyncio

import pytest
from tests.virtual.loop import VirtualWorld
from tests.waiting import Patience, wait_for, wait_for_async


def test_what_is_so_already_is_given_at_once() -> None:
    assert wait_for(lambda: [7], timeout=0) == [7]


@pytest.mark.integration
def test_what_becomes_so_is_given_when_it_is() -> None:
    answers = iter([0, "", 7])
    assert wait_for(lambda: next(answers)) == 7


def test_on_an_event_loop_its_time_counts_and_a_coroutine_may_be_asked() -> None:
    async def scenario() -> None:
        looks = 0

        async def look() -> bool:
            nonlocal looks
            looks += 1
            return asyncio.get_running_loop().time() > 3_000

        assert await wait_for_async(look, timeout=4_000)
        assert looks > 1_000
        with pytest.raises(AssertionError, match=r"not so within 5 s: .*, which last gave 0"):
            await wait_for_async(lambda: 0, timeout=5)

    VirtualWorld(seed=0).run(scenario)


def test_when_patience_is_over_the_test_fails_with_what_is_so() -> None:
    for state in ("3 of 7 came", lambda: "3 of 7 came"):
        with pytest.raises(AssertionError, match=r"not so within -1 s: 3 of 7 came"):
            Patience(-1).check(state)
    with pytest.raises(AssertionError, match=r"not so within -1 s$"):
        Patience(-1).pause()
