"""`barnabas pipeline status` on queries that run, and on those that are down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.conftest import Kafka, Message

from barnabas.spark.listener import PipelineListener

TIMEOUT_SECONDS = 120
Read = Callable[..., DataFrame]


def status(kafka: Kafka, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli", "pipeline", "status", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env={**os.environ, "BARNABAS_BOOTSTRAP": kafka.bootstrap},
        check=False,
    )
    assert (done.returncode == 0) is ok, done.stderr
    return done


def queries(kafka: Kafka, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(status(kafka, *arguments, "--json").stdout)["queries"]


def progress(query: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """Partition, position, end and lag."""
    return [(p["partition"], p["position"], p["end_offset"], p["lag"]) for p in query["partitions"]]


def test_a_query_is_shown_while_it_runs_and_when_it_is_down(
    real_kafka: Kafka, read_stream: Read, spark: SparkSession, tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    topic = real_kafka.create(2)
    group, checkpoint = f"status-{topic}", tmp_path / "checkpoint"
    real_kafka.write(topic, [*[b"x"] * 6, *[Message(b"y", partition=1)] * 2])
    stream = read_stream(real_kafka, subscribe=topic, startingOffsets="earliest", commitOffsetsToGroup=group)
    with PipelineListener(port=0) as listener:
        url = str(listener.url)
        spark.streams.addListener(listener)
        writer = stream.writeStream.format("noop").queryName("watched").trigger(processingTime="0 seconds")
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        try:
            query.processAllAvailable()
            real_kafka.write(topic, [b"x"])
            query.processAllAvailable()
            asked = ("--listener", url, "--checkpoint", str(checkpoint), "--group", group)

            def known() -> list[dict[str, Any]] | None:
                found = queries(real_kafka, "--listener", url)
                return found if found and found[0]["batch_id"] == 1 else None

            eventually(known, timeout=TIMEOUT_SECONDS)
            running, committed = queries(real_kafka, *asked)
            assert (running["name"], running["state"], running["lag"]) == ("watched", "running", 0)
            assert progress(running) == [(0, 7, 7, 0), (1, 2, 2, 0)]
            # Spark tells a source of a batch's end when it begins the next one.
            assert committed["from"] == f"group {group}"
            assert progress(committed) == [(0, 6, 7, 1), (1, 2, 2, 0)]
        finally:
            query.stop()
            spark.streams.removeListener(listener)

    real_kafka.write(topic, [b"x"] * 5)
    (down,) = queries(real_kafka, *asked[:4])
    assert (down["id"], down["state"], down["batch_id"], down["is_batch_done"]) == (
        str(query.id),
        "down",
        1,
        True,
    )
    assert (down["lag"], progress(down)) == (5, [(0, 7, 12, 5), (1, 2, 2, 0)])
    shown = status(real_kafka, *asked[:4])
    assert f"{url} does not answer" in shown.stderr
    assert "down, batch 1" in shown.stdout
    assert ["TOPIC", "PARTITION", "POSITION", "END", "LAG", "ROWS/S", "BYTES/S"] in [
        line.split() for line in shown.stdout.splitlines()
    ]
    alone = status(real_kafka, "--listener", url, ok=False).stderr
    assert alone.count("\n") == 1
    assert "does not answer" in alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --listener URL, --checkpoint FOLDER or --group GROUP"),
        (["--listener", "localhost:9464"], "is no address such as http://localhost:9464"),
        (["--checkpoint", "."], "is not the checkpoint of a streaming query"),
        (["--group", "nobody"], "group 'nobody' has no committed offsets"),
    ],
)
def test_a_status_that_cannot_be_had_is_told_in_one_line(
    real_kafka: Kafka, arguments: list[str], message: str
) -> None:
    told = status(real_kafka, *arguments, ok=False).stderr
    assert message.lower() in told.lower()
    assert told.count("\n") == 1
