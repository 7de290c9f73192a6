"""How long a client has to wait, with numbers worked out by Kafka's formulas."""

from __future__ import annotations

import pytest

from barnabas.broker.quotas.meters import MutationBucket, RateMeter


def test_a_rate_within_its_bound_delays_nobody() -> None:
    meter = RateMeter()
    for second in range(30):
        meter.record(100, second * 1000)
        assert meter.delay_ms(110, second * 1000) == 0


def test_what_comes_first_counts_over_ten_seconds() -> None:
    meter = RateMeter()
    meter.record(2_000, 0)
    # 200 a second over ten seconds, where 100 may be: as long again.
    assert meter.delay_ms(100, 0) == pytest.approx(10_000)
    assert meter.delay_ms(200, 0) == 0


def test_what_is_long_ago_does_not_count() -> None:
    meter = RateMeter()
    meter.record(2_000, 0)
    assert meter.delay_ms(100, 5_500) == pytest.approx((2_000 / 10.5 - 100) / 100 * 10_500)
    assert meter.delay_ms(100, 11_000) == 0


def test_what_is_taken_back_counts_no_more() -> None:
    meter = RateMeter()
    meter.record(2_000, 0)
    meter.record(-2_000, 0)
    assert meter.delay_ms(100, 0) == 0


def test_mutations_may_come_in_a_burst_of_eleven_seconds_and_are_paid_back() -> None:
    bucket = MutationBucket()
    bucket.take(55, 5, 0)
    assert bucket.delay_ms(5, 0) == 0
    bucket.take(5, 5, 0)
    assert bucket.delay_ms(5, 0) == pytest.approx(1_000)
    assert bucket.delay_ms(5, 400) == pytest.approx(600)
    assert bucket.delay_ms(5, 1_000) == 0
