"""A batch that unpacks to much more than was asked for is refused, with the setting that allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, Producer, ShareConsumer, aio
from barnabas.client import unpacking
from barnabas.errors import CorruptBatchError
from barnabas.testing import EmbeddedBroker

UNPACKED_BYTES = 3 << 20


@pytest.fixture
def topic(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Its one batch has about 3 KiB."""
    monkeypatch.setattr(unpacking, "LEAST_BYTES", 1 << 20)
    name = make_topic(embedded_broker)
    settings: dict[str, Any] = {"compression": "zstd", "max_request_size": 2 * UNPACKED_BYTES}
    with Producer(embedded_broker.bootstrap, **settings) as producer:
        producer.send(name, bytes(UNPACKED_BYTES)).result()
    return name


def refused(topic: str) -> Any:
    return pytest.raises(
        CorruptBatchError, match=rf"{topic}-0 at offset \d+: .* 2097152 bytes .*fetch_max_bytes"
    )


@pytest.mark.parametrize("poll", ["poll", "poll_arrow"])
def test_a_batch_that_unpacks_to_more_than_twice_fetch_max_bytes_is_refused(
    embedded_broker: EmbeddedBroker, topic: str, poll: str
) -> None:
    with Consumer(
        embedded_broker.bootstrap, auto_offset_reset="earliest", fetch_max_bytes=1 << 20
    ) as consumer:
        consumer.assign([(topic, 0)])
        with refused(topic):
            getattr(consumer, poll)(60)
    with Consumer(
        embedded_broker.bootstrap, auto_offset_reset="earliest", fetch_max_bytes=2 << 20
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert len(getattr(consumer, poll)(60)) == 1


def test_a_batch_that_unpacks_to_too_much_is_refused_with_asyncio(
    embedded_broker: EmbeddedBroker, topic: str
) -> None:
    async def main() -> None:
        settings: dict[str, Any] = {"auto_offset_reset": "earliest", "fetch_max_bytes": 1 << 20}
        async with aio.Consumer(embedded_broker.bootstrap, **settings) as consumer:
            consumer.assign([(topic, 0)])
            with refused(topic):
                await consumer.poll(60)

    asyncio.run(main())


def test_a_batch_that_unpacks_to_too_much_is_refused_by_a_share_consumer(
    embedded_broker: EmbeddedBroker, topic: str, eventually: Callable[..., Any]
) -> None:
    settings: dict[str, Any] = {"group_id": f"share-{topic}", "fetch_max_bytes": 1 << 20}
    with (
        ShareConsumer(embedded_broker.bootstrap, topics=[topic], **settings) as consumer,
        Producer(
            embedded_broker.bootstrap, compression="zstd", max_request_size=2 * UNPACKED_BYTES
        ) as producer,
    ):

        def poll() -> Any:
            # A share group begins at the end, wherever that is when it has joined.
            producer.send(topic, bytes(UNPACKED_BYTES)).result()
            return consumer.poll(0.2)

        with refused(topic):
            eventually(poll)
