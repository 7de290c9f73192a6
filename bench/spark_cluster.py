"""What a large Spark cluster asks of brokers: connections, requests, metadata, counted on a cluster on paper.

    python -m bench.spark_cluster [--executors 1000] [--cores 4] [--partitions 100000] [--brokers 30]
        [--sample 100] [--json]

The planner of a streaming query runs as in Spark's driver, and each Python worker of each executor reads its
tasks with a consumer of its own, as in Spark, one worker after the other. Nothing of Spark runs: what a batch
costs brokers does not depend on it, but for which worker gets which task, which is by chance here and there.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pyspark.sql.datasource import InputPartition

from barnabas.spark.clients import consumers
from barnabas.spark.options import source_options
from barnabas.spark.planning.offsets import Document
from barnabas.spark.reading.source import read_partition
from barnabas.spark.reading.stream_source import KafkaStreamReader
from bench.paper_cluster import PaperCluster

PARTITIONS_A_TOPIC = 100
IDLE_TRIGGERS = 2
APIS = ("Metadata", "ListOffsets", "Fetch")


@dataclass(frozen=True)
class Asked:
    """Of all brokers together."""

    connections: int
    metadata: int
    metadata_partitions: int
    """That the answers told of."""
    list_offsets: int
    fetches: int

    @classmethod
    def of(cls, cluster: PaperCluster) -> Asked:
        named = cluster.partitions_named["Metadata"]
        return cls(
            cluster.connections.total(),
            cluster.requests("Metadata"),
            named,
            *(map(cluster.requests, APIS[1:])),
        )


@dataclass(frozen=True)
class Costs:
    """Of one query."""

    partitions: int
    brokers: int
    workers: int
    tasks: int
    start: Asked
    """The driver, until the first batch is planned."""
    trigger: Asked
    """The driver, at a trigger that finds records in all partitions."""
    idle_metadata_a_trigger: float
    idle_list_offsets_a_trigger: float
    trigger_processor_seconds: float
    """Of the driver and of all brokers, which share a process here."""
    first_batch: Asked
    """All workers: each makes its consumer."""
    later_batch: Asked
    """All workers: other tasks than before."""
    connections_a_worker: float
    """After both batches."""


def costs(*, workers: int, partitions: int, brokers: int, sample: int | None = None) -> Costs:
    """Counted for a query that reads all partitions, in as many tasks as there are workers. With a `sample`
    only so many workers run, and count for all: none of them knows of another."""
    topics = max(1, partitions // PARTITIONS_A_TOPIC)
    with PaperCluster(brokers, topics, partitions // topics) as cluster:
        given = {
            "kafka.bootstrap.servers": cluster.bootstrap,
            "subscribePattern": "paper-.*",
            "startingOffsets": "earliest",
            "maxPartitions": str(workers),
            # Brokers and their client share a thread here, and are in no haste.
            "kafka.default.api.timeout.ms": "600000",
            "kafka.request.timeout.ms": "300000",
            "kafka.socket.connection.setup.timeout.ms": "300000",
            "kafka.socket.connection.setup.timeout.max.ms": "300000",
        }
        reader = KafkaStreamReader(source_options(given))
        try:
            at = reader.initialOffset()
            end = next_batch(reader, at)
            first = reader.partitions(at, end)
            start = Asked.of(cluster)
            cluster.reset()
            cluster.records += 1
            began = time.process_time()
            at, end = end, next_batch(reader, end)
            tasks = reader.partitions(at, end)
            trigger_seconds = time.process_time() - began
            trigger = Asked.of(cluster)
            cluster.reset()
            for _ in range(IDLE_TRIGGERS):
                assert next_batch(reader, end) is end
            idle = Asked.of(cluster)
        finally:
            # Or else its clients would go on refreshing their metadata among what workers ask.
            reader.stop()
        try:
            batches = run_workers(given, cluster, workers, min(sample or workers, workers), [first, tasks])
        finally:
            consumers.close_idle()
    return Costs(
        cluster.partitions,
        brokers,
        workers,
        len(tasks),
        start,
        trigger,
        idle.metadata / IDLE_TRIGGERS,
        idle.list_offsets / IDLE_TRIGGERS,
        trigger_seconds,
        *batches,
        connections_a_worker=sum(batch.connections for batch in batches) / workers,
    )


def next_batch(reader: KafkaStreamReader, start: Document) -> Document:
    return reader.latestOffset(start, reader.getDefaultReadLimit())


def run_workers(
    given: Mapping[str, str],
    cluster: PaperCluster,
    workers: int,
    sample: int,
    batches: list[list[InputPartition]],
) -> list[Asked]:
    """What the tasks of batches ask, by batch. Spark gives a worker any task: not the one that it had before.

    A worker is known by its client id, under which the consumers of a process are kept apart.
    """
    asked = [Counter[str]() for _ in batches]
    shares = [shared(tasks, workers, seed) for seed, tasks in enumerate(batches)]
    for worker in range(sample):
        options = source_options({**given, "kafka.client.id": f"worker-{worker}"})
        for number, tasks in enumerate(shares):
            cluster.reset()
            for task in tasks[worker]:
                for _ in read_partition(task, options):
                    pass
            asked[number].update(asdict(Asked.of(cluster)))
    return [Asked(**{name: round(n * workers / sample) for name, n in counts.items()}) for counts in asked]


def shared(tasks: list[InputPartition], workers: int, seed: int) -> list[list[InputPartition]]:
    mixed = random.Random(seed).sample(tasks, len(tasks))
    return [mixed[worker::workers] for worker in range(workers)]


def table(found: Costs) -> str:
    """As docs/spark-clusters.md has it."""
    rows = [
        ("driver, start of the query", found.start),
        ("driver, a trigger", found.trigger),
        ("workers, first batch", found.first_batch),
        ("workers, a later batch", found.later_batch),
    ]
    headings = ("", "new connections", "Metadata", "partitions told of", "ListOffsets", "Fetch")
    lines = [headings, ("---", *["---:"] * 5)]
    lines += [(name, *(f"{count:,}" for count in asdict(asked).values())) for name, asked in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_cluster", description=__doc__)
    parser.add_argument("--executors", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=4, help="of an executor, each with a Python worker")
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--brokers", type=int, default=30)
    parser.add_argument(
        "--sample", type=int, help="of workers that run, and count for all; by default all run"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    found = costs(
        workers=arguments.executors * arguments.cores,
        partitions=arguments.partitions,
        brokers=arguments.brokers,
        sample=arguments.sample,
    )
    if arguments.json:
        print(json.dumps(asdict(found)))
        return
    print(table(found))
    print(f"{found.tasks:,} tasks; a trigger takes {found.trigger_processor_seconds:.1f} s of processor time")
    print(
        f"a trigger that finds nothing asks {found.idle_list_offsets_a_trigger:g} times for ends "
        f"and {found.idle_metadata_a_trigger:g} times for metadata"
    )
    print(f"a worker has {found.connections_a_worker:.1f} connections after two batches")


if __name__ == "__main__":
    main()
