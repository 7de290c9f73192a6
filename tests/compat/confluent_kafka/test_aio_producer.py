"""confluent_kafka.aio: the same code on the real package and on ours, and what only ours promises."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.compat.confluent_kafka.packages import OURS, REAL, Log, same

from barnabas.compat.confluent_kafka import KafkaException
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


class TestProducing:
    def test_arguments_of_the_constructor(self, apache_kafka: ApacheKafka) -> None:
        async def scenario(package: Any, log: Log) -> None:
            conf = {"bootstrap.servers": apache_kafka.bootstrap}
            for name, arguments in {
                "nothing": {},
                "None": {"producer_conf": None},
                "unknown": {"producer_conf": {"no.such.property": 1}},
                "no workers": {"producer_conf": conf, "max_workers": 0},
                "words for workers": {"producer_conf": conf, "max_workers": "x"},
                "words for a time": {"producer_conf": conf, "buffer_timeout": "x"},
                "other": {"producer_conf": conf, "other": 1},
                "all": {"producer_conf": conf, "max_workers": 1, "batch_size": 2, "buffer_timeout": 0},
            }.items():
                made = log.step(name, lambda arguments=arguments: package.AIOProducer(**arguments))
                if made is not None:
                    await made.close()

        same(scenario)

    @pytest.mark.parametrize("name", ["AIOProducer", "AIOConsumer"])
    def test_a_client_is_made_on_a_running_loop(self, name: str) -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            getattr(OURS, name)({"group.id": "g"})

    def test_produce_gives_a_future_of_the_message(self, apache_kafka: ApacheKafka, topic: Any) -> None:
        async def scenario(package: Any, log: Log) -> None:
            name = topic()
            async with package.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap}) as producer:
                futures = [
                    await producer.produce(name, b"v", b"k"),
                    await producer.produce(name, value="v", key="k"),
                    await producer.produce(topic=name),
                    await producer.produce(name, b"v", on_delivery=log.say, callback=log.say, other=1),
                ]
                log.say(len(producer), [type(future).__name__ for future in futures])
                await log.await_("headers", lambda: producer.produce(name, b"v", headers={"a": b"b"}))
                await log.await_("none", lambda: producer.produce(name, b"v", headers=None))
                await log.await_("flush", producer.flush)
                for future in futures:
                    message = await future
                    log.say(message.partition(), message.offset(), message.key(), message.value())
                    log.say(message.error(), message.headers(), message.latency() is not None)
                log.say(len(producer))
                future = await producer.produce(name, b"v", partition=0)
                await producer.flush()
                log.say((await future).partition(), (await future).offset())

        same(scenario)

    def test_what_cannot_be_produced_is_an_exception_of_the_future(
        self, apache_kafka: ApacheKafka, topic: Any
    ) -> None:
        async def scenario(package: Any, log: Log) -> None:
            conf = {"bootstrap.servers": apache_kafka.bootstrap, "message.max.bytes": 2000}
            async with package.AIOProducer(conf) as producer:
                for case, arguments in {
                    "too large": (topic(), b"x" * 5000),
                    "bad name": ("a/b", b"v"),
                    "no such partition": (topic(), b"v", None),
                }.items():
                    partition = 77 if case == "no such partition" else -1
                    future = await producer.produce(*arguments, partition=partition)
                    await log.await_("flush", producer.flush)
                    await log.await_(case, lambda future=future: asyncio.shield(_of(future)))

        same(scenario)

    def test_futures_are_done_without_anybody_polling(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any
    ) -> None:
        async def main() -> None:
            async with OURS.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap}) as producer:
                futures = [await producer.produce(topic(), b"v") for _ in range(10)]
                messages = await asyncio.gather(*futures)
                assert [message.error() for message in messages] == [None] * 10

        run(main())

    def test_producing_and_delivery_take_no_thread(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any
    ) -> None:
        async def main() -> None:
            producer = OURS.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap})
            before = set(threading.enumerate())
            name = topic()
            await asyncio.gather(*[await producer.produce(name, b"v") for _ in range(100)])
            assert not set(threading.enumerate()) - before
            await producer.close()

        run(main())

    def test_a_full_queue_is_waited_for(self, apache_kafka: ApacheKafka, topic: Any, run: Any) -> None:
        async def main() -> None:
            conf = {"bootstrap.servers": apache_kafka.bootstrap, "queue.buffering.max.messages": 10}
            name = topic()
            async with OURS.AIOProducer(conf, buffer_timeout=10) as producer:
                futures = [await producer.produce(name, str(number)) for number in range(200)]
                messages = await asyncio.gather(*futures)
            assert [message.offset() for message in messages] == list(range(200))

        run(main())

    @pytest.mark.integration
    def test_a_queue_that_stays_full_is_an_exception_of_the_future(self, run: Any) -> None:
        async def main() -> None:
            conf = {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 10}
            async with OURS.AIOProducer(conf, buffer_timeout=0) as producer:
                futures = [await producer.produce("t", b"v") for _ in range(11)]
                with pytest.raises(OURS.KafkaException) as raised:
                    await futures[10]
                assert raised.value.args[0].code() == OURS.KafkaError._QUEUE_FULL
                assert raised.value.args[0].str() == "Message failed: Local: Queue full"
                await producer.purge()
                await producer.flush()
                for future in futures[:10]:
                    with pytest.raises(OURS.KafkaException) as raised:
                        await future
                    assert raised.value.args[0].code() == OURS.KafkaError._PURGE_QUEUE

        run(main())

    def test_poll_counts_what_was_served_and_waits_for_something(
        self, apache_kafka: ApacheKafka, topic: Any, run: Any
    ) -> None:
        async def main() -> None:
            async with OURS.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap}) as producer:
                assert await producer.poll() == 0
                assert await producer.poll(0.01) == 0
                future = await producer.produce(topic(), b"v")
                assert await producer.poll(20) == 1
                assert future.done()
                assert await producer.poll(timeout=0) == 0

        run(main())

    @pytest.mark.integration
    def test_callbacks_are_awaited_on_the_loop(self, run: Any) -> None:
        async def main() -> None:
            heard: list[Any] = []

            async def error_cb(error: Any) -> None:
                await asyncio.sleep(0)
                heard.append((threading.current_thread(), error.code()))

            async def stats_cb(text: str) -> None:
                heard.append((threading.current_thread(), text[:1]))

            conf = {"bootstrap.servers": "127.0.0.1:1", "statistics.interval.ms": 50}
            producer = OURS.AIOProducer({**conf, "error_cb": error_cb, "stats_cb": stats_cb})
            future = await producer.produce("t", b"v")
            while {what for _, what in heard} < {OURS.KafkaError._TRANSPORT, "{"}:
                await producer.poll(0.1)
            assert {thread for thread, _ in heard} == {threading.current_thread()}
            await producer.purge()
            await producer.close()
            assert future.exception() is not None

        run(main())

    @pytest.mark.integration
    @pytest.mark.parametrize("call", ["flush", "poll", "close"])
    def test_what_a_callback_raised_between_calls_leaves_the_next_one(self, run: Any, call: str) -> None:
        async def main() -> None:
            begun = asyncio.Event()

            async def stats_cb(_: str) -> None:
                if not begun.is_set():
                    begun.set()
                    raise ValueError("mine")

            conf = {"bootstrap.servers": "127.0.0.1:1", "statistics.interval.ms": 50, "stats_cb": stats_cb}
            async with OURS.AIOProducer(conf) as producer:
                await begun.wait()
                with pytest.raises(ValueError, match="mine"):
                    await getattr(producer, call)()
                # Once, and closed all the same.
                if call != "close":
                    await producer.flush(1)
            with pytest.raises(RuntimeError, match="closed"):
                await producer.produce("topic")

        run(main())

    @pytest.mark.integration
    def test_callbacks_that_are_through_are_not_kept(self, run: Any) -> None:
        async def main() -> None:
            done: list[asyncio.Task[Any] | None] = []
            enough = asyncio.Event()

            async def stats_cb(_: str) -> None:
                done.append(asyncio.current_task())
                if len(done) == 3:
                    enough.set()

            conf = {"bootstrap.servers": "127.0.0.1:1", "statistics.interval.ms": 20, "stats_cb": stats_cb}
            async with OURS.AIOProducer(conf) as producer:
                await enough.wait()
                await asyncio.wait([task for task in done if task is not None])
                assert not producer._thread._under_way.intersection(done)

        run(main())

    def test_transactions(self, apache_kafka: ApacheKafka, topic: Any) -> None:
        async def scenario(package: Any, log: Log) -> None:
            name = topic()
            conf = {"bootstrap.servers": apache_kafka.bootstrap, "transactional.id": uuid.uuid4().hex}
            async with package.AIOProducer(conf) as producer:
                await log.await_("begin too early", producer.begin_transaction)
                await log.await_("init", lambda: producer.init_transactions(20))
                await log.await_("begin", producer.begin_transaction)
                future = await producer.produce(name, b"committed")
                await log.await_("commit", producer.commit_transaction)
                log.say(future.done(), (await future).error())
                await log.await_("begin", producer.begin_transaction)
                future = await producer.produce(name, b"aborted")
                await log.await_("abort", producer.abort_transaction)
                log.say(future.done())
                await log.await_("offsets", lambda: producer.send_offsets_to_transaction([], None))
            plain = package.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap})
            await log.await_("not transactional", plain.begin_transaction)
            await plain.close()

        same(scenario)

    @pytest.mark.filterwarnings("ignore:Producer abort_transaction failed:RuntimeWarning")
    def test_messages_of_a_fenced_producer_fail_and_one_poll_says_why(
        self, apache_kafka: ApacheKafka, topic: Any, run: Callable[[Awaitable[Any]], Any]
    ) -> None:
        async def scenario() -> None:
            name = topic()
            conf = {"bootstrap.servers": apache_kafka.bootstrap, "transactional.id": uuid.uuid4().hex}
            async with OURS.AIOProducer(conf) as older, OURS.AIOProducer(conf) as newer:
                await older.init_transactions(20)
                await older.begin_transaction()
                await newer.init_transactions(20)
                assert await _code(await older.produce(name, b"v")) == "_PURGE_QUEUE"
                assert await _code(older.poll(20)) == "_FENCED"
                await older.poll(0)
                assert await _code(older.commit_transaction()) == "_FENCED"

        run(scenario())

    @pytest.mark.filterwarnings("ignore:Producer abort_transaction failed:RuntimeWarning")
    def test_messages_fail_with_the_commit_of_a_fenced_producer(
        self, apache_kafka: ApacheKafka, topic: Any, run: Callable[[Awaitable[Any]], Any]
    ) -> None:
        async def scenario() -> None:
            name = topic()
            conf = {
                "bootstrap.servers": apache_kafka.bootstrap,
                "transactional.id": uuid.uuid4().hex,
                "linger.ms": 20_000,
            }
            async with OURS.AIOProducer(conf) as older, OURS.AIOProducer(conf) as newer:
                await older.init_transactions(20)
                await older.begin_transaction()
                await newer.init_transactions(20)
                futures = [await older.produce(name, b"v", partition=0) for _ in range(3)]
                assert await _code(older.commit_transaction()) == "_FENCED"
                assert {await _code(future) for future in futures} == {"_PURGE_QUEUE"}

        run(scenario())

    def test_what_brokers_know(self, apache_kafka: ApacheKafka, topic: Any) -> None:
        name = topic()
        fill(apache_kafka.bootstrap, name, 1)

        async def scenario(package: Any, log: Log) -> None:
            async with package.AIOProducer({"bootstrap.servers": apache_kafka.bootstrap}) as producer:
                cluster = await producer.list_topics(name)
                log.say(sorted(cluster.topics), await producer.cluster_id(10) == cluster.cluster_id)
                await log.await_("credentials", lambda: producer.set_sasl_credentials("a", "b"))

        same(scenario)


async def _code(awaitable: Awaitable[Any]) -> str:
    """The name of the error that it raises."""
    with pytest.raises(KafkaException) as raised:
        await awaitable
    return raised.value.args[0].name()


async def _of(future: asyncio.Future[Any]) -> Any:
    return await future
