"""Streaming queries through Spark's own connector and through ours: the same rows in the same batches, or
errors of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.spark.conftest import Message
from tests.spark.side_by_side.outcomes import (
    AT_ONCE,
    OURS,
    QUICK,
    SPARKS,
    Case,
    Failure,
    Rows,
    Runner,
    bad,
    by_partition,
    good,
    ids,
    judge,
)
from tests.spark.side_by_side.prepared import STARTED_MS, Prepared

# The first test waits for Spark, a broker and its topics.
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

AT = STARTED_MS
PLAIN = {"subscribe": "$plain"}
EARLIEST = {"startingOffsets": "earliest"}
ALL = PLAIN | EARLIEST
COMMITTED = {"kafka.isolation.level": "read_committed"}

STARTS = [
    good("nothing but latest", 0, PLAIN),
    good("earliest", 50, ALL),
    good("latest", 0, PLAIN, startingOffsets="latest"),
    good("by partition", 27 + 20, PLAIN, startingOffsets=by_partition("plain", 3, -2, -1)),
    good(
        "a time before offsets",
        10,
        PLAIN,
        startingOffsetsByTimestampStrategy="latest",
        startingTimestamp=AT + 20_000,
        startingOffsets="earliest",
    ),
    good(
        "times before offsets",
        30,
        PLAIN,
        startingOffsetsByTimestampStrategy="latest",
        startingOffsetsByTimestamp=by_partition("plain", AT, AT * 2, AT),
        startingOffsets="earliest",
    ),
    good("a pattern", 55, EARLIEST, subscribePattern="^$stem-(plain|stamped)"),
    good("some partitions", 30, EARLIEST, assign='{"$plain": [0, 2]}'),
    good("headers", 4, EARLIEST, subscribe="$odd", includeHeaders="true"),
    good("what is left of a topic", 7, EARLIEST, subscribe="$shortened"),
    good("committed transactions", 6, EARLIEST, COMMITTED, subscribe="$transactions"),
    good("up to an open transaction", 6, EARLIEST, COMMITTED, subscribe="$undecided"),
    good("a compacted topic", None, EARLIEST, subscribe="$compacted"),
]
BATCHES = [
    good("at most", 50, ALL, maxOffsetsPerTrigger=13),
    good("at most one", 5, EARLIEST, subscribe="$stamped", maxOffsetsPerTrigger=2),
    good("fewer than partitions", 55, EARLIEST, subscribe="$plain,$stamped", maxOffsetsPerTrigger=20),
    good("at least", 50, ALL, minOffsetsPerTrigger=1000),
    good("at least and at most", 50, ALL, minOffsetsPerTrigger=10, maxOffsetsPerTrigger=30),
    good("at least, and a delay", 50, ALL, minOffsetsPerTrigger=10, maxTriggerDelay="5m"),
    good("transactions cut", 6, EARLIEST, COMMITTED, subscribe="$transactions", maxOffsetsPerTrigger=4),
    good("gaps cut", None, EARLIEST, subscribe="$compacted", maxOffsetsPerTrigger=150),
    good("more tasks", 50, ALL, minPartitions=6),
    good("more tasks for the rows", 50, ALL, maxRecordsPerPartition=8),
]
ERRORS = [
    bad(
        "an end",
        "load",
        "ending offset not valid in streaming",
        "endingOffsets is not for streaming",
        ALL,
        endingOffsets="latest",
        our_moment="plan",
    ),
    bad(
        "an end by times",
        "load",
        "ending timestamp not valid",
        "endingOffsetsByTimestamp is not for streaming",
        ALL,
        endingOffsetsByTimestamp=by_partition("plain", AT, AT, AT),
        our_moment="plan",
    ),
    bad("no topics", "load", "One of the following options must be", "exactly one of"),
    bad("two ways", "load", "Only one of the following options", "exactly one of", ALL, subscribePattern="a"),
    bad(
        "a group of deserializers",
        "load",
        "'key.deserializer' is not supported",
        "key.deserializer cannot be set",
        ALL,
        {"kafka.key.deserializer": "a.B"},
    ),
    bad(
        "more than at most",
        "load",
        r"minOffsetPerTrigger\(9\) is higher",
        "must not be above",
        ALL,
        minOffsetsPerTrigger=9,
        maxOffsetsPerTrigger=8,
    ),
    bad(
        "a word for at most",
        "plan",
        "For input string",
        "maxOffsetsPerTrigger must be",
        ALL,
        maxOffsetsPerTrigger="few",
        our_moment="load",
    ),
    bad(
        "a word for a delay",
        "plan",
        "(?i)time|soon",
        "maxTriggerDelay must be",
        ALL,
        minOffsetsPerTrigger=1,
        maxTriggerDelay="soon",
        our_moment="load",
    ),
    bad(
        "a topic that is not there",
        "plan",
        "UnknownTopicOrPartition",
        "does not exist",
        EARLIEST,
        subscribe="$stem-nothing",
    ),
    bad(
        "a start left out",
        "plan",
        "must specify all TopicPartitions",
        "leaves out",
        PLAIN,
        startingOffsets=by_partition("plain", 1, 1),
    ),
    bad(
        "no record so young",
        "plan",
        "No offset matched",
        "no record at or after",
        PLAIN,
        startingTimestamp=4_000_000_000_000,
    ),
]


def compare(runner: Runner, case: Case) -> None:
    judge(case, runner.stream(SPARKS, case.options), runner.stream(OURS, case.options))


@ids(STARTS)
def test_new_queries_start_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(BATCHES)
def test_batches_are_divided_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(ERRORS)
def test_what_cannot_be_is_refused_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


def test_a_start_that_was_deleted_is_missed_or_passed_over(runner: Runner) -> None:
    """Ours sees it before the first batch is planned, Spark's connector when a task reads there."""
    options = AT_ONCE | {"subscribe": "$shortened", "startingOffsets": by_partition("shortened", 1, 0)}
    compare(runner, bad("", "run", "may have been lost", "failOnDataLoss", options, our_moment="plan"))
    compare(runner, good("", 7, options, failOnDataLoss="false"))


