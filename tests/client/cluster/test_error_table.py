from __future__ import annotations

import pytest

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.cluster.error_table import (
    MOVED_CONTROLLER,
    MOVED_COORDINATOR,
    MOVED_LEADER,
    Consequence,
    errors_with,
)

FOUND_OR_AWAITED = (
    Consequence.FIND_CONTROLLER
    | Consequence.FIND_COORDINATOR
    | Consequence.SUSPECT_COORDINATOR
    | Consequence.AWAIT_COORDINATOR
    | Consequence.FIND_LEADER
    | Consequence.ASK_AGAIN
)


@pytest.mark.parametrize("code", sorted(errors_with(FOUND_OR_AWAITED)), ids=lambda code: ErrorCode(code).name)
def test_kafka_too_says_that_what_is_looked_for_anew_may_be_asked_again(code: int) -> None:
    assert error_for(code).retriable


def test_nothing_that_ends_a_transaction_or_a_membership_may_be_asked_again() -> None:
    ended = errors_with(Consequence.FENCED | Consequence.ABORT | Consequence.REJOIN)
    assert [ErrorCode(code).name for code in ended if error_for(code).retriable] == []


def test_each_consequence_follows_from_some_error() -> None:
    assert [consequence for consequence in Consequence if not errors_with(consequence)] == []


def test_errors_of_several_consequences_are_those_of_each() -> None:
    both = Consequence.FIND_LEADER | Consequence.FETCH_AGAIN
    assert errors_with(both) == errors_with(Consequence.FIND_LEADER) | errors_with(Consequence.FETCH_AGAIN)


def test_who_is_in_charge_is_asked_again_only_about_what_is_in_his_charge() -> None:
    assert ErrorCode.NOT_CONTROLLER in MOVED_CONTROLLER - MOVED_COORDINATOR - MOVED_LEADER
    assert ErrorCode.NOT_COORDINATOR in MOVED_COORDINATOR - MOVED_CONTROLLER - MOVED_LEADER
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in MOVED_LEADER - MOVED_CONTROLLER - MOVED_COORDINATOR
    assert ErrorCode.REQUEST_TIMED_OUT not in MOVED_CONTROLLER | MOVED_COORDINATOR | MOVED_LEADER
