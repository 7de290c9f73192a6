from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.types import TopicPartition
from barnabas.ui.groups.lag_history import Growth
from barnabas.ui.pages.query_trouble import trouble_of, trouble_of_checkpoint
from barnabas.ui.streaming.checkpoints import SeenCheckpoint
from barnabas.ui.streaming.listened import SeenBatch, SeenPartition, SeenQuery

BATCHES = tuple(SeenBatch(number, number * 20.0, 3.0, 10, (("addBatch", 2.0),)) for number in range(6))
BEHIND = (SeenPartition(TopicPartition("flights", 0), 5, 1.0, 7),)
DONE = (replace(BEHIND[0], lag=0),)
QUERY = SeenQuery(
    "id", "copy", "running", None, 5, None, 3.0, 0, BEHIND, seconds_since_event=2.0, batches=BATCHES
)


def reason(query: SeenQuery, growth: Growth | None = None) -> str | None:
    found = trouble_of(query, growth)
    return None if found is None else found.reason


def test_a_query_that_goes_on_does_not_stand_out() -> None:
    assert reason(QUERY) is None
    assert reason(replace(QUERY, state="ended", seconds_since_event=1e6)) is None


def test_a_query_that_failed_says_the_first_line_of_why() -> None:
    assert reason(replace(QUERY, state="failed", error="the disk is full\nat org.apache")) == (
        "It failed: the disk is full"
    )


@pytest.mark.parametrize(("silent", "stands_out"), [(99.0, False), (101.0, True)])
def test_a_query_is_stalled_after_five_times_what_is_usual(silent: float, stands_out: bool) -> None:
    assert (reason(replace(QUERY, seconds_since_event=silent)) is not None) == stands_out


def test_a_query_with_nothing_to_read_is_not_stalled() -> None:
    assert reason(replace(QUERY, partitions=DONE, seconds_since_event=1_000.0)) is None


def test_what_is_usual_is_not_known_of_a_young_query() -> None:
    young = replace(QUERY, batches=BATCHES[:2])
    assert reason(replace(young, seconds_since_event=500.0)) is None
    assert reason(replace(young, seconds_since_event=660.0)) == (
        "No batch has ended for 11 min, though 7 records wait."
    )


def test_a_query_without_a_first_batch_stands_out_in_the_end() -> None:
    fresh = replace(QUERY, batches=(), partitions=(), seconds_since_event=590.0)
    assert reason(fresh) is None
    assert reason(replace(fresh, seconds_since_event=660.0)) == (
        "No batch has ended since it started 11 min ago."
    )


def test_lag_that_grows_between_two_batches_is_no_trouble() -> None:
    assert reason(QUERY, Growth(1_500, 50.0, is_stuck=True)) is None
    assert reason(QUERY, Growth(1_500, 100.0, is_stuck=True)) == (
        "It falls behind: in 100 s its lag has grown by 1,500 records; a batch takes 3.0 s."
    )


def test_a_slow_batch_says_where_the_time_went() -> None:
    slow = SeenBatch(6, 120.0, 40.0, 10, (("addBatch", 38.0), ("walCommit", 1.0)))
    query = replace(QUERY, batches=(*BATCHES, slow))
    assert reason(query) == "Its last batch took 40 s, where 3.0 s is usual; 38 s of it in addBatch."
    assert reason(replace(query, partitions=DONE)) is None


def test_a_batch_that_is_long_not_committed_stands_out_unless_a_listener_tells() -> None:
    checkpoint = SeenCheckpoint("place", None, "id", unfinished=(8,), planned_at_ms=1_000_000)
    assert trouble_of_checkpoint(checkpoint, 1_500.0, is_running=False) is None
    found = trouble_of_checkpoint(checkpoint, 9_000.0, is_running=False)
    assert found is not None
    assert found.reason == (
        "Batch 8 was planned 2 h ago and is not committed: the query is down, or stalled."
    )
    assert trouble_of_checkpoint(checkpoint, 9_000.0, is_running=True) is None
