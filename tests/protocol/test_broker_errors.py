"""The classes of Kafka's error codes."""

from __future__ import annotations

import pickle

import pytest

from barnabas import broker_errors
from barnabas.broker_errors import BY_CODE, ErrorCode, UnknownTopicOrPartitionError, error_for
from barnabas.errors import BrokerError, GroupRebalancedError


def test_every_code_but_none_has_a_class_of_its_own() -> None:
    assert set(BY_CODE) == set(ErrorCode) - {ErrorCode.NONE}
    assert len(set(BY_CODE.values())) == len(BY_CODE)
    for code, cls in BY_CODE.items():
        assert issubclass(cls, BrokerError)
        assert cls.code == code
        assert cls.name == ErrorCode(code).name
        assert getattr(broker_errors, cls.__name__) is cls


def test_an_error_says_what_was_tried_its_name_and_what_to_do() -> None:
    error = error_for(3, "fetching orders-0 from localhost:9092 (node 1)")
    assert type(error) is UnknownTopicOrPartitionError
    assert str(error) == (
        "fetching orders-0 from localhost:9092 (node 1): UNKNOWN_TOPIC_OR_PARTITION "
        "(the broker does not have it; create the topic or check its name)"
    )


def test_the_brokers_words_take_the_place_of_ours_and_advice_stays() -> None:
    assert str(error_for(36, "topic 'a'", "Topic 'a' already exists.")) == (
        "topic 'a': TOPIC_ALREADY_EXISTS (Topic 'a' already exists.)"
    )
    error = error_for(68, "group 'g'", "Group g is not empty.")
    assert str(error) == "group 'g': NON_EMPTY_GROUP (Group g is not empty; stop its members first)"
    assert (error.context, error.reason) == ("group 'g'", "Group g is not empty.")


@pytest.mark.parametrize("reason", ["Topic authorization failed.", "", None])
def test_a_broker_that_only_says_the_name_leaves_the_word_to_us(reason: str | None) -> None:
    assert str(error_for(29, "topic 'a'", reason)) == (
        "topic 'a': TOPIC_AUTHORIZATION_FAILED (the principal may not do this on the topic; an ACL must "
        "allow it)"
    )


def test_who_knows_better_what_to_do_says_so_in_place_of_the_usual_advice() -> None:
    assert str(error_for(68, "group 'g'", advice="wait")) == (
        "group 'g': NON_EMPTY_GROUP (the group still has members; wait)"
    )


@pytest.mark.parametrize("code", [36, 9999])
def test_an_error_comes_out_of_a_pickle_as_it_was(code: int) -> None:
    error = error_for(code, "topic 'a'", "Topic 'a' already exists.", advice="take another name")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.reason) == (str(error), code, error.reason)
    assert (again.name, again.context) == (error.name, "topic 'a'")


@pytest.mark.parametrize(
    ("name", "retriable", "invalid_metadata"),
    [
        ("NOT_LEADER_OR_FOLLOWER", True, True),
        ("NOT_COORDINATOR", True, False),
        ("PRODUCER_FENCED", False, False),
        ("UNKNOWN_TOPIC_ID", True, True),
        ("OFFSET_OUT_OF_RANGE", False, False),
    ],
)
def test_an_error_knows_whether_to_try_again_and_to_refresh_metadata(
    name: str, retriable: bool, invalid_metadata: bool
) -> None:
    cls = BY_CODE[ErrorCode[name]]
    assert (cls.retriable, cls.invalid_metadata) == (retriable, invalid_metadata)


@pytest.mark.parametrize(
    "name",
    [
        "FENCED_MEMBER_EPOCH",
        "ILLEGAL_GENERATION",
        "REBALANCE_IN_PROGRESS",
        "STALE_MEMBER_EPOCH",
        "UNKNOWN_MEMBER_ID",
    ],
)
def test_a_group_that_has_rebalanced_is_one_class_whatever_the_code(name: str) -> None:
    with pytest.raises(GroupRebalancedError, match=name):
        raise error_for(ErrorCode[name], "commit in group 'g'")


def test_no_other_code_says_that_a_group_has_rebalanced() -> None:
    assert sum(issubclass(kind, GroupRebalancedError) for kind in BY_CODE.values()) == 5


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("PRODUCER_FENCED", "close this one, and give each producer a transactional_id of its own"),
        ("INVALID_PRODUCER_EPOCH", "abort it, and close this producer if that raises ProducerFencedError"),
        ("INVALID_PRODUCER_ID_MAPPING", "close this producer and make a new one"),
        ("INVALID_TRANSACTION_TIMEOUT", "lower the first or raise the second"),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "an ACL must allow it"),
        ("TRANSACTION_ABORTABLE", "abort the transaction and begin again"),
    ],
)
def test_an_error_of_transactions_says_what_to_do_beside_the_words_of_the_broker(
    name: str, advice: str
) -> None:
    for reason in (None, "The broker's own words."):
        assert f"; {advice})" in str(error_for(ErrorCode[name], "orders-0", reason))


def test_a_code_of_a_newer_broker_is_an_error_that_carries_it() -> None:
    error = error_for(9999, "joining group g")
    assert isinstance(error, BrokerError)
    assert error.code == 9999
    assert str(error) == "joining group g: UNKNOWN_ERROR_CODE_9999"
    assert not error.retriable


def test_success_is_not_an_error() -> None:
    with pytest.raises(ValueError, match="not an error"):
        error_for(0)
