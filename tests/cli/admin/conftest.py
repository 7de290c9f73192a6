from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedBroker]:
    """A broker with access control, to which everybody is a super user."""
    config = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with EmbeddedBroker(config=config) as broker:
        yield broker
