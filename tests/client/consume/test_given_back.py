"""Records that a call took and could not return come again, whatever it failed by, and are not committed."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from tests.interrupting import RaisedAt, in_modules, traced

from barnabas import Admin, Consumer, ParallelConsumer, Record, TopicPartition, aio
from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.testing import EmbeddedBroker

RECORDS = 7
LIMIT_SECONDS = 20.0


class Failing:
    """A format that fails when it makes its column."""

    def __init__(self, error: BaseException, *, is_awaited: bool) -> None:
        self._error = error
        self.is_awaited = is_awaited

    def decoded(self, batch: Any, side: str) -> Any:
        raise self._error

    def run(self, decoded: Any) -> Any:
        raise AssertionError


ERRORS = [
    MemoryError(),
    KeyboardInterrupt(),
    ValueError("bad"),
    SchemaError("bad"),
    MissingExtraError("x", "avro"),
]


@pytest.fixture
def topic(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str], fill_topic: Callable[..., None]
) -> str:
    name = make_topic(embedded_broker)
    fill_topic(embedded_broker, name, [b"%d" % number for number in range(RECORDS)])
    return name


def settings(topic: str) -> dict[str, Any]:
    return {
        "topics": [topic],
        "group_id": f"group-{uuid.uuid4().hex[:12]}",
        "auto_offset_reset": "earliest",
    }


def without_pyarrow(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setitem(sys.modules, "pyarrow", None)
    return {}


@pytest.mark.parametrize("error", [None, *ERRORS], ids=lambda error: type(error).__name__)
def test_poll_arrow_gives_back_what_it_could_not_return(
    embedded_broker: EmbeddedBroker, topic: str, error: BaseException | None
) -> None:
    group = settings(topic)
    with Consumer(embedded_broker.bootstrap, **group) as consumer, pytest.MonkeyPatch.context() as patch:
        # Without an error of its own: pyarrow is missing.
        given = without_pyarrow(patch) if error is None else {"value": Failing(error, is_awaited=False)}
        with pytest.raises(MissingExtraError if error is None else type(error)):
            consumer.poll_arrow(60, **given)
    with Consumer(embedded_broker.bootstrap, **group) as consumer:
        assert len(consumer.poll(60)) == RECORDS
        assert consumer.position((topic, 0)) == RECORDS


@pytest.mark.parametrize("error", [None, *ERRORS], ids=lambda error: type(error).__name__)
def test_poll_arrow_of_asyncio_gives_back_what_it_could_not_return(
    embedded_broker: EmbeddedBroker, topic: str, error: BaseException | None
) -> None:
    group = settings(topic)

    async def fail() -> None:
        async with aio.Consumer(embedded_broker.bootstrap, **group) as consumer:
            with pytest.MonkeyPatch.context() as patch:
                given = (
                    without_pyarrow(patch) if error is None else {"value": Failing(error, is_awaited=True)}
                )
                with pytest.raises(MissingExtraError if error is None else type(error)):
                    await consumer.poll_arrow(60, **given)

    async def read() -> int:
        async with aio.Consumer(embedded_broker.bootstrap, **group) as consumer:
            return len(await consumer.poll(60))

    asyncio.run(fail())
    assert asyncio.run(read()) == RECORDS


def committed(broker: EmbeddedBroker, group: dict[str, Any]) -> int:
    """How many records of its topic the group has committed."""
    with Admin(broker.bootstrap) as admin:
        found = admin.list_group_offsets(group["group_id"]).get(TopicPartition(group["topics"][0], 0))
    return 0 if found is None else found.offset


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_consumer_of_asyncio_commits_only_what_it_returned_whatever_is_raised_at_any_line(
    embedded_broker: EmbeddedBroker,
    topic: str,
    no_faults: list[logging.LogRecord],
    error: type[BaseException],
) -> None:
    chance = random.Random(error.__name__)

    async def main(group: dict[str, Any], returned: list[Record], raised: RaisedAt) -> None:
        async with aio.Consumer(embedded_broker.bootstrap, **group) as consumer:
            sys.settrace(raised)
            while len(returned) < RECORDS:
                returned += await consumer.poll(1, 2)

    for _ in range(12):
        group, returned = settings(topic), list[Record]()
        raised = RaisedAt(
            chance.randrange(1, 2_000), error, in_modules("/barnabas/client/consume/", "/barnabas/net/")
        )
        began_at = time.monotonic()
        try:
            asyncio.run(main(group, returned, raised))
        except error:
            assert raised.place
        finally:
            sys.settrace(None)
        assert time.monotonic() - began_at < LIMIT_SECONDS, raised.place
        assert committed(embedded_broker, group) <= len(returned), raised.place
    # Work in the background that it ended is told of.
    no_faults.clear()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("line", [*range(1, 8), *range(8, 120, 9)])
def test_only_records_that_a_handler_got_are_committed_where_a_run_is_interrupted(
    embedded_broker: EmbeddedBroker, topic: str, line: int
) -> None:
    group, handled = settings(topic), list[int]()

    def handle(record: Record) -> None:
        handled.append(record.offset)
        if len(handled) == RECORDS:
            consumer.stop()

    raised = RaisedAt(
        line, KeyboardInterrupt, in_modules("/sync/parallel.py", "/parallel_front.py", "/work_queue.py")
    )
    with ParallelConsumer(embedded_broker.bootstrap, handle, **group) as consumer:
        try:
            with traced(raised):
                consumer.run()
        except KeyboardInterrupt:
            assert raised.place
    assert set(range(committed(embedded_broker, group))) <= set(handled)
