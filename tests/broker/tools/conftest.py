from __future__ import annotations

from collections.abc import Iterator

import pytest

from .java import Java


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    """One for all tests of a file. Tools that fail leave clients in it, which ask for their brokers until it
    ends."""
    java = Java()
    yield java
    java.end()
