"""AIOConsumer's rebalances and positions, and calls that are made at once, cancelled or wrong."""

from __future__ import annotations

import asyncio
import threading
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.scripts.asynchronous.calls import a_consumer, attempt, read, run
from tests.compat.differential.stage import WAIT, Stage


async def until_raised(stage: Stage, label: str, consumer: Any) -> None:
    """Polls until something is raised."""
    while True:
        try:
            await consumer.poll(0.5)
        except Exception as error:
            stage.record(label, error)
            return


@on_both()
def plain_functions_as_rebalance_callbacks(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def main() -> None:
        consumer = a_consumer(aio, stage)

        def assigned(member: Any, partitions: list[Any]) -> None:
            stage.record("assigned", [member is consumer, partitions])

        await consumer.subscribe([topic], on_assign=assigned)
        await until_raised(stage, "poll", consumer)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def rebalance_callbacks_by_position(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b")

    async def main() -> None:
        here = threading.get_ident()
        consumer = a_consumer(aio, stage)

        def assigned(member: Any, partitions: list[Any]) -> None:
            stage.record("assigned", [partitions, threading.get_ident() == here])
            for partition in partitions:
                partition.offset = 1
            stage.attempt("assign", member.assign, partitions)
            stage.attempt("assignment", member.assignment)

        def revoked(member: Any, partitions: list[Any]) -> None:
            stage.record("revoked", [len(partitions), threading.get_ident() == here])
            stage.attempt("position", member.position, partitions)

        await consumer.subscribe([topic], assigned, revoked)
        stage.record("read", [message.value() for message in await read(consumer, 1)])
        await attempt(stage, "unsubscribe", consumer.unsubscribe)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def what_on_revoke_raises_comes_out_of_the_call_that_gives_up(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def revoked(member: Any, partitions: list[Any]) -> None:
        raise ValueError("from on_revoke")

    async def main() -> None:
        for end in ("unsubscribe", "close"):
            consumer = a_consumer(aio, stage)
            await consumer.subscribe([topic], on_revoke=revoked)
            await read(consumer, 1)
            await attempt(stage, end, getattr(consumer, end))
            await attempt(stage, "poll", consumer.poll, 0)
            await attempt(stage, "close after it", consumer.close)

    run(main())


@script()
def arguments_of_asynchronous_subscriptions(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def callback(*_: Any) -> None:
        pass

    async def main() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        for topics in ([], ["t"], ["t", "t"], [""], ["^t"], ["t", 3], [None], ("t",), "t", None, {"t"}):
            await attempt(stage, f"subscribe {topics!r}", consumer.subscribe, topics)
        await attempt(stage, "by name", consumer.subscribe, topics=["t"], on_lost=callback)
        for value in (3, None):
            await attempt(stage, f"positional {value!r}", consumer.subscribe, ["t"], value)
        await attempt(stage, "two positional", consumer.subscribe, ["t"], callback, 3)
        await attempt(stage, "twice", consumer.subscribe, ["t"], callback, on_assign=callback)
        await attempt(stage, "five", consumer.subscribe, ["t"], callback, callback, callback, callback)
        await attempt(stage, "close", consumer.close)

    run(main())


@script()
def waits_of_asynchronous_consumers_are_checked(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        consumer = aio.AIOConsumer({"group.id": "g", "log_level": 0})
        for wrong in ("x", None, b"1", [1], {}, 1j, "1"):
            await attempt(stage, f"poll {wrong!r}", consumer.poll, wrong)
            await attempt(stage, f"poll by name {wrong!r}", consumer.poll, timeout=wrong)
            await attempt(stage, f"consume {wrong!r}", consumer.consume, wrong, 0)
            await attempt(stage, f"consume for {wrong!r}", consumer.consume, 1, wrong)
            await attempt(
                stage, f"consume by name {wrong!r}", consumer.consume, num_messages=wrong, timeout=0
            )
        for right in (0, 0.0, 0.01, True, False):
            await attempt(stage, f"poll {right!r}", consumer.poll, right)
            await attempt(stage, f"consume for {right!r}", consumer.consume, 1, right)
        for count in (0, 1, True, 1.5, 1_000_000, 1_000_001, -1, 2**40, 2**70):
            await attempt(stage, f"consume {count!r}", consumer.consume, count, 0)
            await attempt(
                stage, f"consume {count!r} by name", consumer.consume, num_messages=count, timeout=0
            )
        await attempt(stage, "poll of two", consumer.poll, 0, 0)
        await attempt(stage, "poll twice", consumer.poll, 0, timeout=0)
        await attempt(stage, "consume of three", consumer.consume, 1, 0, 0)
        await attempt(stage, "consume twice", consumer.consume, 1, 0, timeout=0)
        await attempt(stage, "wrong name", consumer.consume, 1, 0, nonsense=0)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def positions_of_asynchronous_consumers(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic(2)
    stage.fill(topic, "a", "b", "c", partition=0)

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        read_one, other, missing = (kafka.TopicPartition(topic, number) for number in (0, 1, 7))
        for label, partition in {"unassigned": read_one, "missing": missing}.items():
            await attempt(
                stage, f"seek {label}", consumer.seek, kafka.TopicPartition(topic, partition.partition, 1)
            )
            await attempt(stage, f"pause {label}", consumer.pause, [partition])
            await attempt(stage, f"resume {label}", consumer.resume, [partition])
            await attempt(stage, f"position {label}", consumer.position, [partition])
            await attempt(
                stage, f"store {label}", consumer.store_offsets, offsets=[kafka.TopicPartition(topic, 0, 1)]
            )
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        await attempt(stage, "position before", consumer.position, [read_one, other])
        await read(consumer, 2)
        await attempt(stage, "position after", consumer.position, [read_one, other])
        await attempt(stage, "committed", consumer.committed, [read_one, other], WAIT)
        await attempt(stage, "commit", consumer.commit, asynchronous=False)
        await attempt(stage, "committed now", consumer.committed, [read_one, other], timeout=WAIT)
        times = [kafka.TopicPartition(topic, 0, when) for when in (0, 1_600_000_000_001, 2**45, -1)]
        for asked in times:
            await attempt(stage, f"time {asked.offset}", consumer.offsets_for_times, [asked], WAIT)
        await attempt(stage, "times of none", consumer.offsets_for_times, [])
        await attempt(stage, "watermarks", consumer.get_watermark_offsets, other, WAIT)
        await attempt(stage, "watermarks of a missing one", consumer.get_watermark_offsets, missing, WAIT)
        for offset in (kafka.OFFSET_BEGINNING, kafka.OFFSET_END, 2, 100):
            await attempt(stage, f"seek {offset}", consumer.seek, kafka.TopicPartition(topic, 0, offset))
        await attempt(stage, "pause", consumer.pause, [read_one])
        await attempt(stage, "pause twice", consumer.pause, [read_one, other])
        await attempt(stage, "resume", consumer.resume, [read_one, other])
        await attempt(stage, "unassign", consumer.unassign)
        await attempt(stage, "position at last", consumer.position, [read_one])
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def metadata_of_groups_of_asynchronous_consumers(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        before = await consumer.consumer_group_metadata()
        await consumer.subscribe([topic])
        await read(consumer, 1)
        after = await consumer.consumer_group_metadata()
        stage.record("kinds", [type(before), type(after), before == after, len(before) < len(after)])
        await attempt(stage, "of something", consumer.consumer_group_metadata, 3)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def calls_of_an_asynchronous_consumer_at_once(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic(*"abcdef")

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        batches = await asyncio.gather(*(consumer.consume(2, WAIT) for _ in range(3)))
        stage.record("read", sorted(message.value() for batch in batches for message in batch))
        results = await asyncio.gather(
            consumer.assignment(),
            consumer.position([kafka.TopicPartition(topic, 0)]),
            consumer.commit(asynchronous=False),
            consumer.poll(0),
            consumer.seek(3),
            return_exceptions=True,
        )
        for number, result in enumerate(results):
            stage.record(f"result {number}", result)
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def an_asynchronous_consumer_goes_on_after_a_cancelled_poll(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        consumer = a_consumer(aio, stage)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        # Its wait ends before there are messages: the original loses what a cancelled call takes.
        try:
            await asyncio.wait_for(consumer.poll(0.5), 0.1)
        except TimeoutError as error:
            stage.record("cancelled", error)
        await attempt(stage, "poll", consumer.poll, 0.5)
        await asyncio.to_thread(stage.fill, topic, "a", "b")
        stage.record("read", [message.value() for message in await read(consumer, 2)])
        await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def commits_of_asynchronous_consumers_that_call_back(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a", "b")

    def plain(error: Any, partitions: list[Any]) -> None:
        stage.record("plain", [error, partitions])

    async def raising(error: Any, partitions: list[Any]) -> None:
        raise ValueError("from on_commit")

    async def main() -> None:
        for label, callback in {"plain": plain, "raising": raising}.items():
            consumer = a_consumer(aio, stage, on_commit=callback)
            await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
            await read(consumer, 1)
            await attempt(
                stage, f"{label}: commit", consumer.commit, offsets=[kafka.TopicPartition(topic, 0, 1)]
            )
            await until_raised(stage, f"{label}: poll", consumer)
            await attempt(stage, f"{label}: close", consumer.close)

    run(main())
