from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from tests.scripts.loading import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def charts() -> ModuleType:
    # Its dataclasses look themselves up among the imported modules.
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("benchmark_charts")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """The pages as `make bench` writes them: without pictures."""
    for name in ("benchmarks.md", "benchmarks-spark.md"):
        text = (ROOT / "docs" / name).read_text()
        (tmp_path / name).write_text("".join(part for part in text.splitlines(True) if part[:2] != "!["))
    return tmp_path


def put(made: dict[Path, str]) -> None:
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_each_chart_stands_above_its_table_of_a_page_that_had_none(charts: ModuleType, docs: Path) -> None:
    put(charts.made(docs))
    for chart in charts.CHARTS:
        lines = (docs / chart.page).read_text().split("\n")
        between = lines[
            lines.index(chart.picture) : charts.place_of_table(lines, chart.heading, chart.column)
        ]
        assert all(line == "" or line.startswith("![") for line in between)
        assert (docs / "pictures" / "benchmarks" / f"{chart.name}.svg").is_file()


def test_what_is_made_of_pages_with_their_charts_is_the_same(charts: ModuleType, docs: Path) -> None:
    put(charts.made(docs))
    assert all(path.read_text() == text for path, text in charts.made(docs).items())


def test_another_figure_in_a_table_makes_another_chart(charts: ModuleType, docs: Path) -> None:
    put(charts.made(docs))
    page = docs / "benchmarks-spark.md"
    page.write_text(page.read_text().replace("| batch read | 1.943 |", "| batch read | 1.5 |"))
    changed = {path.name for path, text in charts.made(docs).items() if path.read_text() != text}
    assert changed == {"spark.svg"}


def test_a_page_that_has_lost_a_table_is_an_error_that_names_it(charts: ModuleType, docs: Path) -> None:
    page = docs / "benchmarks.md"
    page.write_text(page.read_text().replace("## Latency", "## Delays"))
    with pytest.raises(charts.TableError, match=r"p99, ms.*## Latency"):
        charts.made(docs)


def test_bars_are_as_long_as_their_values_and_have_their_units(charts: ModuleType, docs: Path) -> None:
    page = docs / "benchmarks.md"
    before, heading, _ = page.read_text().partition("| client | median, ms | p99, ms |")
    rows = "\n| --- | --- | --- |\n| barnabas | 0.15 | 0.37 |\n| confluent-kafka | 0.17 | 0.29 |\n\n"
    _, following, after = page.read_text().removeprefix(before).partition("\n## ")
    page.write_text(before + heading + rows + following + after)
    drawn = ElementTree.fromstring(charts.made(docs)[docs / "pictures" / "benchmarks" / "latency.svg"])
    bars = [float(bar.attrib["width"]) for bar in drawn.iter(f"{SVG}rect")][1:]
    values = [0.15, 0.17, 0.37, 0.29]
    assert bars == pytest.approx([charts.LONGEST_BAR * value / 0.37 for value in values], abs=0.1)
    shown = [text.text for text in drawn.iter(f"{SVG}text")]
    assert [text for text in shown if text and text.endswith(" ms")] == [f"{value} ms" for value in values]


def test_what_is_drawn_stays_within_the_picture(charts: ModuleType, docs: Path) -> None:
    """By the widest that letters of sans-serif are on average."""
    for path, text in charts.made(docs).items():
        if path.suffix != ".svg":
            continue
        for each in ElementTree.fromstring(text).iter(f"{SVG}text"):
            size = float(each.attrib.get("font-size", 12.5)) * (
                0.62 if "font-weight" in each.attrib else 0.58
            )
            width = len(each.text or "") * size
            x = float(each.attrib["x"])
            left, right = (x - width, x) if each.attrib.get("text-anchor") else (x, x + width)
            assert left >= 0, each.text
            assert right <= charts.WIDTH, each.text
