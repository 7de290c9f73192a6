"""The comparison of results with the figures from the files."""

from __future__ import annotations

import pandas as pd
import pytest
from examples.flights import check, figures
from examples.flights.data import FlightData


@pytest.fixture
def expected(small: FlightData) -> pd.DataFrame:
    return figures.expected(small)


def as_json(table: pd.DataFrame) -> bytes:
    return table.to_json(orient="records", lines=True).encode()


def test_the_same_figures_have_no_differences(expected: pd.DataFrame) -> None:
    assert check.differences(expected, check.results(as_json(expected), is_once=True)) == []


@pytest.mark.parametrize("name", figures.COUNTS)
def test_a_count_that_is_off_by_one_is_reported(expected: pd.DataFrame, name: str) -> None:
    found = expected.copy()
    found.loc[0, name] += 1
    (line,) = check.differences(expected, found)
    assert (
        line == f"AA JFK 2013-05-01: {name} is {found.loc[0, name]}, from the files {expected.loc[0, name]}"
    )


@pytest.mark.parametrize("name", figures.MEASURES)
def test_a_measure_beyond_the_tolerance_is_reported(expected: pd.DataFrame, name: str) -> None:
    found = expected.copy()
    found.loc[0, name] += 2 * check.TOLERANCE
    (line,) = check.differences(expected, found)
    assert line.startswith(f"AA JFK 2013-05-01: {name} is ")


def test_a_measure_within_the_tolerance_is_the_same(expected: pd.DataFrame) -> None:
    found = expected.copy()
    found.loc[0, "mean_delay_minutes"] += check.TOLERANCE / 2
    assert check.differences(expected, found) == []


def test_a_measure_that_should_be_missing_is_reported(expected: pd.DataFrame) -> None:
    found = expected.copy()
    found.loc[1, "mean_delay_minutes"] = 0.0
    assert len(check.differences(expected, found)) == 1


def test_a_row_that_is_missing_or_too_many_is_reported(expected: pd.DataFrame) -> None:
    assert check.differences(expected, expected.iloc[1:]) == ["AA JFK 2013-05-01: missing from the topic"]
    assert check.differences(expected.iloc[1:], expected) == ["AA JFK 2013-05-01: not in the files"]


def test_another_airlines_name_is_reported(expected: pd.DataFrame) -> None:
    found = expected.assign(airline=["American", "Untied"])
    (line,) = check.differences(expected, found)
    assert "airline is Untied" in line


def test_the_last_result_of_a_key_counts_unless_there_may_be_only_one(expected: pd.DataFrame) -> None:
    lines = as_json(expected.assign(flights=99)) + as_json(expected)
    assert check.differences(expected, check.results(lines, is_once=False)) == []
    with pytest.raises(check.ReadBackError, match="AA JFK 2013-05-01 was written more than once"):
        check.results(lines, is_once=True)


def test_a_record_with_an_unknown_field_is_refused(expected: pd.DataFrame) -> None:
    with pytest.raises(check.ReadBackError, match="not a result of the pipeline"):
        check.results(as_json(expected.assign(nonsense=1)), is_once=True)


def test_no_results_are_an_empty_table() -> None:
    assert check.results(b"", is_once=True).empty


def test_when_stopped_the_days_before_the_last_result_must_be_whole(expected: pd.DataFrame) -> None:
    later = expected.assign(day=["2013-05-03", "2013-05-03"])
    whole = pd.concat([expected, later], ignore_index=True)
    found = pd.concat([expected.iloc[1:], later.iloc[:1]], ignore_index=True)
    wanted = check.until_last_day(whole, found)
    assert check.differences(wanted, found) == ["AA JFK 2013-05-01: missing from the topic"]
    assert check.until_last_day(whole, found.iloc[:0]).empty
