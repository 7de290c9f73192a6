"""What is given as a callback and is none is refused where it is given, not when it is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, ParallelConsumer, Producer, ProducerInterceptor, ShareConsumer, aio
from barnabas.errors import MisuseError

REFUSED = "must be callable, not 3"
NONE: Any = 3


@pytest.mark.parametrize("interceptors", [[], [ProducerInterceptor()]], ids=["plain", "intercepted"])
def test_a_producer_refuses_what_it_could_not_call_and_sends_nothing(
    embedded_broker: Any, make_topic: Any, interceptors: list[ProducerInterceptor]
) -> None:
    topic = make_topic(embedded_broker)
    with Producer(embedded_broker.bootstrap, interceptors=interceptors) as producer:
        for _ in range(2):
            with pytest.raises(TypeError, match=f"on_delivery {REFUSED}"):
                producer.send(topic, b"v", on_delivery=NONE)
            # The first one waits for the topic.
            producer.partitions_for(topic)
        assert producer.send(topic, b"v", on_delivery=None).result(30).offset == 0

    async def main() -> None:
        async with aio.Producer(embedded_broker.bootstrap, interceptors=interceptors) as producer:
            with pytest.raises(TypeError, match=f"on_delivery {REFUSED}"):
                await producer.send(topic, b"v", on_delivery=NONE)
            assert (await (await producer.send(topic, b"v"))).offset == 1

    asyncio.run(main())


CONSUMER: dict[str, Callable[[Any], object]] = {
    "on_assigned": lambda consumer: consumer.subscribe(["topic"], on_assigned=NONE),
    "on_revoked": lambda consumer: consumer.subscribe(["topic"], on_revoked=NONE),
    "on_lost": lambda consumer: consumer.subscribe(["topic"], on_lost=NONE),
    "on_commit": lambda consumer: consumer.commit_async({("topic", 0): 1}, NONE),
}


@pytest.mark.parametrize("name", CONSUMER)
def test_a_consumer_refuses_what_it_could_not_call(embedded_broker: Any, name: str) -> None:
    refused = pytest.raises(MisuseError, match=f"{name} {REFUSED}")
    with Consumer(embedded_broker.bootstrap, group_id="g") as consumer, refused:
        CONSUMER[name](consumer)

    async def main() -> None:
        async with aio.Consumer(embedded_broker.bootstrap, group_id="g") as consumer:
            with pytest.raises(MisuseError, match=f"{name} {REFUSED}"):
                CONSUMER[name](consumer)

    asyncio.run(main())


def test_the_consumers_of_groups_refuse_what_they_could_not_call(embedded_broker: Any) -> None:
    servers = embedded_broker.bootstrap
    with pytest.raises(MisuseError, match=f"handler {REFUSED}"):
        ParallelConsumer(servers, NONE, group_id="g", topics=["topic"])
    with pytest.raises(MisuseError, match=f"on_failure {REFUSED}"):
        ParallelConsumer(servers, print, group_id="g", topics=["topic"], on_failure=NONE)
    refused = pytest.raises(MisuseError, match=f"callback {REFUSED}")
    with ShareConsumer(servers, group_id="g") as consumer, refused:
        consumer.set_acknowledgement_commit_callback(NONE)
