from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.testing import ApacheKafka, Certificates, SecureListeners, ServerStartError

TOPICS = "org.apache.kafka.tools.TopicCommand"


@pytest.fixture(scope="module")
def secure_kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        yield kafka


def context_of(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificates.ca))


def greet(kafka: ApacheKafka, listener: str, context: ssl.SSLContext) -> None:
    """A handshake with the broker under the name 127.0.0.1, and a request, which it answers."""
    host, port = kafka.bootstrap_for(listener).split(":")
    with (
        socket.create_connection((host, int(port)), timeout=60) as connection,
        context.wrap_socket(connection, server_hostname=host) as secured,
    ):
        # TLS 1.3 refuses a client's certificate after the handshake: at the first read.
        secured.sendall(encode_request(ApiVersionsRequest(), 0, 0, None))
        assert secured.recv(1)


@pytest.mark.parametrize(
    ("listener", "mechanism", "login"),
    [
        ("SASL_PLAINTEXT", "PLAIN", "plain.PlainLoginModule"),
        ("SASL_SSL", "SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SASL_SSL", "SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_kafkas_own_client_logs_in(
    secure_kafka: ApacheKafka, tmp_path: Path, listener: str, mechanism: str, login: str
) -> None:
    settings = {
        "security.protocol": listener,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"org.apache.kafka.common.security.{login} required "
        'username="admin" password="admin-secret";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secure_kafka.certificates.ca),
    }
    properties = tmp_path / "client.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    server = ["--bootstrap-server", secure_kafka.bootstrap_for(listener), "--command-config", str(properties)]
    name = f"made-by-{mechanism.lower()}"
    created = secure_kafka.tool(TOPICS, *server, "--create", "--topic", name)
    assert created.returncode == 0, created.stderr


def test_the_brokers_certificate_is_for_127_0_0_1(secure_kafka: ApacheKafka) -> None:
    greet(secure_kafka, "SSL", context_of(secure_kafka.certificates))


def test_an_expired_certificate_and_one_of_another_host_are_shown(secure_kafka: ApacheKafka) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        greet(secure_kafka, "SSL_EXPIRED", context_of(secure_kafka.certificates))
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        greet(secure_kafka, "SSL_WRONG_HOST", context_of(secure_kafka.certificates))


def test_where_a_client_certificate_is_required_only_a_good_one_is_taken(secure_kafka: ApacheKafka) -> None:
    certificates = secure_kafka.certificates
    context = context_of(certificates)
    context.load_cert_chain(
        certificates.client, certificates.client_key_encrypted, password=certificates.key_password
    )
    greet(secure_kafka, "SSL_CLIENT_REQUIRED", context)
    for certificate, key in (
        (None, None),
        (certificates.client_expired, certificates.client_key),
        (certificates.stranger, certificates.stranger_key),
    ):
        context = context_of(certificates)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            greet(secure_kafka, "SSL_CLIENT_REQUIRED", context)


def test_a_listener_that_is_not_there_is_named(secure_kafka: ApacheKafka) -> None:
    with pytest.raises(ServerStartError, match="no listener 'SSL2'; it has PLAINTEXT, SSL,"):
        secure_kafka.bootstrap_for("SSL2")


def test_passwords_are_not_in_a_repr() -> None:
    assert "secret" not in repr(SecureListeners())
