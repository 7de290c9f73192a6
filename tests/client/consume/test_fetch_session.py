"""Fetch sessions against a model of what a broker remembers (KIP-227)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker_errors import ErrorCode
from barnabas.client.consume.fetch_session import FetchSession, PartitionFetch, SessionRequest
from barnabas.types import TopicPartition

PARTITIONS = [TopicPartition(topic, number) for topic in ("a", "b") for number in range(3)]


def fetch(offset: int = 0, *, topic_id: int = 1, leader_epoch: int = 0) -> PartitionFetch:
    return PartitionFetch(uuid.UUID(int=topic_id), offset, leader_epoch, -1, 1 << 20)


@dataclass
class BrokerSession:
    uses_topic_ids: bool
    next_epoch: int = 1
    partitions: dict[tuple[object, int], PartitionFetch] = field(default_factory=dict)


class Broker:
    """The sessions of one broker; an answer is (error code, session id, what it fetches)."""

    def __init__(self, capacity: int = 2) -> None:
        self.sessions: dict[int, BrokerSession] = {}
        self.capacity = capacity
        self.last_id = 0

    def answer(self, request: SessionRequest, *, uses_topic_ids: bool) -> tuple[int, int, dict]:
        def key(partition: TopicPartition, topic_id: uuid.UUID) -> tuple[object, int]:
            return (topic_id if uses_topic_ids else partition.topic), partition.partition

        fetched = {key(p, f.topic_id): f for p, f in request.partitions.items()}
        if request.session_epoch in (0, -1):
            assert not request.forgotten
            self.sessions.pop(request.session_id, None)
            if request.session_epoch == -1 or len(self.sessions) >= self.capacity:
                return 0, 0, fetched
            self.last_id += 1
            self.sessions[self.last_id] = BrokerSession(uses_topic_ids, partitions=fetched)
            return 0, self.last_id, fetched
        session = self.sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, {}
        if session.next_epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0, {}
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 0, {}
        session.partitions.update(fetched)
        for partition, topic_id in request.forgotten:
            session.partitions.pop(key(partition, topic_id), None)
        session.next_epoch += 1
        return 0, request.session_id, dict(session.partitions)


WANTED = st.dictionaries(
    st.sampled_from(PARTITIONS),
    st.builds(fetch, st.integers(0, 3), topic_id=st.integers(1, 2), leader_epoch=st.integers(0, 1)),
    min_size=1,
)
FATES = st.sampled_from(
    ["answered", "answered", "answered", "answer lost", "request lost", "evicted", "full"]
)


@given(st.lists(st.tuples(WANTED, st.booleans(), FATES), max_size=30))
def test_a_broker_fetches_what_is_wanted_whatever_gets_lost(
    steps: list[tuple[dict[TopicPartition, PartitionFetch], bool, str]],
) -> None:
    broker, session = Broker(), FetchSession()
    for wanted, uses_topic_ids, fate in steps:
        # All partitions of a topic have the topic's id, and no other topic's.
        ids = {p.topic: uuid.UUID(int=10 * ord(p.topic) + f.topic_id.int) for p, f in wanted.items()}
        wanted = {p: f._replace(topic_id=ids[p.topic]) for p, f in wanted.items()}
        if fate == "evicted":
            broker.sessions.clear()
        broker.capacity = 0 if fate == "full" else 2
        request = session.next_request(wanted, uses_topic_ids=uses_topic_ids)
        if fate == "request lost":
            session.start_over()
            continue
        error, session_id, fetched = broker.answer(request, uses_topic_ids=uses_topic_ids)
        if fate == "answer lost":
            session.start_over()
        elif error:
            assert not request.is_full
            session.refused(error)
        else:
            expected = {
                (f.topic_id if uses_topic_ids else p.topic, p.partition): f for p, f in wanted.items()
            }
            assert fetched == expected
            session.answered(session_id)
    closing = session.closing_request()
    if closing is not None:
        broker.answer(closing, uses_topic_ids=True)
        assert closing.session_id not in broker.sessions


@given(WANTED, WANTED)
def test_a_session_is_told_only_what_changed(
    first: dict[TopicPartition, PartitionFetch], second: dict[TopicPartition, PartitionFetch]
) -> None:
    session = FetchSession()
    assert session.next_request(first, uses_topic_ids=True).partitions == first
    session.answered(7)
    request = session.next_request(second, uses_topic_ids=True)
    assert (request.session_id, request.session_epoch) == (7, 1)
    assert request.partitions == {p: f for p, f in second.items() if first.get(p) != f}
    assert {p for p, _ in request.forgotten} >= set(first) - set(second)
    session.answered(7)
    again = session.next_request(second, uses_topic_ids=True)
    assert (again.session_epoch, again.partitions, again.forgotten) == (2, {}, [])


def test_a_topic_that_was_made_anew_is_forgotten_by_its_old_id() -> None:
    [partition, *_] = PARTITIONS
    session = FetchSession()
    session.next_request({partition: fetch(topic_id=1)}, uses_topic_ids=True)
    session.answered(7)
    request = session.next_request({partition: fetch(topic_id=2)}, uses_topic_ids=True)
    assert request.partitions == {partition: fetch(topic_id=2)}
    assert request.forgotten == [(partition, uuid.UUID(int=1))]


def test_the_epoch_goes_round_without_becoming_that_of_a_full_request() -> None:
    session = FetchSession()
    wanted = {PARTITIONS[0]: fetch()}
    session.next_request(wanted, uses_topic_ids=True)
    session.answered(7)
    session._next_epoch = 2**31 - 1
    session.next_request(wanted, uses_topic_ids=True)
    session.answered(7)
    assert session.next_request(wanted, uses_topic_ids=True).session_epoch == 1


def test_a_refused_epoch_has_the_old_session_replaced_and_an_unknown_id_begins_without_one() -> None:
    wanted = {PARTITIONS[0]: fetch()}
    for error, session_id in [
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 7),
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
    ]:
        session = FetchSession()
        session.next_request(wanted, uses_topic_ids=True)
        session.answered(7)
        session.next_request(wanted, uses_topic_ids=True)
        session.refused(error)
        request = session.next_request(wanted, uses_topic_ids=True)
        assert (request.session_id, request.session_epoch) == (session_id, 0)
        assert request.partitions == wanted
