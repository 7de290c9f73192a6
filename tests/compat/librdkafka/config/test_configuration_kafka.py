"""Configurations of librdkafka that secure connections, tried on a secure Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from barnabas import Admin
from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.unsecured_tokens import unsecured
from barnabas.compat.librdkafka.values.errors import kafka_error_of
from barnabas.errors import BarnabasError
from barnabas.testing import ApacheKafka, SecureListeners


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as started:
        yield started


def cluster_id(kafka: ApacheKafka, listener: str, given: dict[str, Any]) -> str | None:
    """Which cluster a client with this configuration reaches."""
    configuration = Configuration.parse(
        "admin", ({"bootstrap.servers": kafka.bootstrap_for(listener), **given},)
    )
    with Admin(configuration.bootstrap_servers, **configuration.settings) as admin:
        return admin.describe_cluster().cluster_id


def placed(kafka: ApacheKafka, given: dict[str, Any]) -> dict[str, Any]:
    """Certificates in place of their names."""
    certificates = kafka.certificates
    files = {"CA": certificates.ca, "CERTIFICATE": certificates.client, "KEY": certificates.client_key}
    found: dict[str, Any] = {}
    for name, value in given.items():
        file = files.get(value) if isinstance(value, str) else None
        found[name] = value if file is None else file.read_text() if name.endswith("pem") else str(file)
    return found


USER = {"sasl.username": "admin", "sasl.password": "admin-secret"}
SASL = {"security.protocol": "SASL_PLAINTEXT"}


@pytest.mark.parametrize(
    ("listener", "given"),
    [
        ("SASL_PLAINTEXT", {**SASL, "sasl.mechanism": "PLAIN", **USER}),
        ("SASL_PLAINTEXT", {**SASL, "sasl.mechanisms": "SCRAM-SHA-512", **USER}),
        (
            "SASL_SSL",
            {
                "security.protocol": "sasl_ssl",
                "sasl.mechanism": "SCRAM-SHA-256",
                "ssl.ca.location": "CA",
                **USER,
            },
        ),
        (
            "SASL_SSL",
            {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "ssl.ca.pem": "CA", **USER},
        ),
        (
            "SSL_WRONG_HOST",
            {
                "security.protocol": "ssl",
                "ssl.ca.location": "CA",
                "ssl.endpoint.identification.algorithm": "none",
            },
        ),
        ("SSL_EXPIRED", {"security.protocol": "ssl", "enable.ssl.certificate.verification": False}),
        (
            "SSL_CLIENT_REQUIRED",
            {
                "security.protocol": "ssl",
                "ssl.ca.location": "CA",
                "ssl.certificate.location": "CERTIFICATE",
                "ssl.key.location": "KEY",
            },
        ),
        (
            "SSL_CLIENT_REQUIRED",
            {
                "security.protocol": "ssl",
                "ssl.ca.pem": "CA",
                "ssl.certificate.pem": "CERTIFICATE",
                "ssl.key.pem": "KEY",
            },
        ),
        (
            "SASL_PLAINTEXT",
            {
                **SASL,
                "sasl.mechanism": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": True,
                "sasl.oauthbearer.config": "principal=admin",
            },
        ),
    ],
    ids=lambda value: value.get("sasl.mechanism", "") if isinstance(value, dict) else value,
)
def test_a_secure_cluster_is_reached_by_librdkafkas_properties(
    kafka: ApacheKafka, listener: str, given: dict[str, Any]
) -> None:
    given = placed(kafka, given)
    real = AdminClient({"bootstrap.servers": kafka.bootstrap_for(listener), "log_level": 0, **given})
    assert cluster_id(kafka, listener, given) == real.list_topics(timeout=60).cluster_id


def test_a_token_comes_from_the_callback(kafka: ApacheKafka) -> None:
    asked: list[str | None] = []

    def oauth_cb(config: str | None) -> tuple[str, float]:
        asked.append(config)
        token = unsecured(config)()
        assert token.expires_at_ms is not None
        return token.value, token.expires_at_ms / 1000

    given = {
        **SASL,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.config": "principal=admin",
        "oauth_cb": oauth_cb,
    }
    assert cluster_id(kafka, "SASL_PLAINTEXT", given)
    assert set(asked) == {"principal=admin"}


def test_a_wrong_password_is_an_error_of_authentication(kafka: ApacheKafka) -> None:
    given = {**SASL, "sasl.mechanism": "PLAIN", **USER, "sasl.password": "wrong"}
    with pytest.raises(BarnabasError) as caught:
        cluster_id(kafka, "SASL_PLAINTEXT", given)
    assert kafka_error_of(caught.value).name() == "_AUTHENTICATION"
