from __future__ import annotations

import asyncio
import gc
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from barnabas._kernel import Accumulator, Delivery, ProducerBatch, RecordMetadata
from barnabas.errors import ClosedError, KafkaTimeoutError

Append = Callable[..., tuple[ProducerBatch, list[Delivery]]]


@pytest.fixture
def append() -> Append:
    """A drained batch of so many records, with their deliveries."""

    def append_records(
        count: int = 1, on_delivery: Callable[[Any, Any], object] | None = None
    ) -> tuple[ProducerBatch, list[Delivery]]:
        accumulator = Accumulator(
            batch_size=1 << 20,
            buffer_memory=1 << 25,
            max_record_bytes=1 << 20,
            compression="none",
            compression_level=None,
            partitioner="murmur2",
            wake=lambda: None,
        )
        accumulator.set_partition_count("t", 3)
        deliveries: list[Delivery] = []
        for i in range(count):
            delivery = accumulator.append("t", 2, None, b"v", None, 1000 + i, on_delivery)
            assert delivery is not None
            deliveries.append(delivery)
        batch = accumulator.drain("t", 2)
        assert batch is not None
        return batch, deliveries

    return append_records


def test_records_learn_their_offset_and_keep_their_timestamp(append: Append) -> None:
    batch, deliveries = append(3)
    assert not any(delivery.done() for delivery in deliveries)
    batch.complete(40)
    assert [delivery.result() for delivery in deliveries] == [
        RecordMetadata("t", 2, 40 + i, 1000 + i) for i in range(3)
    ]
    assert all(delivery.done() and delivery.exception() is None for delivery in deliveries)


def test_a_timestamp_of_the_broker_overrules_that_of_the_record(append: Append) -> None:
    batch, (delivery,) = append()
    batch.complete(40, 9999)
    assert delivery.result() == RecordMetadata("t", 2, 40, 9999)


def test_without_acknowledgement_the_offset_is_unknown(append: Append) -> None:
    batch, deliveries = append(3)
    batch.complete(-1)
    assert {delivery.result().offset for delivery in deliveries} == {-1}


def test_a_failed_batch_raises_its_error_for_each_record(append: Append) -> None:
    batch, deliveries = append(3)
    error = KafkaTimeoutError("delivery_timeout_ms passed")
    batch.fail(error)
    for delivery in deliveries:
        assert delivery.exception() is error
        with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms passed"):
            delivery.result()


def test_only_the_first_decision_counts(append: Append) -> None:
    batch, (delivery,) = append()
    batch.complete(40)
    batch.fail(ValueError("too late"))
    batch.complete(50)
    assert delivery.result().offset == 40


def test_one_record_may_fail_alone(append: Append) -> None:
    batch, deliveries = append(3)
    batch.fail_record(1, ValueError("bad record"))
    assert [delivery.done() for delivery in deliveries] == [False, True, False]
    batch.complete(40)
    assert [delivery.exception() is None for delivery in deliveries] == [True, False, True]
    assert deliveries[2].result().offset == 42
    with pytest.raises(IndexError, match="record 3 of a batch with 3 records"):
        batch.fail_record(3, ValueError())


def test_a_record_that_failed_alone_is_left_out_of_a_split(append: Append) -> None:
    batch, deliveries = append(5)
    batch.fail_record(1, ValueError("bad record"))
    parts = batch.split(80)
    assert sum(part.record_count for part in parts) == 4
    offset = 0
    for part in parts:
        part.complete(offset)
        offset += part.record_count
    outcomes = [delivery.exception() or delivery.result().offset for delivery in deliveries]
    assert outcomes[0] == 0
    assert isinstance(outcomes[1], ValueError)
    assert outcomes[2:] == [1, 2, 3]


def test_waiting_ends_with_a_timeout_that_names_the_partition(append: Append) -> None:
    _batch, (delivery,) = append()
    started = time.monotonic()
    for wait in (delivery.result, delivery.exception):
        with pytest.raises(KafkaTimeoutError, match=r"record for t-2 was not delivered within 0.1 s"):
            wait(0.1)
    assert time.monotonic() - started >= 0.2


def test_waiting_ends_when_another_thread_completes_the_batch(append: Append) -> None:
    batch, deliveries = append(2)
    results: list[RecordMetadata] = []
    threads = [threading.Thread(target=lambda d=d: results.append(d.result(30))) for d in deliveries]
    for thread in threads:
        thread.start()
    batch.complete(7)
    for thread in threads:
        thread.join()
    assert sorted(result.offset for result in results) == [7, 8]


def test_waiting_follows_a_record_into_the_parts_of_a_split(append: Append) -> None:
    batch, deliveries = append(2)
    results: list[RecordMetadata] = []
    thread = threading.Thread(target=lambda: results.append(deliveries[1].result(30)))
    thread.start()
    first, second = batch.split(70)
    first.complete(7)
    assert not deliveries[1].done()
    second.complete(8)
    thread.join()
    assert [result.offset for result in results] == [8]


