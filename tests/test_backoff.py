from __future__ import annotations

import pytest

from barnabas.backoff import Backoff


def test_the_delay_doubles_with_each_failure_up_to_the_longest() -> None:
    backoff = Backoff(100, 1_000)
    for failures, middle in ((1, 100), (2, 200), (3, 400), (4, 800)):
        delays = [backoff.delay_ms(failures) for _ in range(200)]
        assert middle * 0.8 <= min(delays) < max(delays) <= min(middle * 1.2, 1_000)
    assert max(backoff.delay_ms(1_000) for _ in range(200)) == 1_000


@pytest.mark.parametrize("failures", [0, -1])
def test_there_is_no_delay_before_the_first_failure(failures: int) -> None:
    assert Backoff(100, 1_000).delay_ms(failures) == 0


def test_a_first_delay_above_the_longest_one_holds() -> None:
    assert 400 <= Backoff(500, 100).delay_ms(3) <= 500
