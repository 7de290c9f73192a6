from __future__ import annotations

import asyncio
import gc

import pytest

from barnabas.client.cluster.tasks import Tasks, task_group


def test_a_task_is_kept_until_it_is_done() -> None:
    async def scenario() -> None:
        tasks = Tasks[int]()
        go_on = asyncio.Event()

        async def work() -> int:
            await go_on.wait()
            return 3

        task = tasks.start(work())
        gc.collect()
        assert list(tasks) == [task]
        go_on.set()
        assert await task == 3
        await asyncio.sleep(0)
        assert not tasks

    asyncio.run(scenario())


def test_the_end_waits_for_all_that_are_cancelled() -> None:
    async def scenario() -> None:
        tasks = Tasks[None]()
        ended: list[int] = []

        async def work(number: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.append(number)

        for number in range(3):
            tasks.start(work(number))
        await asyncio.sleep(0)
        await tasks.end()
        assert sorted(ended) == [0, 1, 2]
        assert not tasks

    asyncio.run(scenario())


def test_a_task_that_cancels_the_others_goes_on() -> None:
    async def scenario() -> None:
        tasks = Tasks[str]()

        async def wait() -> str:
            await asyncio.Event().wait()
            return "never"

        async def cancel() -> str:
            tasks.cancel_others()
            await asyncio.sleep(0)
            return "went on"

        waiting, cancelling = tasks.start(wait()), tasks.start(cancel())
        assert await cancelling == "went on"
        assert waiting.cancelled()

    asyncio.run(scenario())


def test_a_group_of_tasks_raises_the_error_itself() -> None:
    async def fail() -> None:
        raise KeyError("orders")

    async def scenario() -> None:
        with pytest.raises(KeyError, match="orders"):
            async with task_group() as tasks:
                tasks.create_task(fail())

    asyncio.run(scenario())
