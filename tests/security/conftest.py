"""A secure broker of each kind and one Kerberos for all tests of this folder.

`only_apache` marks tests of what the embedded broker does not have: GSSAPI.
"""

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def is_left_out(item: pytest.Item) -> bool:
        params = getattr(getattr(item, "callspec", None), "params", {})
        return params.get("secure", params.get("strict")) == "embedded" and (
            "GSSAPI" in params.values() or item.get_closest_marker("only_apache") is not None
        )

    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture
def new_topic(secure: SecureKafka, topic: Callable[[], str], eventually: Callable[..., object]) -> str:
    """A new topic, which only super users may use."""
    name = topic()
    with Admin(secure.server("SASL_SSL"), **secure.as_user()) as admin:
        admin.create_topics([NewTopic(name)])
        eventually(lambda: name in admin.list_topics())
    return name
