"""Writes through Spark's own connector and through ours: the same records, or errors of one kind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.side_by_side.outcomes import (
    OURS,
    SPARKS,
    Case,
    Failure,
    Moment,
    Rows,
    Runner,
    ids,
    judge,
)

# The first test waits for Spark, a broker and its topics.
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

SERVERS = {
    "kafka.bootstrap.servers": "$bootstrap",
    "kafka.linger.ms": "0",
}
TO = SERVERS | {"topic": "$written"}
# Until what is not there is given up.
SOON = {"kafka.max.block.ms": "2000"}

KEYED = "select cast(id as string) as key, concat('value ', id) as value from range(0, 40, 1, 1)"
BYTES = "select cast(cast(id as string) as binary) as value, 1 as partition from range(0, 5, 1, 1)"
NULLS = (
    "select * from values (cast(null as string), 'a', 0), ('k', cast(null as string), 0), "
    "(cast(null as string), cast(null as string), 1) as rows(key, value, partition)"
)
HEADERS = (
    "select 'v' as value, 2 as partition, "
    "array(named_struct('key', 'a', 'value', cast('1' as binary)), "
    "named_struct('key', 'a', 'value', cast(null as binary))) as headers"
)
NULL_HEADERS = (
    "select 'v' as value, 0 as partition, cast(null as array<struct<key: string, value: binary>>) as headers"
)
BY_COLUMN = "select 'v' as value, 0 as partition, '$written' as topic"
TO_NOBODY = "select 'v' as value, cast(null as string) as topic"


def good(name: str, rows: str, count: int, **options: Any) -> Case:
    return Case(name, TO | {"rows": rows} | options, rows=count)


def bad(
    name: str,
    rows: str,
    moment: Moment,
    theirs: str,
    ours: str,
    our_moment: Moment | None = None,
    **options: Any,
) -> Case:
    return Case(name, SERVERS | {"rows": rows} | options, error=(moment, theirs, ours), our_moment=our_moment)


TOPIC = {"topic": "$written"}
GOOD = [
    good("keys choose partitions", KEYED, 40),
    good("bytes", BYTES, 5),
    good("nulls", NULLS, 3),
    good("headers", HEADERS, 1, includeHeaders="true"),
    good("headers without the option", HEADERS, 1),
    good("null headers", NULL_HEADERS, 1),
    good("no rows", "select 'v' as value where false", 0),
    good("a null partition", "select 'k' as key, 'v' as value, cast(null as int) as partition", 1),
    good("other columns are left out", "select 'k' as key, 'v' as value, 7 as number", 1),
    good("the option stands above the column", "select 'v' as value, 0 as partition, 'nowhere' as topic", 1),
    good(
        "the option stands above a null column",
        "select 'v' as value, 0 as partition, cast(null as string) as topic",
        1,
    ),
    good(
        "acks and compression",
        KEYED,
        40,
        **{"kafka.acks": "1", "kafka.compression.type": "zstd", "kafka.enable.idempotence": "false"},
    ),
    good(
        "settings",
        KEYED,
        40,
        **{
            "kafka.batch.size": "100",
            "kafka.buffer.memory": "1000000",
            "kafka.client.id": "side",
            "kafka.max.request.size": "10000",
            "kafka.metrics.num.samples": "3",
        },
    ),
    Case("a topic for each row", SERVERS | {"rows": BY_COLUMN}, rows=1),
]
BAD = [
    bad("no topic", KEYED, "plan", "topic option required|[Tt]opic", "where to"),
    bad("a null topic", TO_NOBODY, "run", "null topic", "topic.* is null"),
    bad("no value", "select 'k' as key", "plan", "'value' not found", "'value' is missing", **TOPIC),
    bad("a number as value", "select 7 as value", "plan", "value.*(must|type)", "'value' must be", **TOPIC),
    bad(
        "a number as key",
        "select 7 as key, 'v' as value",
        "plan",
        "key.*(must|type)",
        "'key' must be",
        **TOPIC,
    ),
    bad(
        "a text as partition",
        "select 'v' as value, 'one' as partition",
        "plan",
        "partition.*(must|type)",
        "'partition' must be",
        **TOPIC,
    ),
    bad(
        "a long as partition",
        "select 'v' as value, 1L as partition",
        "plan",
        "partition.*(must|type)",
        "'partition' must be",
        **TOPIC,
    ),
    bad(
        "a number as topic",
        "select 'v' as value, 7 as topic",
        "plan",
        "topic.*(must|type)",
        "'topic' must be",
    ),
    bad(
        "texts as headers",
        "select 'v' as value, array('a') as headers",
        "plan",
        "headers.*(must|type)",
        "'headers' must be",
        **TOPIC,
    ),
    bad(
        "a partition that is not there",
        "select 'v' as value, 7 as partition",
        "run",
        "not present in metadata|partition",
        "7",
        **TOPIC,
        **SOON,
    ),
    bad(
        "a negative partition",
        "select 'v' as value, -1 as partition",
        "run",
        "Invalid partition: -1",
        "-1",
        **TOPIC,
    ),
    bad(
        "a topic that is not there",
        KEYED,
        "run",
        "not present in metadata",
        "create it first",
        topic="$stem-nothing",
        **SOON,
    ),
    bad("a malformed name", KEYED, "run", "InvalidTopic|invalid", "invalid|Invalid", topic="not a name"),
    bad(
        "too large",
        "select repeat('x', 20000) as value",
        "run",
        "RecordTooLarge",
        "TooLarge|too large",
        **TOPIC,
        **{"kafka.max.request.size": "10000"},
    ),
    bad(
        "a serializer",
        KEYED,
        "plan",
        "'key.serializer' is not supported",
        "key.serializer cannot be set",
        **TOPIC,
        **{"kafka.key.serializer": "a.B"},
    ),
    bad(
        "another serializer",
        KEYED,
        "plan",
        "'value.serializer' is not supported",
        "value.serializer cannot be set",
        **TOPIC,
        **{"kafka.value.serializer": "a.B"},
    ),
    bad(
        "a word for acks", KEYED, "run", "acks", "acks", our_moment="plan", **TOPIC, **{"kafka.acks": "some"}
    ),
    bad("overwriting", KEYED, "plan", "(?i)overwrite", "overwritten", mode="overwrite", **TOPIC),
    bad(
        "only if there is nothing",
        KEYED,
        "plan",
        "(?i)ErrorIfExists|Save mode",
        "(?i)error|mode",
        mode="ignore",
        **TOPIC,
    ),
]


def compare(runner: Runner, case: Case) -> None:
    options = dict(case.options)
    rows, mode = options.pop("rows"), options.pop("mode", "append")

    def write(name: str) -> Any:
        return runner.write(name, rows, options, mode)

    judge(case, write(SPARKS), write(OURS))


@ids(GOOD)
def test_rows_become_the_same_records(runner: Runner, case: Case) -> None:
    compare(runner, case)


@ids(BAD)
def test_what_cannot_be_written_is_refused_alike(runner: Runner, case: Case) -> None:
    compare(runner, case)


def test_a_write_without_a_mode_is_refused_by_ours_alone(runner: Runner) -> None:
    """Spark asks Python's sinks for one."""
    theirs, ours = (runner.write(name, KEYED, TO, "error") for name in (SPARKS, OURS))
    assert isinstance(theirs, Rows)
    assert isinstance(ours, Failure)
    assert "ErrorIfExists" in ours.text


def test_an_option_that_is_not_known_is_told_by_ours_alone(runner: Runner) -> None:
    theirs, ours = (runner.write(name, KEYED, TO | {"topics": "a"}) for name in (SPARKS, OURS))
    assert isinstance(theirs, Rows)
    assert isinstance(ours, Failure)
    assert "did you mean 'topic'" in ours.text
