"""What driver and tasks of a sink hold after many short batches is what they held after a few, whether they
write at least once or exactly once, and while brokers stop and start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.spark.held import Held

from barnabas import Admin, NewTopic
from barnabas.spark.options import SinkOptions, sink_options
from barnabas.spark.writing.exactly_once import ExactlyOnceStreamWriter
from barnabas.spark.writing.sink import KafkaStreamWriter
from barnabas.testing import EmbeddedBroker

SCHEMA = StructType([StructField("value", BinaryType())])
NODES, TASKS, ROWS = 3, 2, 5
# While warming up each node has stopped once.
WARM_UP, MEASURED, BATCHES_A_NODE = 80, 100, 25


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(nodes=NODES) as started:
        with Admin(started.bootstrap) as admin:
            admin.create_topics([NewTopic("copy", 3, NODES)])
        yield started


def rows() -> Iterator[pa.RecordBatch]:
    return iter([pa.record_batch({"value": pa.array([b"value"] * ROWS, pa.binary())})])


class Query:
    """A streaming query's sink in this process, which Spark makes anew for each batch."""

    def __init__(self, broker: EmbeddedBroker, options: SinkOptions) -> None:
        self._broker = broker
        self._options = options
        self._batches = 0

    def run(self, batches: int) -> int:
        """How many rows were written."""
        written = 0
        for _ in range(batches):
            written += self._batch()
            self._batches += 1
            if self._batches % BATCHES_A_NODE == 0:
                node = self._broker.nodes[1 + self._batches // BATCHES_A_NODE % NODES]
                node.stop()
                node.start()
        return written

    def _batch(self) -> int:
        if self._options.delivery == "at-least-once":
            writer = KafkaStreamWriter(self._options, SCHEMA)
            return sum(writer.write(rows()).rows for _ in range(TASKS))
        once = ExactlyOnceStreamWriter(self._options, SCHEMA)
        prepared = [once.write(rows()) for _ in range(TASKS)]
        once.commit([*prepared], self._batches)
        return sum(each.rows for each in prepared)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_sink_holds_no_more_after_many_batches(
    broker: EmbeddedBroker, delivery: str, tmp_path: Path
) -> None:
    given = {"kafka.bootstrap.servers": broker.bootstrap, "topic": "copy", "delivery": delivery}
    query = Query(broker, sink_options(given | {"checkpointlocation": str(tmp_path)}))
    query.run(WARM_UP)
    before = Held.at_rest()
    assert query.run(MEASURED) == MEASURED * TASKS * ROWS
    after = Held.at_rest()
    grown = (after.by_type - before.by_type).most_common(8)
    assert after.threads <= before.threads
    # Connections that are being made anew come and go.
    assert after.files <= before.files + NODES
    # One more for each batch would be more.
    assert after.objects <= before.objects + MEASURED // 2, grown
