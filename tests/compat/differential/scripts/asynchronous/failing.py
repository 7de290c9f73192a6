"""What keeps clients for asyncio from their work: messages that cannot be sent, partitions that are lost."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.scripts.asynchronous.calls import a_consumer, attempt, read, run
from tests.compat.differential.scripts.asynchronous.producing import a_producer, tell
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

EAGER, COOPERATIVE, MODERN = "range", "cooperative-sticky", "consumer"


@on_both()
def messages_that_cannot_be_sent_fail_alone(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)

    async def main() -> None:
        producer = a_producer(aio, stage, {"message.max.bytes": 2000}, batch_size=1)
        await tell(stage, "first", [await producer.produce(topic, b"v", partition=0)])
        cases: dict[str, Any] = {
            "large": lambda: producer.produce(topic, b"v" * 3000, partition=0),
            "no such partition": lambda: producer.produce(topic, b"v", partition=7),
        }
        for label, produce in cases.items():
            try:
                future = await produce()
            except Exception as error:
                stage.record(label, error)
                continue
            await producer.flush(WAIT)
            await tell(stage, label, [future])
        # The original names the cause by whether it has asked for the topic before.
        badly_named = await producer.produce("no/topic", b"v")
        await producer.flush(WAIT)
        stage.record("bad name", isinstance(badly_named.exception(), kafka.KafkaException))
        await tell(stage, "last", [await producer.produce(topic, b"v", partition=0)])
        await producer.close()

    run(main())


@script()
def asynchronous_messages_find_the_queue_full(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        conf = {
            "bootstrap.servers": UNREACHABLE,
            "log_level": 0,
            "queue.buffering.max.messages": 2,
            "message.timeout.ms": 60_000,
        }
        producer = aio.AIOProducer(conf, batch_size=1, buffer_timeout=0)
        futures = [await producer.produce("t", b"%d" % number) for number in range(4)]
        stage.record("done", [future.done() for future in futures])
        await tell(stage, "no room", futures[2:])
        await producer.purge()
        await producer.flush(1)
        await tell(stage, "purged", futures[:2])
        again = await producer.produce("t", b"room again")
        stage.record("room again", again.done())
        await producer.purge()
        await producer.flush(1)
        await tell(stage, "again", [again])
        await producer.close()

    run(main())


def _rebalances(stage: Stage, seen: list[Any]) -> dict[str, Any]:
    def watch(label: str) -> Any:
        async def called(member: Any, partitions: list[Any]) -> None:
            await asyncio.sleep(0)
            seen.append([label, sorted(partition.partition for partition in partitions)])

        return called

    return {label: watch(label) for label in ("on_assign", "on_revoke", "on_lost")}


def _kind(protocol: str) -> dict[str, Any]:
    if protocol == MODERN:
        return {"group.protocol": "consumer"}
    return {"partition.assignment.strategy": protocol, "heartbeat.interval.ms": 100}


@on_both()
def asynchronous_callbacks_hear_of_each_kind_of_rebalance(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic, other = stage.topic(2), stage.topic(1)
    stage.fill(topic, "a", partition=0)
    stage.fill(topic, "b", partition=1)
    stage.fill(other, "c")

    async def main() -> None:
        for protocol in (EAGER, COOPERATIVE, MODERN):
            seen: list[Any] = []
            consumer = a_consumer(aio, stage, **_kind(protocol))
            await consumer.subscribe([topic], **_rebalances(stage, seen))
            stage.record("read", sorted(message.value() for message in await read(consumer, 2)))
            await consumer.subscribe([topic, other], **_rebalances(stage, seen))
            values: set[bytes] = set()
            while b"c" not in values:
                values |= {message.value() for message in await read(consumer, 1)}
            await attempt(stage, f"{protocol}: unsubscribe", consumer.unsubscribe)
            await attempt(stage, f"{protocol}: close", consumer.close)
            # In the consumer protocol brokers decide how often nothing changes.
            stage.record(f"{protocol}: heard", [told for told in seen if told[1] or protocol != MODERN])

    run(main())


@on_both()
def asynchronous_consumers_subscribe_to_the_same_again(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        for protocol in (EAGER, COOPERATIVE):
            seen: list[Any] = []
            consumer = a_consumer(aio, stage, **_kind(protocol))
            await consumer.subscribe([topic], **_rebalances(stage, seen))
            while not await consumer.assignment():
                await consumer.poll(0.1)
            await consumer.subscribe([topic], **_rebalances(stage, seen))
            # A rebalance comes with the next heartbeat.
            for _ in range(10):
                await consumer.poll(0.1)
            await attempt(stage, f"{protocol}: close", consumer.close)
            stage.record(f"{protocol}: heard", seen)

    run(main())


@on_both()
def asynchronous_callbacks_share_partitions_with_another_member(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic, group = stage.topic(2), stage.group()

    async def main() -> None:
        seen: dict[str, list[Any]] = {"first": [], "second": []}
        conf = {"group.id": group, **_kind(COOPERATIVE)}
        members = {name: a_consumer(aio, stage, **conf, **{"client.id": name}) for name in seen}

        async def poll_until(name: str, count: int) -> None:
            while not any(heard[0] == "on_assign" and len(heard[1]) == count for heard in seen[name]):
                await asyncio.gather(*(member.poll(0.1) for member in joined))

        joined = [members["first"]]
        await members["first"].subscribe([topic], **_rebalances(stage, seen["first"]))
        await poll_until("first", 2)
        joined.append(members["second"])
        await members["second"].subscribe([topic], **_rebalances(stage, seen["second"]))
        await poll_until("second", 1)
        stage.record("first", [[label, len(partitions)] for label, partitions in seen["first"] if partitions])
        stage.record(
            "second", [[label, len(partitions)] for label, partitions in seen["second"] if partitions]
        )
        for name, member in members.items():
            await attempt(stage, f"close {name}", member.close)

    run(main())


@on_apache()
def asynchronous_consumers_that_do_not_poll_lose_their_partitions(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def main() -> None:
        seen: list[Any] = []
        consumer = a_consumer(aio, stage, **_kind(MODERN), **{"max.poll.interval.ms": 1000})
        await consumer.subscribe([topic], **_rebalances(stage, seen))
        await read(consumer, 1)
        await asyncio.sleep(1.5)
        errors: list[Any] = []
        while not errors:
            message = await consumer.poll(0.2)
            if message is not None:
                errors.append(message.error())
        stage.record("error", errors[0].code())
        while len(seen) < 2:
            await consumer.poll(0.2)
        stage.record("heard", seen[:2])
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def asynchronous_consumers_are_told_of_topics_that_are_not_there(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    missing = stage.name("missing")

    async def main() -> None:
        for label, conf in {"quiet": {}, "reset": {"auto.offset.reset": "error"}}.items():
            consumer = a_consumer(aio, stage, **conf)
            topic = missing if label == "quiet" else stage.filled_topic("a")
            await consumer.subscribe([topic])
            message = None
            while message is None:
                message = await consumer.poll(1)
            stage.record(label, message.error())
            await attempt(stage, "close", consumer.close)

    run(main())
