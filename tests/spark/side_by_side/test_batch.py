"""Batch queries through Spark's own connector and through ours: the same rows, or errors of one kind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.side_by_side.outcomes import (
    AT_ONCE,
    OURS,
    QUICK,
    SPARKS,
    Case,
    Failure,
    Moment,
    Rows,
    Runner,
    bad,
    by_partition,
    good,
    ids,
    judge,
)
from tests.spark.side_by_side.prepared import STARTED_MS

# The first test waits for Spark, a broker and its topics.
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

AT = STARTED_MS
LATER = 4_000_000_000_000
PLAIN = {"subscribe": "$plain"}
COMMITTED = {"kafka.isolation.level": "read_committed"}


SUBSCRIPTIONS = [
    good("one topic", 50, PLAIN),
    good("topics with blanks and one twice", 55, subscribe=" $plain , $stamped,,$plain"),
    good("a pattern", 55, subscribePattern="^$stem-(plain|stamped)"),
    good("a pattern within a name", 50, subscribePattern="$stem-pl"),
    good("a pattern that nothing matches", 0, subscribePattern="no-such-.*"),
    good("some partitions", 32, assign='{"$plain": [1, 2], "$shortened": [0], "$stamped": [0]}'),
    good("null keys and values", 4, subscribe="$odd"),
    good("headers", 4, subscribe="$odd", includeHeaders="true"),
    good("no headers wanted", 4, subscribe="$odd", includeHeaders="FALSE"),
    good("an empty topic", 0, subscribe="$empty"),
    good("times given by the broker", 5, subscribe="$stamped"),
    good("names in other letters", 30, SUBSCRIBE="$plain", STARTINGoffsets=by_partition("plain", 0, 20, -2)),
    good("a group", 50, PLAIN, {"kafka.group.id": "some-group"}),
    good("the beginning of a group's name", 50, PLAIN, groupIdPrefix="some"),
    good("a group and a beginning", 50, PLAIN, {"kafka.group.id": "some-group"}, groupIdPrefix="some"),
    bad("no topics", "load", "One of the following options must be", "exactly one of"),
    bad(
        "two ways at once",
        "load",
        "Only one of the following options",
        "exactly one of",
        PLAIN,
        assign='{"a": [0]}',
    ),
    bad("no name", "load", "No topics to subscribe to", "names no topic", subscribe=" , "),
    bad("no pattern", "load", "Pattern to subscribe is empty", "is empty", subscribePattern=" "),
    bad(
        "a malformed pattern",
        "load",
        "Unclosed group",
        "subscribePattern",
        subscribePattern="a(",
    ),
    bad("partitions without JSON", "load", "No topicpartitions to assign", "must be JSON", assign="a-0"),
    bad("malformed JSON", "load", "Expected e.g", "must be JSON", assign='{"a": [0'),
    bad("JSON of something else", "load", "Expected e.g", "must hold a list", assign='{"a": {"0": 1}}'),
    bad(
        "a topic that is not there",
        "plan",
        "UnknownTopicOrPartition",
        "does not exist",
        subscribe="$stem-nothing",
    ),
]
STARTS = [
    good("earliest and latest", 50, PLAIN, startingOffsets="earliest", endingOffsets="latest"),
    good("in capitals", 50, PLAIN, startingOffsets="EARLIEST", endingOffsets="Latest"),
    good(
        "by partition",
        5 + 12,
        PLAIN,
        startingOffsets=by_partition("plain", 3, -2, 0),
        endingOffsets=by_partition("plain", 8, 12, -1),
    ),
    good(
        "nothing between",
        0,
        PLAIN,
        startingOffsets=by_partition("plain", 3, 20, 0),
        endingOffsets=by_partition("plain", 3, -1, -1),
    ),
    bad(
        "start after end",
        "load",
        "start offset 9 is greater than the end offset 8",
        "after endingOffsets, 8",
        PLAIN,
        startingOffsets=by_partition("plain", 9, -2, 0),
        endingOffsets=by_partition("plain", 8, -1, -1),
    ),
    bad(
        "latest",
        "load",
        "starting offset can't be latest",
        "cannot be latest",
        PLAIN,
        startingOffsets="latest",
        our_moment="plan",
    ),
    bad(
        "latest for one",
        "load",
        "can't be latest",
        "cannot be latest",
        PLAIN,
        startingOffsets=by_partition("plain", -1, 0, 0),
        our_moment="plan",
    ),
    bad(
        "to earliest",
        "load",
        "ending offset can't be earliest",
        "cannot be earliest",
        PLAIN,
        endingOffsets="earliest",
        our_moment="plan",
    ),
    bad(
        "to earliest for one",
        "load",
        "can't be earliest|can't be set",
        "cannot be earliest",
        PLAIN,
        endingOffsets=by_partition("plain", -2, 0, 0),
        our_moment="plan",
    ),
    bad("a word", "load", "Expected e.g", "must be earliest, latest or JSON", PLAIN, startingOffsets="now"),
    bad("half of JSON", "load", "Expected e.g", "must be JSON", PLAIN, startingOffsets='{"$plain": {"0"'),
    bad(
        "no number", "load", "Expected e.g", "not an offset", PLAIN, startingOffsets='{"$plain": {"0": "1"}}'
    ),
    bad(
        "-3",
        "run",
        "offset -3",
        "is not an offset",
        PLAIN,
        startingOffsets=by_partition("plain", -3, 0, 0),
        our_moment="load",
    ),
    *[
        bad(name, "plan", "don't match what are assigned", ours, PLAIN, **options)
        for name, ours, options in [
            ("a start left out", "leaves out .*-2", {"startingOffsets": by_partition("plain", 1, 1)}),
            ("an end left out", "leaves out .*-2", {"endingOffsets": by_partition("plain", 1, 1)}),
            ("a start too many", "names .*-3", {"startingOffsets": by_partition("plain", 1, 1, 0, 0)}),
            (
                "a topic too many",
                "names .*empty-0",
                {"startingOffsets": '{"$plain": {"0": 1, "1": 1, "2": 0}, "$empty": {"0": 0}}'},
            ),
            (
                "a time left out",
                "leaves out .*-2",
                {"startingOffsetsByTimestamp": by_partition("plain", 0, 0)},
            ),
            (
                "an end's time too many",
                "names .*-3",
                {"endingOffsetsByTimestamp": by_partition("plain", 0, 0, 0, 0)},
            ),
        ]
    ],
]
TWO = {"assign": '{"$plain": [0, 1]}'}
LATEST = {"startingOffsetsByTimestampStrategy": "latest"}
TIMES = [
    good("from a time", 20 + 10, PLAIN, LATEST, startingTimestamp=AT + 10_000),
    good("to a time", 20, PLAIN, endingTimestamp=AT + 10_000),
    good("between times", 10 + 10, TWO, startingTimestamp=AT + 5_000, endingTimestamp=AT + 15_000),
    good(
        "by partition", 25 + 18, TWO, startingOffsetsByTimestamp=by_partition("plain", AT + 5_000, AT + 1_002)
    ),
    good("to, by partition", 5 + 20, TWO, endingOffsetsByTimestamp=by_partition("plain", AT + 5_000, LATER)),
    good(
        "a start's time counts before all else",
        20 + 10,
        TWO,
        startingTimestamp=AT + 10_000,
        startingOffsetsByTimestamp=by_partition("plain", 0, 0),
        startingOffsets="latest",
    ),
    good(
        "a start's times count before offsets",
        20 + 9,
        TWO,
        startingOffsetsByTimestamp=by_partition("plain", AT + 10_000, AT + 10_002),
        startingOffsets="latest",
    ),
    good(
        "an end's time counts before all else",
        20,
        TWO,
        endingTimestamp=AT + 10_000,
        endingOffsetsByTimestamp=by_partition("plain", 0, 0),
        endingOffsets="earliest",
    ),
    good(
        "an end's times count before offsets",
        7,
        TWO,
        endingOffsetsByTimestamp=by_partition("plain", AT + 7_000, 0),
        endingOffsets="earliest",
    ),
    good("that do not ascend", 5, subscribe="$unordered", startingTimestamp=AT + 35_000),
    good("that do not ascend, to", 1, subscribe="$unordered", endingTimestamp=AT + 35_000),
    good(
        "no record so young, so none",
        0,
        PLAIN,
        startingTimestamp=LATER,
        startingOffsetsByTimestampStrategy="LATEST",
    ),
    good("no end so young, so all", 50, PLAIN, endingTimestamp=LATER),
    bad(
        "no record so young",
        "plan",
        "No offset matched",
        "no record at or after",
        PLAIN,
        startingTimestamp=LATER,
    ),
    bad(
        "no record so young in one",
        "plan",
        "No offset matched",
        "no record at or after",
        TWO,
        startingOffsetsByTimestamp=by_partition("plain", 0, LATER),
    ),
    bad(
        "another strategy",
        "load",
        "No value found for",
        "must be error or latest",
        PLAIN,
        startingTimestamp=1,
        startingOffsetsByTimestampStrategy="earliest",
    ),
    bad(
        "from after to",
        "plan",
        "start offset 15 is greater than .* end offset 5",
        "says 15, which is after .*, 5",
        assign='{"$plain": [0]}',
        startingTimestamp=AT + 15_000,
        endingTimestamp=AT + 5_000,
    ),
    bad(
        "a word",
        "load",
        "Expected a single long|For input string",
        "milliseconds",
        PLAIN,
        startingTimestamp="now",
    ),
    bad("an end in words", "load", "Expected e.g", "must be JSON", PLAIN, endingOffsetsByTimestamp="now"),
]
TASKS = [
    good("at least as many as there are", 50, PLAIN, minPartitions=2),
    good("more", 50, PLAIN, minPartitions=6),
    good("far more", 50, PLAIN, minPartitions=100),
    good(
        "most rows",
        5 + 20,
        PLAIN,
        maxRecordsPerPartition=7,
        startingOffsets=by_partition("plain", 25, 0, 0),
        endingOffsets=by_partition("plain", 30, 20, 0),
    ),
    # Spark's connector cuts nothing whose ends are not numbers, and ours what the user wants cut.
    good("most rows of all", 50, PLAIN, maxRecordsPerPartition=7, parts_differ=True),
    # Spark's connector leaves a whole partition out of account for its smallest part.
    good("both", 50, PLAIN, maxRecordsPerPartition=7, minPartitions=12, parts_differ=True),
    bad("none", "load", "minPartitions must be positive", "minPartitions must be", PLAIN, minPartitions=0),
    bad("no number", "load", "For input string", "minPartitions must be", PLAIN, minPartitions="many"),
    bad(
        "no rows",
        "load",
        "(?i)maxRecordsPerPartition must be positive",
        "maxRecordsPerPartition must be",
        PLAIN,
        maxRecordsPerPartition=0,
    ),
]
MAY_BE_LOST = {"failOnDataLoss": "false"} | AT_ONCE
LOST = "data may have been lost"
GAPS = [
    good("what was deleted is not read", 7, subscribe="$shortened"),
    # Ours tells before a task runs what the driver can see.
    bad(
        "what was deleted is missed",
        "run",
        LOST,
        "failOnDataLoss",
        subscribe="$shortened",
        startingOffsets=by_partition("shortened", 1, -2),
        our_moment="plan",
    ),
    bad(
        "more than there is",
        "run",
        LOST,
        "failOnDataLoss",
        AT_ONCE,
        subscribe="$stamped",
        endingOffsets=by_partition("stamped", 9),
        our_moment="plan",
    ),
    bad(
        "behind the end",
        "run",
        LOST,
        "failOnDataLoss",
        AT_ONCE,
        subscribe="$stamped",
        startingOffsets=by_partition("stamped", 7),
        endingOffsets=by_partition("stamped", 9),
        our_moment="plan",
    ),
    good(
        "what was deleted may be missed",
        7,
        MAY_BE_LOST,
        subscribe="$shortened",
        startingOffsets=by_partition("shortened", 1, 0),
    ),
    good(
        "more than there is, perhaps",
        5,
        MAY_BE_LOST,
        subscribe="$stamped",
        endingOffsets=by_partition("stamped", 9),
    ),
    good(
        "behind the end, perhaps",
        0,
        MAY_BE_LOST,
        subscribe="$stamped",
        startingOffsets=by_partition("stamped", 7),
        endingOffsets=by_partition("stamped", 9),
    ),
    good("transactions", 8, subscribe="$transactions"),
    good("committed transactions", 6, COMMITTED, subscribe="$transactions"),
    good(
        "from within what was aborted to a marker",
        2,
        COMMITTED,
        subscribe="$transactions",
        startingOffsets=by_partition("transactions", 5),
        endingOffsets=by_partition("transactions", 9),
    ),
    good(
        "aborted rows and markers alone",
        0,
        COMMITTED,
        subscribe="$transactions",
        startingOffsets=by_partition("transactions", 3),
        endingOffsets=by_partition("transactions", 7),
    ),
    good(
        "transactions cut",
        6,
        COMMITTED,
        subscribe="$transactions",
        maxRecordsPerPartition=2,
        startingOffsets=by_partition("transactions", 0),
        endingOffsets=by_partition("transactions", 11),
    ),
    good("an open transaction", 10, subscribe="$undecided"),
    good("up to an open transaction", 6, COMMITTED, subscribe="$undecided"),
    good("a compacted topic", None, subscribe="$compacted"),
    good(
        "tasks within gaps",
        None,
        subscribe="$compacted",
        maxRecordsPerPartition=50,
        startingOffsets=by_partition("compacted", 0),
        endingOffsets=by_partition("compacted", 400),
    ),
    good(
        "a gap alone",
        0,
        subscribe="$compacted",
        startingOffsets=by_partition("compacted", 10),
        endingOffsets=by_partition("compacted", 300),
    ),
    bad("perhaps", "load", "For input string", "true or false", PLAIN, failOnDataLoss="maybe"),
    bad("headers, perhaps", "load", "For input string", "true or false", PLAIN, includeHeaders="maybe"),
]
OF_JAVAS_CONSUMER = {
    "max.poll.records": 7,
    "fetch.min.bytes": 1,
    "max.partition.fetch.bytes": 1000,
    "receive.buffer.bytes": 65536,
    "client.id": "side",
    "client.rack": "r",
    "client.dns.lookup": "use_all_dns_ips",
    "check.crcs": "true",
    "session.timeout.ms": 30000,
    "heartbeat.interval.ms": 1000,
    "max.poll.interval.ms": 60000,
    "metadata.max.age.ms": 10000,
    "connections.max.idle.ms": 10000,
    "reconnect.backoff.ms": 10,
    "retry.backoff.ms": 10,
    "security.protocol": "PLAINTEXT",
    "exclude.internal.topics": "false",
    "allow.auto.create.topics": "false",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "metrics.num.samples": 3,
}
REFUSED = (
    "auto.offset.reset",
    "key.deserializer",
    "value.deserializer",
    "enable.auto.commit",
    "interceptor.classes",
)
SETTINGS = [
    good(
        "for streams alone", 50, PLAIN, maxOffsetsPerTrigger=3, minOffsetsPerTrigger=2, maxTriggerDelay="1m"
    ),
    good("of the consumer", 50, PLAIN, {f"kafka.{name}": text for name, text in OF_JAVAS_CONSUMER.items()}),
    good("of the sink", 50, PLAIN, topic="$plain"),
    Case("no servers", PLAIN, error=("load", "kafka.bootstrap.servers", "kafka.bootstrap.servers")),
    *[
        bad(
            name,
            "load",
            f"'{name}' is not supported",
            f"{name} cannot be set",
            PLAIN,
            {f"kafka.{name}": "earliest"},
        )
        for name in REFUSED
    ],
    bad(
        "a word for a number",
        "run",
        "fetch.max.bytes",
        "fetch.max.bytes",
        PLAIN,
        {"kafka.fetch.max.bytes": "many"},
        our_moment="load",
    ),
    bad(
        "a word for retries",
        "plan",
        "For input string",
        "numRetries",
        PLAIN,
        {"fetchOffset.numRetries": "many"},
        our_moment="load",
    ),
    bad(
        "a word for a time-out",
        "load",
        "For input string",
        "pollTimeoutMs",
        PLAIN,
        {"kafkaConsumer.pollTimeoutMs": "long"},
    ),
    bad(
        "a server that is not there",
        "plan",
        "Timed out|TimeoutException",
        "127.0.0.1:9",
        PLAIN,
        {
            "kafka.bootstrap.servers": "127.0.0.1:9",
            "kafka.default.api.timeout.ms": 2000,
            "kafka.request.timeout.ms": 1500,
        },
    ),
]


def compare(runner: Runner, case: Case) -> None:
    judge(case, runner.read(SPARKS, case.options), runner.read(OURS, case.options))


@ids(SUBSCRIPTIONS)
def test_subscriptions_mean_the_same(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(STARTS)
def test_starts_and_ends_mean_the_same(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(TIMES)
def test_times_mean_the_same(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(TASKS)
def test_ranges_are_cut_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(GAPS)
def test_offsets_without_a_row_are_treated_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(SETTINGS)
def test_settings_are_taken_and_refused_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


# Where ours is meant to differ: it tells of what Spark's connector passes over.
STRICTER = [
    ({"assign": '{"$plain": [0, 7]}'}, 30, "plan", "-7 does not exist"),
    (TWO | {"startingTimestamp": -1}, 0, "load", "milliseconds since 1970"),
    (PLAIN | {"startingOffset": "latest"}, 50, "load", "did you mean 'startingOffsets'"),
    (PLAIN | {"kafka.fetch.max.bites": "1"}, 50, "load", "did you mean 'kafka.fetch.max.bytes'"),
]


@pytest.mark.parametrize(("options", "rows", "moment", "words"), STRICTER, ids=[each[3] for each in STRICTER])
def test_what_sparks_connector_passes_over_is_told(
    runner: Runner, options: dict[str, Any], rows: int, moment: Moment, words: str
) -> None:
    theirs, ours = (runner.read(name, QUICK | options) for name in (SPARKS, OURS))
    assert isinstance(theirs, Rows)
    assert len(theirs.rows) == rows
    assert isinstance(ours, Failure)
    assert ours.moment == moment
    assert words in ours.text
