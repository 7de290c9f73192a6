from __future__ import annotations

from collections.abc import Iterator

import pytest

from .java import Java


@pytest.fixture(scope="package")
def java() -> Iterator[Java]:
    """One for all tests of this folder."""
    java = Java()
    yield java
    java.end()
