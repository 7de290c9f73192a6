"""Reads records from one topic, and writes each, in capitals, to another, exactly once.

Run as many as you like, each with a name of its own; kill any of them at any moment and start it again:

    python examples/exactly_once.py localhost:9092 source target worker-1

What is written and how far was read are committed in one transaction. A reader with
isolation_level="read_committed" sees each record once.
"""

from __future__ import annotations

import argparse
import contextlib

from barnabas import Consumer, OffsetAndMetadata, Producer, TopicPartition
from barnabas.errors import TransactionFailedError


def copy(bootstrap: str, source: str, target: str, name: str) -> None:
    """Goes on until it is interrupted. `name` stays the same from one start to the next."""
    with (
        Producer(bootstrap, transactional_id=name) as producer,
        Consumer(
            bootstrap,
            topics=[source],
            group_id=f"copy-{source}-to-{target}",
            group_instance_id=name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer,
    ):
        # Fences an earlier run of the same name, and aborts what it left open.
        producer.init_transactions()
        while True:
            records = consumer.poll(timeout=1.0)
            if not records:
                continue
            partitions = {TopicPartition(record.topic, record.partition) for record in records}
            try:
                with producer.transaction():
                    for record in records:
                        value = None if record.value is None else record.value.upper()
                        producer.send(target, value, key=record.key, partition=record.partition)
                    producer.send_offsets_to_transaction(
                        {partition: consumer.position(partition) for partition in partitions},
                        consumer.group_metadata(),
                    )
            except TransactionFailedError as error:
                print(f"aborted, reading again: {error}")
                rewind(consumer)


def rewind(consumer: Consumer) -> None:
    """Goes back to where the group has committed."""
    for partition, committed in consumer.committed(consumer.assignment()).items():
        if committed is None:
            consumer.seek_to_beginning(partition)
        else:
            consumer.seek(partition, OffsetAndMetadata(committed.offset, leader_epoch=committed.leader_epoch))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Copy a topic exactly once")
    for argument in ("bootstrap", "source", "target", "name"):
        parser.add_argument(argument)
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        copy(arguments.bootstrap, arguments.source, arguments.target, arguments.name)
