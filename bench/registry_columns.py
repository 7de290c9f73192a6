"""How many records a second become columns, or values, by a registry's schema, out of Kafka.

    python -m bench.registry_columns [--bootstrap host:port] [--records n] [--json]

The records of `bench.serializers` in Avro: by `poll_arrow` with a RegistryFormat, beside confluent-kafka's
AvroDeserializer, one message a call, of bytes that it has already; and by the facade's DeserializingConsumer,
beside confluent-kafka's. All ask one registry in memory, and take turns; of the rounds' ratios the median
counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import timeit
from contextlib import ExitStack
from typing import Any

import pyarrow
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas import Consumer, Producer, Registry, RegistryFormat, TopicPartition
from barnabas.testing import EmbeddedRegistry
from bench.avro_values import SCHEMA, VALUE
from bench.broker import kafka
from bench.page_cache import fill_page_cache
from bench.runs import Topics
from bench.serializers import FACADE, THEIRS, Package, calls_of, row_of
from bench.works import COLUMNS_WORK, CONSUMER_WORK, PARTITIONS, SERIALIZER_WORKS, Stopwatch

ROUNDS = 9
CONSUMER_ROUNDS = 3
THEIR_PART = 10
"""confluent-kafka's consumer reads a tenth: that takes it as long as all takes ours."""
RECORDS = 1_000_000
TABLE_ROWS = 100_000
EVEN_COLUMNS = (
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "boolean",
    "text",
    "enum",
    "array",
    "decimal",
    "date",
)
"""Those whose values are the same in an Arrow column as in what deserializers give."""


def fill(bootstrap: str, topic: str, data: bytes, records: int) -> None:
    """With the same record, in each partition as often."""
    with Producer(bootstrap) as producer:
        for row in range(0, records, TABLE_ROWS):
            rows = min(TABLE_ROWS, records - row)
            partitions = pyarrow.array([row % PARTITIONS for row in range(rows)], pyarrow.int32())
            table = pyarrow.table({"value": pyarrow.array([data] * rows), "partition": partitions})
            producer.send_arrow(topic, table).result(120)


def columns_a_second(bootstrap: str, topic: str, orders: RegistryFormat, records: int) -> float:
    """Start-up, up to the first record, is not in it."""
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Consumer(bootstrap) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        first = consumer.poll_arrow(timeout=30.0, max_records=1, value=orders)
        [value] = first.column("value").to_pylist()
        assert all(value[name] == VALUE[name] for name in EVEN_COLUMNS)
        count = unread = 0
        watch = Stopwatch()
        while count < records - first.num_rows:
            batch = consumer.poll_arrow(timeout=1.0, value=orders)
            count += batch.num_rows
            unread += batch.column("value").null_count
        measure = watch.stop(count)
    assert not unread
    return measure.rate


def values_a_second(package: Package, bootstrap: str, topic: str, records: int) -> float:
    """By a DeserializingConsumer. Start-up, up to the first record, is not in it."""
    confluent_kafka = importlib.import_module(package.name)
    partitions = [
        confluent_kafka.TopicPartition(topic, partition, confluent_kafka.OFFSET_BEGINNING)
        for partition in range(PARTITIONS)
    ]
    with ExitStack() as stack:
        _, deserializer = package.pair("avro", SCHEMA, stack)
        conf = {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 1,
            "value.deserializer": deserializer,
        }
        with confluent_kafka.DeserializingConsumer(conf) as consumer:
            consumer.assign(partitions)
            message = consumer.poll(30.0)
            assert message.value()["text"] == VALUE["text"]
            watch = Stopwatch()
            for _ in range(records - 1):
                message = consumer.poll(30.0)
                assert message.error() is None
            return watch.stop(records - 1).rate


def measured(bootstrap: str, topic: str, records: int, rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Records a second of both, and how many times the other's ours are."""
    context = SerializationContext(topic, MessageField.VALUE)
    with ExitStack() as stack:
        url = stack.enter_context(EmbeddedRegistry()).url
        client: Any = stack.enter_context(SchemaRegistryClient({"url": url}))
        data = AvroSerializer(client, SCHEMA)(VALUE, context)
        assert data is not None
        fill(bootstrap, topic, data, records)
        orders = RegistryFormat(stack.enter_context(Registry(url)), f"{topic}-value")
        deserialize = AvroDeserializer(client)
        calls = calls_of(lambda: deserialize(data, context))
        fill_page_cache()
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            ours.append(columns_a_second(bootstrap, topic, orders, records))
            theirs.append(calls / timeit.timeit(lambda: deserialize(data, context), number=calls))
        facade, original = Package(FACADE, url), Package(THEIRS, url)
        rates = [
            (
                values_a_second(facade, bootstrap, topic, records),
                values_a_second(original, bootstrap, topic, records // THEIR_PART),
            )
            for _ in range(CONSUMER_ROUNDS)
        ]
    return {
        COLUMNS_WORK: row_of(list(zip(ours, theirs, strict=True))),
        CONSUMER_WORK: row_of(rates),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.registry_columns", description=__doc__)
    parser.add_argument("--bootstrap", help="a Kafka to use instead of starting one")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"of a round (default {RECORDS})")
    parser.add_argument("--json", action="store_true", help="print the figures for a script")
    arguments = parser.parse_args()
    with kafka(arguments.bootstrap) as bootstrap, Topics(bootstrap).fresh() as topic:
        found = measured(bootstrap, topic, arguments.records)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, row in found.items():
        work = SERIALIZER_WORKS[name]
        print(
            f"{work.title}: {row['ours']:,.0f}/s, {work.compared_with}: {row['theirs']:,.0f}/s, "
            f"{row['ratio']:.1f} x (wanted: {work.least_ratio:g} x)"
        )


if __name__ == "__main__":
    main()
