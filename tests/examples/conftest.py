"""What the demo's tests share: the tables, read once, and a small made-up set of them."""

from __future__ import annotations

import pandas as pd
import pytest
from examples.flights import data
from examples.flights.data import FLIGHT_COLUMNS, WEATHER_COLUMNS, FlightData


@pytest.fixture(scope="session")
def year() -> FlightData:
    """The flights of 2013."""
    return data.read()


@pytest.fixture
def small() -> FlightData:
    """Six flights on two days. Weather is missing at 07:00 on the first day; it rains at 06:00."""
    first, second = "2013-05-01", "2013-05-02"
    flights = pd.DataFrame(
        [
            _flight(first, "06:00", "AA", 0),
            _flight(first, "06:30", "AA", 10),
            _flight(first, "07:00", "AA", 20),
            _flight(first, "08:00", "AA", 30),
            _flight(first, "08:15", "AA", None),
            _flight(second, "08:00", "UA", None),
        ]
    )
    flights = flights.astype({"dep_time": "Int64", "dep_delay": "Int64"})
    weather = pd.DataFrame(
        [_weather(first, "06:00", 0.2), _weather(first, "08:00", 0.0), _weather(second, "08:00", 0.0)]
    )
    airlines = pd.DataFrame({"carrier": ["AA", "UA"], "name": ["American", "United"]})
    return FlightData(flights, weather, airlines)


def _flight(day: str, scheduled: str, carrier: str, delay: int | None) -> dict[str, object]:
    local = pd.Timestamp(f"{day}T{scheduled}")
    known = {
        "event_time": _instant(local),
        "scheduled_departure": local.isoformat(),
        "time_hour": _utc_text(local.floor("h")),
        "carrier": carrier,
        "origin": "JFK",
        "dep_time": None if delay is None else 600,
        "dep_delay": delay,
    }
    return {"event_time": None, **dict.fromkeys(FLIGHT_COLUMNS), **known}


def _weather(day: str, hour: str, precip: float) -> dict[str, object]:
    local = pd.Timestamp(f"{day}T{hour}")
    known = {
        "event_time": _instant(local),
        "hour": local.isoformat(),
        "time_hour": _utc_text(local),
        "origin": "JFK",
        "precip": precip,
    }
    return {"event_time": None, **dict.fromkeys(WEATHER_COLUMNS), **known}


def _instant(local: pd.Timestamp) -> pd.Timestamp:
    return local.tz_localize("America/New_York").tz_convert("UTC")


def _utc_text(local: pd.Timestamp) -> str:
    return _instant(local).strftime("%Y-%m-%dT%H:%M:%SZ")
