"""The demo from beginning to end: the order of its steps, and what it tells the person who runs it.

Each step is in a module of its own; this one puts them together.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from examples.flights import check, data, figures, follow, loader, report, spark_session
from examples.flights.forms import AS_JSON, AvroForm, Form
from examples.flights.page import page
from examples.flights.pipeline import QUERIES, Pipeline
from examples.flights.progress import RowsRead, Timings, bars
from examples.flights.topics import Topics, prepare, takes_transactions
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from rich.console import Console
from rich.progress import Progress

from barnabas import Admin, Producer
from barnabas.spark.listener import PipelineListener
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.testing.distribution import java_command

CONNECT_TIMEOUT_SECONDS = 10.0
QUERY_TIMEOUT_SECONDS = 900.0
REFRESH_SECONDS = 0.2
DIFFERENCES_SHOWN = 10

# All that a run leaves in its folder, and the next one removes.
BROKER_FOLDER = "broker"
CHART = "delays.png"
LEFT_BEHIND = [BROKER_FOLDER, CHART, "checkpoints", "delays.parquet", "spark", "spark.log", "warehouse"]


class QueryTimeoutError(Exception):
    """A streaming query did not come to its end in time."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the demo can be told.

    `bootstrap`: None starts an embedded broker. `follow`: replay at `speed` times real time until Ctrl-C.
    `days`: only the first so many days of 2013. `prefix`: comes before the topics' names. `format`: json, or
    avro by an embedded registry. `folder`: where the broker's log, checkpoints, Parquet, chart and
    Spark's log go. `keeps`: at the end Kafka and the page stay until Ctrl-C.
    """

    folder: Path
    bootstrap: str | None = None
    follow: bool = False
    speed: float = 3600.0
    days: int | None = None
    prefix: str = ""
    format: str = "json"
    keeps: bool = False


def run(options: Options, console: Console) -> bool:
    """Runs the demo; returns whether the results in Kafka are the same as the figures from the files.

    Raises: barnabas.BarnabasError, and the errors of the modules for the steps.
    """
    java_command("Spark")
    _clear(options.folder)
    topics = Topics(options.prefix)
    timings = Timings()
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as cleanup:
        with timings.step("broker"):
            bootstrap = cleanup.enter_context(_kafka(options, console))
        # starts in a process of its own while this one reads and replays
        starting = pool.submit(spark_session.start, options.folder)
        cleanup.callback(_stop_spark, starting)
        with timings.step("files"):
            flights = _read(options, console)
        with timings.step("topics"):
            emptied = prepare(bootstrap, topics)
            is_once = takes_transactions(bootstrap, topics)
        if emptied:
            _say(console, "", f"emptied the topics of an earlier run: {', '.join(emptied)}")
        form = cleanup.enter_context(_form(options, topics, console))
        with timings.step("page"):
            listener = cleanup.enter_context(PipelineListener(port=0))
            address = cleanup.enter_context(_page(options.folder, bootstrap, listener, form))
        _say(console, "Page", f"of topics, groups and the queries while they run: {address}")
        steps = _Steps(options, console, timings, topics, bootstrap, flights, is_once, form, listener)
        if options.follow:
            steps.follow(starting)
        else:
            steps.replay()
            steps.stream(starting)
        found = steps.read_back()
        is_same = steps.check(found)
        steps.report(found)
        if options.keeps:
            _until_interrupted(console, address)
        with timings.step("end"):
            cleanup.close()
    _say(console, "Times", timings.summary())
    return is_same


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps, once there is a Kafka with topics to write to."""

    options: Options
    console: Console
    timings: Timings
    topics: Topics
    bootstrap: str
    flights: data.FlightData
    is_once: bool
    form: Form
    listener: PipelineListener

    @property
    def totals(self) -> dict[str, int]:
        """How many records each topic gets; one of flights and of weather is the end of the replay."""
        return {
            self.topics.airlines: len(self.flights.airlines),
            self.topics.weather: len(self.flights.weather) + 1,
            self.topics.flights: len(self.flights.flights) + 1,
        }

    def replay(self) -> None:
        _say(self.console, "Replay", "in event-time order")
        with self.timings.step("replay"), bars(self.console) as progress:
            self._load(progress, loader.by_day(self.flights))

    def stream(self, starting: Future[SparkContext]) -> None:
        with self.timings.step("Spark start"):
            pipeline = self._pipeline(starting, 0)
        delivery = "exactly once" if self.is_once else "at least once (no transactions there)"
        archive = f"then archives the results in {_shown(pipeline.parquet_folder)}"
        _say(self.console, "Spark", f"joins and sums up by carrier, origin and day, {delivery}, {archive}")
        with bars(self.console) as progress:
            with self.timings.step("stream"):
                total = self.totals[self.topics.flights] + self.totals[self.topics.weather]
                task = progress.add_task("stream", total=total)
                query = pipeline.start_delays()
                rows = RowsRead(query)
                for _ in _until_end(query):
                    progress.update(task, completed=rows.count())
            with self.timings.step("archive"):
                task = progress.add_task("archive", total=None)
                query = pipeline.start_archive()
                rows = RowsRead(query)
                for _ in _until_end(query):
                    progress.update(task, completed=rows.count())
                progress.update(task, total=rows.count())

    def follow(self, starting: Future[SparkContext]) -> None:
        speed = self.options.speed
        with self.timings.step("Spark start"):
            pipeline = self._pipeline(starting, int(follow.DISORDER_SECONDS * speed))
        _say(self.console, "Follow", f"at {speed:g} times real time, until Ctrl-C")
        with self.timings.step("follow"), bars(self.console) as progress:
            task = progress.add_task("stream", total=None)
            counters: dict[StreamingQuery, RowsRead] = {}

            def replay(stopped: threading.Event) -> None:
                self._load(progress, loader.by_clock(self.flights, speed, stopped))

            def refresh(query: StreamingQuery) -> None:
                rows = counters.setdefault(query, RowsRead(query))
                progress.update(task, completed=rows.count())

            follow.until_interrupted(pipeline, replay, refresh)
        _say(self.console, "Archive", f"results in {_shown(pipeline.parquet_folder)}")

    def read_back(self) -> pd.DataFrame:
        with self.timings.step("read back"):
            return check.read_back(self.bootstrap, self.topics.delays, is_once=self.is_once, form=self.form)

    def check(self, found: pd.DataFrame) -> bool:
        with self.timings.step("check"):
            expected = figures.expected(self.flights)
            if self.options.follow:
                expected = check.until_last_day(expected, found)
            differences = check.differences(expected, found)
        rows = f"{len(found):,} results of {found['flights'].sum():,} flights in topic {self.topics.delays!r}"
        if not differences:
            same = "are the same as computed from the files"
            limits = f"counts exactly, means and percentiles within {check.TOLERANCE:g}"
            _say(self.console, "[green]Checked[/green]", f"{rows} {same} ({limits})")
            return True
        _say(
            self.console, "[red]Wrong[/red]", f"{rows} differ from the files in {len(differences):,} places:"
        )
        for line in differences[:DIFFERENCES_SHOWN]:
            _say(self.console, "", line)
        return False

    def report(self, found: pd.DataFrame) -> None:
        if found.empty:
            _say(self.console, "Results", "none yet: a day's come when the replay has passed its end")
            return
        with self.timings.step("report"):
            airlines = report.by_airline(found)
            self.console.print(report.table(airlines))
            chart = self.options.folder / CHART
            report.save_chart(airlines, chart)
        _say(self.console, "Chart", _shown(chart))

    def _load(self, progress: Progress, ends: Iterator[pd.Timestamp]) -> None:
        tasks = {topic: progress.add_task(topic, total=total) for topic, total in self.totals.items()}
        with Producer(self.bootstrap, compression="zstd") as producer:
            loader.replay(
                producer,
                self.topics,
                self.flights,
                ends,
                lambda topic, rows: progress.advance(tasks[topic], rows),
                self.form,
            )

    def _pipeline(self, starting: Future[SparkContext], watermark_seconds: int) -> Pipeline:
        spark = SparkSession(starting.result())
        spark.streams.addListener(self.listener)
        folder = self.options.folder
        return Pipeline(
            spark,
            self.bootstrap,
            self.topics,
            folder,
            watermark_seconds,
            is_once=self.is_once,
            form=self.form,
        )


