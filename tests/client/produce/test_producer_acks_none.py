"""acks=0: no answer says that a broker has read what was written, so closing has to ask."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from barnabas import aio


def test_flush_and_close_return_only_after_the_broker_has_read_what_acks_0_wrote(
    own_broker: Any, make_topic: Any, read_topic: Any, eventually: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        producer = aio.Producer(own_broker.bootstrap, acks=0)
        await (await producer.send(topic, b"first"))
        await producer.flush()
        own_broker.pause()
        try:
            deliveries = [await producer.send(topic, b"%d" % number) for number in range(100)]
            await asyncio.gather(*deliveries)
            closing = asyncio.create_task(producer.close())
            done, _ = await asyncio.wait({closing}, timeout=0.3)
            assert not done, "closed before the broker had read anything"
        finally:
            own_broker.resume()
        await closing

    asyncio.run(main())
    values = [b"first", *(b"%d" % number for number in range(100))]
    eventually(lambda: [message.value() for message in read_topic(own_broker, topic)] == values)


def test_closing_with_acks_0_is_bounded_by_its_timeout_when_the_broker_hangs(
    own_broker: Any, make_topic: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> float:
        producer = aio.Producer(own_broker.bootstrap, acks=0)
        await (await producer.send(topic, b"first"))
        await producer.flush()
        own_broker.pause()
        try:
            await (await producer.send(topic, b"second"))
            began = time.monotonic()
            await producer.close(timeout=0.5)
            return time.monotonic() - began
        finally:
            own_broker.resume()

    assert asyncio.run(main()) >= 0.4
