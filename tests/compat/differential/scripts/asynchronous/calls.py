"""Every method of AIOProducer and AIOConsumer, as it should be called, wrongly, and in wrong states."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, on_secure, script
from tests.compat.differential.scripts.oauth import OAUTH, token
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage

PRODUCER_CALLS = (
    "poll",
    "flush",
    "purge",
    "list_topics",
    "cluster_id",
    "init_transactions",
    "begin_transaction",
    "send_offsets_to_transaction",
    "commit_transaction",
    "abort_transaction",
    "set_sasl_credentials",
)
CONSUMER_CALLS = (
    "poll",
    "consume",
    "subscribe",
    "unsubscribe",
    "commit",
    "seek",
    "pause",
    "resume",
    "store_offsets",
    "committed",
    "assign",
    "unassign",
    "incremental_assign",
    "incremental_unassign",
    "assignment",
    "position",
    "consumer_group_metadata",
    "set_sasl_credentials",
    "list_topics",
    "cluster_id",
    "get_watermark_offsets",
    "offsets_for_times",
)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


async def attempt(
    stage: Stage, label: str, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
) -> Any:
    """As `Stage.attempt`, for what is awaited."""
    try:
        result = await call(*args, **kwargs)
    except Exception as error:
        stage.record(label, error)
        return None
    stage.record(label, result)
    return result


def a_consumer(aio: Any, stage: Stage, **more: Any) -> Any:
    conf = {
        "bootstrap.servers": stage.bootstrap,
        "group.id": stage.group(),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    return aio.AIOConsumer({**conf, **more})


async def read(consumer: Any, count: int) -> list[Any]:
    messages: list[Any] = []
    while len(messages) < count:
        message = await consumer.poll(1)
        if message is not None:
            messages.append(message)
    return messages


# Arguments and states


@script()
def calls_of_an_asynchronous_producer_check_their_arguments(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        producer = aio.AIOProducer({"log_level": 0})
        for name in PRODUCER_CALLS:
            for arguments in (("x",), (None,), ([],), (1, 2, 3, 4)):
                if name == "list_topics" and arguments in (("x",), (None,)):
                    continue
                await attempt(stage, f"{name}{arguments}", getattr(producer, name), *arguments)
        for name in ("flush", "purge", "list_topics", "cluster_id", "set_sasl_credentials"):
            await attempt(stage, f"{name} by a wrong name", getattr(producer, name), nonsense=1)
        await attempt(stage, "nothing", producer.produce)
        await attempt(stage, "headers", producer.produce, "t", b"v", headers={"a": b"b"})
        await attempt(stage, "close with arguments", producer.close, 1)
        await attempt(stage, "close", producer.close)

    run(main())


@script()
def calls_of_an_asynchronous_consumer_check_their_arguments(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    forever = [("list_topics", ("x",)), ("list_topics", (None,)), ("committed", ([],))]

    async def main() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        for name in CONSUMER_CALLS:
            for arguments in (("x",), (None,), ([],), ([3],), (1, 2, 3, 4, 5)):
                if (name, arguments) not in forever:
                    await attempt(stage, f"{name}{arguments}", getattr(consumer, name), *arguments)
            await attempt(stage, f"{name} by a wrong name", getattr(consumer, name), nonsense=1)
        for count in (0, -1, 2_000_000, "x"):
            await attempt(stage, f"consume {count}", consumer.consume, count, 0)
        await attempt(stage, "close with arguments", consumer.close, 1)

    run(main())


@script()
def calls_of_an_idle_asynchronous_consumer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    partition = kafka.TopicPartition("t", 0, 0)

    async def main() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        await attempt(stage, "poll", consumer.poll, 0.01)
        await attempt(stage, "consume", consumer.consume, 3, 0.01)
        await attempt(stage, "assignment", consumer.assignment)
        await attempt(stage, "position", consumer.position, [partition])
        await attempt(stage, "seek", consumer.seek, partition)
        await attempt(stage, "pause", consumer.pause, [partition])
        await attempt(stage, "commit", consumer.commit, asynchronous=False)
        await attempt(stage, "committed", consumer.committed, [partition], timeout=0.1)
        await attempt(stage, "watermarks", consumer.get_watermark_offsets, partition, cached=True)
        await attempt(stage, "watermarks asked for", consumer.get_watermark_offsets, partition, timeout=0.1)
        await attempt(stage, "topics", consumer.list_topics, timeout=0.1)
        await attempt(stage, "cluster", consumer.cluster_id, 0.1)
        await attempt(stage, "times", consumer.offsets_for_times, [partition], timeout=0.1)
        await attempt(stage, "credentials", consumer.set_sasl_credentials, "u", "p")
        await attempt(stage, "unsubscribe", consumer.unsubscribe)
        await attempt(stage, "unassign", consumer.unassign)
        await attempt(stage, "close", consumer.close)

    run(main())


@script()
def calls_after_the_end_of_an_asynchronous_consumer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        async with consumer as entered:
            stage.record("itself", entered is consumer)
        for name in (*CONSUMER_CALLS, "close"):
            await attempt(stage, name, getattr(consumer, name))
            await attempt(stage, f"{name} of something", getattr(consumer, name), [])

    run(main())


@script()
def an_asynchronous_producer_without_brokers(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        conf = {"bootstrap.servers": UNREACHABLE, "log_level": 0, "message.timeout.ms": 300}
        producer = aio.AIOProducer(conf, batch_size=1)
        await attempt(stage, "topics", producer.list_topics, timeout=0.3)
        await attempt(stage, "cluster", producer.cluster_id, 0.3)
        future = await producer.produce("t", b"v")
        await attempt(stage, "flush", producer.flush, WAIT)
        await attempt(stage, "its message", lambda: future)
        for name in ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction"):
            await attempt(stage, name, getattr(producer, name), *(() if name.startswith("begin") else (0.1,)))
        await attempt(stage, "credentials", producer.set_sasl_credentials, "u", "p")
        await attempt(stage, "purge", producer.purge)
        await attempt(stage, "close", producer.close)

    run(main())


@script()
def errors_reach_asynchronous_callbacks_in_the_loops_thread(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        here = threading.get_ident()
        for label, make in {
            "producer": aio.AIOProducer,
            "consumer": lambda conf: aio.AIOConsumer({"group.id": "g", **conf}),
        }.items():
            heard: dict[str, bool] = {}

            async def error_cb(error: Any, heard: dict[str, bool] = heard) -> None:
                await asyncio.sleep(0)
                heard.setdefault(error.name(), threading.get_ident() == here)

            async def stats_cb(text: str, heard: dict[str, bool] = heard) -> None:
                heard.setdefault("statistics", isinstance(text, str) and threading.get_ident() == here)

            client = make(
                {
                    "bootstrap.servers": UNREACHABLE,
                    "log_level": 0,
                    "statistics.interval.ms": 50,
                    "error_cb": error_cb,
                    "stats_cb": stats_cb,
                }
            )
            while not {"_TRANSPORT", "statistics"} <= heard.keys():
                await client.poll(0.1)
            stage.record(label, [heard["_TRANSPORT"], heard["statistics"]])
            await client.close()

    run(main())


@script()
def what_an_asynchronous_callback_raises_comes_out_of_poll(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def stats_cb(text: str) -> None:
        raise ValueError("from the callback")

    async def main() -> None:
        conf = {"group.id": "g", "log_level": 0, "statistics.interval.ms": 50, "stats_cb": stats_cb}
        consumer = aio.AIOConsumer(conf)
        await attempt(stage, "poll", consumer.poll, 10)
        # Statistics that come while it closes would raise as well.

    run(main())


@script()
def lines_for_an_asynchronous_clients_logger_come_on_the_loop(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    class Logger:
        def __init__(self) -> None:
            self.threads: set[int] = set()

        def log(self, *_: Any) -> None:
            self.threads.add(threading.get_ident())

    async def main() -> None:
        logger = Logger()
        producer = aio.AIOProducer(
            {"group.id": "a warning", "bootstrap.servers": UNREACHABLE, "logger": logger}
        )
        while not logger.threads:
            await producer.poll(0.1)
        stage.record("on the loop", logger.threads == {threading.get_ident()})
        await producer.close()

    run(main())


# With brokers


@on_both()
def an_asynchronous_producer_knows_its_cluster(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)

    async def main() -> None:
        async with aio.AIOProducer({"bootstrap.servers": stage.bootstrap, "log_level": 0}) as producer:
            cluster = await producer.list_topics(topic, timeout=WAIT)
            stage.record("partitions", sorted(cluster.topics[topic].partitions))
            stage.record("all", topic in (await producer.list_topics(timeout=WAIT)).topics)
            stage.record("cluster", await producer.cluster_id(WAIT) == cluster.cluster_id)
            await attempt(stage, "unknown", producer.list_topics, "no/topic", WAIT)

    run(main())


@on_both()
def asynchronous_messages_of_many_kinds_are_delivered(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)

    async def main() -> None:
        producer = aio.AIOProducer({"bootstrap.servers": stage.bootstrap, "log_level": 0}, batch_size=1)
        cases: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
            "text": (("value",), {"partition": 0}),
            "text and key": (("value", "key"), {"partition": 0}),
            "nothing": ((), {"partition": 1}),
            "key alone": ((None, b"key"), {"partition": 1}),
            "by name": ((), {"value": b"v", "key": b"k", "partition": 1}),
        }
        for label, (arguments, named) in cases.items():
            future = await producer.produce(topic, *arguments, **named)
            await producer.flush(WAIT)
            await attempt(stage, label, lambda made=future: made)
        stage.record("length", len(producer))
        await producer.close()
        stage.record("length when closed", len(producer))

    run(main())


@on_both()
def an_asynchronous_consumer_moves_through_its_partition(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b", "c", "d")
    partition = kafka.TopicPartition(topic, 0)

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        await attempt(stage, "assign", consumer.assign, [kafka.TopicPartition(topic, 0, 1)])
        await attempt(stage, "assignment", consumer.assignment)
        stage.record("messages", await read(consumer, 2))
        await attempt(stage, "position", consumer.position, [partition])
        await attempt(stage, "pause", consumer.pause, [partition])
        await attempt(stage, "paused", consumer.poll, 0.5)
        await attempt(stage, "resume", consumer.resume, [partition])
        stage.record("resumed", await read(consumer, 1))
        await attempt(stage, "seek", consumer.seek, kafka.TopicPartition(topic, 0, 0))
        batch = await consumer.consume(4, WAIT)
        stage.record("batch", [message.value() for message in batch])
        await attempt(stage, "watermarks", consumer.get_watermark_offsets, partition, WAIT)
        await attempt(stage, "known watermarks", consumer.get_watermark_offsets, partition, cached=True)
        times = [kafka.TopicPartition(topic, 0, 1_600_000_000_002)]
        await attempt(stage, "times", consumer.offsets_for_times, times, WAIT)
        await attempt(stage, "unassign", consumer.unassign)
        await attempt(stage, "assignment after", consumer.assignment)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def an_asynchronous_consumer_is_assigned_piece_by_piece(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)
    stage.fill(topic, "a", partition=0)
    stage.fill(topic, "b", partition=1)

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        first, second = (kafka.TopicPartition(topic, number, 0) for number in (0, 1))
        await attempt(stage, "first", consumer.incremental_assign, [first])
        stage.record("first message", (await read(consumer, 1))[0].value())
        await attempt(stage, "second", consumer.incremental_assign, [second])
        stage.record("second message", (await read(consumer, 1))[0].value())
        await attempt(stage, "twice", consumer.incremental_assign, [second])
        await attempt(stage, "without the first", consumer.incremental_unassign, [first])
        await attempt(stage, "assignment", consumer.assignment)
        await attempt(stage, "twice gone", consumer.incremental_unassign, [first])
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def an_asynchronous_consumer_commits_in_every_way(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b", "c")
    partition = kafka.TopicPartition(topic, 0)

    async def main() -> None:
        is_told = asyncio.Event()
        here = threading.get_ident()

        async def on_commit(error: Any, partitions: list[Any]) -> None:
            stage.record("on_commit", [error, partitions, threading.get_ident() == here])
            is_told.set()

        consumer = a_consumer(aio, stage, **{"on_commit": on_commit, "enable.auto.offset.store": False})
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        messages = await read(consumer, 3)
        await attempt(stage, "nothing stored", consumer.commit, asynchronous=False)
        await attempt(stage, "store a message", consumer.store_offsets, messages[0])
        await attempt(stage, "commit", consumer.commit, asynchronous=False)
        await attempt(stage, "committed", consumer.committed, [partition], WAIT)
        await attempt(stage, "commit a message", consumer.commit, messages[1], asynchronous=False)
        offsets = [kafka.TopicPartition(topic, 0, 3, "some metadata")]
        await attempt(stage, "commit offsets", consumer.commit, offsets=offsets, asynchronous=False)
        await attempt(stage, "with metadata", consumer.committed, [partition], WAIT)
        await attempt(stage, "both", consumer.commit, message=messages[0], offsets=offsets)
        await attempt(stage, "store offsets", consumer.store_offsets, offsets=offsets)
        await attempt(stage, "later", consumer.commit, offsets=[kafka.TopicPartition(topic, 0, 2)])
        while not is_told.is_set():
            await consumer.poll(0.1)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def asynchronous_rebalance_callbacks_may_use_their_consumer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b", "c")

    async def main() -> None:
        consumer = a_consumer(aio, stage)

        async def assigned(member: Any, partitions: list[Any]) -> None:
            stage.record("itself", member is consumer)
            for partition in partitions:
                partition.offset = 1
            await attempt(stage, "assign", member.assign, partitions)
            await attempt(stage, "assignment", member.assignment)

        async def revoked(member: Any, partitions: list[Any]) -> None:
            await attempt(stage, "commit", member.commit, asynchronous=False)
            await attempt(stage, "position", member.position, partitions)

        await attempt(stage, "subscribe", consumer.subscribe, [topic], on_assign=assigned, on_revoke=revoked)
        stage.record("values", [message.value() for message in await read(consumer, 2)])
        metadata = await consumer.consumer_group_metadata()
        stage.record("metadata", isinstance(metadata, bytes))
        await attempt(stage, "unsubscribe", consumer.unsubscribe)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def what_an_asynchronous_rebalance_callback_raises(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def main() -> None:
        consumer = a_consumer(aio, stage)

        async def assigned(member: Any, partitions: list[Any]) -> None:
            raise ValueError("from on_assign")

        await consumer.subscribe([topic], on_assign=assigned)
        while True:
            try:
                await consumer.poll(1)
            except ValueError as error:
                stage.record("poll", error)
                break
        await attempt(stage, "close", consumer.close)

    run(main())


@on_apache()
def asynchronous_transactions_commit_and_abort(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic, source = stage.topic(), stage.filled_topic("x")

    async def main() -> None:
        conf = {
            "bootstrap.servers": stage.bootstrap,
            "transactional.id": stage.name("transactional"),
            "log_level": 0,
        }
        producer = aio.AIOProducer(conf, batch_size=1)
        await attempt(stage, "too soon", producer.begin_transaction)
        await attempt(stage, "init", producer.init_transactions, WAIT)
        await attempt(stage, "init again", producer.init_transactions, WAIT)
        await attempt(stage, "begin", producer.begin_transaction)
        await attempt(stage, "begin again", producer.begin_transaction)
        kept = await producer.produce(topic, b"kept")
        consumer = a_consumer(aio, stage)
        await consumer.assign([kafka.TopicPartition(source, 0, 0)])
        await read(consumer, 1)
        positions = await consumer.position(await consumer.assignment())
        metadata = await consumer.consumer_group_metadata()
        await attempt(stage, "offsets", producer.send_offsets_to_transaction, positions, metadata, WAIT)
        await attempt(stage, "commit", producer.commit_transaction, WAIT)
        await attempt(stage, "kept", lambda: kept)
        await attempt(stage, "commit again", producer.commit_transaction, WAIT)
        await attempt(stage, "begin the second", producer.begin_transaction)
        dropped = await producer.produce(topic, b"dropped")
        await attempt(stage, "abort", producer.abort_transaction, WAIT)
        stage.record("dropped", (await dropped).value())
        await producer.close()
        await attempt(stage, "committed", consumer.committed, positions, WAIT)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        stage.record("read", [message.value() for message in await read(consumer, 1)])
        stage.record("no more", await consumer.poll(1))
        await consumer.close()

    run(main())


@on_both()
def serialized_messages_are_produced_and_consumed_asynchronously(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    serialization: Any = stage.module("serialization")
    topic = stage.topic()

    async def main() -> None:
        producer = await aio.AsyncSerializingProducer(
            {
                "bootstrap.servers": stage.bootstrap,
                "key.serializer": serialization.StringSerializer(),
                "value.serializer": serialization.IntegerSerializer(),
                "log_level": 0,
            }
        )
        future = await producer.produce(topic, key="k", value=7, partition=0)
        await attempt(stage, "flush", producer.flush, WAIT)
        await attempt(stage, "message", lambda: future)
        await attempt(stage, "wrong key", producer.produce, topic, key=3, value=7)
        await attempt(stage, "wrong value", producer.produce, topic, key="k", value="v")
        await attempt(stage, "wrong topic", producer.produce, 3, key="k", value=7)
        await attempt(stage, "close", producer.close)
        await attempt(stage, "close again", producer.close)
        await attempt(stage, "closed", producer.produce, topic, key="k", value=7)
        consumer = await aio.AsyncDeserializingConsumer(
            {
                "bootstrap.servers": stage.bootstrap,
                "group.id": stage.group(),
                "key.deserializer": serialization.StringDeserializer(),
                "value.deserializer": serialization.IntegerDeserializer(),
                "log_level": 0,
            }
        )
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        stage.record("read", [(m.key(), m.value()) for m in await read(consumer, 1)])
        await consumer.seek(kafka.TopicPartition(topic, 0, 0))
        stage.record("batch", [(m.key(), m.value()) for m in await consumer.consume(1, WAIT)])
        stage.fill(topic, "no number")
        await attempt(stage, "wrong message", consumer.poll, WAIT)
        await attempt(stage, "close", consumer.close)
        await attempt(stage, "close again", consumer.close)

    run(main())


@on_secure()
def asynchronous_clients_get_in_by_a_token(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    def oauth_cb(config: str | None) -> tuple[str, float]:
        return token(), time.time() + 3600

    conf = {**OAUTH, "bootstrap.servers": stage.bootstrap}

    async def main() -> None:
        producer = aio.AIOProducer({**conf, "oauth_cb": oauth_cb}, batch_size=1)
        future = await producer.produce(topic, b"v")
        await attempt(stage, "flush", producer.flush, WAIT)
        await attempt(stage, "message", lambda: future)
        consumer = aio.AIOConsumer(
            {**conf, "oauth_cb": oauth_cb, "group.id": stage.group(), "auto.offset.reset": "earliest"}
        )
        await attempt(stage, "subscribe", consumer.subscribe, [topic])
        stage.record("read", [message.value() for message in await read(consumer, 1)])
        await attempt(stage, "close", consumer.close)
        await attempt(stage, "close the producer", producer.close)

    run(main())


@on_secure()
def asynchronous_clients_hear_of_wrong_passwords(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        refused = asyncio.Event()
        told: list[Any] = []

        async def error_cb(error: Any) -> None:
            if error.code() == kafka.KafkaError._AUTHENTICATION:
                told.append(error)
                refused.set()

        conf = {
            "bootstrap.servers": stage.bootstrap,
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "admin",
            "sasl.password": "wrong",
            "log_level": 0,
            "error_cb": error_cb,
        }
        producer = aio.AIOProducer(conf)
        while not refused.is_set():
            await producer.poll(0.1)
        stage.record("told", told[0])
        await attempt(stage, "other credentials", producer.set_sasl_credentials, "admin", "admin-secret")
        stage.record("topics", bool((await producer.list_topics(timeout=WAIT)).brokers))
        await producer.close()

    run(main())
