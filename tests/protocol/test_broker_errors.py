"""The classes of Kafka's error codes."""

from __future__ import annotations

import pytest

from barnabas import broker_errors
from barnabas.broker_errors import BY_CODE, ErrorCode, UnknownTopicOrPartitionError, error_for
from barnabas.errors import BrokerError


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


def test_a_code_of_a_newer_broker_is_an_error_that_carries_it() -> None:
    error = error_for(9999, "joining group g")
    assert isinstance(error, BrokerError)
    assert error.code == 9999
    assert str(error) == "joining group g: UNKNOWN_ERROR_CODE_9999"
    assert not error.retriable


def test_success_is_not_an_error() -> None:
    with pytest.raises(ValueError, match="not an error"):
        error_for(0)
