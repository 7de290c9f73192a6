from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Generator
from typing import Any

import pytest
from tests.kernel.sent_records import Bench, Failure, Metadata, Partition


@pytest.fixture
def bench() -> Generator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_a_record_without_callbacks_is_done_when_its_batch_is(bench: Bench) -> None:
    futures = bench.send(2)
    batch = bench.drain()
    assert not futures[0].is_done
    assert futures[0].value is None
    assert futures[0].exception is None
    batch.complete(40)
    assert futures[1].is_done
    assert futures[1].succeeded()
    assert not futures[1].failed()
    assert futures[1].get() == Metadata("t", 2, Partition("t", 2), 41, 1001, None, 1, 5, 3)
    assert futures[1].get() is futures[1].value


def test_a_topic_that_stamps_records_overrules_their_timestamps(bench: Bench) -> None:
    (future,) = bench.send(1)
    bench.drain().complete(40, 9999)
    assert future.get().timestamp == 9999


def test_callbacks_wait_for_the_teller_though_the_batch_is_decided(bench: Bench) -> None:
    called: list[Any] = []
    futures = bench.send(3)
    batch = bench.drain()
    for index in (2, 0, 1):
        futures[index].add_callback(
            lambda metadata: called.append((metadata.offset, threading.current_thread().name))
        )
    batch.complete(40)
    assert called == []
    assert not any(future.is_done for future in futures)
    with pytest.raises(TimeoutError, match=r"after 0\.01"):
        futures[0].get(0.01)
    bench.tell()
    assert called == [(40, "teller"), (41, "teller"), (42, "teller")]
    assert all(future.is_done for future in futures)


def test_a_callback_between_decision_and_telling_is_told_after_the_others(bench: Bench) -> None:
    called: list[str] = []
    futures = bench.send(2)
    batch = bench.drain()
    futures[0].add_callback(lambda _: called.append("before"))
    batch.complete(40)
    futures[1].add_callback(lambda _: called.append("late, of the second"))
    futures[0].add_callback(lambda _: called.append("late, of the first"))
    bench.tell()
    assert called == ["before", "late, of the second", "late, of the first"]


def test_a_callback_that_is_added_by_a_callback_of_the_same_record_is_called_at_once(bench: Bench) -> None:
    called: list[str] = []
    (future,) = bench.send(1)

    def first(_: Any) -> None:
        future.add_callback(lambda _: called.append("second"))
        called.append("first")

    future.add_callback(first)
    bench.drain().complete(0)
    bench.tell()
    assert called == ["second", "first"]


def test_who_waits_for_a_record_is_let_go_when_all_of_its_batch_is_told(bench: Bench) -> None:
    may_go_on, is_told = threading.Event(), threading.Event()
    first, second = bench.send(2)
    got: list[Any] = []
    first.add_callback(lambda _: is_told.set())
    second.add_callback(lambda _: may_go_on.wait(20))
    bench.drain().complete(7)
    waiting = threading.Thread(target=lambda: got.append(first.get()))
    waiting.start()
    telling = threading.Thread(target=bench.tell)
    telling.start()
    assert is_told.wait(20)
    assert first.is_done
    waiting.join(0.1)
    assert got == []
    may_go_on.set()
    waiting.join(20)
    telling.join(20)
    assert [metadata.offset for metadata in got] == [7]


def test_a_failed_record_calls_errbacks_with_the_same_exception(bench: Bench) -> None:
    errors: list[Any] = []
    (future,) = bench.send(1)

    def note(before: str, error: Any) -> None:
        errors.append((before, error))

    future.add_errback(note, "before")
    future.add_callback(lambda _: errors.append("callback"))
    future.add_both(lambda error: errors.append(error))
    bench.drain().fail(ValueError("once again"))
    bench.tell()
    assert errors == [("before", future.exception), future.exception]
    assert isinstance(future.exception, Failure)
    assert future.retriable()
    assert future.failed()
    with pytest.raises(Failure, match="once again"):
        future.get()


def test_a_record_that_failed_on_its_own_is_told_with_its_batch(bench: Bench) -> None:
    called: list[Any] = []
    first, second = bench.send(2)
    batch = bench.drain()
    for future in (first, second):
        future.add_both(lambda outcome: called.append(type(outcome).__name__))
    batch.fail_record(0, ValueError("this one"))
    assert not first.is_done
    batch.complete(5)
    bench.tell()
    assert called == ["Failure", "Metadata"]
    assert second.get().offset == 6


def test_records_of_a_batch_that_is_split_are_told_by_their_parts(bench: Bench) -> None:
    called: list[int] = []
    futures = bench.send(4)
    batch = bench.drain()
    for future in futures:
        future.add_callback(lambda metadata: called.append(metadata.offset))
    parts = batch.split(1)
    assert len(parts) == 4
    late = futures[3].add_callback(lambda metadata: called.append(-metadata.offset))
    for index, part in enumerate(reversed(parts)):
        part.complete(10 * (index + 1))
    bench.tell()
    assert sorted(called) == [-10, 10, 20, 30, 40]
    assert [future.get().offset for future in futures] == [40, 30, 20, 10]
    assert late is futures[3]


def test_records_that_are_given_up_with_their_producer_fail(bench: Bench) -> None:
    (future,) = bench.send(1)
    batch = bench.drain()
    future.add_errback(lambda _: pytest.fail("nobody is left to call"))
    del batch
    with pytest.raises(Failure, match="given up"):
        future.get(1)


