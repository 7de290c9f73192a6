"""Spark's source and sink beside Spark's own Kafka connector: `python -m bench.spark --help`.

Both run in turn in one session with Spark's default settings, warm, on the same topic of a real Kafka; the
median of the runs counts. Of the session's start and of the first run of each work nothing is measured: an
application pays for them once, which `--only cold` measures.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import pyspark
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import barnabas
from barnabas.spark import precompiling
from bench import spark_connector
from bench.broker import kafka
from bench.page_cache import PageCache, page_cache
from bench.processes import processor_seconds
from bench.runs import Topics, measure
from bench.spark_session import session
from bench.spark_works import (
    FIELDS,
    FORMATS,
    OURS,
    PEER_FORMAT,
    RECORDS_A_BATCH,
    RECORDS_A_SECOND,
    RECORDS_OF_NEW_APPLICATION,
    Works,
    percentile,
)
from bench.works import PEER, VALUE_BYTES

REPORT = Path("docs/benchmarks-spark.md")
UNIX_SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"}


@dataclass
class Comparison:
    """The seconds that both took for a work, run by run, and how they should compare."""

    title: str
    wanted: float
    """At least so many times as fast, or, where `is_most`, at most so many times as long."""
    is_most: bool = False
    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FORMATS})
    processor_seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in FORMATS})
    """Of Spark, its Python processes and the broker; none where a work ends by the clock."""

    @property
    def medians(self) -> dict[str, float]:
        return {name: statistics.median(taken) for name, taken in self.seconds.items()}

    @property
    def ratio(self) -> float:
        own, other = self.medians[OURS], self.medians[PEER_FORMAT]
        return own / other if self.is_most else other / own

    @property
    def processor_ratio(self) -> float | None:
        own, other = (self.processor_seconds[name] for name in (OURS, PEER_FORMAT))
        return statistics.median(other) / statistics.median(own) if own and other else None

    @property
    def is_met(self) -> bool:
        return self.ratio <= self.wanted if self.is_most else self.ratio >= self.wanted

    def row(self) -> tuple[str, ...]:
        limit = f"{'at most' if self.is_most else 'at least'} {self.wanted:g} x"
        shown = [f"{self.medians[name]:.3f}" for name in FORMATS]
        processor = self.processor_ratio
        less = "" if processor is None else f"{processor:.2f} x"
        return (
            self.title,
            *shown,
            f"{self.ratio:.2f} x",
            limit,
            "yes" if self.is_met else "**missed**",
            less,
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000, help="of one run (default 5000000)")
    parser.add_argument("--runs", type=int, default=5, help="of which the median counts (default 5)")
    parser.add_argument("--only", default="", help=f"only some, by commas, of {', '.join(WORKS)}")
    parser.add_argument("--unix-sockets", action="store_true", help="between Spark and its Python workers")
    parser.add_argument("--precompiled", action="store_true", help="as `barnabas spark precompile` has it")
    parser.add_argument("--write", action="store_true", help=f"put them into {REPORT}, though only some")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


Begin = Callable[[str], None]


def compare(
    comparison: Comparison,
    work: Callable[[str], float],
    runs: int,
    begin: Begin,
    *,
    counts_processor: bool,
    cache: PageCache | None,
) -> Comparison:
    """`cache`: of a work that writes, whose broker takes its pages out of it."""
    for number in range(runs + 1):
        for name in FORMATS:
            begin(f"{comparison.title}: {name}")
            if cache is not None:
                cache.fill()
            began = processor_seconds()
            taken = work(name)
            if number:
                comparison.seconds[name].append(taken)
                if counts_processor:
                    comparison.processor_seconds[name].append(processor_seconds() - began)
    return comparison


def compare_ways(works: Works, begin: Begin) -> list[Comparison]:
    """Two runs of each, which have thousands of records in them, after one of each that warms up."""
    title = f"a record's way at {RECORDS_A_SECOND} records a second, p%d"
    found = {percent: Comparison(title % percent, 1, is_most=True) for percent in (50, 99)}
    for number, name in enumerate((*FORMATS, *FORMATS, *reversed(FORMATS))):
        begin(f"a record's way: {name}")
        taken = works.way(name)
        for percent, comparison in found.items():
            if number >= len(FORMATS):
                comparison.seconds[name].append(percentile(taken, percent))
    return list(found.values())


WORKS: dict[str, tuple[str, float, bool]] = {
    "read": ("batch read", 3, False),
    "write": ("batch write", 2.5, False),
    "stream": ("streaming read, availableNow", 1.8, False),
    "triggers": ("streaming read, without the start of the query", 2, False),
    "copy": ("from Kafka to Kafka, ours exactly once", 1.5, False),
    "batches": (f"from Kafka to Kafka in batches of {RECORDS_A_BATCH:,}, ours exactly once", 1.5, False),
    "cold": (f"from Kafka to Kafka, {RECORDS_OF_NEW_APPLICATION:,} records in a new application", 1, False),
    "avro": (f"read, decode and aggregate {len(FIELDS)} fields, Avro", 3, False),
    "json": (f"read, decode and aggregate {len(FIELDS)} fields, JSON", 5, False),
    "short": ("shortest micro-batch", 1.3, True),
    "short_copy": ("shortest micro-batch to Kafka, ours exactly once", 1.3, True),
    "way": ("", 1, True),
}
"""Title, what is wanted, and whether that is the most."""
BY_THE_CLOCK = ("short", "short_copy", "way")
WRITING = ("write", "copy", "batches")


def comparisons(
    works: Works, topics: Topics, wanted: list[str], runs: int, begin: Begin, cache: PageCache
) -> Iterator[Comparison]:
    for name in wanted:
        if name == "way":
            yield from compare_ways(works, begin)
            continue
        title, least, is_most = WORKS[name]
        with ExitStack() as stack:
            if name in ("avro", "json"):
                rows = stack.enter_context(topics.fresh())
                begin(f"filling a topic with {name}")
                works.fill_rows(name, rows)
                work = partial(works.decode, name, rows)
            else:
                work = getattr(works, name)
            comparison = Comparison(title, least, is_most)
            yield compare(
                comparison,
                work,
                runs,
                begin,
                counts_processor=name not in BY_THE_CLOCK,
                cache=cache if name in WRITING else None,
            )


HEADINGS = ("work", f"{OURS}, s", "Spark's connector, s", "ratio", "wanted", "met", "less processor time")


def markdown(found: list[Comparison], options: argparse.Namespace) -> str:
    lines = [HEADINGS, ("---", *["---:"] * 3, "---", "---", "---:"), *(each.row() for each in found)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    ways = ((options.unix_sockets, "Unix domain sockets"), (options.precompiled, "compiled archives"))
    command = (
        f"python -m bench.spark --only {options.only} --runs {options.runs} --write"
        if options.only
        else "make bench-spark"
    )
    besides = "".join(f", {way}" for is_used, way in ways if is_used)
    return (
        "# Benchmarks on Spark\n\n"
        f"Written by `{command}`:\n"
        f"the median of {options.runs} runs in turn, both warm, in one\n"
        f"session of local[2] with Spark's default settings{besides}, on {os.cpu_count()} cores;\n"
        f"{options.records:,} records of {VALUE_BYTES} bytes, two partitions, one broker beside;\n"
        f"Spark's connector is `{spark_connector.ARTIFACTS[0]}`.\n"
        "Processor time is that of Spark, its Python processes and the broker together.\n\n"
        f"{table}\n"
    )


def compile_ours() -> None:
    """As pip does with what it installs: each query starts a Python process to plan with."""
    compileall.compile_dir(Path(barnabas.__file__).parent, quiet=1)


@contextmanager
def spark_home(*, is_precompiled: bool) -> Iterator[None]:
    """That of the installed PySpark, or one of links to it but for archives that are compiled."""
    if not is_precompiled:
        yield
        return
    installed = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for entry in installed.iterdir():
            if entry.name != "python":
                (home / entry.name).symlink_to(entry)
        (home / precompiling.LIBRARIES).mkdir(parents=True)
        for archive in precompiling.archives(installed):
            shutil.copy(archive.path, home / precompiling.LIBRARIES)
        for archive in precompiling.archives(home):
            precompiling.compile_archive(archive)
        os.environ["SPARK_HOME"] = folder
        yield


def main() -> int:
    options = arguments()
    compile_ours()
    jars = ",".join(
        [
            spark_connector.fetch(Path("build/spark-connector").absolute()),
            spark_connector.fetch(Path("build/spark-avro").absolute(), spark_connector.AVRO),
        ]
    )
    errors = Console(stderr=True)
    began = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    wanted = options.only.split(",") if options.only else list(WORKS)
    with (
        kafka(None) as bootstrap,
        spark_home(is_precompiled=options.precompiled),
        Progress(*columns, console=errors, transient=True) as progress,
        page_cache() as cache,
    ):
        task = progress.add_task("filling a topic to read from")

        def begin(what: str) -> None:
            progress.update(task, description=what)

        topics = Topics(bootstrap)
        with topics.fresh() as filled:
            measure(PEER, "produce/plain", bootstrap, filled, options.records, "none")
            spark = session(jars, **(UNIX_SOCKETS if options.unix_sockets else {}))
            works = Works(spark, bootstrap, filled, options.records, topics)
            found: list[Comparison] = []
            for comparison in comparisons(works, topics, wanted, options.runs, begin, cache):
                found.append(comparison)
                errors.print("bench: " + ", ".join(comparison.row()))
            spark.stop()
    if options.json:
        print(json.dumps([asdict(each) | {"ratio": each.ratio} for each in found], indent=2))
    else:
        table = Table(*HEADINGS, title=f"median of {options.runs} runs, {options.records:,} records")
        for comparison in found:
            table.add_row(*comparison.row())
        Console(width=None if sys.stdout.isatty() else 150).print(table)
    if options.write or not options.only:
        REPORT.write_text(markdown(found, options))
        errors.print(f"bench: written to {REPORT}")
    errors.print(f"bench: {time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
