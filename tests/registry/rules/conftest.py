from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.registry.rules.dek_server import DekServer, serve


@pytest.fixture
def dek_server() -> Iterator[DekServer]:
    made = DekServer()
    server = serve(made)
    yield made
    server.shutdown()
    server.server_close()
