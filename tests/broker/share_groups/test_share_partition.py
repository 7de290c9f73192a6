"""A partition as a share group has it: what is lent, given back and decided, and that nothing is lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from barnabas.broker.share_groups.offset_spans import OffsetSpans, RecordState, Span
from barnabas.broker.share_groups.share_partition import (
    Acknowledgement,
    LendingLimits,
    RecordDecision,
    SharePartition,
)
from barnabas.broker_errors import InvalidRecordStateError, InvalidRequestError

ALL = LendingLimits(max_records=500, batch_size=500, is_exact=False, max_in_hand=2000)
ACCEPT, RELEASE, RENEW = Acknowledgement.ACCEPT, Acknowledgement.RELEASE, Acknowledgement.RENEW
LIMIT = 5


def told(spans: list[Span]) -> list[tuple[int, int, int]]:
    return [(span.first, span.last, span.delivery_count) for span in spans]


def test_what_is_lent_is_nobody_elses_until_it_is_given_back() -> None:
    partition = SharePartition(0)
    assert told(partition.lend("one", [(0, 9)], ALL, 1.0)) == [(0, 9, 1)]
    assert partition.lend("two", [(0, 9)], ALL, 1.0) == []
    assert partition.next_offset(2000) == 10
    partition.release("one", LIMIT)
    assert partition.next_offset(2000) == 0
    assert told(partition.lend("two", [(0, 9)], ALL, 1.0)) == [(0, 9, 2)]


def test_a_refused_decision_changes_nothing() -> None:
    partition = SharePartition(0)
    partition.lend("one", [(0, 9)], ALL, 1.0)
    for member, last, error in (("two", 9, InvalidRecordStateError), ("one", 10, InvalidRequestError)):
        with pytest.raises(error):
            partition.decide(
                member, [RecordDecision(0, 3, ACCEPT), RecordDecision(4, last, ACCEPT)], LIMIT, 0
            )
    changed = partition.decide("one", [RecordDecision(0, 9, ACCEPT)], LIMIT, 0)
    assert [(span.first, span.last, span.state) for span in changed] == [(0, 9, RecordState.ACKNOWLEDGED)]


def test_a_renewed_record_stays_in_hand_past_its_first_deadline() -> None:
    partition = SharePartition(0)
    partition.lend("one", [(0, 1)], ALL, 1.0)
    assert partition.decide("one", [RecordDecision(0, 0, RENEW)], LIMIT, 5.0) == []
    assert told(partition.release_expired(2.0, LIMIT)) == [(1, 1, 1)]
    assert partition.next_deadline() == 5.0


def test_no_more_than_the_window_is_in_hand() -> None:
    partition = SharePartition(0)
    limits = LendingLimits(max_records=500, batch_size=1, is_exact=False, max_in_hand=100)
    assert told(partition.lend("one", [(0, 89), (90, 119), (120, 129)], limits, 1.0)) == [
        (0, 89, 1),
        (90, 119, 1),
    ]
    assert partition.next_offset(100) is None
    partition.decide("one", [RecordDecision(0, 89, ACCEPT)], LIMIT, 0)
    partition.advance()
    assert partition.next_offset(100) == 120


def test_what_is_gone_from_the_log_is_not_waited_for() -> None:
    partition = SharePartition(0)
    partition.lend("one", [(0, 9)], ALL, 1.0)
    partition.skip_to(5)
    assert (partition.start_offset, partition.end_offset) == (5, 10)
    partition.skip_to(20)
    assert (partition.start_offset, partition.end_offset, partition.next_offset(10)) == (20, 20, 20)


def test_offsets_that_compaction_left_out_hold_nothing_up() -> None:
    partition = SharePartition(0)
    assert told(partition.lend("one", [(3, 5)], ALL, 1.0)) == [(3, 5, 1)]
    partition.decide("one", [RecordDecision(3, 5, ACCEPT)], LIMIT, 0)
    partition.advance()
    assert partition.start_offset == 6


def test_spans_say_of_each_offset_what_was_put_there_last() -> None:
    chance = random.Random(7)
    spans, model = OffsetSpans(), dict[int, int]()
    for count in range(500):
        first = chance.randrange(200)
        last = first + chance.randrange(20)
        spans.put(Span(first, last, delivery_count=count))
        model.update(dict.fromkeys(range(first, last + 1), count))
    found = {offset: span.delivery_count for span in spans for offset in range(span.first, span.last + 1)}
    assert found == model
    assert [span.first for span in spans] == sorted(span.first for span in spans)


@pytest.mark.parametrize("seed", range(20))
def test_every_record_is_accepted_once_or_delivered_as_often_as_may_be(seed: int) -> None:
    chance = random.Random(seed)
    partition, accepted, deliveries = SharePartition(0), Counter[int](), Counter[int]()
    batches = [(first, first + 9) for first in range(0, 400, 10)]
    now = 0.0
    in_hand: dict[int, tuple[str, float]] = {}
    while (offset := partition.next_offset(100)) is None or offset < 400 or in_hand:
        now += 1
        in_hand = {at: held for at, held in in_hand.items() if held[1] > now}
        partition.release_expired(now, LIMIT)
        member = chance.choice(("one", "two", "three"))
        limits = LendingLimits(chance.randrange(1, 40), 5, chance.random() < 0.5, 100)
        offset = partition.next_offset(100)
        wanted = [batch for batch in batches if offset is not None and batch[1] >= offset]
        for span in partition.lend(member, wanted, limits, now + 5):
            for at in range(span.first, span.last + 1):
                assert at not in in_hand
                in_hand[at] = member, now + 5
                deliveries[at] += 1
                assert deliveries[at] == span.delivery_count <= LIMIT
        mine = sorted(at for at, (owner, _) in in_hand.items() if owner == member)
        for at in chance.sample(mine, len(mine) // 2):
            kind = chance.choice((ACCEPT, ACCEPT, RELEASE))
            partition.decide(member, [RecordDecision(at, at, kind)], LIMIT, now + 5)
            accepted[at] += kind is ACCEPT
            del in_hand[at]
        partition.advance()
    assert max(accepted.values()) == 1
    assert all(accepted[at] or deliveries[at] == LIMIT for at in range(400))
