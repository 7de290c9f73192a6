"""One secure broker of each kind for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import ApacheKafka, EmbeddedBroker, SecureListeners


@pytest.fixture(scope="package")
def brokers() -> Iterator[tuple[ApacheKafka, EmbeddedBroker]]:
    with (
        ApacheKafka(security=SecureListeners()) as kafka,
        EmbeddedBroker(security=SecureListeners()) as embedded,
    ):
        yield kafka, embedded
