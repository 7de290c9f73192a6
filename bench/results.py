"""What was measured, what is wanted of it, and the tables that say so. Runs nothing."""

from __future__ import annotations

import math
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from rich.table import Table

from bench.brokers import BROKER_ROWS, BrokerFigures, section
from bench.works import (
    ARROW_TURNS,
    LIMIT,
    OURS,
    OWN,
    PARTITIONS,
    PEER,
    PEER_AS_IT_COMES,
    SERIALIZER_WORKS,
    START,
    VALUE_BYTES,
    Measure,
    Work,
)

MOST_MEMORY_GROWTH = 1.10


@dataclass
class Result:
    """The runs of one client at one work, a round each, or why there are none."""

    work: Work
    client: str
    compression: str
    measures: list[Measure] = field(default_factory=list)
    error: str | None = None
    bytes_a_record: float | None = None
    """In the broker's log, where the work is to write there."""

    @property
    def rate(self) -> float | None:
        return statistics.median(m.rate for m in self.measures) if self.measures else None

    def times(self, other: Result) -> float:
        """How many times the rate of another, which both have: at the same work the median of the rounds,
        whose runs came right after each other."""
        if self.work == other.work and len(self.measures) == len(other.measures):
            return statistics.median(
                own.rate / others.rate for own, others in zip(self.measures, other.measures, strict=True)
            )
        return (self.rate or 0) / (other.rate or 1)

    @property
    def cpu_seconds_per_million(self) -> float | None:
        if not self.measures:
            return None
        return statistics.median(m.cpu_seconds_per_million for m in self.measures) or None


def median_with_confidence(figures: list[float]) -> tuple[float, float, float]:
    """The median, between the least and the most that what the figures are drawn from has for one, in 19 of
    20 such runs: as many are above it as a coin that is thrown for each falls on one side."""
    ordered, count = sorted(figures), len(figures)
    outside, chance = 0, 0.5**count
    while chance <= 0.025:
        outside += 1
        chance += math.comb(count, outside) * 0.5**count
    place = max(outside - 1, 0)
    return ordered[place], statistics.median(ordered), ordered[count - 1 - place]


@dataclass(frozen=True)
class Check:
    """One thing that is wanted, and whether it is so."""

    what: str
    figure: str
    wanted: str
    is_met: bool


