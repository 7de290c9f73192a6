from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kernel.direct.direct_broker import accumulator_with

from barnabas._kernel import Accumulator, Waker


@pytest.fixture
def waker() -> Waker:
    return Waker()


@pytest.fixture
def accumulator(waker: Waker) -> Iterator[Accumulator]:
    made = accumulator_with(waker)
    yield made
    made.end_direct()
