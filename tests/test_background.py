"""Work in the background that fails is logged and told; that which is cancelled, or succeeds, is not."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from barnabas import background


def test_an_error_that_nobody_waits_for_is_logged_with_what_has_ended_and_told(
    no_faults: list[logging.LogRecord],
) -> None:
    error = ValueError("no such thing")

    async def fail() -> None:
        raise error

    async def main() -> tuple[str, BaseException]:
        told = asyncio.get_running_loop().create_future()
        background.start(fail(), what="committing", on_fault=lambda *fault: told.set_result(fault))
        gc.collect()
        return await told

    assert asyncio.run(main()) == ("committing", error)
    assert "committing failed, which is a fault of Barnabas: no such thing" in no_faults.pop().getMessage()


def test_a_program_that_is_ended_in_the_middle_of_work_is_no_fault_and_told() -> None:
    told: list[tuple[str, BaseException]] = []

    async def leave() -> None:
        raise SystemExit(3)

    async def main() -> None:
        background.start(leave(), what="committing", on_fault=lambda *fault: told.append(fault))
        await asyncio.Event().wait()

    with pytest.raises(SystemExit) as ended:
        asyncio.run(main())
    assert told == [("committing", ended.value)]


def test_what_is_cancelled_or_done_is_no_fault() -> None:
    async def main() -> None:
        done = background.start(asyncio.sleep(0), what="done")
        cancelled = background.start(asyncio.Event().wait(), what="cancelled")
        await done
        cancelled.cancel()
        await asyncio.wait([cancelled])

    asyncio.run(main())