def test_ctrl_c_interrupts_waiting(append: Append) -> None:
    _batch, (delivery,) = append()
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        delivery.result(30)
    timer.join()


def test_callbacks_are_called_once_in_order_on_the_completing_thread(append: Append) -> None:
    calls: list[tuple[int, int]] = []

    def note(delivery: Delivery) -> None:
        calls.append((delivery.result(0).offset, threading.get_ident()))

    batch, deliveries = append(3)
    for delivery in deliveries:
        delivery.add_done_callback(note)
    thread = threading.Thread(target=batch.complete, args=(10,))
    thread.start()
    identity = thread.ident
    thread.join()
    assert calls == [(10, identity), (11, identity), (12, identity)]
    deliveries[1].add_done_callback(note)
    assert calls[3:] == [(11, threading.get_ident())]


def test_each_record_is_reported_with_its_metadata(append: Append) -> None:
    reports: list[tuple[Any, Any]] = []
    batch, _ = append(3, lambda error, metadata: reports.append((error, metadata)))
    batch.complete(10)
    batch.complete(20)
    assert reports == [(None, RecordMetadata("t", 2, 10 + i, 1000 + i)) for i in range(3)]


def test_a_record_that_fails_is_reported_with_its_own_error(append: Append) -> None:
    reports: list[tuple[Any, Any]] = []
    batch, _ = append(3, lambda error, metadata: reports.append((error, metadata)))
    own, others = KafkaTimeoutError("its own"), KafkaTimeoutError("of the batch")
    batch.fail_record(1, own)
    assert reports == [(own, None)]
    batch.fail(others)
    assert reports == [(own, None), (others, None), (others, None)]


def test_reports_follow_their_records_into_a_split(append: Append) -> None:
    offsets: list[int] = []
    batch, _ = append(3, lambda _error, metadata: offsets.append(metadata.offset))
    parts = batch.split(70)
    assert offsets == []
    for offset, part in enumerate(parts):
        part.complete(offset)
    assert offsets == [0, 1, 2]


def test_an_error_in_a_callback_stops_no_other(append: Append, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    batch, deliveries = append(2, lambda error, metadata: 1 / 0)
    done: list[Delivery] = []
    deliveries[0].add_done_callback(done.append)
    batch.complete(0)
    assert [type(hook.exc_value) for hook in seen] == [ZeroDivisionError] * 2
    assert done == [deliveries[0]]


def test_metadata_is_a_value() -> None:
    metadata = RecordMetadata("t", 2, 5, 1000)
    assert metadata == RecordMetadata("t", 2, 5, 1000)
    assert metadata != RecordMetadata("t", 2, 6, 1000)
    assert metadata != ("t", 2, 5, 1000)
    assert len({metadata, RecordMetadata("t", 2, 5, 1000)}) == 1
    assert pickle.loads(pickle.dumps(metadata)) == metadata
    assert repr(metadata) == "RecordMetadata(topic='t', partition=2, offset=5, timestamp=1000)"
    match metadata:
        case RecordMetadata(topic, partition):
            assert (topic, partition) == ("t", 2)


def test_a_delivery_can_be_awaited(append: Append) -> None:
    async def main() -> None:
        batch, (first, second) = append(2)
        waiting = asyncio.gather(first, second)
        await asyncio.sleep(0)
        assert not waiting.done()
        batch.complete(5)
        assert [metadata.offset for metadata in await waiting] == [5, 6]
        assert (await first).offset == 5

    asyncio.run(main())


def test_awaiting_ends_when_another_thread_completes_the_batch(append: Append) -> None:
    async def main() -> None:
        batch, (delivery,) = append()
        failed, (failing,) = append()
        waiting = asyncio.gather(delivery, failing, return_exceptions=True)
        await asyncio.sleep(0)
        error = ValueError("not today")
        thread = threading.Thread(target=lambda: (batch.complete(5), failed.fail(error)))
        thread.start()
        assert await waiting == [RecordMetadata("t", 2, 5, 1000), error]
        thread.join()

    asyncio.run(main())


def test_awaiting_may_be_cancelled(append: Append) -> None:
    async def main() -> None:
        batch, (delivery,) = append()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(delivery, 0.05)
        batch.complete(5)
        assert (await delivery).offset == 5

    asyncio.run(main())


def test_a_loop_that_is_gone_disturbs_nobody(append: Append) -> None:
    batch, (delivery,) = append()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(delivery, 0.01)

    asyncio.run(give_up())
    batch.complete(5)
    assert delivery.result().offset == 5


def test_a_batch_that_is_dropped_gives_its_records_up(append: Append) -> None:
    batch, (delivery,) = append()
    del batch
    gc.collect()
    with pytest.raises(ClosedError, match="record for t-2 was given up"):
        delivery.result(1)
