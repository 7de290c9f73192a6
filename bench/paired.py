"""Holds this checkout against another one: the same works on one Kafka, each in turn.

    python -m bench.paired CHECKOUT [--runs 5] [--only consume] [--codecs none,zstd] [--json]

CHECKOUT is set up (`make setup` in it), and was made by `git worktree add` for instance. The ratios are of
each two runs that follow one another, this checkout's to the other's: above 1 is faster. Ends with 1 if a row
is slower than `SLOWER` by its median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.broker import kafka
from bench.page_cache import PageCache, page_cache
from bench.runs import Topics, asked, measure
from bench.works import COMPAT_WORKS, CORE_WORKS, OURS, PEER, Measure, Work, is_writing

RECORDS = 1_000_000
SLOWER = 0.95
LATENCY_SECONDS = 30
LATENCY_WARM_UP_SECONDS = 5


@dataclass
class Row:
    """One work of one of our interfaces: what it measured here and there, in pairs."""

    title: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    is_rate: bool = True

    @property
    def ratios(self) -> list[float]:
        """Above 1 is better here."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return [ours / theirs if self.is_rate else theirs / ours for ours, theirs in pairs]

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.title,
            "here": statistics.median(self.ours),
            "there": statistics.median(self.theirs),
            "ratio": statistics.median(self.ratios),
            "lowest": min(self.ratios),
            "highest": max(self.ratios),
        }


class PairedBench:
    def __init__(
        self,
        checkout: Path,
        options: argparse.Namespace,
        bootstrap: str,
        say: Callable[[str], None],
        cache: PageCache,
    ) -> None:
        self._checkout = checkout
        self._runs: int = options.runs
        self._records: int = options.records
        self._bootstrap = bootstrap
        self._topics = Topics(bootstrap)
        self._say = say
        self._page_cache = cache
        self.rows: list[Row] = []

    def warm_up(self) -> None:
        """The broker's compilers need to have seen some work."""
        self._say("filling the page cache")
        self._page_cache.fill()
        for checkout in (None, self._checkout):
            with self._topics.fresh() as topic:
                self._say("warming the broker up")
                for work in ("produce/plain", "consume/list"):
                    measure(OURS, work, self._bootstrap, topic, self._records, "none", checkout)

    def measure_works(self, works: list[tuple[str, Work]], codec: str) -> None:
        with self._topics.fresh() as filled:
            if any(not is_writing(work.name) for _, work in works):
                self._say(f"filling a topic to read from ({codec})")
                most = max(work.share_of_records[client] for client, work in works)
                records = int(self._records * most * 1.1)
                measure(PEER, "produce/plain", self._bootstrap, filled, records, codec)
            for client, work in works:
                row = Row(f"{work.title} ({codec})" if client == OURS else f"facade: {work.title} ({codec})")
                for turn in range(self._runs * work.turns):
                    self._say(f"{row.title}: pair {turn + 1}")
                    # Whoever comes second finds the machine as the first one left it.
                    sides = [(None, row.ours), (self._checkout, row.theirs)]
                    for checkout, rates in sides if turn % 2 else reversed(sides):
                        rates.append(self._measure_once(client, work, codec, filled, checkout).rate)
                self.rows.append(row)

    def _measure_once(
        self, client: str, work: Work, codec: str, filled: str, checkout: Path | None
    ) -> Measure:
        records = int(self._records * work.share_of_records[client])
        if not is_writing(work.name):
            return measure(client, work.name, self._bootstrap, filled, records, codec, checkout)
        with self._topics.fresh() as topic:
            return measure(client, work.name, self._bootstrap, topic, records, codec, checkout)

    def measure_latency(self) -> None:
        self._say("latency")
        median = Row("median latency, ms, 1,000 messages/s, linger 0", is_rate=False)
        p99 = Row("p99 latency, ms, 1,000 messages/s, linger 0", is_rate=False)
        with ExitStack() as stack:
            sides: list[tuple[list[float], list[float], Callable[[], dict[str, float]]]] = []
            for checkout, medians, p99s in (
                (None, median.ours, p99.ours),
                (self._checkout, median.theirs, p99.theirs),
            ):
                topic = stack.enter_context(self._topics.fresh())
                process = asked("bench.latency", OURS, self._bootstrap, topic, checkout=checkout)
                sides.append((medians, p99s, stack.enter_context(process)))
            for second in range(-LATENCY_WARM_UP_SECONDS, LATENCY_SECONDS):
                for medians, p99s, ask in sides:
                    figures = ask()
                    if second >= 0:
                        medians.append(figures["p50_ms"])
                        p99s.append(figures["p99_ms"])
        self.rows += [median, p99]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.paired", description=__doc__)
    parser.add_argument("checkout", type=Path, help="the one to compare with, set up")
    parser.add_argument("--runs", type=int, default=5, help="pairs of each work (default 5)")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"of one share (default {RECORDS})")
    parser.add_argument("--only", default="", help="works whose name has this in it, such as consume/list")
    parser.add_argument("--codecs", default="none,lz4,zstd", help="default none,lz4,zstd; facades: none")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if not (options.checkout / ".venv" / "bin" / "python").exists():
        parser.error(f"{options.checkout} is not set up: run `make setup` in it")
    return options


def main() -> int:
    options = arguments()
    began = time.monotonic()
    core = [(OURS, work) for work in CORE_WORKS if options.only in work.name]
    # The first of a work's clients is ours.
    facade = [(next(iter(work.share_of_records)), work) for work in COMPAT_WORKS if options.only in work.name]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    errors = Console(stderr=True)
    with (
        kafka(None) as bootstrap,
        page_cache() as cache,
        Progress(*columns, console=errors, transient=True) as progress,
    ):
        task = progress.add_task("")
        bench = PairedBench(
            options.checkout.resolve(),
            options,
            bootstrap,
            lambda what: progress.update(task, description=what),
            cache,
        )
        bench.warm_up()
        if not options.only:
            bench.measure_latency()
        for codec in options.codecs.split(","):
            bench.measure_works(core + facade if codec == "none" else core, codec)
    figures = [row.as_json() for row in bench.rows]
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        show(bench.rows)
    errors.print(f"bench: {time.monotonic() - began:.0f} s in all")
    return 1 if any(statistics.median(row.ratios) < SLOWER for row in bench.rows) else 0


def show(rows: list[Row]) -> None:
    table = Table()
    for name in ("work", "here", "there", "ratio", "lowest - highest"):
        table.add_column(name, justify="left" if name == "work" else "right")
    for row in rows:
        here, there = statistics.median(row.ours), statistics.median(row.theirs)
        digits = 0 if row.is_rate else 3
        table.add_row(
            row.title,
            f"{here:,.{digits}f}",
            f"{there:,.{digits}f}",
            f"{statistics.median(row.ratios):.2f} x",
            f"{min(row.ratios):.2f} - {max(row.ratios):.2f}",
        )
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    sys.exit(main())
