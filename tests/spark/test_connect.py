"""Spark Connect: sessions that reach Spark over the network do the same as classic ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import QueryTerminatedEvent
from tests.spark.conftest import Kafka, Message, with_options

from barnabas.spark.listener import PipelineListener

TIMEOUT_SECONDS = 120

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


class WaitingListener(PipelineListener):
    """Events reach a client of Connect some time after its query has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.heard_of_the_end = threading.Event()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        super().onQueryTerminated(event)
        self.heard_of_the_end.set()


@pytest.fixture
def connected(connect_url: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(connect_url).create()
    yield session
    session.stop()


@pytest.fixture
def topic(real_kafka: Kafka) -> str:
    name = real_kafka.create()
    real_kafka.write(name, [Message(b"value-%d" % number, b"key") for number in range(6)])
    return name


def test_a_session_of_connect_reads_and_writes_batches(connected: Any, real_kafka: Kafka, topic: str) -> None:
    rows = with_options(connected.read, real_kafka, {"subscribe": topic}).load()
    assert [bytes(row.value) for row in rows.orderBy("offset").collect()] == [
        b"value-%d" % number for number in range(6)
    ]
    sink = real_kafka.create()
    writer = with_options(rows.write, real_kafka, {"topic": sink, "delivery": "exactly-once"})
    writer.mode("append").save()
    assert [each.value for each in real_kafka.read(sink, 6)] == [b"value-%d" % number for number in range(6)]


def test_a_session_of_connect_streams_exactly_once_and_is_listened_to(
    connected: Any, real_kafka: Kafka, topic: str, tmp_path: Path
) -> None:
    sink = real_kafka.create()
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"}
    stream = with_options(connected.readStream, real_kafka, options).load()
    listener = WaitingListener()
    connected.streams.addListener(listener)
    writer = stream.selectExpr("key", "upper(CAST(value AS STRING)) AS value").writeStream.queryName("copy")
    writer = with_options(writer, real_kafka, {"topic": sink, "delivery": "exactly-once"})
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query = writer.start()
    assert query.awaitTermination(TIMEOUT_SECONDS)
    assert listener.heard_of_the_end.wait(TIMEOUT_SECONDS)
    connected.streams.removeListener(listener)

    assert [each.value for each in real_kafka.read(sink, 6)] == [b"VALUE-%d" % number for number in range(6)]
    (status,) = [each for each in listener.status()["queries"] if each["id"] == str(query.id)]
    assert (status["name"], status["is_running"], status["error"], status["batch_id"]) == (
        "copy",
        False,
        None,
        1,
    )
    assert [(each["position"], each["lag"]) for each in status["sources"][0]["partitions"]] == [(6, 0)]


def test_a_session_of_connect_has_views_and_errors_of_a_classic_one(
    connected: Any, real_kafka: Kafka, topic: str, missing_topic: str
) -> None:
    connected.sql(
        "CREATE TEMPORARY VIEW records USING barnabas OPTIONS "
        f"('kafka.bootstrap.servers' '{real_kafka.bootstrap}', subscribe '{topic}')"
    )
    assert connected.sql("SELECT count(*) FROM records").collect()[0][0] == 6
    rows = with_options(connected.read, real_kafka, {"subscribe": missing_topic}).load()
    with pytest.raises(PySparkException, match=f"{missing_topic}.* does not exist"):
        rows.collect()
