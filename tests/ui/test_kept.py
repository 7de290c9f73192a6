from __future__ import annotations

import asyncio

import pytest

from barnabas.errors import BarnabasError, MisuseError
from barnabas.ui.kept import Kept

FOREVER = 3_600.0


class Answers:
    """Numbers from 1, each once it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.error: BarnabasError | None = None

    async def __call__(self) -> int:
        self.asked += 1
        number = self.asked
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return number


def test_several_who_ask_first_wait_for_one_answer() -> None:
    async def main() -> None:
        answers = Answers()
        kept = Kept("numbers", answers, FOREVER)
        waiting = [asyncio.create_task(kept.get()) for _ in range(3)]
        answers.may_answer.set()
        assert await asyncio.gather(*waiting) == [1, 1, 1]
        assert await kept.get() == 1
        assert kept.asked_at is not None

    asyncio.run(main())


def test_an_old_answer_is_given_while_a_newer_one_is_slow() -> None:
    async def main() -> None:
        answers = Answers()
        kept = Kept("numbers", answers, 0.0)
        answers.may_answer.set()
        assert await kept.renewed() == 1
        answers.may_answer.clear()
        assert kept.seconds_left <= 1
        kept._stale_at = 0.0  # pyright: ignore[reportPrivateUsage]
        assert await kept.get() == 1
        assert answers.asked == 2
        answers.may_answer.set()
        assert await kept.renewed() == 3
        await kept.close()

    asyncio.run(main())


def test_who_renews_gets_what_was_asked_for_afterwards() -> None:
    async def main() -> None:
        answers = Answers()
        kept = Kept("numbers", answers, FOREVER)
        first = asyncio.create_task(kept.get())
        await asyncio.sleep(0)
        after = [asyncio.create_task(kept.renewed()) for _ in range(2)]
        answers.may_answer.set()
        assert await first == 1
        assert await asyncio.gather(*after) == [2, 2]

    asyncio.run(main())


def test_an_error_is_told_and_what_was_known_stays() -> None:
    async def main() -> None:
        answers = Answers()
        answers.may_answer.set()
        kept = Kept("numbers", answers, FOREVER)
        await kept.get()
        answers.error = MisuseError("no")
        with pytest.raises(MisuseError):
            await kept.renewed()
        assert kept.problem == "no"
        assert await kept.get() == 1
        answers.error = None
        assert await kept.renewed() == 3
        assert kept.problem is None

    asyncio.run(main())


def test_one_who_goes_away_does_not_end_what_others_wait_for() -> None:
    async def main() -> None:
        answers = Answers()
        kept = Kept("numbers", answers, FOREVER)
        gone, stays = asyncio.create_task(kept.get()), asyncio.create_task(kept.get())
        await asyncio.sleep(0)
        gone.cancel()
        answers.may_answer.set()
        assert await stays == 1

    asyncio.run(main())
