"""ParallelConsumer, with threads and with tasks, on Apache Kafka."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, ParallelConsumer, Record, TopicPartition, aio
from barnabas.errors import InvalidSettingError

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Eventually = Callable[..., Any]


def keyed(start: int, end: int, keys: int) -> list[dict[str, bytes]]:
    return [{"value": b"%d" % n, "key": b"k%d" % (n % keys)} for n in range(start, end)]


def new_group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def committed(broker: Any, group: str, topic: str, partition: int = 0) -> int | None:
    with Consumer(broker.bootstrap, group_id=group) as observer:
        return getattr(
            observer.committed([(topic, partition)])[TopicPartition(topic, partition)], "offset", None
        )


class Handled:
    """Notes what was handled, how many at once, and stops the consumer after so many."""

    def __init__(self, stop_after: int) -> None:
        self.records: list[Record] = []
        self.most_at_once = 0
        self.consumer: Any = None
        self._stop_after = stop_after
        self._now = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)

    def end(self, record: Record) -> None:
        with self._lock:
            self._now -= 1
            self.records.append(record)
            if len(self.records) == self._stop_after:
                self.consumer.stop()

    def offsets_by_key(self) -> dict[bytes | None, list[int]]:
        by_key: defaultdict[bytes | None, list[int]] = defaultdict(list)
        for record in self.records:
            by_key[record.key].append(record.offset)
        return by_key


def run_handler(
    kind: str, broker: Any, stop_after: int, *, seconds: float = 0.002, **settings: Any
) -> Handled:
    """Runs a ParallelConsumer of either kind until so many records were handled."""
    handled = Handled(stop_after)
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 50, **settings}
    if kind == "threads":

        def handle(record: Record) -> None:
            handled.begin()
            time.sleep(seconds)
            handled.end(record)

        with ParallelConsumer(broker.bootstrap, handle, **settings) as consumer:
            handled.consumer = consumer
            consumer.run()
        return handled

    async def main() -> None:
        async def handle(record: Record) -> None:
            handled.begin()
            await asyncio.sleep(seconds)
            handled.end(record)

        async with aio.ParallelConsumer(broker.bootstrap, handle, **settings) as consumer:
            handled.consumer = consumer
            await consumer.run()

    asyncio.run(asyncio.wait_for(main(), 60))
    return handled


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_keys_are_handled_side_by_side_and_each_in_order(
    kind: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic, group = make_topic(broker), new_group()
    fill_topic(broker, topic, keyed(0, 400, 20))
    handled = run_handler(kind, broker, 400, topics=[topic], group_id=group, max_concurrency=8)
    assert 4 <= handled.most_at_once <= 8
    for key, offsets in handled.offsets_by_key().items():
        assert offsets == [n for n in range(400) if b"k%d" % (n % 20) == key]
    assert committed(broker, group, topic) == 400


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_partition_that_runs_ahead_of_its_handlers_pauses(
    kind: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic, group = make_topic(broker), new_group()
    fill_topic(broker, topic, keyed(0, 300, 1))
    handled = Handled(0)
    backlogs: list[int] = []

    def note_backlog() -> None:
        backlogs.append(sum(handled.consumer.backlog().values()))
        handled.records.append(None)  # type: ignore[arg-type]
        if len(handled.records) == 300:
            handled.consumer.stop()

    settings: Any = {
        "topics": [topic],
        "group_id": group,
        "max_backlog": 30,
        "max_poll_records": 10,
        "auto_offset_reset": "earliest",
    }
    if kind == "threads":
        with ParallelConsumer(broker.bootstrap, lambda record: note_backlog(), **settings) as consumer:
            handled.consumer = consumer
            consumer.run()
    else:

        async def handle(record: Record) -> None:
            note_backlog()
            await asyncio.sleep(0)

        async def main() -> None:
            async with aio.ParallelConsumer(broker.bootstrap, handle, **settings) as consumer:
                handled.consumer = consumer
                await consumer.run()

        asyncio.run(asyncio.wait_for(main(), 60))
    assert max(backlogs) <= 40
    assert committed(broker, group, topic) == 300


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_handler_that_fails_stops_the_run_and_its_record_is_not_committed(
    kind: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic, group = make_topic(broker), new_group()
    fill_topic(broker, topic, keyed(0, 50, 10))
    tries: list[int] = []

    def fail_at_20(record: Record) -> None:
        if record.offset == 20:
            tries.append(20)
            raise LookupError("not this one")

    settings: Any = {"topics": [topic], "group_id": group, "retries": 2, "retry_backoff_ms": 1}
    settings["auto_offset_reset"] = "earliest"

    def run_threads() -> None:
        with ParallelConsumer(broker.bootstrap, fail_at_20, **settings) as consumer:
            consumer.run()

    async def run_tasks() -> None:
        async def handle(record: Record) -> None:
            fail_at_20(record)

        async with aio.ParallelConsumer(broker.bootstrap, handle, **settings) as consumer:
            await consumer.run()

    with pytest.raises(LookupError, match="not this one") as raised:
        run_threads() if kind == "threads" else asyncio.run(asyncio.wait_for(run_tasks(), 60))
    assert f"{topic}-0 at offset 20" in raised.value.__notes__[0]
    assert tries == [20, 20, 20]
    finished = committed(broker, group, topic) or 0
    assert finished <= 20
    handled = run_handler(kind, broker, 50 - finished, topics=[topic], group_id=group)
    assert {record.offset for record in handled.records} >= set(range(20, 50))


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_record_that_keeps_failing_can_be_put_aside(
    kind: str, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic
) -> None:
    topic, group = make_topic(broker), new_group()
    fill_topic(broker, topic, keyed(0, 50, 10))
    aside: list[tuple[int, str]] = []
    count = 0
    lock = threading.Lock()
    settings: Any = {"topics": [topic], "group_id": group, "auto_offset_reset": "earliest"}

    def work(record: Record, stop: Callable[[], None]) -> None:
        nonlocal count
        with lock:
            count += 1
            if count == 50:
                stop()
        if record.offset % 10 == 3:
            raise LookupError("poison")

    if kind == "threads":
        with ParallelConsumer(
            broker.bootstrap,
            lambda record: work(record, consumer.stop),
            on_failure=lambda record, error: aside.append((record.offset, str(error))),
            **settings,
        ) as consumer:
            consumer.run()
    else:

        async def main() -> None:
            async def put_aside(record: Record, error: Exception) -> None:
                aside.append((record.offset, str(error)))

            async def handle(record: Record) -> None:
                work(record, consumer.stop)

            async with aio.ParallelConsumer(
                broker.bootstrap, handle, on_failure=put_aside, **settings
            ) as consumer:
                await consumer.run()

        asyncio.run(asyncio.wait_for(main(), 60))
    assert sorted(aside) == [(offset, "poison") for offset in range(3, 50, 10)]
    assert committed(broker, group, topic) == 50


def test_a_handler_that_takes_too_long_is_left_behind_when_the_consumer_closes(
    broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group = make_topic(broker), new_group()
    fill_topic(broker, topic, keyed(0, 3, 3))
    was_cancelled = asyncio.Event()

    async def main() -> None:
        async def handle(record: Record) -> None:
            if record.offset == 1:
                consumer.stop()
                try:
                    await asyncio.Event().wait()
                finally:
                    was_cancelled.set()

        async with aio.ParallelConsumer(
            broker.bootstrap,
            handle,
            topics=[topic],
            group_id=group,
            auto_offset_reset="earliest",
            drain_timeout_ms=200,
        ) as consumer:
            await consumer.run()

    asyncio.run(asyncio.wait_for(main(), 60))
    assert was_cancelled.is_set()
    assert "drain_timeout_ms" in caplog.text
    assert committed(broker, group, topic) == 1


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"enable_auto_commit": True}, "enable_auto_commit"),
        ({"max_concurrency": 0}, "max_concurrency must be at least 1"),
        ({"ordering": "time"}, "ordering must be one of"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidSettingError, match=match):
        ParallelConsumer("127.0.0.1:1", print, group_id="g", topics=["t"], **given)
