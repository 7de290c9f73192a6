"""A program that copies one topic to another, exactly once, until it is killed.

    python -m tests.integration.copier BOOTSTRAP SOURCE TARGET NAME PROTOCOL SEED

Every transaction holds the records of one poll and the positions behind them. Some are aborted on purpose,
after records that nobody who reads committed data may ever see.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from barnabas import Consumer, Producer, Record
from barnabas.errors import TransactionFailedError

ABORTED = b"aborted"
MAX_RECORDS = 25


class MishapError(Exception):
    """What the seed has happen in the middle of a transaction."""


def copy(bootstrap: str, source: str, target: str, name: str, protocol: Any, seed: int) -> None:
    chance = random.Random(seed)
    session = {"session_timeout_ms": 3_000, "heartbeat_interval_ms": 500} if protocol == "classic" else {}
    with (
        Producer(
            bootstrap,
            transactional_id=name,
            transaction_timeout_ms=10_000,
            request_timeout_ms=5_000,
            delivery_timeout_ms=30_000,
        ) as producer,
        Consumer(
            bootstrap,
            topics=[source],
            group_id=target,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=MAX_RECORDS,
            request_timeout_ms=5_000,
            **session,
        ) as consumer,
    ):
        producer.init_transactions(60)
        while True:
            records = consumer.poll(0.5)
            if not records:
                continue
            identity = consumer.group_metadata()
            try:
                with producer.transaction():
                    if chance.random() < 0.15:
                        for record in records:
                            producer.send(target, ABORTED, partition=record.partition)
                        if chance.random() < 0.5:
                            producer.flush(30)
                        raise MishapError
                    for record in records:
                        producer.send(target, record.value, partition=record.partition)
                    producer.send_offsets_to_transaction(_ends(records), identity)
            except (MishapError, TransactionFailedError) as error:
                print(f"aborted: {error!r}", flush=True)
                _rewind(consumer, records)


def _ends(records: list[Record]) -> dict[tuple[str, int], int]:
    return {(record.topic, record.partition): record.offset + 1 for record in records}


def _rewind(consumer: Consumer, records: list[Record]) -> None:
    """The next poll gives these records again, but for those of partitions that are another member's now."""
    owned = set(consumer.assignment())
    for record in reversed(records):
        partition = (record.topic, record.partition)
        if partition in owned:
            consumer.seek(partition, record.offset)


if __name__ == "__main__":
    copy(*sys.argv[1:6], int(sys.argv[6]))
