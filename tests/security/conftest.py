"""A secure broker of each kind and one Kerberos for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, NewTopic

from .kerberos import Kerberos
from .secure_kafka import SecureKafka, secure_kafka


@pytest.fixture(scope="package")
def kerberos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberos]:
    """That of this process, in which nobody has a ticket."""
    folder = tmp_path_factory.mktemp("kerberos")
    with Kerberos(folder) as kerberos, pytest.MonkeyPatch.context() as environment:
        environment.setenv("KRB5_CONFIG", str(kerberos.settings))
        environment.setenv("KRB5CCNAME", f"FILE:{folder / 'no-tickets'}")
        yield kerberos


@pytest.fixture(scope="package", params=["apache", "embedded"])
def secure(request: pytest.FixtureRequest, kerberos: Kerberos) -> Iterator[SecureKafka]:
    with secure_kafka(kerberos, kind=request.param) as kafka:
        yield kafka


@pytest.fixture
def new_topic(secure: SecureKafka, topic: Callable[[], str], eventually: Callable[..., object]) -> str:
    """A new topic, which only super users may use."""
    name = topic()
    with Admin(secure.server("SASL_SSL"), **secure.as_user()) as admin:
        admin.create_topics([NewTopic(name)])
        eventually(lambda: name in admin.list_topics())
    return name