@dataclass
class Results:
    runs: int
    results: list[Result] = field(default_factory=list)
    latency_seconds: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    """For each client the figures of the messages of a second, many times."""
    memory_bytes: dict[str, int] = field(default_factory=dict)
    serializers: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each work the values a second of ours and the peer's, and the median of the rounds' ratios."""
    brokers: BrokerFigures = field(default_factory=BrokerFigures)

    def find(self, work: str, client: str, compression: str) -> Result | None:
        for result in self.results:
            if (result.work.name, result.client, result.compression) == (work, client, compression):
                return result
        return None

    @property
    def latency_ms(self) -> dict[str, dict[str, float]]:
        """For each client the median of its seconds."""
        return {
            client: {name: statistics.median(second[name] for second in seconds) for name in seconds[0]}
            for client, seconds in self.latency_seconds.items()
        }

    @property
    def errors(self) -> list[str]:
        return [f"{r.work.name}, {r.client}, {r.compression}: {r.error}" for r in self.results if r.error]

    def checks(self) -> list[Check]:
        checks: list[Check] = []
        for result in self.results:
            if result.client in OWN and result.rate is not None:
                checks += self._checks_of(result)
        if OURS in self.latency_seconds and PEER in self.latency_seconds:
            pairs = zip(self.latency_seconds[OURS], self.latency_seconds[PEER], strict=True)
            low, middle, high = median_with_confidence(
                [own["p99_ms"] / peer["p99_ms"] for own, peer in pairs]
            )
            what = f"p99 latency at 1,000 messages/s, linger 0, to {PEER}'s"
            figure = f"{middle:.2f} x ({low:.2f} to {high:.2f})"
            checks.append(Check(what, figure, "at most 1 x, as far as this run can tell", low <= 1))
        if self.memory_bytes:
            second, last = self.memory_bytes["second_million_bytes"], self.memory_bytes["last_million_bytes"]
            what = "memory in the 20th million messages, to that in the second"
            growth = last / second
            wanted = f"at most {MOST_MEMORY_GROWTH:.2f} x"
            checks.append(Check(what, f"{growth:.2f} x", wanted, growth <= MOST_MEMORY_GROWTH))
        for name, row in self.serializers.items():
            work = SERIALIZER_WORKS[name]
            what = f"{work.title}: {row['ours']:,.0f}/s"
            wanted = f"at least {work.least_ratio:g} x {work.compared_with}"
            checks.append(Check(what, f"{row['ratio']:.1f} x", wanted, row["ratio"] >= work.least_ratio))
        return checks

    def broker_checks(self) -> list[Check]:
        checks: list[Check] = []
        for name, figures in self.brokers.items():
            row = BROKER_ROWS[name]
            shown = ", ".join(f"{broker} {figure:,.2f}" for broker, figure in figures.items())
            checks.append(Check(f"{row.title}, {row.unit}", shown, row.wanted, row.is_met(figures)))
        return checks

    def _checks_of(self, result: Result) -> list[Check]:
        work, codec = result.work, result.compression
        title = work.title if codec == "none" else f"{work.title}, {codec}"
        checks: list[Check] = []
        peer = self.find(work.peer_work, work.peer, codec)
        least_ratio = work.least_ratio_of(codec)
        if least_ratio and peer is not None and peer.rate:
            ratio = result.times(peer)
            wanted = f"at least {least_ratio:g} x {work.peer}"
            checks.append(Check(title, f"{ratio:.1f} x", wanted, ratio >= least_ratio))
        # Nothing that decompresses keeps up with what does not.
        limit = self.find(work.name, LIMIT, codec)
        if work.least_share_of_limit and codec == "none" and limit is not None and limit.rate:
            share = result.times(limit)
            wanted = f"at least {work.least_share_of_limit:.0%} of the limit"
            checks.append(Check(title, f"{share:.0%}", wanted, share >= work.least_share_of_limit))
        own_cpu = result.cpu_seconds_per_million
        peer_cpu = peer.cpu_seconds_per_million if peer is not None else None
        if own_cpu is not None and peer_cpu is not None and work.name != START:
            wanted = f"below {work.peer}'s {peer_cpu:.2f} s"
            what = f"{title}: CPU for a million"
            checks.append(Check(what, f"{own_cpu:.2f} s", wanted, own_cpu < peer_cpu))
        return checks

    def rows(self) -> list[tuple[str, ...]]:
        """As `HEADINGS` says."""
        rows: list[tuple[str, ...]] = []
        for result in self.results:
            if result.rate is None:
                rows.append((result.work.title, result.compression, result.client, "failed", "", "", "", ""))
                continue
            rates = [measure.rate for measure in result.measures]
            cpu = result.cpu_seconds_per_million
            rows.append(
                (
                    result.work.title,
                    result.compression,
                    result.client,
                    _shown(result.rate),
                    f"{_shown(min(rates))} - {_shown(max(rates))}",
                    "" if cpu is None else f"{cpu:.2f}",
                    "" if result.bytes_a_record is None else f"{result.bytes_a_record:.1f}",
                    self._against_others(result),
                )
            )
        return rows

    def _against_others(self, result: Result) -> str:
        if result.client not in OWN:
            return ""
        others = [
            other
            for other in self.results
            if other.work.name == result.work.peer_work
            and other.compression == result.compression
            and other.client not in (*OWN, LIMIT, PEER_AS_IT_COMES)
            and other.rate
        ]
        if not others:
            return ""
        best = max(others, key=lambda other: other.rate or 0)
        return f"{result.times(best):.1f} x {best.client}"

    def as_json(self) -> dict[str, Any]:
        return {
            "results": [
                {
                    "work": result.work.name,
                    "client": result.client,
                    "compression": result.compression,
                    "rate": result.rate,
                    "cpu_seconds_per_million": result.cpu_seconds_per_million,
                    "bytes_a_record": result.bytes_a_record,
                    "measures": [asdict(measure) for measure in result.measures],
                    "error": result.error,
                }
                for result in self.results
            ],
            "latency_ms": self.latency_ms,
            "latency_seconds": self.latency_seconds,
            "memory_bytes": self.memory_bytes,
            "serializers": self.serializers,
            "brokers": self.brokers,
            "checks": [asdict(check) for check in self.checks()],
        }


def _shown(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.2f}"


HEADINGS = (
    "work",
    "codec",
    "client",
    "records/s",
    "lowest - highest",
    "CPU s/million",
    "bytes/record",
    "against the best",
)
FACADES_HEADING = "## The facades, beside the packages that they stand for"
RIGHT_ALIGNED = {"records/s", "lowest - highest", "CPU s/million", "bytes/record"}


def rich_tables(results: Results) -> list[Table]:
    table = Table(title=f"median of {results.runs} runs or more; {_conditions()}")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in RIGHT_ALIGNED else "left")
    last_work = ""
    for row in results.rows():
        if last_work and row[0] != last_work:
            table.add_section()
        shown = ("" if row[0] == last_work else row[0], *row[1:])
        table.add_row(*shown, style="bold" if row[2] in OWN else None)
        last_work = row[0]
    wanted = Table(title="what is wanted")
    for heading in ("what", "figure", "wanted", ""):
        wanted.add_column(heading)
    for check in (*results.checks(), *results.broker_checks()):
        wanted.add_row(check.what, check.figure, check.wanted, "yes" if check.is_met else "[red]missed")
    return [table, wanted] if results.checks() else [table]


def markdown(results: Results, command: str) -> str:
    lines = [
        "# Benchmarks",
        "",
        f"Written by `{command}`: median of {results.runs} runs ({results.runs * ARROW_TURNS} with Arrow),",
        "each client in turn; of ratios the median, or, between different works, the ratio of the medians;",
        f"{_conditions()};",
        f"on {os.cpu_count()} cores with Python {platform.python_version()}; {_versions()}.",
        "Start-up, up to the first record, is not measured. The machine's memory is kept full of page cache:",
        "the broker would wait for a virtual machine's host to give it pages to write to, whoever it serves.",
        f"{PEER} consumes with fetch.queue.backoff.ms=1: by default it pauses for a second when its queue is",
        f"full, as the rows of `{PEER_AS_IT_COMES}` show.",
        "`raw` is no client: the least that any has to do.",
        "Codecs have their default levels; with zstd Barnabas searches less hard than level 3 where batches",
        "are about as small then. bytes/record is what records take in the broker's log: it depends on how",
        "many of these values, which come again after 10,000, are in a batch.",
        "",
        _markdown_table(HEADINGS, results.rows()),
        "",
    ]
    checks = [(c.what, c.figure, c.wanted, "yes" if c.is_met else "**missed**") for c in results.checks()]
    if checks:
        lines += ["## Goals", "", _markdown_table(("what", "figure", "wanted", "met"), checks), ""]
    if results.latency_ms:
        rows = [(c, f"{f['p50_ms']:.2f}", f"{f['p99_ms']:.2f}") for c, f in results.latency_ms.items()]
        headings = ("client", "median, ms", "p99, ms")
        count = len(results.latency_seconds[OURS])
        how = [
            f"Of the 1,000 messages of a second; the medians of {count} seconds each, in turn. Above, the",
            "median of the ratios of each two, and between what it lies with a confidence of 95 %.",
        ]
        lines += ["## Latency", "", *how, "", _markdown_table(headings, rows), ""]
    if results.brokers:
        lines.append(section(results.brokers, command))
    return "\n".join(lines)


def facades_section(results: Results, command: str) -> str:
    """Programs for the originals, the very same code on both."""
    checks = [(c.what, c.figure, c.wanted, "yes" if c.is_met else "**missed**") for c in results.checks()]
    lines = [
        FACADES_HEADING,
        "",
        f"Written by `{command}`: medians of {results.runs} runs or more, each client in turn;",
        f"{_conditions()}; {os.cpu_count()} cores. The load of",
        f"the machine, with the run's own, was {os.getloadavg()[2]:.1f} in the 15 minutes before the end.",
        "",
        _markdown_table(HEADINGS, results.rows()),
        "",
        _markdown_table(("what", "figure", "wanted", "met"), checks),
        "",
    ]
    return "\n".join(lines)


def _conditions() -> str:
    return f"{VALUE_BYTES}-byte values, {PARTITIONS} partitions, acks=all, idempotent, one broker beside"


def _versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in (PEER, "aiokafka", "kafka-python"))


def _markdown_table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    marks = ["---:" if heading in RIGHT_ALIGNED else "---" for heading in headings]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, marks, *rows))