@contextlib.contextmanager
def _kafka(options: Options, console: Console) -> Iterator[str]:
    if options.bootstrap is None:
        folder = options.folder / BROKER_FOLDER
        with EmbeddedBroker(folder) as broker:
            _say(console, "Broker", f"embedded, on {broker.bootstrap}, its log in {_shown(folder)}")
            yield broker.bootstrap
            broker.stop()
    else:
        with Admin(options.bootstrap) as admin:
            cluster = admin.describe_cluster(timeout=CONNECT_TIMEOUT_SECONDS)
        brokers = ", ".join(str(node) for node in cluster.nodes)
        _say(console, "Kafka", f"cluster {cluster.cluster_id} of {brokers}")
        yield options.bootstrap


@contextlib.contextmanager
def _page(folder: Path, bootstrap: str, listener: PipelineListener, form: Form) -> Iterator[str]:
    assert listener.url is not None
    checkpoints = [folder / "checkpoints" / name for name in QUERIES]
    with page(bootstrap, listener.url, checkpoints, form.registry_url) as address:
        yield address


def _until_interrupted(console: Console, address: str) -> None:
    _say(console, "Page", f"stays at {address}, until Ctrl-C")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


@contextlib.contextmanager
def _form(options: Options, topics: Topics, console: Console) -> Iterator[Form]:
    if options.format == "json":
        yield AS_JSON
        return
    with EmbeddedRegistry() as registry:
        _say(console, "Schemas", f"embedded, on {registry.url}, for values in Avro")
        yield AvroForm(registry.url, topics)


def _read(options: Options, console: Console) -> data.FlightData:
    flights = data.read()
    if options.days is not None:
        flights = flights.first_days(options.days)
    _say(console, "Flights", f"{len(flights.flights):,} that left New York in 2013, or were to")
    return flights


def _until_end(query: StreamingQuery) -> Iterator[None]:
    """Yields now and then, and at the end of the query. Raises: what ended it, QueryTimeoutError."""
    deadline = time.monotonic() + QUERY_TIMEOUT_SECONDS
    while not query.awaitTermination(REFRESH_SECONDS):
        if time.monotonic() > deadline:
            query.stop()
            raise QueryTimeoutError(f"query {query.name!r} did not end within {QUERY_TIMEOUT_SECONDS:.0f} s")
        yield
    yield


def _stop_spark(starting: Future[SparkContext]) -> None:
    if starting.exception() is None:
        starting.result().stop()


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in LEFT_BEHIND:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _say(console: Console, subject: str, text: str) -> None:
    width = 8 + (len(subject) - len(subject.split("]")[1].split("[")[0]) if "]" in subject else 0)
    console.print(f"[bold]{subject:<{width}}[/bold]{text}", highlight=False, soft_wrap=True)


def _shown(path: Path) -> str:
    path = path.resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
