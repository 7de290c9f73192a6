from __future__ import annotations

import uuid
from typing import Any

import pytest

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.groups.consumer_group_state import LEAVE_FOR_A_WHILE_EPOCH, MemberState
from barnabas.protocol.codec import encode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

TOPIC = uuid.uuid4()


def member(**given: Any) -> MemberState:
    state = MemberState("g", None, "rack", 300_000, "uniform", **given)
    state.subscribe({"b", "a"}, None)
    return state


def answer(epoch: int, assigned: set[int] | None = None, member_id: str | None = None) -> Any:
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=5000
    )
    if assigned is not None:
        response.assignment = ConsumerGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=TOPIC, partitions=sorted(assigned))
            ]
        )
    return response


def joined() -> MemberState:
    state = member()
    assert state.answered(state.request(1), answer(3, {0, 1}))
    return state


def test_joining_says_everything_and_owns_nothing() -> None:
    state = member()
    request = state.request(1)
    assert (request.member_epoch, request.rack_id, request.server_assignor) == (0, "rack", "uniform")
    assert request.subscribed_topic_names == ["a", "b"]
    assert request.rebalance_timeout_ms == 300_000
    assert request.topic_partitions == []
    assert request.member_id == str(uuid.UUID(state.member_id))
    assert state.has_news


def test_a_heartbeat_without_news_says_nothing_but_who_it_is() -> None:
    state = joined()
    assert state.target == {TOPIC: frozenset({0, 1})}
    assert state.is_member
    request = state.request(1)
    assert (request.member_epoch, request.subscribed_topic_names, request.topic_partitions) == (3, None, None)
    assert (request.rack_id, request.server_assignor, request.rebalance_timeout_ms) == (None, None, -1)
    assert not state.has_news


def test_partitions_that_were_taken_are_acknowledged_once() -> None:
    state = joined()
    state.own({TOPIC: frozenset({0, 1})})
    assert state.has_news
    request = state.request(1)
    assert request.topic_partitions is not None
    assert [(t.topic_id, t.partitions) for t in request.topic_partitions] == [(TOPIC, [0, 1])]
    state.answered(request, answer(3))
    assert not state.has_news
    assert state.request(1).topic_partitions is None


def test_an_assignment_that_changes_nothing_is_acknowledged_too() -> None:
    state = member()
    state.answered(state.request(1), answer(3, {0}))
    state.own({TOPIC: frozenset({0})})
    state.answered(state.request(1), answer(3))
    # Taken back before it was taken.
    state.answered(state.request(1), answer(4, {0, 1}))
    state.answered(state.request(1), answer(4, {0}))
    assert not state.has_news
    state.own({TOPIC: frozenset({0})})
    state.acknowledge()
    assert state.has_news
    request = state.request(1)
    assert [told.partitions for told in request.topic_partitions or ()] == [[0]]
    state.answered(request, answer(4))
    assert not state.has_news
    assert state.request(1).topic_partitions is None


def test_a_heartbeat_that_was_not_answered_is_followed_by_one_that_says_everything() -> None:
    state = joined()
    state.own({TOPIC: frozenset({0})})
    state.request(1)
    state.unanswered()
    request = state.request(1)
    assert request.subscribed_topic_names == ["a", "b"]
    assert request.topic_partitions is not None
    assert request.member_epoch == 3


def test_what_changed_during_a_heartbeat_is_said_by_the_next() -> None:
    state = joined()
    request = state.request(1)
    state.subscribe({"c"}, None)
    state.answered(request, answer(3))
    assert state.has_news
    assert state.request(1).subscribed_topic_names == ["c"]


def test_an_empty_pattern_ends_an_earlier_one() -> None:
    state = member()
    state.subscribe((), "a.*")
    first = state.request(1)
    assert (first.subscribed_topic_regex, first.subscribed_topic_names) == ("a.*", [])
    state.answered(first, answer(1))
    assert state.request(1).subscribed_topic_regex is None
    state.subscribe({"b"}, None)
    second = state.request(1)
    assert (second.subscribed_topic_regex, second.subscribed_topic_names) == ("", ["b"])
    state.answered(second, answer(2))
    assert not state.has_news


def test_the_first_version_leaves_the_member_id_to_the_coordinator() -> None:
    state = member()
    request = state.request(0)
    assert request.member_id == ""
    assert encode(request, 0)
    state.answered(request, answer(1, member_id="given"))
    assert state.request(0).member_id == "given"


def test_a_member_that_was_fenced_joins_again_under_its_id_with_nothing() -> None:
    state = joined()
    state.own({TOPIC: frozenset({0})})
    member_id = state.member_id
    state.forget()
    request = state.request(1)
    assert (request.member_id, request.member_epoch, request.topic_partitions) == (member_id, 0, [])
    assert request.subscribed_topic_names == ["a", "b"]
    assert state.leave_request(LEAVE_FOR_A_WHILE_EPOCH).member_epoch == -2


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, "rejoin"),
        (ErrorCode.UNKNOWN_MEMBER_ID, "rejoin"),
        (ErrorCode.NOT_COORDINATOR, "retry"),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "retry"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "tell"),
        (ErrorCode.UNRELEASED_INSTANCE_ID, "give up"),
        (ErrorCode.UNSUPPORTED_ASSIGNOR, "give up"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "give up"),
        (ErrorCode.INVALID_REGULAR_EXPRESSION, "give up"),
    ],
)
def test_each_error_has_its_remedy(code: ErrorCode, remedy: str) -> None:
    assert joined().refused(error_for(code)) == remedy
