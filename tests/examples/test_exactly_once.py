"""The example examples/exactly_once.py, killed again and again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition

EXAMPLE = Path(__file__).parents[2] / "examples" / "exactly_once.py"
RECORDS = 4000
KILLS = 6


def stable_end(bootstrap: str, topic: str, partition: int) -> int:
    with Consumer(bootstrap, isolation_level="read_committed") as consumer:
        return consumer.end_offsets([(topic, partition)])[TopicPartition(topic, partition)]


def read_committed(bootstrap: str, topic: str) -> dict[int, list[bytes]]:
    values: dict[int, list[bytes]] = {0: [], 1: []}
    with Consumer(bootstrap, isolation_level="read_committed", auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, number) for number in values]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for record in consumer.poll(0.1):
                values[record.partition].append(record.value or b"")
    return values


def test_every_record_is_copied_exactly_once_however_often_the_copier_is_killed(
    apache_kafka: Any, topic: Callable[[], str], eventually: Any
) -> None:
    source, target = topic(), topic()
    bootstrap = apache_kafka.bootstrap
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(source, 2, 1), NewTopic(target, 2, 1)])
    expected = {number: [b"VALUE-%d" % n for n in range(RECORDS)] for number in (0, 1)}
    chances = random.Random(7)
    command = [sys.executable, str(EXAMPLE), bootstrap, source, target, f"copier-of-{source}"]
    with Producer(bootstrap) as producer:
        written = 0
        for _ in range(KILLS):
            copier = subprocess.Popen(command)
            before = stable_end(bootstrap, target, 0)
            for number in range(written, written + RECORDS // KILLS):
                for partition in (0, 1):
                    producer.send(source, b"value-%d" % number, partition=partition)
            written += RECORDS // KILLS
            producer.flush()
            try:
                # The kill falls somewhere between two commits, not into the start of the interpreter.
                eventually(lambda before=before: stable_end(bootstrap, target, 0) > before, timeout=120)
                time.sleep(chances.uniform(0, 0.05))
            finally:
                copier.kill()
                copier.wait()
        for number in range(written, RECORDS):
            for partition in (0, 1):
                producer.send(source, b"value-%d" % number, partition=partition)
        producer.flush()
    copier = subprocess.Popen(command)
    try:
        eventually(
            lambda: all(len(v) >= RECORDS for v in read_committed(bootstrap, target).values()), timeout=120
        )
    finally:
        copier.kill()
        copier.wait()
    assert read_committed(bootstrap, target) == expected
