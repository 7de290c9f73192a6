"""Figures of streaming queries: what a listener makes of Spark's events, and how it serves them."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import DataFrame, SparkSession
from tests.spark.conftest import Kafka, Message

from barnabas.errors import InvalidSettingError
from barnabas.spark.listener import PipelineListener
from barnabas.spark.planning.offsets import from_document
from barnabas.spark.queries.progress import PartitionProgress, batch_progress
from barnabas.types import TopicPartition

TIMEOUT_SECONDS = 120
Read = Callable[..., DataFrame]


@pytest.fixture
def listening(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> Iterator[PipelineListener]:
    with PipelineListener(
        port=0, textfile=tmp_path / "pipeline.prom", bootstrap_servers=kafka.bootstrap
    ) as listener:
        spark.streams.addListener(listener)
        yield listener
        spark.streams.removeListener(listener)


def fetched(listener: PipelineListener, page: str) -> str:
    with urllib.request.urlopen(f"{listener.url}{page}", timeout=TIMEOUT_SECONDS) as response:
        return response.read().decode()


def samples(text: str) -> dict[tuple[str, str], float]:
    """By name, and by partition where a sample has one."""
    return {
        (sample.name, sample.labels.get("partition", sample.labels.get("of", ""))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_lag_rows_and_bytes_of_each_partition_are_served_while_a_query_runs(
    kafka: Kafka,
    read_stream: Read,
    listening: PipelineListener,
    eventually: Callable[..., dict],
    tmp_path: Path,
) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [*[b"x" * 100] * 30, *[Message(b"y" * 50, partition=1)] * 10])
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    writer = stream.writeStream.format("noop").queryName("copy").trigger(processingTime="0 seconds")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()

        def status() -> dict | None:
            found = [each for each in listening.status()["queries"] if each["id"] == str(query.id)]
            return found[0] if found and found[0]["batch_id"] == 1 else None

        status_of_copy = eventually(status, timeout=TIMEOUT_SECONDS)
        assert (status_of_copy["name"], status_of_copy["is_running"]) == ("copy", True)
        (source,) = status_of_copy["sources"]
        assert [
            (each["topic"], each["partition"], each["position"], each["latest"], each["lag"])
            for each in source["partitions"]
        ] == [(topic, 0, 30, 30, 0), (topic, 1, 10, 10, 0)]
        assert source["max_offsets_behind_latest"] == 0
        # Between the two an idle query may tell again that it is.
        eventually(lambda: json.loads(fetched(listening, "/status")) == listening.status())

        found = samples(fetched(listening, "/metrics"))
        assert found["barnabas_pipeline_up", ""] == 1
        assert found["barnabas_pipeline_lag", "1"] == 0
        assert found["barnabas_pipeline_offsets_behind_latest", "avg"] == 0
        assert (found["barnabas_pipeline_rows_total", "0"], found["barnabas_pipeline_rows_total", "1"]) == (
            30,
            10,
        )
        assert 30 * 100 < found["barnabas_pipeline_read_bytes_total", "0"] < 30 * 300
    finally:
        query.stop()
    eventually(
        lambda: samples((tmp_path / "pipeline.prom").read_text())["barnabas_pipeline_up", ""] == 0,
        timeout=TIMEOUT_SECONDS,
    )


def test_the_progress_of_a_query_tells_how_far_it_is_behind(real_kafka: Kafka, read_stream: Read) -> None:
    topic = real_kafka.create(2)
    real_kafka.write(topic, [*[b"x"] * 90, *[Message(b"y", partition=1)] * 10])
    stream = read_stream(real_kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=50)
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(TIMEOUT_SECONDS)
    reported = [progress for progress in query.recentProgress if progress.numInputRows]
    ends = [from_document(json.loads(each.sources[0].latestOffset)) for each in reported]
    assert ends == [{TopicPartition(topic, 0): 90, TopicPartition(topic, 1): 10}] * 2
    (first,) = batch_progress(json.loads(reported[0].json)).sources
    assert first.behind == (5, 45, 25.0)
    assert first.partitions[TopicPartition(topic, 0)] == PartitionProgress(45, 90, 45)
    (last,) = batch_progress(json.loads(reported[1].json)).sources
    assert last.behind == (0, 0, 0.0)


def test_the_reason_of_a_query_that_failed_is_kept(
    real_kafka: Kafka,
    read_stream: Read,
    spark: SparkSession,
    eventually: Callable[..., dict],
    missing_topic: str,
) -> None:
    listener = PipelineListener()
    with contextlib.ExitStack() as stack:
        spark.streams.addListener(listener)
        stack.callback(spark.streams.removeListener, listener)
        query = read_stream(real_kafka, subscribe=missing_topic).writeStream.format("noop").start()
        stack.callback(query.stop)

        def failed() -> dict | None:
            found = [each for each in listener.status()["queries"] if each["error"]]
            return found[0] if found else None

        status = eventually(failed, timeout=TIMEOUT_SECONDS)
        assert status["id"] == str(query.id)
        assert missing_topic in status["error"]
        assert not status["is_running"]


def test_only_two_pages_are_served(tmp_path: Path) -> None:
    with PipelineListener(port=0) as listener:
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            fetched(listener, "/")
        refused.value.close()
        with pytest.raises(InvalidSettingError, match="choose another port"):
            PipelineListener(port=int(str(listener.url).rpartition(":")[2]))
