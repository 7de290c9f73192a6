"""Progress as Spark reports it, read for its Kafka sources."""

from __future__ import annotations

import json
from typing import Any

from barnabas.spark.queries.progress import PartitionProgress, batch_progress
from barnabas.spark.queries.query_figures import MOST_QUERIES_THAT_ENDED, Queries
from barnabas.types import TopicPartition

FLIGHTS = TopicPartition("flights", 0)


def progress(*sources: dict[str, Any], batch_id: int = 7) -> dict[str, Any]:
    return {
        "batchId": batch_id,
        "timestamp": "2026-11-21T17:46:33.840Z",
        "batchDuration": 2000,
        "sources": [{"numInputRows": 10, "description": "Source", **source} for source in sources],
    }


def kafka_source(start: int | None, end: int, latest: int | None) -> dict[str, Any]:
    def offset(number: int | None) -> dict[str, Any] | None:
        return None if number is None else {"flights": {"0": number}}

    return {"startOffset": offset(start), "endOffset": offset(end), "latestOffset": offset(latest)}


def test_sources_that_are_not_of_kafka_are_left_out() -> None:
    others = [
        {"startOffset": 3, "endOffset": 4, "latestOffset": 4},
        {"startOffset": None, "endOffset": {"logOffset": 0}, "latestOffset": None},
        {"startOffset": None, "endOffset": "0", "latestOffset": None},
    ]
    (source,) = batch_progress(progress(*others, kafka_source(10, 20, 50))).sources
    assert source.number == 3
    assert source.partitions == {FLIGHTS: PartitionProgress(20, 50, 10)}


def test_offsets_may_come_as_text() -> None:
    source = {name: json.dumps(value) for name, value in kafka_source(10, 20, 50).items()}
    assert batch_progress(progress(source)).sources[0].behind == (30, 30, 30.0)


def test_a_source_that_tells_no_latest_offsets_has_no_lag() -> None:
    (source,) = batch_progress(progress(kafka_source(10, 20, None))).sources
    assert source.behind is None
    assert source.partitions[FLIGHTS].lag is None


def test_rates_are_those_of_the_last_batch_and_end_with_the_query() -> None:
    queries = Queries()
    queries.started("id", "run", "copy")
    queries.progressed("id", "run", batch_progress(progress(kafka_source(10, 20, 50))), {FLIGHTS: 100.0})
    queries.progressed("id", "run", batch_progress(progress(kafka_source(20, 50, 50))), {FLIGHTS: 100.0})

    def partition() -> dict[str, Any]:
        return queries.status()[0]["sources"][0]["partitions"][0]

    assert (partition()["rows_per_second"], partition()["bytes_per_second"]) == (15.0, 1500.0)
    queries.idle("id", "run")
    assert (partition()["rows_per_second"], partition()["lag"]) == (0.0, 0)
    queries.terminated("id", "run", None)
    families = {family.name: family.samples for family in queries.families()}
    assert [value for _, value in families["pipeline.up"]] == [0.0]
    assert [value for _, value in families["pipeline.rows"]] == [40]
    assert [value for _, value in families["pipeline.read"]] == [4000.0]


def test_a_query_that_is_started_again_is_one() -> None:
    queries = Queries()
    for run in ("first", "second"):
        queries.started("id", run, "copy")
        queries.terminated("id", run, "broken" if run == "first" else None)
    (query,) = queries.status()
    assert (query["run_id"], query["error"]) == ("second", None)


def test_queries_that_ended_are_not_kept_for_ever() -> None:
    queries = Queries()
    queries.started("running", "run", None)
    for number in range(2 * MOST_QUERIES_THAT_ENDED):
        queries.started(f"{number}", "run", None)
        queries.terminated(f"{number}", "run", None)
    ids = [query["id"] for query in queries.status()]
    assert len(ids) <= MOST_QUERIES_THAT_ENDED + 2
    assert {"running", f"{2 * MOST_QUERIES_THAT_ENDED - 1}"} <= set(ids)
