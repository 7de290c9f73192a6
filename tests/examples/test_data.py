"""The tables of the demo."""

from __future__ import annotations

import importlib.util

import pytest
from examples.flights import data
from examples.flights.data import FlightData


def test_all_flights_of_the_year_are_read(year: FlightData) -> None:
    assert len(year.flights) == 336_776
    assert year.flights["dep_time"].isna().sum() == 8_255
    assert len(year.airlines) == 16


def test_flights_and_weather_are_in_event_time_order(year: FlightData) -> None:
    assert year.flights["event_time"].is_monotonic_increasing
    assert year.weather["event_time"].is_monotonic_increasing


def test_an_hour_at_an_airport_has_one_weather_row_also_when_clocks_go_back(year: FlightData) -> None:
    assert not year.weather.duplicated(["origin", "time_hour"]).any()
    assert year.weather.duplicated(["origin", "hour"]).sum() == 3


def test_event_time_is_the_instant_of_scheduled_departure(year: FlightData) -> None:
    first = year.flights.iloc[0]
    assert first["scheduled_departure"] == "2013-01-01T05:15:00"
    assert first["event_time"].isoformat() == "2013-01-01T10:15:00+00:00"


def test_the_first_days_are_days_on_new_yorks_calendar(year: FlightData) -> None:
    flights = year.first_days(2).flights
    assert set(flights["scheduled_departure"].str[:10]) == {"2013-01-01", "2013-01-02"}
    assert len(flights) == 842 + 943


def test_without_the_data_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(data.MissingDataError, match=r"make setup"):
        data.read()
