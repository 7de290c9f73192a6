"""confluent_kafka.aio: the same code on the real package and on ours, and what only ours promises."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.compat.confluent_kafka.packages import OURS, REAL, Log, same

from barnabas.testing import ApacheKafka


def fill(bootstrap: str, topic: str, count: int) -> None:
    producer = REAL.Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number), "key", headers=[("a", b"b")])
    assert producer.flush(30) == 0


def group_settings(bootstrap: str, **others: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": uuid.uuid4().hex,
        "auto.offset.reset": "earliest",
        **others,
    }


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    """Runs a coroutine, which has to end within half a minute."""

    def run(work: Awaitable[Any]) -> Any:
        return asyncio.run(asyncio.wait_for(work, 30))

    return run


class TestConsuming:
    def test_a_consumer_reads_and_commits(self, apache_kafka: ApacheKafka, topic: Any) -> None:
        name = topic()
        fill(apache_kafka.bootstrap, name, 10)

        async def scenario(package: Any, log: Log) -> None:
            async def on_commit(error: Any, partitions: Any) -> None:
                log.say("on_commit", threading.current_thread().name, error, repr(partitions))

            async def on_assign(consumer: Any, partitions: list[Any]) -> None:
                log.say("on_assign", consumer is aio_consumer, repr(partitions))
                await log.await_("assignment inside", consumer.assignment)
                await log.await_("assign inside", lambda: consumer.assign(partitions))

            async def on_revoke(consumer: Any, partitions: list[Any]) -> None:
                log.say("on_revoke", repr(partitions))
                await log.await_("position inside", lambda: consumer.position(partitions))

            conf = group_settings(apache_kafka.bootstrap, **{"enable.auto.commit": False})
            conf["on_commit"] = on_commit
            partition = package.TopicPartition(name, 0)
            async with package.AIOConsumer(conf) as consumer:
                aio_consumer = consumer
                await log.await_("nothing", lambda: consumer.poll(0.01))
                await log.await_("none", consumer.assignment)
                await log.await_(
                    "subscribe", lambda: consumer.subscribe([name], on_assign=on_assign, on_revoke=on_revoke)
                )
                message = await log.await_("poll", lambda: consumer.poll(20))
                log.say(message.headers())
                await log.await_("consume", lambda: consumer.consume(3, 10))
                await log.await_("consume all", lambda: consumer.consume(num_messages=6, timeout=60))
                await log.await_("consume none", lambda: consumer.consume(0))
                await log.await_("too few", lambda: consumer.consume(-1))
                await log.await_("wrong", lambda: consumer.consume("x"))
                await log.await_("wrong timeout", lambda: consumer.poll("x"))
                await log.await_("surplus", lambda: consumer.poll(0, 0))
                await log.await_("unknown", lambda: consumer.poll(other=0))
                await log.await_("commit", lambda: consumer.commit(asynchronous=False))
                await log.await_("message", lambda: consumer.commit(message=message, asynchronous=False))
                await log.await_("both", lambda: consumer.commit(message=message, offsets=[partition]))
                await log.await_("committed", lambda: consumer.committed([partition], 10))
                await log.await_("position", lambda: consumer.position([partition]))
                await log.await_("seek", lambda: consumer.seek(package.TopicPartition(name, 0, 2)))
                await log.await_("sought", lambda: consumer.poll(20))
                await log.await_("pause", lambda: consumer.pause([partition]))
                await log.await_("resume", lambda: consumer.resume([partition]))
                await log.await_("store", lambda: consumer.store_offsets(offsets=[partition]))
                await log.await_("watermarks", lambda: consumer.get_watermark_offsets(partition, 10))
                wanted = [package.TopicPartition(name, 0, 0)]
                await log.await_("times", lambda: consumer.offsets_for_times(wanted, 10))
                cluster = await consumer.list_topics(name, 10)
                log.say(sorted(cluster.topics), await consumer.cluster_id(10) == cluster.cluster_id)
                log.say(type(await consumer.consumer_group_metadata()).__name__)
                await log.await_("credentials", lambda: consumer.set_sasl_credentials("a", "b"))
            for call in (consumer.close, consumer.assignment, lambda: consumer.poll(0)):
                await log.await_("closed", call)

        same(scenario)

    def test_arguments_of_the_constructor(self, apache_kafka: ApacheKafka) -> None:
        async def scenario(package: Any, log: Log) -> None:
            conf = group_settings(apache_kafka.bootstrap)
            for name, arguments in {
                "nothing": {},
                "no group": {"consumer_conf": {"bootstrap.servers": apache_kafka.bootstrap}},
                "unknown": {"consumer_conf": {**conf, "no.such.property": 1}},
                "no workers": {"consumer_conf": conf, "max_workers": 0},
            }.items():
                log.step(name, lambda arguments=arguments: package.AIOConsumer(**arguments))

        same(scenario)

    def test_what_a_callback_raises_comes_out_of_the_poll(
        self, apache_kafka: ApacheKafka, topic: Any
    ) -> None:
        name = topic()
        fill(apache_kafka.bootstrap, name, 1)

        async def scenario(package: Any, log: Log) -> None:
            async def fails(consumer: Any, partitions: list[Any]) -> None:
                raise ValueError("in the callback")

            for callback in (fails, lambda consumer, partitions: None):
                async with package.AIOConsumer(group_settings(apache_kafka.bootstrap)) as consumer:
                    await consumer.subscribe([name], on_assign=callback)
                    await log.await_("poll", lambda: consumer.poll(20))

        same(scenario)

    def test_calls_of_several_coroutines_take_turns(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any
    ) -> None:
        async def main() -> None:
            name = topic()
            fill(apache_kafka.bootstrap, name, 100)
            async with OURS.AIOConsumer(group_settings(apache_kafka.bootstrap)) as consumer:
                await consumer.subscribe([name])
                messages = await asyncio.gather(*[consumer.poll(20) for _ in range(100)])
                assert sorted(message.offset() for message in messages) == list(range(100))

        run(main())

    @pytest.mark.parametrize("call", ["poll", "consume"])
    def test_a_wait_that_is_cancelled_loses_no_message(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any, call: str
    ) -> None:
        async def main() -> None:
            name = topic()
            fill(apache_kafka.bootstrap, name, 1)
            offsets: list[int] = []
            async with OURS.AIOConsumer(group_settings(apache_kafka.bootstrap)) as consumer:
                await consumer.subscribe([name])
                for round_ in range(20):
                    wait = consumer.poll(20) if call == "poll" else consumer.consume(5, 20)
                    task = asyncio.create_task(wait)
                    await asyncio.sleep(0.005 * round_)
                    task.cancel()
                    await asyncio.wait([task])
                    if not task.cancelled() and (taken := task.result()):
                        offsets += [m.offset() for m in (taken if isinstance(taken, list) else [taken])]
                    fill(apache_kafka.bootstrap, name, 1)
                while len(offsets) < 21:
                    offsets.append((await consumer.poll(20)).offset())
            assert offsets == list(range(21))

        run(main())

    def test_a_callback_that_raises_costs_a_consume_no_message(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any
    ) -> None:
        async def main() -> None:
            name = topic()
            fill(apache_kafka.bootstrap, name, 3)
            raised: list[Exception] = []

            async def stats_cb(_: str) -> None:
                (position,) = await consumer.position([OURS.TopicPartition(name, 0)])
                if position.offset == 3 and not raised:
                    raised.append(ValueError("mine"))
                    raise raised[0]

            settings = {"statistics.interval.ms": 50, "stats_cb": stats_cb}
            async with OURS.AIOConsumer(group_settings(apache_kafka.bootstrap, **settings)) as consumer:
                await consumer.assign([OURS.TopicPartition(name, 0, 0)])
                with pytest.raises(ValueError, match="mine"):
                    await consumer.consume(5, 20)
                assert [message.offset() for message in await consumer.consume(3, 20)] == [0, 1, 2]

        run(main())

    def test_what_is_taken_for_a_loop_that_has_ended_is_given_out_on_the_next(
        self, apache_kafka: ApacheKafka, topic: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        has_taken, may_return = threading.Event(), threading.Event()

        async def begin() -> Any:
            name = topic()
            fill(apache_kafka.bootstrap, name, 2)
            consumer = OURS.AIOConsumer(group_settings(apache_kafka.bootstrap))
            await consumer.assign([OURS.TopicPartition(name, 0, 0)])
            consume = consumer._consumer.consume

            def consume_slowly(*args: Any) -> Any:
                taken = consume(*args)
                if taken:
                    has_taken.set()
                    assert may_return.wait(30)
                return taken

            monkeypatch.setattr(consumer._consumer, "consume", consume_slowly)
            waiting = asyncio.create_task(consumer.consume(1, 20))
            assert await asyncio.to_thread(has_taken.wait, 30)
            waiting.cancel()
            return consumer

        async def go_on(consumer: Any) -> list[int]:
            async with consumer:
                return [(await consumer.consume(1, 20))[0].offset() for _ in range(2)]

        consumer = asyncio.run(begin())
        may_return.set()
        assert asyncio.run(go_on(consumer)) == [0, 1]

    def test_waiting_takes_no_thread(self, apache_kafka: ApacheKafka, topic: Any, run: Any) -> None:
        async def main() -> None:
            name = topic()
            async with OURS.AIOConsumer(group_settings(apache_kafka.bootstrap)) as consumer:
                await consumer.assign([OURS.TopicPartition(name, 0)])
                waiting = asyncio.create_task(consumer.poll(20))
                # The client's own thread is free while the poll waits.
                for _ in range(5):
                    await asyncio.wait_for(consumer.assignment(), 5)
                assert not waiting.done()
                fill(apache_kafka.bootstrap, name, 1)
                assert (await waiting).value() == b"0"

        run(main())
