"""The table and the chart."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from examples.flights import figures, report
from examples.flights.data import FlightData
from rich.console import Console


def test_an_airlines_figures_are_those_of_its_flights(year: FlightData) -> None:
    airlines = report.by_airline(figures.expected(year)).set_index("airline")
    flights = year.flights[year.flights["carrier"] == "UA"]
    united = airlines.loc["United Air Lines Inc."]
    assert united["flights"] == len(flights)
    assert united["mean_delay"] == pytest.approx(flights["dep_delay"].mean())
    assert united["share_delayed"] == pytest.approx((flights["dep_delay"].dropna() > 15).mean())


def test_the_table_fits_a_terminal_of_80_columns(year: FlightData) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report.table(report.by_airline(figures.expected(year))))
    text = console.export_text()
    assert "ExpressJet Airlines" in text
    assert "…" not in text


def test_the_chart_of_a_year_is_a_png_with_the_finding_as_its_title(year: FlightData, tmp_path: Path) -> None:
    airlines = report.by_airline(figures.expected(year))
    report.save_chart(airlines, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    finding = report.finding(airlines)
    assert finding == "In rain or snow, New York’s flights left 31 minutes late on average; otherwise 11"


def test_a_chart_of_days_without_rain_shows_every_airline(year: FlightData, tmp_path: Path) -> None:
    airlines = report.by_airline(figures.expected(year.first_days(1)))
    report.save_chart(airlines, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 10_000
    assert report.finding(airlines) == "Departure delays from New York’s airports"
