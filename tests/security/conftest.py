"""One secure Kafka for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, NewTopic
from barnabas.testing import ApacheKafka, SecureListeners

from .secure_kafka import SecureKafka


@pytest.fixture(scope="package")
def secure() -> Iterator[SecureKafka]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        yield SecureKafka(kafka)


@pytest.fixture
def new_topic(secure: SecureKafka, topic: Callable[[], str], eventually: Callable[..., object]) -> str:
    """A new topic, which only super users may use."""
    name = topic()
    with Admin(secure.server("SASL_SSL"), **secure.as_user()) as admin:
        admin.create_topics([NewTopic(name)])
        eventually(lambda: name in admin.list_topics())
    return name
