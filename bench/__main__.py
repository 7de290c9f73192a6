"""Runs the measurements and prints them side by side. `python -m bench --help` has the options."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from barnabas.testing import ApacheKafka
from bench import spark_connector
from bench.clients.spark import JARS_VARIABLE
from bench.works import ARROW_COMPARED_WITH, PARTITIONS, VALUE_BYTES, WORKS, Work

MEASUREMENT_TIMEOUT_SECONDS = 300
OURS = "barnabas"


@dataclass
class Result:
    """Records a second in each run, or why there are none."""

    work: str
    client: str
    records: int
    rates: list[float]
    error: str | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.rates) if self.rates else None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000, help="of one measurement (default 2000000)")
    parser.add_argument("--runs", type=int, default=3, help="of which the median is shown (default 3)")
    parser.add_argument(
        "--only", default="", help="works whose name has this in it, such as consume or spark"
    )
    parser.add_argument("--clients", default="", help="comma-separated names, all if left out")
    parser.add_argument("--bootstrap", help="a Kafka to use instead of starting one")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


@contextmanager
def kafka(bootstrap: str | None) -> Iterator[str]:
    if bootstrap is not None:
        yield bootstrap
        return
    # A broker for throughput rather than for quick starts: all compilers, and room for produce requests.
    with ApacheKafka(heap_mb=1024, java_options=["-Xms1g", "-XX:TieredStopAtLevel=4"]) as broker:
        yield broker.bootstrap


class Topics:
    """Fresh topics, removed when they have been used."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    @contextmanager
    def fresh(self) -> Iterator[str]:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
        yield name
        self._admin.delete_topics([name])[name].result(30)


def measure(client: str, work: str, bootstrap: str, topic: str, records: int) -> float:
    """Records a second. Raises: RuntimeError with the error that ended the process."""
    command = [sys.executable, "-m", "bench.worker", client, work, bootstrap, topic, str(records)]
    environment = dict(os.environ)
    if client != "spark-jvm":
        environment.pop(JARS_VARIABLE, None)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=MEASUREMENT_TIMEOUT_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {MEASUREMENT_TIMEOUT_SECONDS} s") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reasons = [line for line in lines if re.match(r"\S*(Error|Exception)\b", line)]
        raise RuntimeError((reasons or lines or [f"exit status {done.returncode}"])[-1])
    return records / float(done.stdout.split()[-1])


def measure_all(
    options: argparse.Namespace, bootstrap: str, works: list[Work], progress: Progress
) -> list[Result]:
    topics = Topics(bootstrap)
    results: list[Result] = []
    with topics.fresh() as filled:
        reads = any(not is_writing(work.name) for work in works)
        task = progress.add_task("filling a topic to read from" if reads else "")
        if reads:
            measure("confluent-kafka", "produce/plain", bootstrap, filled, options.records)
        for work in works:
            for client, share in work.share_of_records.items():
                if options.clients and client not in options.clients.split(","):
                    continue
                progress.update(task, description=f"{work.title}: {client}")
                result = Result(work.name, client, int(options.records * share), [])
                # Spark reads a topic to its end, whatever the count.
                if work.name.startswith("spark/") and not is_writing(work.name):
                    result.records = options.records
                try:
                    for _ in range(options.runs):
                        if is_writing(work.name):
                            with topics.fresh() as topic:
                                rate = measure(client, work.name, bootstrap, topic, result.records)
                        else:
                            rate = measure(client, work.name, bootstrap, filled, result.records)
                        result.rates.append(rate)
                except RuntimeError as error:
                    result.error = str(error)
                results.append(result)
        progress.update(task, description="done")
    return results


def is_writing(work: str) -> bool:
    return work.startswith("produce/") or work.endswith("/write")


def ratio_to_best_other(result: Result, results: list[Result]) -> tuple[float, str] | None:
    """How many times the best other client's rate ours is, and which client that is."""
    compared = ARROW_COMPARED_WITH.get(result.work, result.work)
    others = [other for other in results if other.work == compared and other.client != OURS and other.median]
    if result.client != OURS or result.median is None or not others:
        return None
    best = max(others, key=lambda other: other.median or 0)
    return result.median / (best.median or 1), best.client


def table_of(results: list[Result], works: list[Work], options: argparse.Namespace) -> Table:
    table = Table(
        title=f"records a second, median of {options.runs}\n"
        f"{VALUE_BYTES}-byte values, {PARTITIONS} partitions, acks=all, idempotent"
    )
    table.add_column("work")
    table.add_column("client")
    table.add_column("records/s", justify="right")
    table.add_column("lowest - highest", justify="right")
    table.add_column("against the best other", justify="right")
    for work in works:
        for index, result in enumerate(r for r in results if r.work == work.name):
            title = work.title if index == 0 else ""
            if result.median is None:
                table.add_row(title, result.client, "failed", "", (result.error or "")[:60])
                continue
            ratio = ratio_to_best_other(result, results)
            table.add_row(
                title,
                result.client,
                f"{result.median:,.0f}",
                f"{min(result.rates):,.0f} - {max(result.rates):,.0f}",
                f"{ratio[0]:.1f} x {ratio[1]}" if ratio else "",
                style="bold" if result.client == OURS else None,
            )
        table.add_section()
    return table


def main() -> int:
    options = arguments()
    works = [work for work in WORKS if options.only in work.name]
    if not works:
        sys.exit(
            f"bench: no work has {options.only!r} in its name; there are {', '.join(w.name for w in WORKS)}"
        )
    errors = Console(stderr=True)
    began = time.monotonic()
    if any("spark-jvm" in work.share_of_records for work in works):
        os.environ[JARS_VARIABLE] = spark_connector.fetch(Path("build/spark-connector").absolute())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        kafka(options.bootstrap) as bootstrap,
        Progress(*columns, console=errors, transient=True) as progress,
    ):
        results = measure_all(options, bootstrap, works, progress)
    if options.json:
        print(json.dumps([{**vars(result), "median": result.median} for result in results], indent=2))
    else:
        # A pipe has no width; 80 columns would break the names.
        Console(width=None if sys.stdout.isatty() else 120).print(table_of(results, works, options))
    errors.print(f"bench: {time.monotonic() - began:.0f} s in all")
    return 1 if any(result.error for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
