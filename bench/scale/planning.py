"""What the driver of a streaming query does with ever more partitions: time, requests, offsets, memory.

    python -m bench.scale.planning [--topics 5000] [--kafka] [--json]

Topics of two partitions are subscribed by pattern; their number grows step by step, from 100 partitions to
10,000. The planner runs here as in the process that Spark plans a query with, and the broker in another. A
line fitted to the logarithms says with which power of the partitions the time grows. Also how even the tasks
of a batch are where one partition has a hundred times what the others have.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import linear_regression

import pyarrow as pa

from barnabas import Admin, NewTopic, Producer
from barnabas.spark.options import source_options
from barnabas.spark.planning.offsets import Document
from barnabas.spark.reading.read_plan import plan_batch
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.testing import EmbeddedBroker
from bench.broker import kafka

PARTITIONS = 2
STEPS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
TOPICS_AT_ONCE = 500
CHANGED_TOPICS = 10
IDLE_TRIGGERS = 20
EVEN_PARTITIONS = 20
EVEN_RECORDS = 10_000
SKEW = 100
CORES = 2


@dataclass
class Planned:
    """What a query with so many partitions costs its driver. Seconds of planning are from one trigger to the
    tasks of its batch."""

    partitions: int
    first_seconds: float
    """A new query's first batch, in which each partition has a record; connections are made in it."""
    full_seconds: float
    """A batch in which each partition has a new record again."""
    full_processor_seconds: float
    full_tasks: int
    few_seconds: float
    """A batch in which ten topics have one."""
    few_tasks: int
    idle_seconds: float
    """A trigger that finds nothing."""
    idle_processor_seconds: float
    idle_requests: dict[str, float] | None
    """A trigger, by API; None where the broker does not count them."""
    offsets_bytes: int
    """Of a batch, in the checkpoint."""
    memory_megabytes: float


class Requests:
    """Counts what the embedded broker is asked."""

    def __init__(self, broker: EmbeddedBroker | None) -> None:
        self._broker = broker
        self._seen = 0

    def since_last(self) -> Counter[str]:
        if self._broker is None:
            return Counter()
        asked = [each for each in self._broker.faults.requests() if each.number > self._seen]
        self._seen = max((each.number for each in asked), default=self._seen)
        return Counter(each.api for each in asked)


def options_of(bootstrap: str, **options: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"} | options


def create(bootstrap: str, names: list[str]) -> None:
    with Admin(bootstrap, request_timeout_ms=120_000, default_api_timeout_ms=240_000) as admin:
        for start in range(0, len(names), TOPICS_AT_ONCE):
            some = names[start : start + TOPICS_AT_ONCE]
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in some])
        admin.list_offsets({(name, partition): "latest" for name in names for partition in range(PARTITIONS)})


def write_one_each(bootstrap: str, names: list[str]) -> None:
    with Producer(bootstrap, linger_ms=20) as producer:
        for name in names:
            for partition in range(PARTITIONS):
                producer.send(name, b"x", partition=partition)
        producer.flush()


def measured(bootstrap: str, names: list[str], requests: Requests) -> Planned:
    write_one_each(bootstrap, names)
    memory_before = resident_megabytes()
    reader = KafkaStreamReader(source_options(options_of(bootstrap, subscribePattern="scale-.*")))
    try:
        began = time.perf_counter()
        start = reader.initialOffset()
        end, _, _ = planned(reader, start)
        first_seconds = time.perf_counter() - began
        write_one_each(bootstrap, names)
        processor_began = time.process_time()
        end, full_seconds, full_tasks = planned(reader, end)
        full_processor_seconds = time.process_time() - processor_began
        write_one_each(bootstrap, names[:CHANGED_TOPICS])
        end, few_seconds, few_tasks = planned(reader, end)
        planned(reader, end)
        requests.since_last()
        began, processor_began = time.perf_counter(), time.process_time()
        for _ in range(IDLE_TRIGGERS):
            planned(reader, end)
        idle_seconds = (time.perf_counter() - began) / IDLE_TRIGGERS
        idle_processor_seconds = (time.process_time() - processor_began) / IDLE_TRIGGERS
        asked = {api: count / IDLE_TRIGGERS for api, count in requests.since_last().items()}
        return Planned(
            len(names) * PARTITIONS,
            first_seconds,
            full_seconds,
            full_processor_seconds,
            full_tasks,
            few_seconds,
            few_tasks,
            idle_seconds,
            idle_processor_seconds,
            asked or None,
            len(json.dumps(end, separators=(",", ":"))),
            resident_megabytes() - memory_before,
        )
    finally:
        reader.stop()


