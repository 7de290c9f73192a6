"""The demo's figures, computed from the files with pandas: what the pipeline's results are held against.

Owns the definition of each figure in one place, in plain pandas, without Spark and without Kafka.
"""

from __future__ import annotations

import pandas as pd
from examples.flights.data import FlightData

KEY = ["carrier", "origin", "day"]
COUNTS = [
    "flights",
    "cancelled",
    "departed_in_precipitation",
    "departed_out_of_precipitation",
    "flights_without_weather",
]
MEASURES = [
    "mean_delay_minutes",
    "percentile_95_delay_minutes",
    "share_delayed_over_15_minutes",
    "mean_delay_in_precipitation_minutes",
    "mean_delay_out_of_precipitation_minutes",
]
DELAYED_OVER_MINUTES = 15


def expected(data: FlightData) -> pd.DataFrame:
    """For each carrier, origin and day: the airline's name, COUNTS and MEASURES.

    Delays are departure delays, of the flights that left; where none left, or none in (or out of)
    precipitation, a measure is missing. The percentile interpolates linearly between the two nearest delays.
    A flight whose hour has no weather row counts as neither in nor out of precipitation.
    """
    precipitation = data.weather[["origin", "time_hour", "precip"]]
    flights = data.flights.merge(
        precipitation, on=["origin", "time_hour"], how="left", validate="many_to_one"
    )
    delay = flights["dep_delay"].astype("float64")
    table = pd.DataFrame(
        {
            "carrier": flights["carrier"],
            "origin": flights["origin"],
            "day": flights["scheduled_departure"].str[:10],
            "cancelled": flights["dep_time"].isna(),
            "no_weather": flights["precip"].isna(),
            "delay": delay,
            "is_delayed": (delay > DELAYED_OVER_MINUTES).astype("float64").where(delay.notna()),
            "delay_wet": delay.where(flights["precip"] > 0),
            "delay_dry": delay.where(flights["precip"] == 0),
        }
    )
    groups = table.groupby(KEY)
    figures = pd.DataFrame(
        {
            "flights": groups.size(),
            "cancelled": groups["cancelled"].sum(),
            "departed_in_precipitation": groups["delay_wet"].count(),
            "departed_out_of_precipitation": groups["delay_dry"].count(),
            "flights_without_weather": groups["no_weather"].sum(),
            "mean_delay_minutes": groups["delay"].mean(),
            "percentile_95_delay_minutes": groups["delay"].quantile(0.95),
            "share_delayed_over_15_minutes": groups["is_delayed"].mean(),
            "mean_delay_in_precipitation_minutes": groups["delay_wet"].mean(),
            "mean_delay_out_of_precipitation_minutes": groups["delay_dry"].mean(),
        }
    ).reset_index()
    figures = figures.merge(data.airlines.rename(columns={"name": "airline"}), on="carrier", how="left")
    return figures[[*KEY, "airline", *COUNTS, *MEASURES]]
