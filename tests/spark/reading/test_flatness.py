"""What a query holds after many batches is what it held after a few, whatever comes and goes meanwhile.

The planner and the tasks of a streaming query run in one process, on three brokers, while topics are created
and deleted, and brokers stop and start.
"""

from __future__ import annotations

from contextlib import closing

import confluent_kafka
from tests.spark.held import Held, in_a_process_of_its_own

from barnabas import Admin, NewTopic
from barnabas.spark.options import source_options
from barnabas.spark.pyspark_features import ReadAllAvailable
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.testing import EmbeddedBroker

TOPICS_AT_ONCE = 4
PARTITIONS = 3
WARM_UP, MEASURED = 40, 100
# What clients know of topics they forget with the next full answer, which is due after minutes by default.
REFRESHED = {"kafka.metadata.max.age.ms": "500"}
BATCHES_A_TOPIC, BATCHES_A_NODE = 2, 25


class Query:
    """A streaming query's planner and tasks, and the topics that it reads."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self._admin = Admin(broker.bootstrap)
        # Of librdkafka, whose objects do not count.
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "allow.auto.create.topics": False, "log_level": 0}
        )
        self._topics: list[str] = []
        self._made = self._batches = self._rows = self._written = 0
        options = {
            "subscribePattern": "flat-.*",
            "failOnDataLoss": "false",
            "startingOffsets": "earliest",
            **REFRESHED,
        }
        self._reader = KafkaStreamReader(
            source_options(options | {"kafka.bootstrap.servers": broker.bootstrap})
        )
        for _ in range(TOPICS_AT_ONCE):
            self._make_topic()
        self._at = self._reader.initialOffset()

    def run(self, batches: int) -> None:
        for _ in range(batches):
            self._batches += 1
            if self._batches % BATCHES_A_TOPIC == 0:
                self._make_topic()
                self._admin.delete_topics([self._topics.pop(0)])
            if self._batches % BATCHES_A_NODE == 0:
                node = self._broker.nodes[1 + self._batches // BATCHES_A_NODE % 3]
                node.stop()
                node.start()
            self._batch()

    def _make_topic(self) -> None:
        self._made += 1
        name = f"flat-{self._made}"
        self._admin.create_topics([NewTopic(name, PARTITIONS)])
        self._topics.append(name)

    def _batch(self) -> None:
        for topic in self._topics:
            for partition in range(PARTITIONS):
                self._written += 1
                self._producer.produce(topic, b"value", partition=partition)
        assert self._producer.flush(60) == 0
        end = self._reader.latestOffset(self._at, ReadAllAvailable())
        for task in self._reader.partitions(self._at, end):
            self._rows += sum(batch.num_rows for batch in self._reader.read(task))
        self._reader.commit(self._at)
        self._at = end

    @property
    def has_read_all(self) -> bool:
        return self._rows == self._written

    def close(self) -> None:
        self._reader.stop()
        self._admin.close()


def held_before_and_after() -> tuple[Held, Held]:
    with EmbeddedBroker(nodes=3) as broker, closing(Query(broker)) as query:
        query.run(WARM_UP)
        before = Held.at_rest()
        query.run(MEASURED)
        after = Held.at_rest()
        assert query.has_read_all
        return before, after


def test_a_query_holds_no_more_after_many_batches() -> None:
    before, after = in_a_process_of_its_own(held_before_and_after)
    grown = (after.by_type - before.by_type).most_common(8)
    assert after.threads <= before.threads
    # Connections that are being made anew come and go.
    assert after.files <= before.files + 3
    # One more for each partition that has come and gone would be more.
    assert after.objects <= before.objects + MEASURED * PARTITIONS // BATCHES_A_TOPIC, grown
