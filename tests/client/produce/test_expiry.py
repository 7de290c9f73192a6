from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.produce.batches.expiry import ExpiryWatch
from barnabas.client.produce.batches.partition_queue import PartitionQueue
from barnabas.types import TopicPartition


def queues(count: int) -> list[PartitionQueue]:
    return [PartitionQueue(TopicPartition("topic", number), is_idempotent=True) for number in range(count)]


def test_a_queue_is_taken_once_and_then_watched_no_more() -> None:
    watch = ExpiryWatch()
    first, second = queues(2)
    watch.watch(first, 10)
    watch.watch(first, 12)
    watch.watch(second, 11)
    assert watch.next_ms == 10
    assert list(watch.take(9)) == []
    assert list(watch.take(11)) == [first, second]
    assert watch.next_ms is None
    watch.watch(first, 12)
    assert list(watch.take(12)) == [first]


def test_an_older_batch_that_comes_later_is_not_overlooked() -> None:
    watch = ExpiryWatch()
    (queue,) = queues(1)
    watch.watch(queue, 10)
    watch.watch(queue, 3)
    assert list(watch.take(5)) == [queue]
    watch.watch(queue, 12)
    # What it was listed for before is of no account.
    assert list(watch.take(11)) == []
    assert list(watch.take(12)) == [queue]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3), st.integers(0, 40)),
        st.tuples(st.just("finish"), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("look"), st.integers(0, 40), st.just(0)),
    )
)


@given(STEPS)
def test_whatever_happened_before_no_batch_that_has_expired_is_left(
    steps: list[tuple[str, int, int]],
) -> None:
    watch, watched = ExpiryWatch(), queues(4)
    batches: dict[PartitionQueue, list[int]] = {queue: [] for queue in watched}
    for step, one, other in steps:
        if step == "add":
            batches[watched[one]].append(other)
            watch.watch(watched[one], other)
        elif step == "finish":
            of_queue = batches[watched[one]]
            if of_queue:
                of_queue.pop(other % len(of_queue))
        else:
            for queue in list(watch.take(one)):
                batches[queue] = [created_ms for created_ms in batches[queue] if created_ms > one]
                if batches[queue]:
                    watch.watch(queue, min(batches[queue]))
            remaining = [created_ms for of_queue in batches.values() for created_ms in of_queue]
            assert all(created_ms > one for created_ms in remaining)
            next_ms = watch.next_ms
            assert not remaining or (next_ms is not None and one < next_ms <= min(remaining))
