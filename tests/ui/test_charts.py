from __future__ import annotations

import pytest

from barnabas.ui.charts import HEIGHT, LONGEST_TABLE, WIDTH, count_chart, seconds_chart
from barnabas.ui.charts import top_of_counts as counts
from barnabas.ui.charts import top_of_seconds as seconds


@pytest.mark.parametrize(
    ("highest", "top"), [(0, 2), (2, 2), (3, 4), (11, 20), (20, 20), (41, 100), (1e6, 1e6)]
)
def test_the_axis_of_counts_ends_at_a_round_number(highest: float, top: float) -> None:
    assert counts(highest) == top


@pytest.mark.parametrize(("highest", "top"), [(0, 2), (61, 120), (3_601, 7_200), (200_000, 345_600)])
def test_the_axis_of_durations_ends_at_a_round_duration(highest: float, top: float) -> None:
    assert seconds(highest) == top


def test_a_chart_is_drawn_from_edge_to_edge() -> None:
    chart = count_chart([(0.0, 0), (10.0, 4)])
    assert chart is not None
    assert chart.lines == (f"0.0,{HEIGHT - 1}.0 {WIDTH}.0,1.0",)
    assert chart.ticks == (4, 2, 0)
    assert (chart.highest, chart.latest, chart.seconds) == (4, 4, 10.0)


def test_where_figures_are_missing_the_line_is_broken() -> None:
    chart = seconds_chart([(0.0, 1.0), (1.0, 2.0), (2.0, None), (3.0, 2.0), (4.0, 1.0)])
    assert chart is not None
    assert len(chart.lines) == 2
    assert chart.rows[2] == (2.0, None)


def test_one_figure_makes_no_chart() -> None:
    assert count_chart([(0.0, 1)]) is None
    assert count_chart([(0.0, None), (1.0, 1)]) is None
    assert count_chart([]) is None


def test_the_table_is_short_and_has_the_newest_first() -> None:
    chart = count_chart([(float(number), number) for number in range(720)])
    assert chart is not None
    assert len(chart.rows) <= LONGEST_TABLE
    assert chart.rows[0] == (719.0, 719)
