"""aiokafka's jobs on a broker. It has no consumer protocol."""

# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS, EACH_CODEC, FIRST_TIME_MS = 3, 20, 1_700_000_000_000
TOTAL = len(CODECS) * EACH_CODEC
BOOTSTRAP, TOPIC = sys.argv[1:3]


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def administrate(admin: AIOKafkaAdminClient) -> dict[str, Any]:
    configs = {"retention.ms": "86400000"}
    made = NewTopic(TOPIC, PARTITIONS, 1, topic_configs=configs), NewTopic(f"{TOPIC}-copied", 1, 1)
    await admin.create_topics(list(made))
    (topic,) = await admin.describe_topics([TOPIC])
    (response,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC)])
    entries = {entry[0]: entry[1] for entry in response.resources[0][4]}
    return {"partitions": len(topic["partitions"]), "retention": entries["retention.ms"]}


async def produce(codec: str) -> None:
    compression = None if codec == "none" else codec
    producer = AIOKafkaProducer(
        bootstrap_servers=BOOTSTRAP, compression_type=compression, enable_idempotence=True
    )
    async with producer:
        for index in range(EACH_CODEC):
            key, value = b"key %d" % index, f"{codec} {index}".encode()
            headers = [("codec", codec.encode())]
            await producer.send(TOPIC, value, key=key, headers=headers, timestamp_ms=FIRST_TIME_MS + index)


def consumer(group: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=BOOTSTRAP,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        heartbeat_interval_ms=100,
        fetch_max_wait_ms=100,
    )


async def committed(admin: AIOKafkaAdminClient, group: str) -> int:
    offsets = await admin.list_consumer_group_offsets(group)
    return sum(max(0, offset.offset) for offset in offsets.values())


def kind_of(record: ConsumerRecord[bytes, bytes]) -> str:
    """Its codec, where it came as it was sent."""
    codec = dict(record.headers)["codec"].decode()
    index = record.timestamp - FIRST_TIME_MS
    is_as_sent = (record.key, record.value) == (b"key %d" % index, f"{codec} {index}".encode())
    return codec if is_as_sent else f"strange: {record!r}"


async def consume(admin: AIOKafkaAdminClient, group: str) -> dict[str, Any]:
    reader = consumer(group)
    reader.subscribe([TOPIC])
    async with reader:
        read = Counter([kind_of(await reader.getone()) for _ in range(TOTAL)])
        await reader.commit()
    return {"read": read, "committed": await committed(admin, group)}


class Member(ConsumerRebalanceListener):
    """Reads in a task of its own, and counts its partitions."""

    def __init__(self, group: str) -> None:
        self.owned = 0
        self.consumer = consumer(group)
        self.consumer.subscribe([TOPIC], listener=self)

    async def start(self) -> None:
        await self.consumer.start()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for _ in self.consumer:
            pass

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        self.owned = 0

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        self.owned = len(assigned)

    async def leave(self) -> None:
        self.task.cancel()
        await self.consumer.stop()


async def rebalance(group: str) -> list[int]:
    first, second = Member(group), Member(group)
    await first.start()
    await until(lambda: first.owned == PARTITIONS)
    await second.start()
    await until(lambda: first.owned + second.owned == PARTITIONS and second.owned > 0)
    counts = sorted([first.owned, second.owned])
    await second.leave()
    await until(lambda: first.owned == PARTITIONS)
    await first.leave()
    return counts


async def transact(admin: AIOKafkaAdminClient) -> dict[str, Any]:
    group, copied = f"{TOPIC}-copying", f"{TOPIC}-copied"
    reader = consumer(group)
    reader.subscribe([TOPIC])
    producer = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=TOPIC)
    async with producer, reader:
        await producer.begin_transaction()
        await producer.send_and_wait(copied, b"never")
        await producer.abort_transaction()
        async with producer.transaction():
            for _ in range(TOTAL):
                await producer.send(copied, (await reader.getone()).value)
            offsets = {partition: await reader.position(partition) for partition in reader.assignment()}
            await producer.send_offsets_to_transaction(offsets, group)
    reader = consumer(f"{TOPIC}-copied")
    reader.subscribe([copied])
    async with reader:
        values = [(await reader.getone()).value for _ in range(TOTAL)]
    aborted = values.count(b"never")
    return {"read": TOTAL - aborted, "aborted": aborted, "committed": await committed(admin, group)}


async def main() -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    await admin.start()
    results: dict[str, Any] = {"admin": await administrate(admin)}
    for codec in CODECS:
        await produce(codec)
    results["group"] = await consume(admin, f"{TOPIC}-classic")
    results["rebalance"] = await rebalance(f"{TOPIC}-classic-members")
    results["transactions"] = await transact(admin)
    await admin.close()
    print(json.dumps(results))


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(), 60))
