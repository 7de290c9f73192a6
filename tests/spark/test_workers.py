"""The first calls of a process of PySpark's do something for those after them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import Kafka

# What the daemon runs in a process that it has forked.
WORKER = """
import gc
import os

from barnabas.spark.workers import begin_call, begin_task

at_first = gc.get_freeze_count()
for _ in range(3):
    begin_task("read")
assert gc.get_freeze_count() == at_first, "that is a program"
import pyspark.daemon

begin_task("read")
begin_call("write")
assert gc.get_freeze_count() == at_first
begin_task("read")
frozen = gc.get_freeze_count()
assert frozen > at_first + 10_000
imported = [[] for _ in range(1000)]
begin_task("read")
assert gc.get_freeze_count() <= frozen
begin_call("write")
assert gc.get_freeze_count() >= frozen + 1000
frozen = gc.get_freeze_count()
child = os.fork()
if child == 0:
    begin_call("write")
    os._exit(0 if gc.get_freeze_count() <= frozen else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def threads_of(process: int) -> Iterator[str]:
    for thread in Path(f"/proc/{process}/task").iterdir():
        yield (thread / "comm").read_text().strip()


def processes_begun_by(process: int) -> Iterator[int]:
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            yield child
            yield from processes_begun_by(child)


def is_acknowledging(process: int) -> bool:
    try:
        return "acknowledging" in threads_of(process)
    except FileNotFoundError:
        # It has ended.
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux delays acknowledgements so that it matters")
def test_workers_acknowledge_once_they_have_had_a_task(spark: SparkSession, kafka: Kafka) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [b"a"] * 10)
    frame = (
        spark.read.format("barnabas")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("subscribe", topic)
        .load()
    )
    assert frame.count() == 10
    assert any(map(is_acknowledging, processes_begun_by(os.getpid())))


def test_what_survives_the_collection_after_the_first_call_of_a_kind_is_left_out_of_later_ones() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", WORKER], check=True, timeout=120)
