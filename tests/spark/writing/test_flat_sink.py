"""What driver and tasks of a sink hold after many short batches is what they held after a few, whether they
write at least once or exactly once, and while brokers stop and start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.spark.held import Held, in_a_process_of_its_own

from barnabas import Admin, NewTopic
from barnabas.spark.options import SinkOptions, sink_options
from barnabas.spark.writing.exactly_once import ExactlyOnceStreamWriter
from barnabas.spark.writing.sink import KafkaStreamWriter
from barnabas.testing import EmbeddedBroker

SCHEMA = StructType([StructField("value", BinaryType())])
NODES, TASKS, ROWS = 3, 2, 5
# While warming up each node has stopped once.
WARM_UP, MEASURED, BATCHES_A_NODE = 80, 100, 25


def rows() -> Iterator[pa.RecordBatch]:
    return iter([pa.record_batch({"value": pa.array([b"value"] * ROWS, pa.binary())})])


class Query:
    """A streaming query's sink, which Spark makes anew for each batch."""

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


def held_before_and_after(given: Mapping[str, str]) -> tuple[Held, Held]:
    with EmbeddedBroker(nodes=NODES) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("copy", 3, NODES)])
        query = Query(broker, sink_options({**given, "kafka.bootstrap.servers": broker.bootstrap}))
        query.run(WARM_UP)
        before = Held.at_rest()
        assert query.run(MEASURED) == MEASURED * TASKS * ROWS
        return before, Held.at_rest()


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_sink_holds_no_more_after_many_batches(delivery: str, tmp_path: Path) -> None:
    given = {"topic": "copy", "delivery": delivery, "checkpointlocation": str(tmp_path)}
    before, after = in_a_process_of_its_own(held_before_and_after, given)
    grown = (after.by_type - before.by_type).most_common(8)
    assert after.threads <= before.threads
    # Connections that are being made anew come and go.
    assert after.files <= before.files + NODES
    # One more for each batch would be more.
    assert after.objects <= before.objects + MEASURED // 2, grown
