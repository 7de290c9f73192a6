"""Draws the tables of docs/benchmarks.md and benchmarks-spark.md as charts, and puts each above its table.

    .venv/bin/python scripts/benchmark_charts.py           # writes the charts
    .venv/bin/python scripts/benchmark_charts.py --check   # says whether they are up to date

The tables are the only source. `make bench` and `make bench-spark` run this once they have written the pages.
A chart is narrow, so that its words can be read on a telephone, and has a background of its own, so that they
can be read in the site's light and dark themes.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import wrap

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = "pictures/benchmarks"
CLIENTS = "benchmarks.md"
SPARK = "benchmarks-spark.md"

WIDTH = 420
SHOWN_WIDTH = 520
LABELS_END = 132
LONGEST_BAR = 190
BAR = 14
STEP = 19
TITLE_LETTERS = 42
SUBTITLE_LETTERS = 54
GROUP_LETTERS = 50

STYLE = """\
.back { fill: #f7f9fb; stroke: #d5dbe1 } text { fill: #22262b }
.more { fill: #59626c } .ours { fill: #2f6fb7 } .others { fill: #9aa5b1 } .limit { fill: #cdd5dd }
@media (prefers-color-scheme: dark) {
.back { fill: #1d2026; stroke: #3b424c } text { fill: #e6e9ed }
.more { fill: #a8b1bc } .ours { fill: #6ba6ea } .others { fill: #76818d } .limit { fill: #454d57 }
}
"""


class TableError(Exception):
    """A page lacks the table of a chart."""


@dataclass(frozen=True)
class Bar:
    """`group` is the work that it is of, and `label` whose it is."""

    group: str
    label: str
    value: float
    shown: str

    @property
    def kind(self) -> str:
        if self.label in ("Barnabas", "embedded broker"):
            return "ours"
        return "limit" if self.label.startswith("raw") else "others"


Row = dict[str, str]


@dataclass(frozen=True)
class Chart:
    """`bars` makes them of the rows of the first table below `heading` that has the column `column`.

    With `one_scale` all bars can be compared; without it only those of a group, as their units differ or
    their values lie too far apart.
    """

    name: str
    page: str
    heading: str
    column: str
    title: str
    better: str
    bars: Callable[[list[Row]], Iterator[Bar]]
    one_scale: bool = True

    @property
    def picture(self) -> str:
        """The line of the page that shows it."""
        return f"![{self.title}]({FOLDER}/{self.name}.svg)"

    @property
    def subtitle(self) -> str:
        return self.better if self.one_scale else f"{self.better} Each work has its own scale."


def rates(work: str, codec: str) -> Callable[[list[Row]], Iterator[Bar]]:
    """Records a second at works that begin with `work`, with one codec. What no client can exceed is left
    out with a codec: it does not decompress, and would make all other bars short."""

    def bars(rows: list[Row]) -> Iterator[Bar]:
        for row in rows:
            is_limit = row["client"] == "raw" and codec != "none"
            if row["work"].startswith(work) and row["codec"] == codec and not is_limit:
                yield rate_of(row, row["work"])

    return bars


def rates_of_facades(rows: list[Row]) -> Iterator[Bar]:
    for row in rows:
        name, found, work = row["work"].partition(": ")
        package = {"kafka": "kafka-python"}.get(name, name) if found else "confluent-kafka"
        yield rate_of(row, f"{package}: {work if found else name}")


def rate_of(row: Row, group: str) -> Bar:
    value = number(row["records/s"])
    client = row["client"]
    label = {"raw": "raw (the limit)", "confluent-kafka, defaults": "its defaults"}.get(client, client)
    return Bar(group, "Barnabas" if client.startswith("barnabas") else label, value, f"{short(value)}/s")


def latencies(rows: list[Row]) -> Iterator[Bar]:
    for column in ("median, ms", "p99, ms"):
        for row in rows:
            label = "Barnabas" if row["client"] == "barnabas" else row["client"]
            yield Bar(column.removesuffix(", ms"), label, number(row[column]), f"{row[column]} ms")


def of_brokers(rows: list[Row]) -> Iterator[Bar]:
    """A row with one broker alone compares nothing."""
    for row in rows:
        if not (row["embedded"] and row["Apache Kafka"]):
            continue
        what, _, unit = row["what"].rpartition(", ")
        for column, label in (("embedded", "embedded broker"), ("Apache Kafka", "Apache Kafka")):
            value = number(row[column])
            shown = f"{short(value)}/s" if unit == "records/s" else f"{value:.2f} {unit}"
            yield Bar(what, label, value, shown)


def on_spark(rows: list[Row]) -> Iterator[Bar]:
    for row in rows:
        for column, label in (("barnabas, s", "Barnabas"), ("Spark's connector, s", "Spark's connector")):
            value = number(row[column])
            yield Bar(row["work"], label, value, f"{value:.2f} s")


MORE_IS_BETTER = "Longer is better."
LESS_IS_BETTER = "Shorter is better."
CHARTS = (
    Chart(
        "consume",
        CLIENTS,
        "# Benchmarks",
        "records/s",
        "Records read a second, without compression",
        MORE_IS_BETTER,
        rates("consume", "none"),
    ),
    Chart(
        "produce",
        CLIENTS,
        "# Benchmarks",
        "records/s",
        "Records sent a second, without compression",
        MORE_IS_BETTER,
        rates("produce", "none"),
    ),
    Chart(
        "lz4",
        CLIENTS,
        "# Benchmarks",
        "records/s",
        "Records a second with lz4",
        MORE_IS_BETTER,
        rates("", "lz4"),
    ),
    Chart(
        "zstd",
        CLIENTS,
        "# Benchmarks",
        "records/s",
        "Records a second with zstd",
        MORE_IS_BETTER,
        rates("", "zstd"),
    ),
    Chart(
        "latency",
        CLIENTS,
        "## Latency",
        "p99, ms",
        "Time from send to receipt at 1,000 messages a second",
        LESS_IS_BETTER,
        latencies,
    ),
    Chart(
        "brokers",
        CLIENTS,
        "## The embedded broker, beside Apache Kafka",
        "embedded",
        "The embedded broker beside Apache Kafka",
        "Shorter is better for s and MiB, longer for records/s.",
        of_brokers,
        one_scale=False,
    ),
    Chart(
        "facades",
        CLIENTS,
        "## The facades, beside the packages that they stand for",
        "records/s",
        "Messages a second of programs for other clients",
        MORE_IS_BETTER,
        rates_of_facades,
        one_scale=False,
    ),
    Chart(
        "spark",
        SPARK,
        "# Benchmarks on Spark",
        "barnabas, s",
        "Seconds for the same work on Spark",
        LESS_IS_BETTER,
        on_spark,
        one_scale=False,
    ),
)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def short(value: float) -> str:
    """Three digits of it."""
    if value < 1000:
        return f"{value:.3g}"
    size, letter = (1e6, "M") if value >= 999_500 else (1e3, "k")
    scaled = value / size
    return f"{scaled:.{2 if scaled < 10 else 1 if scaled < 100 else 0}f} {letter}"


def place_of_table(lines: list[str], heading: str, column: str) -> int:
    """The line of its headings."""
    if heading in lines:
        start = lines.index(heading)
        for place in range(start + 1, len(lines)):
            if lines[place].startswith("#"):
                break
            if lines[place].startswith("| ") and column in cells(lines[place]):
                return place
    raise TableError(f"there is no table with the column {column!r} below {heading!r}")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].split("|")]


def rows_of(lines: list[str], place: int) -> list[Row]:
    heads = cells(lines[place])
    found: list[Row] = []
    for line in lines[place + 2 :]:
        if not line.startswith("|"):
            break
        found.append(dict(zip(heads, cells(line), strict=True)))
    return found


def drawn(chart: Chart, bars: list[Bar]) -> str:
    """The chart as SVG."""
    longest = max(bar.value for bar in bars)
    lines: list[str] = []
    y = 8
    for text in wrap(chart.title, TITLE_LETTERS):
        y += 20
        lines.append(f'<text x="14" y="{y}" font-size="15" font-weight="bold">{escape(text)}</text>')
    for text in wrap(chart.subtitle, SUBTITLE_LETTERS):
        y += 17
        lines.append(f'<text class="more" x="14" y="{y}">{escape(text)}</text>')
    for group, of_group in groupby(bars, key=lambda bar: bar.group):
        y += 9
        for text in wrap(group, GROUP_LETTERS):
            y += 17
            lines.append(f'<text x="14" y="{y}" font-weight="bold">{escape(text)}</text>')
        y += 6
        own = list(of_group)
        scale = longest if chart.one_scale else max(bar.value for bar in own)
        for bar in own:
            width = max(1.0, LONGEST_BAR * bar.value / scale)
            middle = y + BAR - 3
            end = f"{LABELS_END + width + 6:.0f}"
            lines += [
                f'<text class="more" x="{LABELS_END - 6}" y="{middle}" text-anchor="end">'
                f"{escape(bar.label)}</text>",
                f'<rect class="{bar.kind}" x="{LABELS_END}" y="{y}" width="{width:.1f}" height="{BAR}" '
                'rx="2"/>',
                f'<text x="{end}" y="{middle}">{escape(bar.shown)}</text>',
            ]
            y += STEP
    height = y + 10
    shown_height = round(height * SHOWN_WIDTH / WIDTH)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{SHOWN_WIDTH}" '
        f'height="{shown_height}" role="img" font-family="sans-serif" font-size="12.5">'
    )
    back = f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
    title = f"<title>{escape(chart.title)}</title>"
    return "\n".join([head, title, f"<style>\n{STYLE}</style>", back, *lines, "</svg>", ""])


def with_picture(lines: list[str], chart: Chart) -> list[str]:
    """The page's lines, with the chart above its table, and below those that were put there before."""
    if chart.picture in lines:
        return lines
    own = re.compile(rf"!\[.*\]\({re.escape(FOLDER)}/{chart.name}\.svg\)")
    kept = [line for line in lines if not own.fullmatch(line)]
    place = place_of_table(kept, chart.heading, chart.column)
    return [*kept[:place], chart.picture, "", *kept[place:]]


def made(docs: Path) -> dict[Path, str]:
    """What each page and each picture should be. Raises: TableError."""
    found: dict[Path, str] = {}
    for chart in CHARTS:
        page = docs / chart.page
        lines = found.get(page, page.read_text()).split("\n")
        rows = rows_of(lines, place_of_table(lines, chart.heading, chart.column))
        bars = list(chart.bars(rows))
        if not bars:
            raise TableError(f"docs/{chart.page} has no row for the chart {chart.name}")
        found[page] = "\n".join(with_picture(lines, chart))
        found[docs / FOLDER / f"{chart.name}.svg"] = drawn(chart, bars)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing, say whether they are up to date"
    )
    arguments = parser.parse_args()
    status = 0
    for path, text in made(DOCS).items():
        if path.exists() and path.read_text() == text:
            continue
        if arguments.check:
            name = path.relative_to(DOCS.parent)
            print(f"{name} is out of date: run .venv/bin/python scripts/benchmark_charts.py")
            status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
