from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.compat.pykafka import KafkaClient, SslConfig
from barnabas.compat.pykafka.exceptions import NoBrokersAvailableError
from barnabas.compat.pykafka.sasl_authenticators import (
    PlainAuthenticator,
    ScramAuthenticator,
)
from barnabas.testing import ApacheKafka, SecureListeners
from barnabas.testing.certificates import KEY_PASSWORD

SHORT_MS = 5_000


@pytest.fixture(scope="module")
def secure() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        yield kafka


def config(kafka: ApacheKafka, **more: Any) -> SslConfig:
    return SslConfig(str(kafka.certificates.ca), **more)


def client(kafka: ApacheKafka, listener: str, **settings: Any) -> KafkaClient:
    return KafkaClient(kafka.bootstrap_for(listener), socket_timeout_ms=SHORT_MS, **settings)


def test_tls_needs_no_more_than_whom_to_trust(secure: ApacheKafka) -> None:
    assert client(secure, "SSL", ssl_config=config(secure)).brokers[1].connected


def test_names_of_hosts_are_not_checked(secure: ApacheKafka) -> None:
    assert client(secure, "SSL_WRONG_HOST", ssl_config=config(secure)).brokers


def test_a_client_certificate_is_shown(secure: ApacheKafka) -> None:
    certificates = secure.certificates
    password = KEY_PASSWORD.encode()
    for key, secret in ((certificates.client_key, None), (certificates.client_key_encrypted, password)):
        shown = config(secure, certfile=str(certificates.client), keyfile=str(key), password=secret)
        assert client(secure, "SSL_CLIENT_REQUIRED", ssl_config=shown).brokers
    with pytest.raises(NoBrokersAvailableError):
        client(secure, "SSL_CLIENT_REQUIRED", ssl_config=config(secure))


def own_function(kafka: ApacheKafka) -> Any:
    given = SslConfig("no-such-file")
    given._wrap_socket = config(kafka).wrap_socket
    return given


def context(kafka: ApacheKafka) -> Any:
    return ssl.create_default_context(cafile=str(kafka.certificates.ca))


def context_with_a_name(kafka: ApacheKafka) -> Any:
    given = SslConfig("no-such-file")
    given._wrap_socket = partial(context(kafka).wrap_socket, server_hostname="127.0.0.1")
    return given


def legacy(kafka: ApacheKafka) -> Any:
    given = config(kafka)
    given._wrap_socket = given._legacy_wrap_socket()
    return given


@pytest.mark.parametrize("make", [own_function, context_with_a_name, legacy])
def test_a_programs_own_way_to_wrap_a_socket_counts(
    secure: ApacheKafka, make: Callable[[ApacheKafka], Any]
) -> None:
    assert client(secure, "SSL", ssl_config=make(secure)).brokers


def test_a_context_does_in_place_of_a_config(secure: ApacheKafka) -> None:
    given = context(secure)
    given.check_hostname = False
    assert client(secure, "SSL", ssl_config=given).brokers


@pytest.mark.parametrize("listener", ["SSL_EXPIRED", "PLAINTEXT"])
def test_where_tls_fails_there_is_no_broker(secure: ApacheKafka, listener: str) -> None:
    with pytest.raises(NoBrokersAvailableError):
        client(secure, listener, ssl_config=config(secure))


def test_a_broker_of_tls_is_none_for_plain_text(secure: ApacheKafka) -> None:
    with pytest.raises(NoBrokersAvailableError):
        client(secure, "SSL")


def test_a_file_that_is_missing_or_wrong_is_no_broker(secure: ApacheKafka, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("wrong")
    for each in (tmp_path / "missing.pem", wrong):
        with pytest.raises(NoBrokersAvailableError):
            client(secure, "SSL", ssl_config=SslConfig(str(each)))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_user_is_let_in_by_sasl(secure: ApacheKafka, listener: str, mechanism: str) -> None:
    tls = {"ssl_config": config(secure)} if listener.endswith("SSL") else {}

    def known(password: str) -> KafkaClient:
        authenticator = (
            PlainAuthenticator("admin", password.encode())
            if mechanism == "PLAIN"
            else ScramAuthenticator(mechanism, b"admin", password, listener)
        )
        return client(secure, listener, sasl_authenticator=authenticator, **tls)

    admin = known("admin-secret")
    assert admin.topics["topic"].partitions
    assert admin.brokers[1].list_groups().error == 0
    with pytest.raises(NoBrokersAvailableError):
        known("wrong")


def test_there_is_no_mechanism_of_another_name() -> None:
    with pytest.raises(ValueError, match="SCRAM-SHA-1"):
        ScramAuthenticator("SCRAM-SHA-1", "user", "password")


@pytest.fixture(scope="module")
def open_to_all() -> Iterator[ApacheKafka]:
    """Lets whoever reaches it do everything."""
    everyone = {"allow.everyone.if.no.acl.found": "true"}
    with ApacheKafka(security=SecureListeners(), config=everyone) as kafka:
        yield kafka


def by_tls(kafka: ApacheKafka) -> KafkaClient:
    return client(kafka, "SSL", ssl_config=config(kafka))


def by_a_client_certificate(kafka: ApacheKafka) -> KafkaClient:
    certificates = kafka.certificates
    shown = config(kafka, certfile=str(certificates.client), keyfile=str(certificates.client_key))
    return client(kafka, "SSL_CLIENT_REQUIRED", ssl_config=shown)


def by_scram(kafka: ApacheKafka) -> KafkaClient:
    authenticator = ScramAuthenticator("SCRAM-SHA-256", "alice", "alice-secret")
    return client(kafka, "SASL_SSL", ssl_config=config(kafka), sasl_authenticator=authenticator)


def by_password(kafka: ApacheKafka) -> KafkaClient:
    return client(kafka, "SASL_PLAINTEXT", sasl_authenticator=PlainAuthenticator("alice", "alice-secret"))


@pytest.mark.parametrize("known", [by_tls, by_a_client_certificate, by_scram, by_password])
def test_producers_and_consumers_are_as_secure_as_their_client(
    open_to_all: ApacheKafka, known: Callable[[ApacheKafka], KafkaClient]
) -> None:
    cluster = known(open_to_all)
    topic = cluster.topics[f"secure-{known.__name__}".encode()]
    with topic.get_sync_producer() as producer:
        assert producer.produce(b"sync").offset == 0
    with topic.get_producer(linger_ms=1, delivery_reports=True) as producer:
        producer.produce(b"async")
        assert producer.get_delivery_report(timeout=20)[1] is None
    group = f"group-{known.__name__}".encode()
    consumer = topic.get_simple_consumer(group, consumer_timeout_ms=5000)
    assert [consumer.consume().value for _ in range(2)] == [b"sync", b"async"]
    consumer.commit_offsets()
    consumer.stop()
    member = topic.get_balanced_consumer(b"managed-" + group, managed=True, consumer_timeout_ms=5000)
    assert member.consume().value == b"sync"
    member.commit_offsets()
    member.stop()
