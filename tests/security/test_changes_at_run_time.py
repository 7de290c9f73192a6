"""Listeners whose settings change while the broker runs: those who come then meet what holds then."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from barnabas import Admin
from barnabas.errors import AuthenticationError, CertificateExpiredError
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.testing import EmbeddedBroker, SecureListeners, free_ports

from .kerberos import Kerberos
from .secure_kafka import SecureKafka

BROKER = 4
SET, DELETE = 0, 1
KEY_STORE = "listener.name.ssl_expired.ssl.keystore.location"
INVALID = "org.apache.kafka.common.errors.InvalidConfigurationException"
REFUSAL = "Validation of dynamic config update of SSLFactory failed: "


def change(secure: SecureKafka, settings: Mapping[str, str | None]) -> tuple[int, str | None]:
    """None takes a setting back."""
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(name, DELETE if value is None else SET, value)
        for name, value in settings.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, "1", configs)
    [answer] = secure.ask(IncrementalAlterConfigsRequest([resource])).responses
    return answer.error_code, answer.error_message


def connects(secure: SecureKafka, listener: str, **settings: Any) -> bool:
    try:
        with Admin(secure.server(listener), **(secure.trust | settings)) as admin:
            admin.describe_cluster()
    except (CertificateExpiredError, AuthenticationError):
        return False
    return True


def test_a_listener_shows_another_certificate(secure: SecureKafka, eventually: Callable[..., object]) -> None:
    def is_let_in() -> bool:
        return connects(secure, "SSL_EXPIRED", security_protocol="SSL")

    assert not is_let_in()
    assert change(secure, {KEY_STORE: str(secure.certificates.broker)}) == (0, None)
    eventually(is_let_in)
    assert change(secure, {KEY_STORE: None}) == (0, None)
    eventually(lambda: not is_let_in())


def test_a_key_store_that_cannot_be_read_is_refused(secure: SecureKafka) -> None:
    code, message = change(secure, {KEY_STORE: "/nonexistent"})
    assert code == 42
    assert message is not None
    assert (
        f"{REFUSAL}org.apache.kafka.common.errors.InvalidConfigurationException: Failed to load PEM"
        in message
    )


def test_listeners_come_and_go(secure: SecureKafka, eventually: Callable[..., object]) -> None:
    [port] = free_ports(1)

    def certificate() -> str | None:
        try:
            return ssl.get_server_certificate(("127.0.0.1", port), timeout=10)
        except OSError:
            return None

    names = ["listeners", "listener.security.protocol.map"]
    resource = DescribeConfigsRequest.DescribeConfigsResource(BROKER, "1", names)
    [described] = secure.ask(DescribeConfigsRequest([resource])).results
    now = {config.name: config.value for config in described.configs}
    extended = {
        "listeners": f"{now['listeners']},EXTRA://127.0.0.1:{port}",
        "listener.security.protocol.map": f"{now['listener.security.protocol.map']},EXTRA:SSL",
    }
    assert change(secure, extended) == (0, None)
    eventually(certificate)
    assert change(secure, dict.fromkeys(names)) == (0, None)
    eventually(lambda: certificate() is None)


@pytest.fixture(scope="module")
def embedded(kerberos: Kerberos) -> Iterator[SecureKafka]:
    with EmbeddedBroker(security=SecureListeners()) as broker:
        yield SecureKafka(broker, kerberos)


def test_the_embedded_broker_takes_users_that_come_to_its_jaas(embedded: SecureKafka) -> None:
    """Kafka keeps them for its next start."""
    as_dora = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "dora",
        "sasl_password": "dora-secret",
    }
    assert not connects(embedded, "SASL_PLAINTEXT", **as_dora)
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_admin="admin-secret" user_dora="dora-secret";'
    )
    assert change(embedded, {"listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas}) == (0, None)
    assert connects(embedded, "SASL_PLAINTEXT", **as_dora)


def test_a_listener_whose_new_settings_make_no_sense_stays_as_it_was(embedded: SecureKafka) -> None:
    assert change(embedded, {"listener.name.sasl_ssl.sasl.enabled.mechanisms": "NONE"}) == (0, None)
    assert connects(embedded, "SASL_SSL", **embedded.as_user("alice"))
