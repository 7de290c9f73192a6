from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import ApacheKafka


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka() as broker:
        yield broker
