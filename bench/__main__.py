"""Runs the measurements and prints them side by side. `python -m bench --help` has the options."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from barnabas.testing.distribution import DEFAULT_VERSION
from bench.broker import kafka
from bench.clients.pykafka_rdkafka import is_built
from bench.page_cache import PageCache, page_cache
from bench.report import REPORT, write_all_but, write_section
from bench.results import FACADES_HEADING, Result, Results, facades_section, markdown, rich_tables
from bench.runs import Topics, asked, measure, run
from bench.works import (
    COMPAT_WORKS,
    CORE_WORKS,
    OLD_KAFKA,
    OURS,
    PEER,
    PEER_AS_IT_COMES,
    PYKAFKA_RDKAFKA,
    PYKAFKA_WORKS,
    Work,
    is_writing,
)

CODECS = ("none", "lz4", "zstd")
# Each is measured on its own: whatever the machine does besides falls into a few of them.
LATENCY_SECONDS = 40
# The broker's compilers have to see single messages, too.
LATENCY_WARM_UP_SECONDS = 5
BROKERS_TIMEOUT_SECONDS = 1_200
RECORDS = 2_000_000
# A machine on which the peer consumes fewer a second is given half of the records, which takes it as long.
SLOW_RECORDS_A_SECOND = 800_000
# Slow ones, of which one run without compression tells enough.
SIDE_CLIENTS = (PEER_AS_IT_COMES, "aiokafka", "kafka-python")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    records = f"of one measurement (default {RECORDS}, or half of it on a slow machine)"
    parser.add_argument("--records", type=int, help=records)
    parser.add_argument("--runs", type=int, default=3, help="of which the median is shown (default 3)")
    parser.add_argument("--only", default="", help="works whose name has this in it, such as consume/list")
    parser.add_argument("--clients", default="", help="comma-separated names, all if left out")
    parser.add_argument("--codecs", default=",".join(CODECS), help=f"default {','.join(CODECS)}")
    parser.add_argument("--compat", action="store_true", help="others' own code on our facades")
    parser.add_argument("--write", action="store_true", help=f"put all of --compat into {REPORT}")
    parser.add_argument("--bootstrap", help="a Kafka to use instead of starting one")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if options.write and (not options.compat or options.only or options.clients):
        parser.error("--write goes with --compat, and with nothing left out")
    return options


def is_whole(options: argparse.Namespace) -> bool:
    """Whether these are all measurements of the core, which docs/ tells of."""
    return not (options.only or options.clients or options.compat)


class Bench:
    def __init__(
        self,
        options: argparse.Namespace,
        bootstrap: str,
        progress: Progress,
        cache: PageCache,
        results: Results,
    ) -> None:
        self._options = options
        self._bootstrap = bootstrap
        self._progress = progress
        self._task = progress.add_task("")
        self._topics = Topics(bootstrap)
        self._page_cache = cache
        self._records: int = options.records or RECORDS
        self.results = results

    def measure_all(self, works: list[Work], codecs: list[str]) -> None:
        most = max(share for work in works for share in work.share_of_records.values())
        # More than is read: at a topic's end clients wait.
        records = int(self._records * most * 1.1)
        for codec in codecs:
            with self._topics.fresh() as filled:
                if any(not is_writing(work.name) for work in works):
                    self._say(f"filling a topic to read from ({codec})")
                    measure(PEER, "produce/plain", self._bootstrap, filled, records, codec)
                for work in works:
                    self._measure(work, codec, filled)
                if codec == "none" and is_whole(self._options):
                    self._say("memory")
                    self.results.memory_bytes = run("bench.memory", self._bootstrap, filled)
                    self._say("serializers")
                    self.results.serializers = run("bench.serializers", "--json")
                    self._say("columns by a registry's schema")
                    columns = run("bench.registry_columns", "--json", "--bootstrap", self._bootstrap)
                    self.results.serializers |= columns

    def measure_latency(self) -> None:
        """To be called before much is written: broker and disk are busy with that for a while after."""
        self._say("latency")
        self._page_cache.fill()
        with ExitStack() as stack:
            clients: dict[str, Callable[[], dict[str, float]]] = {}
            for client in (OURS, PEER):
                topic = stack.enter_context(self._topics.fresh())
                process = asked("bench.latency", client, self._bootstrap, topic)
                clients[client] = stack.enter_context(process)
            for second in range(-LATENCY_WARM_UP_SECONDS, LATENCY_SECONDS):
                for client, ask in clients.items():
                    figures = ask()
                    if second >= 0:
                        self.results.latency_seconds.setdefault(client, []).append(figures)

    def warm_up(self) -> None:
        """The broker's compilers need to have seen some work: the first client would pay for it. Shows how
        fast the machine is, too."""
        self._say("filling the page cache")
        self._page_cache.fill()
        self._say("warming the broker up")
        for client, codec in ((PEER, "none"), (OURS, "none"), (PEER, "none")):
            with self._topics.fresh() as topic:
                records = min(1_000_000, self._records)
                measure(client, "produce/plain", self._bootstrap, topic, records, codec)
                consumed = measure(client, "consume/list", self._bootstrap, topic, records, codec)
        if self._options.records is None and consumed.rate < SLOW_RECORDS_A_SECOND:
            self._records = RECORDS // 2

    def _measure(self, work: Work, codec: str, filled: str) -> None:
        chosen = [name for name in self._options.clients.split(",") if name]
        taking_part = [
            Result(work, client, codec)
            for client in work.share_of_records
            if (not chosen or client in chosen)
            and (codec == "none" or client not in SIDE_CLIENTS)
            and (client != PYKAFKA_RDKAFKA or is_built())
        ]
        once = [client for client in SIDE_CLIENTS if client != work.peer]
        self.results.results += taking_part
        # In turn, so that what else goes on on the machine hits all of them.
        for number in range(self._options.runs * work.turns):
            for result in taking_part:
                if result.error is None and not (number and result.client in once):
                    self._say(f"{work.title} ({codec}): {result.client}")
                    self._run_once(result, filled)

    def _run_once(self, result: Result, filled: str) -> None:
        work, client, codec = result.work, result.client, result.compression
        records = int(self._records * work.share_of_records[client])
        try:
            if is_writing(work.name):
                with self._topics.fresh() as topic:
                    figures = measure(client, work.name, self._bootstrap, topic, records, codec)
                    result.bytes_a_record = self._topics.bytes_a_record(topic)
            else:
                figures = measure(client, work.name, self._bootstrap, filled, records, codec)
            result.measures.append(figures)
        except RuntimeError as error:
            result.error = str(error)

    def _say(self, what: str) -> None:
        self._progress.update(self._task, description=what)


def main() -> int:
    # What pip installed has its bytecode: a checkout's would be compiled in every process that is measured.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    options = arguments()
    tables = {DEFAULT_VERSION: COMPAT_WORKS, OLD_KAFKA: PYKAFKA_WORKS}
    if not options.compat:
        tables = {DEFAULT_VERSION: CORE_WORKS}
    wanted = {
        release: works
        for release, table in tables.items()
        if (works := [work for work in table if options.only in work.name])
    }
    if not wanted:
        names = ", ".join(work.name for table in tables.values() for work in table)
        sys.exit(f"bench: no work has {options.only!r} in its name; there are {names}")
    clients = {client for works in wanted.values() for work in works for client in work.share_of_records}
    if unknown := [name for name in options.clients.split(",") if name and name not in clients]:
        sys.exit(f"bench: no client is called {unknown[0]!r}; there are {', '.join(sorted(clients))}")
    codecs = ["none"] if options.compat else [codec for codec in options.codecs.split(",") if codec]
    errors = Console(stderr=True)
    began = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    results = Results(options.runs)
    for release, works in wanted.items():
        with (
            kafka(options.bootstrap, release) as bootstrap,
            page_cache() as cache,
            Progress(*columns, console=errors, transient=True) as progress,
        ):
            bench = Bench(options, bootstrap, progress, cache, results)
            bench.warm_up()
            if is_whole(options):
                bench.measure_latency()
            bench.measure_all(works, codecs)
    if is_whole(options) and options.bootstrap is None:
        results.brokers = run("bench.brokers", "--json", timeout_seconds=BROKERS_TIMEOUT_SECONDS)
    if options.json:
        print(json.dumps(results.as_json(), indent=2))
    else:
        # A pipe has no width; 80 columns would break the names.
        console = Console(width=None if sys.stdout.isatty() else 130)
        for rich_table in rich_tables(results):
            console.print(rich_table)
    if is_whole(options):
        write_all_but(FACADES_HEADING, markdown(results, "make bench"))
        errors.print(f"bench: written to {REPORT}")
    if options.write:
        write_section(facades_section(results, "python -m bench --compat --write"))
    for error in results.errors:
        errors.print(f"bench: {error}")
    errors.print(f"bench: {time.monotonic() - began:.0f} s in all")
    return 1 if results.errors else 0


if __name__ == "__main__":
    sys.exit(main())