def test_what_callbacks_raise_is_logged_and_the_others_are_called(bench: Bench) -> None:
    called: list[str] = []
    (future,) = bench.send(1)
    future.add_callback(lambda _: 1 / 0)
    future.add_callback(lambda _: called.append("second"))
    bench.drain().complete(0)
    bench.tell()
    assert called == ["second"]
    assert [(kind, type(error)) for kind, error in bench.logged] == [("callback", ZeroDivisionError)]


def test_a_future_is_chained_to_another_one(bench: Bench) -> None:
    outcomes: list[Any] = []

    class Other:
        def success(self, value: Any) -> None:
            outcomes.append(value.offset)

        def failure(self, error: Any) -> None:
            outcomes.append(error)

    first, second = bench.send(2)
    assert first.chain(Other()) is first
    bench.drain().complete(3)
    bench.tell()
    second.chain(Other())
    assert outcomes == [3, 4]


def test_many_threads_may_add_callbacks_while_batches_are_decided_and_told(bench: Bench) -> None:
    bench.tell()
    lock, called = threading.Lock(), dict[int, int]()

    def count(number: int, _: Any) -> None:
        with lock:
            called[number] = called.get(number, 0) + 1

    total = 400
    futures = [bench.send(1)[0] for _ in range(total)]
    barrier = threading.Barrier(4)

    def add(offset: int) -> None:
        barrier.wait()
        for number in range(offset, total, 3):
            futures[number].add_callback(count, number)

    threads = [threading.Thread(target=add, args=(offset,)) for offset in range(3)]
    for thread in threads:
        thread.start()
    barrier.wait()
    bench.drain().complete(0)
    for thread in threads:
        thread.join()
    bench.tell()
    assert called == dict.fromkeys(range(total), 1)


def test_a_future_that_leads_to_itself_by_its_traceback_is_collected(bench: Bench) -> None:
    class Kept:
        pass

    def fail() -> weakref.ref[Kept]:
        kept = Kept()
        (future,) = bench.send(1)
        bench.drain().fail(ValueError("no"))
        try:
            future.get()
        except Failure:
            assert kept is not None
        return weakref.ref(kept)

    reference = fail()
    gc.collect()
    assert reference() is None


def test_a_function_with_arguments_is_called_with_them_first(bench: Bench) -> None:
    called: list[Any] = []

    def collect(*arguments: Any, **named: Any) -> None:
        called.append((arguments[:-1], arguments[-1].offset, named))

    (future,) = bench.send(1)
    future.add_callback(collect, 1, 2, named=3)
    bench.drain().complete(9)
    bench.tell()
    assert called == [((1, 2), 9, {"named": 3})]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("t", None), {}),
        ((5, b"v"), {}),
        (("unknown", b"v"), {}),
        (("t", "text"), {}),
        (("t", b"v"), {"partition": 3}),
        (("t", b"v"), {"partition": -1}),
        (("t", b"v"), {"partition": "1"}),
        (("t", b"v"), {"timestamp_ms": "1"}),
        (("t", b"v"), {"timestamp_ms": -1}),
        (("t", b"v"), {"headers": {"h": b"1"}}),
        (("t", b"v"), {"headers": [("h", "1")]}),
        (("t", b"v"), {"headers": [("h", b"1", 2)]}),
        (("t", b"v" * (1 << 20)), {}),
    ],
)
def test_what_is_not_plain_is_left_to_python(bench: Bench, arguments: Any, named: Any) -> None:
    assert bench.producer.send(*arguments, **named) == "slow"
    assert len(bench.producer.slow) == 1
    assert bench.accumulator.buffered_records == 0


def test_serializers_are_called_on_the_way() -> None:
    def encoded(key: Any) -> Any:
        return None if key is None else key.encode()

    made = Bench(key_serializer=encoded, value_serializer=str.encode)
    made.producer.send("t", "value", "key", partition=2)
    made.producer.send("t", "value", partition=2)
    future = made.producer.send("t", "value", partition=2)
    made.drain().complete(0)
    assert future.get()[-3:] == (-1, 5, -1)
    made.close()


def test_a_serializer_that_raises_or_makes_no_bytes_is_left_to_python() -> None:
    def serialize(value: Any) -> Any:
        if value == "raise":
            raise ValueError("no")
        return value

    made = Bench(value_serializer=serialize)
    assert made.producer.send("t", "raise") == "slow"
    assert made.producer.send("t", "text") == "slow"
    kinds = [kind for kind, *_ in made.producer.slow]
    assert kinds == ["raised", "serialized"]
    made.close()


def test_a_sender_that_was_stopped_asks_python(bench: Bench) -> None:
    bench.producer._stop_appending_directly()  # pyright: ignore[reportPrivateUsage]
    assert bench.producer.send("t", b"value") == "slow"


def test_a_program_may_set_attributes_of_its_own_where_its_generation_lets_it(bench: Bench) -> None:
    class Kept:
        pass

    made = Bench(has_attributes=True)
    (future,) = made.send(1)
    kept = Kept()
    future.own = kept
    assert future.own is kept
    with pytest.raises(AttributeError):
        setattr(future, "is_done", True)  # noqa: B010 which pyright would refuse otherwise
    with pytest.raises(AttributeError):
        _ = future.other
    future.second = future
    del future.own
    assert not hasattr(future, "own")
    future.own = kept
    reference = weakref.ref(kept)
    made.drain().complete(0)
    del future, kept
    gc.collect()
    assert reference() is None
    made.close()
    (plain,) = bench.send(1)
    with pytest.raises(AttributeError):
        plain.own = 1


def test_a_future_is_awaited_by_what_python_makes_of_it(bench: Bench) -> None:
    (future,) = bench.send(1)
    assert list(future.__await__()) == [False]
