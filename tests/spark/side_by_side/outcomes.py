"""What a query gives, in words that hold for both connectors: rows, or an error, its moment and its text.

An error's moment is one of three. `load`: where the options are given, before a broker is asked. `plan`: on
the driver, once a result is wanted and before a task runs. `run`: in a task.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.side_by_side.prepared import Prepared

SPARKS, OURS = "kafka", "barnabas"
QUERY_SECONDS = 100
QUICK = {
    "kafka.bootstrap.servers": "$bootstrap",
    "kafka.fetch.max.wait.ms": "10",
    "fetchOffset.numRetries": "1",
    "fetchOffset.retryIntervalMs": "10",
}
AT_ONCE = {"kafkaConsumer.pollTimeoutMs": "5000"}

Moment = Literal["load", "plan", "run"]
Options = Mapping[str, Any]


class Part(NamedTuple):
    """What one task read of a partition."""

    topic: str
    partition: int
    first: int
    last: int
    rows: int


@dataclass(frozen=True)
class Failure:
    moment: Moment
    text: str


@dataclass(frozen=True)
class Rows:
    """`batches` are the offsets at which each micro-batch with rows began and ended."""

    rows: list[tuple[Any, ...]]
    parts: list[Part]
    batches: list[tuple[Any, Any]] = field(default_factory=list)


Outcome = Failure | Rows


@dataclass(frozen=True)
class Case:
    """A query of which both connectors make the same. In the values of options, `$$` and a name stand for
    what is different each time: topics by their short names, `$$bootstrap`.

    `rows`: how many there are. `error`: when it fails, and the words for it in Spark's connector and in ours.
    """

    name: str
    options: Options
    rows: int | None = None
    error: tuple[Moment, str, str] | None = None
    our_moment: Moment | None = None
    """Where ours differs: Spark tells a Python source only its options when a query is loaded, not whether it
    is a batch or a stream."""
    parts_differ: bool = False
    """Whether tasks are cut at other offsets."""


def good(
    name: str, rows: int | None, *more: Mapping[str, Any], parts_differ: bool = False, **options: Any
) -> Case:
    for others in more:
        options |= others
    return Case(name, QUICK | options, rows=rows, parts_differ=parts_differ)


def bad(
    name: str,
    moment: Moment,
    theirs: str,
    ours: str,
    *more: Mapping[str, Any],
    our_moment: Moment | None = None,
    **options: Any,
) -> Case:
    for others in more:
        options |= others
    return Case(name, QUICK | options, error=(moment, theirs, ours), our_moment=our_moment)


def ids(cases: list[Case]) -> Any:
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases have one name"
    return pytest.mark.parametrize("case", cases, ids=names)


def fill(options: Options, topics: Prepared) -> dict[str, str]:
    values = {"bootstrap": topics.kafka.bootstrap, "stem": topics.stem, **topics.names}
    return {name: Template(str(text)).substitute(values) for name, text in options.items()}


def judge(case: Case, theirs: Outcome, ours: Outcome) -> None:
    """That both are what the case says, and so the same."""
    if case.error is None:
        assert isinstance(theirs, Rows), f"Spark's connector: {theirs}"
        assert isinstance(ours, Rows), f"ours: {ours}"
        check_same("rows", theirs.rows, ours.rows)
        check_same("batches", theirs.batches, ours.batches)
        if not case.parts_differ:
            check_same("tasks", theirs.parts, ours.parts)
        assert case.rows in (None, len(theirs.rows)), f"{len(theirs.rows)} rows"
        return
    moment, their_words, our_words = case.error
    both = f"Spark's connector: {theirs}\nours: {ours}"
    assert isinstance(theirs, Failure), both
    assert isinstance(ours, Failure), both
    assert (theirs.moment, ours.moment) == (moment, case.our_moment or moment), both
    assert re.search(their_words, theirs.text), both
    assert re.search(our_words, ours.text), both


def check_same(what: str, theirs: list[Any], ours: list[Any]) -> None:
    only_there = [each for each in theirs if each not in ours]
    only_here = [each for each in ours if each not in theirs]
    assert theirs == ours, (
        f"{what}: {len(theirs)} in Spark's connector, {len(ours)} in ours; "
        f"there alone {only_there[:5]}, here alone {only_here[:5]}"
    )


def text_of(error: Exception) -> str:
    """Without the stack traces of Java and Python."""
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("\tat ", "\t...", "  ")))


class Runner:
    """Runs queries on one Spark session, and tells when they fail."""

    def __init__(self, spark: SparkSession, topics: Prepared, folder: Path) -> None:
        self._spark = spark
        self._topics = topics
        self._folder = folder

    def read(self, format_name: str, options: Options) -> Outcome:
        def load() -> DataFrame:
            reader = self._spark.read.format(format_name)
            return reader.options(**fill(options, self._topics)).load()

        def run(frame: DataFrame) -> Rows:
            return rows_of(frame.withColumn("task", f.spark_partition_id()).collect())

        return self._outcome(load, run)

    def stream(self, format_name: str, options: Options, checkpoint: str = "", **trigger: Any) -> Outcome:
        """A query that ends with what there is. `checkpoint` names one that several queries share; what is
        given then is what all of them wrote."""
        folder = self._folder / format_name / (checkpoint or uuid.uuid4().hex)
        kept = f"{folder}-rows"

        def load() -> DataFrame:
            reader = self._spark.readStream.format(format_name)
            return reader.options(**fill(options, self._topics)).load()

        def run(frame: DataFrame) -> Rows:
            name = f"side_{uuid.uuid4().hex}"
            writer = frame.withColumn("task", f.spark_partition_id()).writeStream.queryName(name)
            writer = writer.option("checkpointLocation", str(folder))
            # Spark's table in memory is quick, and not for a checkpoint that is used again.
            writer = writer.format("parquet").option("path", kept) if checkpoint else writer.format("memory")
            query = writer.trigger(**trigger or {"availableNow": True}).start()
            jobs.group = str(query.runId)
            assert query.awaitTermination(QUERY_SECONDS), "the query does not end"
            written = self._spark.read.parquet(kept) if checkpoint else self._spark.table(name)
            found = rows_of(written.collect())
            return Rows(found.rows, found.parts, batches_of(query.recentProgress))

        jobs = self._jobs()
        return self._outcome(load, run, jobs)

    def write(self, format_name: str, rows: str, options: Options, mode: str = "append") -> Outcome:
        """`rows` is SQL, written by one task, since the order in which several write is chance. Gives what is
        in the topic `$written` afterwards, by partition."""
        topics = self._topics
        written = topics.kafka.create(3)
        named = Prepared(topics.kafka, topics.stem, topics.names | {"written": written})
        filled = fill(options | {"rows": rows}, named)
        frame = self._spark.sql(filled.pop("rows"))

        def run(_: None) -> Rows:
            frame.coalesce(1).write.format(format_name).options(**filled).mode(mode).save()
            found = topics.kafka.read(written, topics.kafka.count(written))
            return Rows([(each.partition, each.key, each.value, each.headers) for each in found], [])

        return self._outcome(lambda: None, run)

    def _outcome(
        self, load: Callable[[], Any], run: Callable[[Any], Rows], jobs: Jobs | None = None
    ) -> Outcome:
        jobs = jobs or self._jobs()
        try:
            loaded = load()
        except (PySparkException, Py4JJavaError) as error:
            return Failure("load", text_of(error))
        with jobs:
            try:
                return run(loaded)
            except (PySparkException, Py4JJavaError) as error:
                return Failure("run" if jobs.have_begun() else "plan", text_of(error))

    def _jobs(self) -> Jobs:
        return Jobs(self._spark)


class Jobs:
    """Those that begin within."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.group = uuid.uuid4().hex

    def __enter__(self) -> None:
        self._context.setJobGroup(self.group, "side by side")

    def __exit__(self, *_: object) -> None:
        for name in ("spark.jobGroup.id", "spark.job.description"):
            self._context.setLocalProperty(name, None)

    def have_begun(self) -> bool:
        self._context._jsc.sc().listenerBus().waitUntilEmpty()
        return bool(self._context.statusTracker().getJobIdsForGroup(self.group))


def rows_of(rows: list[Any]) -> Rows:
    rows = sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))
    tasks: dict[tuple[int, str, int], list[int]] = {}
    for row in rows:
        tasks.setdefault((row.task, row.topic, row.partition), []).append(row.offset)
    parts = [Part(topic, number, seen[0], seen[-1], len(seen)) for (_, topic, number), seen in tasks.items()]
    return Rows([tuple(row)[:-1] for row in rows], sorted(parts))


def batches_of(progress: list[Any]) -> list[tuple[Any, Any]]:
    """Without what ours says besides: where a batch began (`00`), and topics' ids (`name#id`)."""

    def offsets(text: str | None) -> Any:
        document = json.loads(text or "null")
        return document and {
            topic: {number: offset for number, offset in entries.items() if str(int(number)) == number}
            for topic, entries in document.items()
            if "#" not in topic
        }

    return [
        (offsets(source.startOffset), offsets(source.endOffset))
        for each in progress
        for source in each.sources
        if source.numInputRows
    ]


def by_partition(topic: str, *numbers: int) -> str:
    """JSON with a number for each of a topic's partitions."""
    return json.dumps({f"${topic}": {str(partition): number for partition, number in enumerate(numbers)}})