@pytest.mark.parametrize("trigger", [{"once": True}, {"availableNow": True}])
def test_triggers_that_end_mean_the_same(runner: Runner, trigger: Mapping[str, Any]) -> None:
    options = QUICK | ALL | {"maxOffsetsPerTrigger": "20"}
    theirs, ours = (runner.stream(name, options, **trigger) for name in (SPARKS, OURS))
    judge(Case("", {}, rows=50), theirs, ours)


class Restarted:
    """A topic and two queries that are started again after something has happened to it."""

    def __init__(self, runner: Runner, topics: Prepared, short: str) -> None:
        self._runner = runner
        self.topics = topics
        self.topic = topics.create(short, 2)
        self.options = QUICK | AT_ONCE | EARLIEST | {"subscribe": f"${short}"}
        self.write(10)

    def write(self, count: int, partition: int = 0) -> None:
        self.topics.kafka.write(
            self.topic, [Message(b"%d" % number, partition=partition) for number in range(count)]
        )

    def run(self, rows: int | None = None, error: Any = None, **options: str) -> None:
        both = self.options | options
        theirs, ours = (self._runner.stream(name, both, checkpoint=self.topic) for name in (SPARKS, OURS))
        judge(Case("", {}, rows=rows, error=error), theirs, ours)


def test_a_query_goes_on_where_it_was_whatever_its_start_says_now(runner: Runner, topics: Prepared) -> None:
    query = Restarted(runner, topics, "continued")
    query.run(rows=10)
    query.write(3, 1)
    query.run(rows=13, startingOffsets="latest")
    query.run(rows=13, startingTimestamp="1")


def test_partitions_found_later_are_read_from_their_beginning(runner: Runner, topics: Prepared) -> None:
    query = Restarted(runner, topics, "grows")
    query.run(rows=10)
    topics.kafka.grow(query.topic, 3)
    query.write(4, 2)
    query.run(rows=14, startingOffsets="latest")


def test_records_deleted_between_batches_are_missed_or_passed_over(runner: Runner, topics: Prepared) -> None:
    query = Restarted(runner, topics, "shrinks")
    query.run(rows=10)
    query.write(10)
    topics.kafka.delete_records_before(query.topic, 0, 15)
    query.run(error=("run", "may have been lost", "failOnDataLoss"))
    query.run(rows=15, failOnDataLoss="false")


def test_a_topic_made_anew_is_told(runner: Runner, topics: Prepared, eventually: Any) -> None:
    query = Restarted(runner, topics, "anew")
    query.run(rows=10)
    topics.kafka.delete(query.topic)
    eventually(lambda: topics.kafka.try_to_create(query.topic), timeout=60)
    query.run(error=("plan", "may have been lost", "failOnDataLoss"))


def test_an_end_by_time_is_refused_by_ours_alone(runner: Runner) -> None:
    """Spark's connector passes over it, and would refuse it given by partition."""
    theirs, ours = (runner.stream(name, QUICK | ALL | {"endingTimestamp": AT}) for name in (SPARKS, OURS))
    assert isinstance(theirs, Rows)
    assert len(theirs.rows) == 50
    assert isinstance(ours, Failure)
    assert "endingTimestamp is not for streaming" in ours.text


def test_a_continuous_query_is_refused_by_ours_alone(runner: Runner) -> None:
    """A Python source has no such reader."""
    outcome = runner.stream(OURS, QUICK | ALL, continuous="1 second")
    assert isinstance(outcome, Failure)
    assert "continuous" in outcome.text.lower()
