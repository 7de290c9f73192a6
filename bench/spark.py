"""Spark's source and sink beside Spark's own Kafka connector: `python -m bench.spark --help`.

Both run in turn in one session, warm, on the same topic of a real Kafka; the best of the runs counts. Of the
session's start and of the first run of each work nothing is measured: an application pays for them once.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event, Thread

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import barnabas
from barnabas import Producer
from bench import spark_connector
from bench.broker import kafka
from bench.page_cache import page_cache
from bench.runs import Topics, measure
from bench.works import PEER, VALUE_BYTES

OURS = "barnabas"
PEER_FORMAT = "kafka"
FORMATS = (OURS, PEER_FORMAT)
SHORT_BATCHES = 30
REPORT = Path("docs/benchmarks-spark.md")


@dataclass
class Comparison:
    """The seconds that both took for a work, run by run, and how they should compare."""

    title: str
    records: int
    wanted: float
    """At least so many times as fast, or, where `is_most`, at most so many times as long."""
    is_most: bool = False
    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FORMATS})

    @property
    def best(self) -> dict[str, float]:
        return {name: min(taken) for name, taken in self.seconds.items()}

    @property
    def ratio(self) -> float:
        own, other = self.best[OURS], self.best[PEER_FORMAT]
        return own / other if self.is_most else other / own

    @property
    def is_met(self) -> bool:
        return self.ratio <= self.wanted if self.is_most else self.ratio >= self.wanted

    def row(self) -> tuple[str, ...]:
        limit = f"{'at most' if self.is_most else 'at least'} {self.wanted:g} x"
        shown = [f"{self.best[name]:.3f}" for name in FORMATS]
        return (self.title, *shown, f"{self.ratio:.2f} x", limit, "yes" if self.is_met else "**missed**")


def session(jars: str = "") -> SparkSession:
    # Otherwise Spark's workers run the python3 of PATH, which need not be the one with Barnabas in it.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .appName("bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        # As docs/spark.md advises: over TCP a short task of a Python source mostly waits.
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.jars", jars)
        .getOrCreate()
    )


class Works:
    """What is measured; each function takes the name of a format and returns seconds."""

    def __init__(
        self, spark: SparkSession, bootstrap: str, filled: str, records: int, topics: Topics
    ) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._filled = filled
        self._records = records
        self._topics = topics

    def read(self, format_name: str) -> float:
        frame = self._spark.read.format(format_name).options(**self._source_options(self._filled)).load()
        began = time.perf_counter()
        count = total(frame)
        took = time.perf_counter() - began
        self._expect(count)
        return took

    def stream(self, format_name: str) -> float:
        return self._streamed(format_name)[0]

    def triggers(self, format_name: str) -> float:
        """Without the start of the query, in which Spark starts a Python process to plan with."""
        return self._streamed(format_name)[1]

    def _streamed(self, format_name: str) -> tuple[float, float]:
        """What the whole query took, and its triggers."""
        counts: list[int] = []
        with tempfile.TemporaryDirectory() as checkpoint:
            began = time.perf_counter()
            query = (
                self._stream_of(format_name, self._filled)
                .writeStream.foreachBatch(lambda frame, batch_id: counts.append(total(frame)))
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            took = time.perf_counter() - began
        self._expect(sum(counts))
        durations = [progress["durationMs"]["triggerExecution"] for progress in query.recentProgress]
        return took, sum(durations) / 1000

    def write(self, format_name: str) -> float:
        # A constant: to make rows is Spark's work, and should not count for much.
        value = f.lit(b"x" * VALUE_BYTES).alias("value")
        key = (f.col("id") % 1000).cast("string").alias("key")
        frame = self._spark.range(0, self._records, numPartitions=2).select(key, value)
        with self._topics.fresh() as topic:
            options = {"kafka.bootstrap.servers": self._bootstrap, "topic": topic}
            began = time.perf_counter()
            frame.write.format(format_name).mode("append").options(**options).save()
            return time.perf_counter() - began

    def short_batch(self, format_name: str) -> float:
        """The shortest of many micro-batches of a few records each."""
        with self._topics.fresh() as topic, self._trickle(topic), tempfile.TemporaryDirectory() as checkpoint:
            query = (
                self._stream_of(format_name, topic)
                .writeStream.format("noop")
                .option("checkpointLocation", checkpoint)
                .start()
            )
            try:
                return shortest_batch(query)
            finally:
                query.stop()

    @contextmanager
    def _trickle(self, topic: str) -> Iterator[None]:
        """Records that keep coming, so that no batch waits for one."""
        enough = Event()

        def send() -> None:
            with Producer(self._bootstrap) as producer:
                while not enough.wait(0.005):
                    producer.send(topic, b"x" * VALUE_BYTES)

        sender = Thread(target=send)
        sender.start()
        try:
            yield
        finally:
            enough.set()
            sender.join()

    def _stream_of(self, format_name: str, topic: str) -> DataFrame:
        return self._spark.readStream.format(format_name).options(**self._source_options(topic)).load()

    def _source_options(self, topic: str) -> dict[str, str]:
        # Spark's connector otherwise waits up to half a second at the end of each partition.
        return {
            "kafka.bootstrap.servers": self._bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "kafka.fetch.max.wait.ms": "10",
        }

    def _expect(self, count: int) -> None:
        # Filling the topic took a record more, before the watch was started.
        if count < self._records:
            raise RuntimeError(f"Spark saw {count} of {self._records} records")


def total(frame: DataFrame) -> int:
    return frame.agg(f.count("*"), f.sum(f.length("value"))).collect()[0][0]


def shortest_batch(query: StreamingQuery) -> float:
    taken: dict[int, int] = {}
    while len(taken) < SHORT_BATCHES:
        if query.exception() is not None:
            raise RuntimeError(f"the query failed: {query.exception()}")
        for progress in query.recentProgress:
            if progress["numInputRows"]:
                taken[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
        time.sleep(0.1)
    return min(taken.values()) / 1000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000, help="of one run (default 5000000)")
    parser.add_argument("--runs", type=int, default=5, help="of which the best counts (default 5)")
    parser.add_argument("--only", default="", help="only read, stream, triggers, write or short")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


def compare(
    comparison: Comparison, work: Callable[[str], float], runs: int, begin: Callable[[str], None]
) -> Comparison:
    for number in range(runs + 1):
        for name in FORMATS:
            begin(f"{comparison.title}: {name}")
            taken = work(name)
            if number:
                comparison.seconds[name].append(taken)
    return comparison


HEADINGS = ("work", f"{OURS}, s", "Spark's connector, s", "ratio", "wanted", "met")


def markdown(comparisons: list[Comparison], options: argparse.Namespace) -> str:
    lines = [HEADINGS, ("---", "---:", "---:", "---:", "---", "---"), *(each.row() for each in comparisons)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return (
        "# Benchmarks on Spark\n\n"
        f"Written by `make bench-spark`: the best of {options.runs} runs in turn, both warm, in one session\n"
        f"of local[2] on {os.cpu_count()} cores; {options.records:,} records of {VALUE_BYTES} bytes, two\n"
        f"partitions, one broker beside; Spark's connector is `{spark_connector.ARTIFACTS[0]}`.\n"
        "Spark talks to its Python workers over Unix domain sockets, and the machine's memory is kept full\n"
        f"of page cache, for both.\n\n{table}\n"
    )


def compile_ours() -> None:
    """As pip does with what it installs: each query starts a Python process to plan with."""
    compileall.compile_dir(Path(barnabas.__file__).parent, quiet=1)


def main() -> int:
    options = arguments()
    compile_ours()
    jars = spark_connector.fetch(Path("build/spark-connector").absolute())
    errors = Console(stderr=True)
    began = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        kafka(None) as bootstrap,
        page_cache() as cache,
        Progress(*columns, console=errors, transient=True) as progress,
    ):
        task = progress.add_task("filling the page cache")

        def begin(what: str) -> None:
            progress.update(task, description=what)
            cache.fill()

        topics = Topics(bootstrap)
        with topics.fresh() as filled:
            begin("filling a topic to read from")
            measure(PEER, "produce/plain", bootstrap, filled, options.records, "none")
            spark = session(jars)
            works = Works(spark, bootstrap, filled, options.records, topics)
            everything = {
                "read": (Comparison("batch read", options.records, 2), works.read),
                "stream": (Comparison("streaming read, availableNow", options.records, 2), works.stream),
                "triggers": (
                    Comparison("streaming read, without the start of the query", options.records, 2),
                    works.triggers,
                ),
                "write": (Comparison("batch write", options.records, 2), works.write),
                "short": (Comparison("shortest micro-batch", 0, 1.5, is_most=True), works.short_batch),
            }
            comparisons = [
                compare(comparison, work, options.runs, begin)
                for name, (comparison, work) in everything.items()
                if options.only in name
            ]
            spark.stop()
    if options.json:
        print(json.dumps([asdict(each) | {"ratio": each.ratio} for each in comparisons], indent=2))
    else:
        table = Table(*HEADINGS, title=f"best of {options.runs} runs, {options.records:,} records")
        for comparison in comparisons:
            table.add_row(*comparison.row())
        Console(width=None if sys.stdout.isatty() else 130).print(table)
    if not options.only:
        REPORT.write_text(markdown(comparisons, options))
        errors.print(f"bench: written to {REPORT}")
    errors.print(f"bench: {time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
