"""A request that a broker finds only after its client has given it up."""

from __future__ import annotations

import asyncio
import struct
import uuid
from typing import Any

import pytest

from barnabas import NewTopic, aio
from barnabas.errors import TransactionFailedError
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import ApacheKafka

from . import proxy
from .proxy import HostileProxy


class DelayingProxy(HostileProxy):
    """While `is_delaying`, keeps Produce requests until `deliver` brings them to the broker; its
    connections say nothing any more."""

    def __init__(self, broker: str) -> None:
        super().__init__(broker, proxy.say_nothing, seed=0, share=0.0)
        self.is_delaying = False
        self._kept: list[bytes] = []

    async def _pass_request(self, writer: asyncio.StreamWriter, request: bytes, api_key: int) -> None:
        if self.is_delaying and api_key == ProduceRequest.API_KEY:
            self._kept.append(request)
            await asyncio.Future()
        await super()._pass_request(writer, request, api_key)

    async def deliver(self) -> int:
        """Returns how many requests the broker has answered."""
        reader, writer = await asyncio.open_connection(*self._broker)
        for request in self._kept:
            writer.write(request)
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()
        return len(self._kept)


@pytest.mark.parametrize("version", ["4.3.0", "3.9.1", "2.8.2"])
def test_a_batch_that_comes_after_its_transaction_was_aborted_is_in_no_later_one(version: str) -> None:
    async def main() -> None:
        topic = f"late-{uuid.uuid4().hex[:12]}"
        with ApacheKafka(version) as kafka:
            async with aio.Admin(kafka.bootstrap) as admin:
                await admin.create_topics([NewTopic(topic, 1, 1)])
            async with DelayingProxy(kafka.bootstrap) as delaying:
                settings: dict[str, Any] = {
                    "request_timeout_ms": 2_000,
                    "delivery_timeout_ms": 6_000,
                    "linger_ms": 0,
                }
                async with aio.Producer(delaying.bootstrap, transactional_id="late", **settings) as producer:
                    await producer.init_transactions()
                    await producer.begin_transaction()
                    await (await producer.send(topic, b"aborted"))
                    delaying.is_delaying = True
                    await producer.send(topic, b"late")
                    with pytest.raises(TransactionFailedError, match="delivery_timeout_ms"):
                        await producer.commit_transaction()
                    delaying.is_delaying = False
                    await producer.abort_transaction()
                    assert await delaying.deliver() >= 1
                    async with producer.transaction():
                        await producer.send(topic, b"committed")
            values: list[bytes | None] = []
            async with aio.Consumer(
                kafka.bootstrap,
                topics=[topic],
                isolation_level="read_committed",
                auto_offset_reset="earliest",
            ) as consumer:
                while not values:
                    values += [record.value for record in await consumer.poll(1)]
                values += [record.value for record in await consumer.poll(1)]
            assert values == [b"committed"]

    asyncio.run(main())
