"""Clients over their quotas wait as long as with Kafka: the same requests to both, and what they are told.

On purpose nothing is asked of exact milliseconds: windows begin when the first request comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas import _kernel
from barnabas.errors import KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from ..authorization.stage import Stage, play_openly
from .test_client_quotas import alter, until_known

Scene = Callable[[Stage], Awaitable[None]]
VALUE_BYTES = 40_000


def about(milliseconds: int) -> str:
    """Which delays are alike."""
    return "none" if milliseconds <= 0 else f"about {round(milliseconds / 1000)} s"


def batch(size: int) -> bytes:
    builder = _kernel.BatchBuilder(max_bytes=1 << 20)
    builder.append(1_700_000_000_000, None, b"x" * size)
    return builder.build()


def produce(topic: str, size: int) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=batch(size))
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=topics)


def fetch(topic: str, *, session_id: int = 0, session_epoch: int = -1) -> FetchRequest:
    wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
    )


async def set_quota(stage: Stage, entity: dict[str, str | None], **values: float | None) -> None:
    answer = await stage.admin(alter((entity, values)))
    assert [entry.error_code for entry in answer.entries] == [0]
    await until_known(stage)


async def produced_bytes(stage: Stage, client: Connection) -> None:
    topic = stage.name("topic")
    await stage.create_topic(topic)
    entity: dict[str, str | None] = {"client-id": stage.name("client")}
    await set_quota(stage, entity, producer_byte_rate=20_000.0)

    async def send(size: int) -> None:
        answer = await client.submit(produce(topic, size), timeout_ms=30_000, max_version=12)
        stage.tell("produced", answer.responses[0].partition_responses[0].error_code)
        stage.tell(about(answer.throttle_time_ms))

    await send(1_000)
    # 240,000 bytes over ten seconds are 4,000 a second too many.
    await send(240_000)
    began = time.monotonic()
    await client.submit(MetadataRequest(topics=[]), timeout_ms=30_000)
    stage.tell("then mute for", about(round((time.monotonic() - began) * 1000)))
    await set_quota(stage, entity, producer_byte_rate=None)
    await send(240_000)


async def consumed_bytes(stage: Stage, client: Connection) -> None:
    topic = stage.name("topic")
    await stage.create_topic(topic)
    await stage.admin(produce(topic, VALUE_BYTES), 12)
    entity: dict[str, str | None] = {"user": "ANONYMOUS", "client-id": stage.name("client")}
    await set_quota(stage, entity, consumer_byte_rate=5_000.0)

    async def read(request: FetchRequest) -> Any:
        answer = await client.submit(request, timeout_ms=30_000, max_version=12)
        told = [len(part.records or b"") > 0 for one in answer.responses for part in one.partitions]
        stage.tell("fetched", answer.error_code, about(answer.throttle_time_ms), told)
        return answer

    await read(fetch(topic))
    began = time.monotonic()
    # 80,000 bytes over ten seconds: nothing is told, and nothing counts.
    await read(fetch(topic))
    await client.submit(MetadataRequest(topics=[]), timeout_ms=30_000)
    stage.tell("then mute for", about(round((time.monotonic() - began) * 1000)))
    await set_quota(stage, entity, consumer_byte_rate=None)
    await read(fetch(topic))


async def mutations(stage: Stage, client: Connection) -> None:
    entity: dict[str, str | None] = {"client-id": stage.name("client")}
    await set_quota(stage, entity, controller_mutation_rate=1.0)
    names = [stage.name(f"topic-{number}") for number in range(4)]

    async def ask(request: Any, version: int | None = None) -> None:
        answer = await client.submit(request, timeout_ms=30_000, max_version=version)
        results = next(
            getattr(answer, name) for name in ("topics", "results", "responses") if hasattr(answer, name)
        )
        stage.tell(type(request).__name__, [[each.error_code, each.error_message] for each in results])
        stage.tell(about(answer.throttle_time_ms))

    def create(name: str, partitions: int) -> CreateTopicsRequest:
        return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, partitions, 1)], 30_000)

    # A bucket of 11: what goes over it is taken once, and then owed.
    await ask(create(names[0], 13))
    await ask(create(names[1], 1))
    await ask(create(names[2], 1), 5)
    more = CreatePartitionsRequest.CreatePartitionsTopic(names[0], 14, None)
    await ask(CreatePartitionsRequest([more], 30_000))
    state = DeleteTopicsRequest.DeleteTopicState(name=names[0])
    await set_quota(stage, entity, controller_mutation_rate=None)
    await ask(DeleteTopicsRequest([state], timeout_ms=30_000))


async def levels(stage: Stage, client: Connection) -> None:
    """The most specific quota counts, and others do not."""
    topic, name = stage.name("topic"), stage.name("client")
    await stage.create_topic(topic)
    everyone: list[dict[str, str | None]] = [
        {"user": "ANONYMOUS", "client-id": name},
        {"user": "ANONYMOUS"},
        {"client-id": name},
    ]
    await set_quota(stage, everyone[0], producer_byte_rate=1_000_000.0)
    await set_quota(stage, everyone[2], producer_byte_rate=1.0)

    async def send() -> None:
        answer = await client.submit(produce(topic, 1_000), timeout_ms=30_000, max_version=12)
        stage.tell("slowed" if answer.throttle_time_ms > 0 else "not slowed")

    await send()
    await set_quota(stage, everyone[0], producer_byte_rate=None)
    await set_quota(stage, everyone[2], producer_byte_rate=100.0)
    await send()
    await set_quota(stage, everyone[2], producer_byte_rate=None)


async def connections(stage: Stage, client: Connection) -> None:
    """Those over the rate end without an answer, and do not count."""
    entity: dict[str, str | None] = {"ip": "127.0.0.1"}
    address = client.name.rpartition(":")
    await set_quota(stage, entity, connection_creation_rate=1.0)
    opened: list[Connection] = []
    for _ in range(14):
        try:
            opened.append(await Connection.open("127.0.0.1", int(address[2]), client_id="another"))
        except KafkaConnectionError:
            stage.tell("refused")
        else:
            stage.tell("opened")
    for connection in opened:
        connection.close()
    await set_quota(stage, entity, connection_creation_rate=None)


@pytest.mark.parametrize("scene", [connections, produced_bytes, consumed_bytes, mutations, levels])
def test_a_client_over_its_quota_waits_as_with_kafka(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, scene: Callable[..., Awaitable[None]]
) -> None:
    def play(bootstrap: str) -> list[Any]:
        host, _, port = bootstrap.partition(":")

        async def with_client(stage: Stage) -> None:
            client = await Connection.open(host, int(port), client_id=stage.name("client"))
            try:
                await scene(stage, client)
            finally:
                client.close()

        return asyncio.run(play_openly(bootstrap, with_client))

    expected = play(apache_kafka.bootstrap)
    said = play(embedded_broker.bootstrap)
    differing = [
        f"{ours}\n  {theirs} (Kafka)" for ours, theirs in zip(said, expected, strict=True) if ours != theirs
    ]
    assert not differing, "\n" + "\n".join(differing)


def test_a_client_over_its_share_of_time_waits_a_second_at_most(embedded_broker: EmbeddedBroker) -> None:
    async def scene(stage: Stage) -> None:
        host, _, port = embedded_broker.bootstrap.partition(":")
        client = await Connection.open(host, int(port), client_id=stage.name("client"))
        entity: dict[str, str | None] = {"client-id": stage.name("client")}
        await set_quota(stage, entity, request_percentage=0.0001)
        answer = await client.submit(MetadataRequest(topics=None), timeout_ms=30_000)
        assert 0 < answer.throttle_time_ms <= 1_000
        await set_quota(stage, entity, request_percentage=None)
        await client.submit(MetadataRequest(topics=None), timeout_ms=30_000)
        answer = await client.submit(MetadataRequest(topics=None), timeout_ms=30_000)
        assert answer.throttle_time_ms == 0
        client.close()

    asyncio.run(play_openly(embedded_broker.bootstrap, scene))