def planned(reader: KafkaStreamReader, start: Document) -> tuple[Document, float, int]:
    """The end of the next batch, how long that and its tasks took, and how many they are."""
    began = time.perf_counter()
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    tasks = reader.partitions(start, end)
    return end, time.perf_counter() - began, len(tasks)


def resident_megabytes() -> float:
    gc.collect()
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def rounds_of_cores(bootstrap: str, topic: str, records: list[int]) -> float:
    """How many times as long as with all cores busy to the end it takes to read a topic of such partitions,
    in tasks of a hundredth of it at most, each taken by the first core that is free."""
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(topic, len(records), 1)])
        for partition, count in enumerate(records):
            rows = {"value": pa.array([b"x"] * count), "partition": pa.array([partition] * count, pa.int32())}
            producer.send_arrow(topic, pa.table(rows)).result(60)
    options = options_of(bootstrap, subscribe=topic, maxRecordsPerPartition=str(sum(records) // 100))
    cores = [0] * CORES
    for size in plan_batch(source_options(options)).task_sizes:
        cores[cores.index(min(cores))] += size
    return max(cores) * CORES / sum(records)


def exponent(found: list[Planned], of: Callable[[Planned], float]) -> float:
    """With which power of the partitions a figure grows: 1 is in proportion, 0 not at all."""
    partitions, figures = [each.partitions for each in found], [of(each) for each in found]
    return linear_regression([*map(math.log, partitions)], [*map(math.log, figures)]).slope


def table(found: list[Planned]) -> str:
    """As docs/spark-clusters.md has it."""
    headings = (
        "partitions",
        "first batch, s",
        "all changed, s (of processor time)",
        "10 topics changed, s",
        "idle trigger, s (of processor time)",
        "offsets, kB",
        "memory, MB",
    )
    rows = [
        (
            f"{each.partitions:,}",
            f"{each.first_seconds:.3f}",
            f"{each.full_seconds:.3f} ({each.full_processor_seconds:.3f})",
            f"{each.few_seconds:.3f}",
            f"{each.idle_seconds:.3f} ({each.idle_processor_seconds:.3f})",
            f"{each.offsets_bytes / 1000:.0f}",
            f"{each.memory_megabytes:.1f}",
        )
        for each in found
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, ["---:"] * len(headings), *rows))


@contextmanager
def broker(is_kafka: bool) -> Iterator[tuple[str, Requests]]:
    with ExitStack() as stack:
        if is_kafka:
            yield stack.enter_context(kafka(None)), Requests(None)
        else:
            embedded = stack.enter_context(EmbeddedBroker())
            yield embedded.bootstrap, Requests(embedded)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale.planning", description=__doc__)
    parser.add_argument("--topics", type=int, default=5000, help="in the end (default 5000)")
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka in place of the embedded broker")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    names: list[str] = []
    found: list[Planned] = []
    with broker(arguments.kafka) as (bootstrap, requests):
        even = rounds_of_cores(bootstrap, "even", [EVEN_RECORDS] * EVEN_PARTITIONS)
        skewed = rounds_of_cores(bootstrap, "skewed", [EVEN_RECORDS * SKEW // 10, *[EVEN_RECORDS // 10] * 19])
        for part in STEPS:
            wanted = max(CHANGED_TOPICS, int(arguments.topics * part))
            new = [f"scale-{number:06}" for number in range(len(names), wanted)]
            create(bootstrap, new)
            names += new
            found.append(measured(bootstrap, names, requests))
            print(f"bench: {found[-1]}", file=sys.stderr)
    if arguments.json:
        steps = [asdict(each) for each in found]
        print(json.dumps({"steps": steps, "even": even, "skewed": skewed}))
        return
    print(table(found))
    for name, of in (
        ("a batch of all", lambda each: each.full_seconds),
        ("its processor time", lambda each: each.full_processor_seconds),
        ("an idle trigger", lambda each: each.idle_seconds),
        ("its processor time", lambda each: each.idle_processor_seconds),
    ):
        print(f"{name} grows with the power {exponent(found, of):.2f} of the partitions")
    print(f"cores are busy {1 / even:.0%} of the time with even partitions, {1 / skewed:.0%} with {SKEW}:1")


if __name__ == "__main__":
    main()
