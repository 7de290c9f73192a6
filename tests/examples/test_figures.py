"""The figures from the files, against a case worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from examples.flights import figures
from examples.flights.data import FlightData


def test_figures_are_those_worked_out_by_hand(small: FlightData) -> None:
    american = figures.expected(small).iloc[0].to_dict()
    assert american == {
        "carrier": "AA",
        "origin": "JFK",
        "day": "2013-05-01",
        "airline": "American",
        "flights": 5,
        "cancelled": 1,
        "departed_in_precipitation": 2,
        "departed_out_of_precipitation": 1,
        "flights_without_weather": 1,
        "mean_delay_minutes": 15.0,
        # delays 0, 10, 20, 30: 0.95 * 3 = 2.85 of the way along
        "percentile_95_delay_minutes": pytest.approx(28.5),
        "share_delayed_over_15_minutes": 0.5,
        "mean_delay_in_precipitation_minutes": 5.0,
        "mean_delay_out_of_precipitation_minutes": 30.0,
    }


def test_a_day_without_departures_has_counts_and_no_measures(small: FlightData) -> None:
    united = figures.expected(small).iloc[1]
    assert (united["flights"], united["cancelled"]) == (1, 1)
    assert all(pd.isna(united[measure]) for measure in figures.MEASURES)


def test_no_flight_of_the_year_is_lost_or_doubled(year: FlightData) -> None:
    expected = figures.expected(year)
    assert expected["flights"].sum() == 336_776
    assert not expected.duplicated(figures.KEY).any()
