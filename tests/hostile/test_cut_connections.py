"""A connection that is reset, ends or falls silent within any answer to a client: what was asked for is done
all the same, once, and no call raises what is no error of Barnabas."""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from barnabas import ConfigResource, Consumer, NewTopic, ResourceType, TopicPartition, aio
from barnabas.testing import EmbeddedBroker

from .cutting_proxy import ENDINGS, CuttingProxy, Ending

AT_ONCE = 12
LIMIT_SECONDS = 120.0
VALUES = [b"%d" % number for number in range(3)]
SETTINGS: dict[str, Any] = {
    # How long a silent connection is waited for.
    "request_timeout_ms": 400,
    "default_api_timeout_ms": 60_000,
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 20,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 20,
}
PRODUCER: dict[str, Any] = {
    **SETTINGS,
    "linger_ms": 0,
    "max_block_ms": 60_000,
    "delivery_timeout_ms": 60_000,
    "transaction_timeout_ms": 60_000,
}
CONSUMER: dict[str, Any] = {
    **SETTINGS,
    "auto_offset_reset": "earliest",
    "fetch_max_wait_ms": 100,
    # An answer to JoinGroup may come as late as the others join, and is waited for as long.
    "max_poll_interval_ms": 1000,
}

SHARE: dict[str, Any] = {**SETTINGS, "fetch_max_wait_ms": 100}


async def produce(bootstrap: str, name: str) -> None:
    async with aio.Producer(bootstrap, **PRODUCER) as producer:
        for value in VALUES:
            delivery = await producer.send(name, value)
            await delivery


async def transact(bootstrap: str, name: str) -> None:
    async with aio.Producer(bootstrap, transactional_id=name, **PRODUCER) as producer:
        await producer.init_transactions()
        for value in VALUES:
            await producer.begin_transaction()
            delivery = await producer.send(name, value)
            await delivery
            await producer.commit_transaction()


async def consume(bootstrap: str, name: str, protocol: str) -> None:
    settings: dict[str, Any] = {**CONSUMER, "group_protocol": protocol}
    found: list[bytes | None] = []
    async with aio.Consumer(bootstrap, group_id=name, topics=[name], **settings) as consumer:
        while len(found) < len(VALUES):
            found += [record.value for record in await consumer.poll(1)]
        await consumer.commit()
        # Nobody waits so long for a group that does not answer.
        await consumer.close(10 * LIMIT_SECONDS)
    assert found == VALUES
    async with aio.Consumer(bootstrap, group_id=name, **settings) as consumer:
        place = TopicPartition(name, 0)
        committed = await consumer.committed([place])
    assert committed[place].offset == len(VALUES)


async def consume_by_classic(bootstrap: str, name: str) -> None:
    await consume(bootstrap, name, "classic")


async def consume_by_consumer(bootstrap: str, name: str) -> None:
    await consume(bootstrap, name, "consumer")


async def share(bootstrap: str, name: str) -> None:
    """What was acknowledged in a request whose answer was cut may be done with, or may come again."""
    found: set[bytes | None] = set()
    place = TopicPartition(name, 0)
    async with (
        aio.Admin(bootstrap, **SETTINGS) as admin,
        aio.ShareConsumer(bootstrap, group_id=name, topics=[name], **SHARE) as consumer,
    ):
        lag = None
        while lag != 0:
            found |= {record.value for record in await consumer.poll(1)}
            await consumer.commit()
            offsets = (await admin.list_share_group_offsets({name: [place]}))[name]
            lag = offsets[place].lag if place in offsets else None
        await consumer.close(10 * LIMIT_SECONDS)
    assert found == set(VALUES)


async def administer(bootstrap: str, name: str) -> None:
    async with aio.Admin(bootstrap, **SETTINGS) as admin:
        (node,) = (await admin.describe_cluster()).nodes
        assert node.node_id == 1
        assert name in await admin.list_topics()
        await admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)])
        await admin.list_groups()
        await admin.list_offsets({TopicPartition(name, 0): "latest"})


Scenario = Callable[[str, str], Awaitable[None]]
WRITE: list[Scenario] = [produce, transact]
READ: list[Scenario] = [consume_by_classic, consume_by_consumer, share, administer]


def values_of(bootstrap: str, name: str) -> list[bytes | None]:
    place = TopicPartition(name, 0)
    found: list[bytes | None] = []
    with Consumer(bootstrap, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([place])
        while consumer.position(place) < consumer.end_offsets([place])[place]:
            found += [record.value for record in consumer.poll(1)]
    return found


async def cut_everywhere(
    broker: EmbeddedBroker, scenario: Scenario, endings: Iterable[Ending], seed: int
) -> list[str]:
    """The topics that it was done with, once for each answer and ending."""
    names: list[str] = []
    room = asyncio.Semaphore(AT_ONCE)

    async def once(admin: aio.Admin, at_answer: int | None, ending: Ending) -> CuttingProxy:
        name = f"cut-{uuid.uuid4().hex[:12]}"
        proxy = CuttingProxy(broker.bootstrap, at_answer, ending, seed * 1000 + (at_answer or 0))
        async with room, proxy:
            await admin.create_topics([NewTopic(name, 1, 1)])
            if scenario in READ:
                await produce(broker.bootstrap, name)
            if scenario is share:
                group = ConfigResource(ResourceType.GROUP, name)
                await admin.alter_configs({group: {"share.auto.offset.reset": "earliest"}})
            names.append(name)
            try:
                async with asyncio.timeout(LIMIT_SECONDS):
                    await scenario(proxy.bootstrap, name)
            except (Exception, asyncio.CancelledError) as error:
                error.add_note(f"{ending} after {proxy.cut_after or 'nothing'}, seed {seed}")
                raise
        return proxy

    async with aio.Admin(broker.bootstrap) as admin:
        answers = (await once(admin, None, "end")).answers
        proxies = await asyncio.gather(
            *(once(admin, number, ending) for number, ending in itertools.product(range(answers), endings))
        )
    # Of the last ones there may be fewer.
    assert sum(bool(proxy.cut_after) for proxy in proxies) > len(proxies) / 2
    return names


def run(broker: EmbeddedBroker, scenario: Scenario, ending: Ending, seed: int, log: Any) -> None:
    unhandled: list[dict[str, Any]] = []

    async def main() -> list[str]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        own = asyncio.all_tasks()
        names = await cut_everywhere(broker, scenario, [ending], seed)
        assert asyncio.all_tasks() == own
        return names

    with log.at_level(logging.WARNING, "barnabas"):
        names = asyncio.run(main())
    assert unhandled == []
    assert [record for record in log.records if record.exc_info] == []
    if scenario in WRITE:
        assert [values_of(broker.bootstrap, name) for name in names] == [VALUES] * len(names)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("scenario", [*WRITE, *READ])
def test_what_is_asked_for_is_done_once_when_a_connection_is_cut_within_any_answer(
    embedded_broker: EmbeddedBroker, scenario: Scenario, ending: Ending, caplog: pytest.LogCaptureFixture
) -> None:
    run(embedded_broker, scenario, ending, 1, caplog)


@pytest.mark.chaos
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("scenario", [*WRITE, *READ])
def test_what_is_asked_for_is_done_once_wherever_a_connection_is_cut(
    embedded_broker: EmbeddedBroker,
    scenario: Scenario,
    ending: Ending,
    chaos_seed: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(embedded_broker, scenario, ending, chaos_seed, caplog)
