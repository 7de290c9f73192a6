"""Progress as Spark reports it, read for its Kafka sources."""

from __future__ import annotations

import json
from typing import Any

from barnabas.spark.queries.progress import PartitionProgress, StateProgress, batch_progress
from barnabas.spark.queries.query_figures import MOST_BATCHES, MOST_QUERIES_THAT_ENDED, Queries
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


def test_a_batch_tells_its_rows_phases_state_and_watermark() -> None:
    told = {
        **progress({"startOffset": 3, "endOffset": 4}, kafka_source(10, 20, 50)),
        "durationMs": {"addBatch": 1500, "triggerExecution": 2000},
        "stateOperators": [
            {
                "operatorName": "stateStoreSave",
                "numRowsTotal": 40,
                "numRowsUpdated": 4,
                "memoryUsedBytes": 900,
                "numRowsDroppedByWatermark": 2,
            }
        ],
        "eventTime": {"watermark": "2026-11-21T17:00:00.000Z"},
    }
    batch = batch_progress(told)
    assert (batch.rows, batch.watermark) == (20, "2026-11-21T17:00:00.000Z")
    assert batch.phases_ms == {"addBatch": 1500, "triggerExecution": 2000}
    assert batch.state == (StateProgress("stateStoreSave", 40, 4, 900, 2),)
    queries = Queries()
    queries.started("id", "run", "copy")
    queries.progressed("id", "run", batch, {})
    (status,) = queries.status()
    assert status["watermark"] == "2026-11-21T17:00:00.000Z"
    assert status["state"][0]["rows"] == 40
    assert status["batches"] == [
        {
            "batch_id": 7,
            "began": "2026-11-21T17:46:33.840Z",
            "seconds": 2.0,
            "rows": 20,
            "phases_ms": {"addBatch": 1500, "triggerExecution": 2000},
            "state_rows": 40,
            "state_bytes": 900,
        }
    ]
    kept = {family.name: family.samples for family in queries.families()}
    assert [value for _, value in kept["pipeline.state_rows"]] == [40]
    assert [value for _, value in kept["pipeline.restarts"]] == [0]


def test_the_last_batches_are_kept_each_of_them_once() -> None:
    queries = Queries()
    queries.started("id", "run", "copy")
    for number in range(MOST_BATCHES + 5):
        queries.progressed("id", "run", batch_progress(progress(kafka_source(0, 9, 9), batch_id=number)), {})
    idle = {**progress(batch_id=MOST_BATCHES + 4), "batchDuration": 3}
    queries.progressed("id", "run", batch_progress(idle), {})
    batches = queries.status()[0]["batches"]
    assert [each["batch_id"] for each in batches] == list(range(5, MOST_BATCHES + 5))
    # Spark tells of the last batch again while there is nothing new.
    assert (batches[-1]["rows"], batches[-1]["seconds"]) == (10, 2.0)


def test_a_query_tells_how_long_nothing_was_heard_of_it() -> None:
    now = [100.0]
    queries = Queries(lambda: now[0])
    queries.started("id", "run", "copy")
    now[0] = 130.0
    assert queries.status()[0]["seconds_since_event"] == 30
    queries.idle("id", "run")
    now[0] = 131.0
    assert queries.status()[0]["seconds_since_event"] == 1
