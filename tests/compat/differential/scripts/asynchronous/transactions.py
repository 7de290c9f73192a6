"""Transactions of AIOProducer, in every order and in wrong ones."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.scripts.asynchronous.calls import a_consumer, attempt, read, run
from tests.compat.differential.scripts.asynchronous.producing import a_producer, tell
from tests.compat.differential.stage import UNREACHABLE, WAIT, Stage


def transactional(aio: Any, stage: Stage, name: str, **arguments: Any) -> Any:
    return a_producer(aio, stage, {"transactional.id": name}, **arguments)


@script()
def transactions_that_cannot_be(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    partitions = [kafka.TopicPartition("t", 0, 1)]

    async def main() -> None:
        for label, conf in {"none": {}, "not ready": {"transactional.id": "t"}}.items():
            producer = aio.AIOProducer({"bootstrap.servers": UNREACHABLE, "log_level": 0, **conf})
            for name in ("begin_transaction", "commit_transaction", "abort_transaction"):
                await attempt(stage, f"{label}: {name}", getattr(producer, name))
            # None without a NUL after the magic: librdkafka reads on behind its end, whatever is there.
            for metadata in (b"", b"x", b"x" * 20, None, 3):
                await attempt(
                    stage,
                    f"{label}: {metadata!r}",
                    producer.send_offsets_to_transaction,
                    partitions,
                    metadata,
                    0.1,
                )
            await attempt(stage, f"{label}: init", producer.init_transactions, 0.2)
            await attempt(stage, f"{label}: close", producer.close)

    run(main())


@on_apache()
def asynchronous_transactions_in_the_wrong_order(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        producer = transactional(aio, stage, stage.name("transactional"), batch_size=1)
        await attempt(stage, "init", producer.init_transactions, WAIT)
        await tell(stage, "outside", [await producer.produce(topic, b"outside")])
        await attempt(stage, "commit without one", producer.commit_transaction, WAIT)
        await attempt(stage, "abort without one", producer.abort_transaction, WAIT)
        await attempt(stage, "begin", producer.begin_transaction)
        await attempt(stage, "commit nothing", producer.commit_transaction, WAIT)
        await attempt(stage, "begin", producer.begin_transaction)
        await attempt(stage, "abort nothing", producer.abort_transaction, WAIT)
        await attempt(stage, "begin", producer.begin_transaction)
        await attempt(stage, "init within", producer.init_transactions, WAIT)
        await attempt(stage, "commit", producer.commit_transaction, WAIT)
        await attempt(stage, "close", producer.close)

    run(main())


@on_apache()
def messages_in_the_buffer_belong_to_the_transaction(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        producer = transactional(aio, stage, stage.name("transactional"), buffer_timeout=0)
        await producer.init_transactions(WAIT)
        await producer.begin_transaction()
        committed = [await producer.produce(topic, b"committed %d" % n) for n in range(3)]
        await attempt(stage, "commit", producer.commit_transaction, WAIT)
        await tell(stage, "committed", committed)
        await producer.begin_transaction()
        aborted = [await producer.produce(topic, b"aborted %d" % n) for n in range(3)]
        await attempt(stage, "abort", producer.abort_transaction, WAIT)
        await tell(stage, "aborted", aborted)
        await producer.begin_transaction()
        left = [await producer.produce(topic, b"left")]
        await attempt(stage, "close", producer.close)
        await tell(stage, "left", left)
        consumer = a_consumer(aio, stage)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        stage.record("read", [message.value() for message in await read(consumer, 3)])
        await consumer.close()

    run(main())


@on_apache()
def offsets_are_sent_to_asynchronous_transactions(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b")

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        await read(consumer, 2)
        metadata = await consumer.consumer_group_metadata()
        partition = kafka.TopicPartition(topic, 0)
        positions = await consumer.position([partition])
        producer = transactional(aio, stage, stage.name("transactional"))
        await producer.init_transactions(WAIT)
        for end in ("abort_transaction", "commit_transaction"):
            await producer.begin_transaction()
            for offsets in ([], positions):
                await attempt(
                    stage,
                    f"send {len(offsets)}",
                    producer.send_offsets_to_transaction,
                    offsets,
                    metadata,
                    WAIT,
                )
            await attempt(stage, end, getattr(producer, end), WAIT)
            await attempt(stage, "committed", consumer.committed, [partition], WAIT)
        await producer.begin_transaction()
        for wrong in (
            (3, metadata),
            (positions, 3),
            (positions, b"nonsense"),
            (["x"], metadata),
            (positions,),
        ):
            await attempt(stage, f"send {len(wrong)} wrong", producer.send_offsets_to_transaction, *wrong)
        await attempt(stage, "abort", producer.abort_transaction, WAIT)
        await producer.close()
        await consumer.close()

    run(main())


@on_apache()
def a_fenced_asynchronous_producer(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic, name = stage.topic(), stage.name("transactional")

    async def main() -> None:
        first = transactional(aio, stage, name, batch_size=1)
        await first.init_transactions(WAIT)
        await first.begin_transaction()
        await tell(stage, "before", [await first.produce(topic, b"before")])
        second = transactional(aio, stage, name, batch_size=1)
        await attempt(stage, "the second's init", second.init_transactions, WAIT)
        try:
            await first.commit_transaction(WAIT)
        except kafka.KafkaException as error:
            stage.record("commit", [error.args[0].code(), error.args[0].fatal()])
        await attempt(stage, "the second's begin", second.begin_transaction)
        future = await second.produce(topic, b"second's")
        await attempt(stage, "the second's commit", second.commit_transaction, WAIT)
        stage.record("its message", (await future).value())
        await second.close()

    run(main())
