from __future__ import annotations

import pytest

from barnabas.wording import time_limit


@pytest.mark.parametrize(
    ("timeout_ms", "told"),
    [
        (60_000, "max_block_ms=60000"),
        (59_999.7, "max_block_ms=60000"),
        (500, "500 ms"),
        (60_001, "60001 ms"),
        (0, "0 ms"),
    ],
)
def test_a_limit_is_told_by_its_setting_unless_the_caller_gave_another(timeout_ms: float, told: str) -> None:
    assert time_limit(timeout_ms, "max_block_ms", 60_000) == told
