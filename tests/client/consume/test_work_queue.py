from __future__ import annotations

import random
from typing import Any

import pytest

from barnabas import Record, TopicPartition
from barnabas.client.consume.work_queue import Ordering, Work, WorkQueue

PARTITION = TopicPartition("t", 0)


def record(offset: int, key: bytes | None = None, partition: int = 0) -> Record:
    return Record("t", partition, offset, key=key)


def queue_of(*records: Any, ordering: Ordering = "key") -> WorkQueue:
    queue = WorkQueue(ordering)
    queue.add(records)
    return queue


def take_all(queue: WorkQueue) -> list[Work]:
    taken: list[Work] = []
    while (work := queue.next()) is not None:
        taken.append(work)
    return taken


def offsets(works: list[Work]) -> list[int]:
    return [work.record.offset for work in works]


def committable(queue: WorkQueue) -> int | None:
    offset = queue.committable().get(PARTITION)
    return None if offset is None else offset.offset


@pytest.mark.parametrize(
    ("ordering", "first"), [("key", [0, 2, 3]), ("partition", [0]), ("none", [0, 1, 2, 3])]
)
def test_only_the_first_record_of_each_lane_is_given_out(ordering: Ordering, first: list[int]) -> None:
    queue = queue_of(record(0, b"a"), record(1, b"a"), record(2, b"b"), record(3), ordering=ordering)
    assert offsets(take_all(queue)) == first


def test_a_key_goes_on_when_its_record_has_finished() -> None:
    queue = queue_of(record(0, b"a"), record(1, b"a"))
    (work,) = take_all(queue)
    queue.finish(work)
    assert offsets(take_all(queue)) == [1]


def test_the_lowest_unfinished_offset_is_committed() -> None:
    queue = queue_of(*(record(offset) for offset in (3, 5, 6)))
    three, five, six = take_all(queue)
    assert committable(queue) is None
    queue.finish(six)
    assert committable(queue) is None
    queue.finish(three)
    assert committable(queue) == 5
    queue.note_commit(queue.committable().items())
    assert committable(queue) is None
    queue.finish(five)
    assert committable(queue) == 7


def test_what_was_abandoned_holds_commits_back_for_good() -> None:
    queue = queue_of(record(0, b"a"), record(1, b"a"), record(2, b"b"))
    a, b = take_all(queue)
    queue.abandon(a)
    queue.finish(b)
    assert take_all(queue) == []
    assert committable(queue) is None


def test_partitions_that_are_given_up_give_out_nothing_more() -> None:
    queue = queue_of(record(0, b"a"), record(1, b"a"), record(0, partition=1), record(2), record(3))
    first = queue.next()
    assert first is not None
    queue.give_up([PARTITION])
    assert [work.record.partition for work in take_all(queue)] == [1]
    assert queue.under_way([PARTITION]) == 1
    queue.finish(first)
    assert queue.next() is None
    assert committable(queue) == 1
    queue.forget([PARTITION])
    assert committable(queue) is None


def test_any_order_of_finishing_keeps_the_promises() -> None:
    random_ = random.Random(4)
    for _ in range(200):
        queue = WorkQueue("key")
        keys: dict[int, bytes | None] = {}
        done: list[int] = []
        under_way: list[Work] = []
        for offset in range(30):
            if random_.random() < 0.7:
                keys[offset] = random_.choice([b"a", b"b", b"c", None])
                queue.add([record(offset, keys[offset])])
            while random_.random() < 0.6:
                work = queue.next()
                if work is not None:
                    under_way.append(work)
            if under_way and random_.random() < 0.6:
                work = under_way.pop(random_.randrange(len(under_way)))
                queue.finish(work)
                done.append(work.record.offset)
            keyed = [keys[work.record.offset] for work in under_way if keys[work.record.offset] is not None]
            assert len(keyed) == len(set(keyed))
            committed = committable(queue)
            if committed is not None:
                assert set(done) >= {o for o in keys if o < committed}
        while (work := queue.next()) is not None or under_way:
            finished = work or under_way.pop()
            queue.finish(finished)
            done.append(finished.record.offset)
        assert sorted(done) == sorted(keys)
        for key in (b"a", b"b", b"c"):
            handled = [o for o in done if keys[o] == key]
            assert handled == sorted(handled)
        assert committable(queue) == max(keys) + 1
