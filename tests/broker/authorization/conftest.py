"""One Apache Kafka with access control for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import ApacheKafka

from .stage import secure_kafka


@pytest.fixture(scope="package")
def guarded_kafka() -> Iterator[ApacheKafka]:
    with secure_kafka() as kafka:
        yield kafka
