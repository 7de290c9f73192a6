"""What dead letters tell, and the account that is kept of replays."""

from __future__ import annotations

import pytest

from barnabas import TopicPartition
from barnabas.cli.options import UsageError
from barnabas.records.dead_letters.conventions import DeadLetter, Origin
from barnabas.records.dead_letters.letters import (
    Account,
    Choice,
    account_of,
    broken_off_of,
)
from barnabas.types import OffsetAndMetadata

PARTITION = TopicPartition("letters", 0)
MENDED, OTHER = Choice(error="expected int"), Choice(query="q")


def letter(*, error: str = "", query: str = "", topic: str = "flights", read_at: int = 0) -> DeadLetter:
    return DeadLetter(Origin(topic, 0, 5), "VALUE_CONVERTER", "", error, query, read_at)


@pytest.mark.parametrize(
    ("choice", "is_held"),
    [
        (Choice(), True),
        (Choice(error="expected int"), True),
        (Choice(error="expected long"), False),
        (Choice(query="q", topic="flights"), True),
        (Choice(query="q", topic="trains"), False),
        (Choice(since=100, until=101), True),
        (Choice(until=100), False),
        (Choice(since=101), False),
    ],
)
def test_a_choice_holds_what_all_its_parts_hold(choice: Choice, is_held: bool) -> None:
    assert choice.holds(letter(error="expected int, got text", query="q", read_at=100)) is is_held


def test_what_was_chosen_before_is_done_and_the_rest_is_not() -> None:
    account = Account(10).after(MENDED, 50).after(OTHER, 60)
    assert account.is_done(9, letter())
    assert not account.is_done(10, letter())
    assert account.is_done(49, letter(error="expected int"))
    assert not account.is_done(50, letter(error="expected int"))
    assert account.is_done(59, letter(query="q"))


def test_a_replay_of_all_closes_the_account_of_those_before() -> None:
    assert Account(10).after(MENDED, 50).after(Choice(), 60) == Account(60)


def test_the_same_choice_has_one_entry() -> None:
    assert Account(0).after(MENDED, 5).after(OTHER, 6).after(MENDED, 9) == Account(0).after(OTHER, 6).after(
        MENDED, 9
    )


def test_an_account_survives_a_commit() -> None:
    choice = Choice("é", "q", "flights", 1, 2)
    account = Account(3).after(MENDED, 5).at(choice, "elsewhere", 9, Origin("flights", 1, 7), "edit")
    assert account_of(account.committed(), PARTITION) == account
    assert broken_off_of([Account(1), account]) == account.broken_off
    assert account_of(None, PARTITION) == Account(0)
    assert Account(4).committed() == OffsetAndMetadata(4, "")


@pytest.mark.parametrize("metadata", ["by another tool", "[1]", '{"now": {"end": 1}}', '{"sent": [{}]}'])
def test_what_others_have_committed_is_no_account(metadata: str) -> None:
    with pytest.raises(UsageError, match=r"letters-0 is not of a replay: name another --group"):
        account_of(OffsetAndMetadata(3, metadata), PARTITION)


def test_an_account_that_brokers_would_refuse_is_told() -> None:
    account = Account(0)
    for number in range(40):
        account = account.after(Choice(error=f"{number} {'x' * 100}"), number)
    with pytest.raises(UsageError, match="too many replays of different choices"):
        account.committed()
