"""Records that a call took and could not return come again, whatever it failed by, and are not committed."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, aio
from barnabas.errors import MissingExtraError
from barnabas.formats.errors import SchemaError
from barnabas.testing import EmbeddedBroker

RECORDS = 7


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
