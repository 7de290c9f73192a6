"""Every way to connect to a real Kafka, and what each mistake is called."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from tests.waiting import NEVER_MS, NEVER_SECONDS

from barnabas import AclOperation, AclResourceType, Admin, Consumer, Producer, aio
from barnabas.credentials import OAuthBearerToken
from barnabas.errors import (
    AuthenticationError,
    BootstrapError,
    CertificateExpiredError,
    CertificateNotTrustedError,
    ClientCertificateError,
    CredentialsError,
    HostNameError,
    MisuseError,
    SaslAuthenticationError,
    SaslMechanismError,
    SecurityProtocolError,
    TlsError,
)

from .secure_kafka import MECHANISMS, SecureKafka, unsecured_token

# An authentication error shows at once: the deadline of a call is a minute.
AT_ONCE_SECONDS = 25


def round_trip(server: str, topic: str, settings: dict[str, Any]) -> bytes | None:
    """The value of a record that was written and read with these settings."""
    with Producer(server, **settings) as producer:
        sent = producer.send(topic, b"through").result(AT_ONCE_SECONDS)
    with Consumer(server, auto_offset_reset="earliest", **settings) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek((topic, 0), sent.offset)
        record = consumer.poll_one(AT_ONCE_SECONDS)
    return None if record is None else record.value


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_each_mechanism_lets_a_client_write_and_read(
    secure: SecureKafka, new_topic: str, mechanism: str, protocol: str
) -> None:
    settings = secure.as_user(mechanism=mechanism, security_protocol=protocol)
    assert round_trip(secure.server(protocol), new_topic, settings) == b"through"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_asyncio_clients_authenticate_alike(secure: SecureKafka, new_topic: str, mechanism: str) -> None:
    server, settings = secure.server("SASL_SSL"), secure.as_user(mechanism=mechanism)

    async def main() -> None:
        async with aio.Producer(server, **settings) as producer:
            await (await producer.send(new_topic, b"through"))
        async with aio.Consumer(
            server, topics=[new_topic], auto_offset_reset="earliest", **settings
        ) as consumer:
            record = await consumer.poll_one(AT_ONCE_SECONDS)
            assert record is not None
            assert record.value == b"through"
        async with aio.Admin(server, **settings) as admin:
            assert new_topic in await admin.list_topics()

    asyncio.run(main())


def test_a_login_module_of_java_serves_as_it_is(secure: SecureKafka, new_topic: str) -> None:
    settings = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_jaas_config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="admin" password="admin-secret";',
        **secure.trust,
    }
    assert round_trip(secure.server("SASL_SSL"), new_topic, settings) == b"through"


def test_a_delegation_token_stands_for_its_owner(secure: SecureKafka, eventually: Callable[..., Any]) -> None:
    token_id, hmac = secure.delegation_token("alice")
    # The broker hears of a new token from the controller a moment later.
    eventually(lambda: token_id in secure.tokens_known())
    settings = secure.as_user("alice", sasl_username=token_id, sasl_password=hmac, sasl_tokenauth=True)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes


# Certificates of the client


def client_certificates(secure: SecureKafka, folder: Path) -> dict[str, dict[str, Any]]:
    """The same certificate of carol in each form in which it can be given."""
    files = secure.certificates
    chain, key, encrypted = files.client, files.client_key, files.client_key_encrypted
    (folder / "both.pem").write_text(key.read_text() + chain.read_text())
    (folder / "encrypted.pem").write_text(encrypted.read_text() + chain.read_text())
    (folder / "carol.p12").write_bytes(
        serialize_key_and_certificates(
            b"carol",
            load_pem_private_key(key.read_bytes(), None),  # type: ignore[arg-type]
            x509.load_pem_x509_certificate(chain.read_bytes()),
            None,
            BestAvailableEncryption(b"store-secret"),
        )
    )
    return {
        "file": {"ssl_keystore_location": str(folder / "both.pem")},
        "PKCS12 store": {
            "ssl_keystore_location": str(folder / "carol.p12"),
            "ssl_keystore_password": "store-secret",
        },
        "two files": {"ssl_certificate_location": str(chain), "ssl_key_location": str(key)},
        "texts": {
            "ssl_keystore_certificate_chain": chain.read_text(),
            "ssl_keystore_key": key.read_text(),
            "ssl_truststore_location": None,
            "ssl_truststore_certificates": files.ca.read_text(),
        },
        "encrypted file": {
            "ssl_keystore_location": str(folder / "encrypted.pem"),
            "ssl_key_password": files.key_password,
        },
        "encrypted text": {
            "ssl_keystore_certificate_chain": chain.read_text(),
            "ssl_keystore_key": encrypted.read_text(),
            "ssl_key_password": files.key_password,
        },
    }


FORMS = ["file", "PKCS12 store", "two files", "texts", "encrypted file", "encrypted text"]


@pytest.mark.parametrize("form", FORMS)
def test_a_client_certificate_is_taken_in_each_form(
    secure: SecureKafka, new_topic: str, tmp_path: Path, form: str
) -> None:
    secure.allow("carol", AclResourceType.TOPIC, new_topic, AclOperation.ALL)
    settings = {"security_protocol": "SSL", **secure.trust, **client_certificates(secure, tmp_path)[form]}
    settings["enable_idempotence"] = False
    with Producer(secure.server("SSL_CLIENT_REQUIRED"), **settings) as producer:
        assert producer.send(new_topic, b"carol's").result(AT_ONCE_SECONDS).offset == 0


def test_a_ready_context_is_used_as_it_is(secure: SecureKafka) -> None:
    context = ssl.create_default_context(cafile=secure.certificates.ca)
    context.load_cert_chain(secure.certificates.client, secure.certificates.client_key)
    with Admin(secure.server("SSL_CLIENT_REQUIRED"), security_protocol="SSL", ssl_context=context) as admin:
        assert admin.describe_cluster().nodes


@pytest.mark.parametrize(
    "settings",
    [
        {"ssl_enabled_protocols": "TLSv1.2"},
        {"ssl_enabled_protocols": ["TLSv1.3"]},
        {"ssl_protocol": "TLSv1.2"},
        {"ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
        {"ssl_cipher_suites": ["ECDHE-ECDSA-CHACHA20-POLY1305"]},
    ],
)
def test_versions_and_suites_can_be_chosen(secure: SecureKafka, settings: dict[str, Any]) -> None:
    with Admin(secure.server("SSL"), security_protocol="SSL", **secure.trust, **settings) as admin:
        assert admin.describe_cluster().nodes


# Mistakes: from each kind of client, at once, by its own name and with what to do


def failures(server: str, settings: dict[str, Any], topic: str) -> list[Exception]:
    """What each call that waits raises; none of them waits until its time is up."""
    raised: list[Exception] = []

    def expect(call: Callable[[], object]) -> None:
        with pytest.raises(AuthenticationError) as caught:
            call()
        raised.append(caught.value)

    settings = {**settings, "default_api_timeout_ms": NEVER_MS}
    with Admin(server, **settings) as admin:
        expect(admin.list_topics)
    with Producer(server, max_block_ms=NEVER_MS, **settings) as producer:
        expect(lambda: producer.send(topic, b"never"))
    with Consumer(server, topics=[topic], group_id="never", **settings) as consumer:
        expect(lambda: consumer.poll(NEVER_SECONDS))

    async def asynchronous() -> None:
        async with aio.Consumer(server, topics=[topic], **settings) as consumer:
            await consumer.poll(NEVER_SECONDS)

    expect(lambda: asyncio.run(asynchronous()))
    return raised


MISTAKES: dict[str, tuple[str, dict[str, Any], type[Exception], str]] = {
    "wrong password, PLAIN": (
        "SASL_SSL",
        {"sasl_mechanism": "PLAIN", "sasl_password": "wrong"},
        SaslAuthenticationError,
        "refuses 'alice' by PLAIN: .*Invalid username or password; check the credentials",
    ),
    "wrong password, SCRAM-SHA-256": (
        "SASL_SSL",
        {"sasl_password": "wrong"},
        SaslAuthenticationError,
        "refuses 'alice' by SCRAM-SHA-256: .*invalid credentials",
    ),
    "unknown user, SCRAM-SHA-512": (
        "SASL_PLAINTEXT",
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "eve",
            "ssl_truststore_location": None,
        },
        SaslAuthenticationError,
        "refuses 'eve' by SCRAM-SHA-512: .*invalid credentials",
    ),
    "a mechanism that is not offered": (
        "SASL_SSL",
        {"sasl_mechanism": "AWS_MSK_IAM", "aws_access_key_id": "k", "aws_secret_access_key": "s"}
        | {"aws_region": "eu-west-1"},
        SaslMechanismError,
        "does not offer sasl_mechanism='AWS_MSK_IAM' but .*SCRAM-SHA-256",
    ),
    "SASL where there is none": (
        "SSL",
        {},
        SaslMechanismError,
        "does not authenticate by SASL on this port: set security_protocol to PLAINTEXT or SSL",
    ),
    "an expired certificate": (
        "SSL_EXPIRED",
        {"security_protocol": "SSL"},
        CertificateExpiredError,
        "certificate has expired.*renew it on the broker",
    ),
    "a certificate for other names": (
        "SSL_WRONG_HOST",
        {"security_protocol": "SSL"},
        HostNameError,
        "is not for '127.0.0.1'. It is for other.example",
    ),
    "no trust": (
        "SSL",
        {"security_protocol": "SSL", "ssl_truststore_location": None},
        CertificateNotTrustedError,
        "not trusted.*ssl_truststore_location",
    ),
    "no client certificate": (
        "SSL_CLIENT_REQUIRED",
        {"security_protocol": "SSL"},
        ClientCertificateError,
        "wants a certificate of this client: give one with ssl_keystore_location",
    ),
    "no client certificate, TLS 1.2": (
        "SSL_CLIENT_REQUIRED",
        {"security_protocol": "SSL", "ssl_protocol": "TLSv1.2"},
        TlsError,
        "wants a (client )?certificate",
    ),
    "TLS to a port without it": (
        "PLAINTEXT",
        {"security_protocol": "SSL"},
        SecurityProtocolError,
        "does not speak TLS on this port: set security_protocol to PLAINTEXT",
    ),
    "no TLS to a port with it": (
        "SSL",
        {"security_protocol": "PLAINTEXT"},
        SecurityProtocolError,
        "speaks TLS on this port: set security_protocol to SSL",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows_at_once_and_says_which_it_is(
    secure: SecureKafka, topic: Callable[[], str], mistake: str
) -> None:
    listener, changes, kind, text = MISTAKES[mistake]
    for error in failures(secure.server(listener), secure.as_user("alice", **changes), topic()):
        assert isinstance(error, kind)
        assert re.search(text, str(error)), error


def test_a_mechanism_error_lists_what_is_offered(secure: SecureKafka) -> None:
    settings = secure.as_user(mechanism="AWS_MSK_IAM", aws_region="eu-west-1") | {
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "sasl_username": None,
        "sasl_password": None,
    }
    with Admin(secure.server("SASL_SSL"), **settings) as admin, pytest.raises(SaslMechanismError) as caught:
        admin.list_topics()
    assert sorted(caught.value.offered) == sorted(MECHANISMS)


@pytest.mark.parametrize(
    ("certificate", "key"), [("client_expired", "client_key"), ("stranger", "stranger_key")]
)
def test_a_client_certificate_that_is_not_accepted_is_called_so(
    secure: SecureKafka, certificate: str, key: str
) -> None:
    settings = {
        "security_protocol": "SSL",
        "ssl_certificate_location": str(getattr(secure.certificates, certificate)),
        "ssl_key_location": str(getattr(secure.certificates, key)),
        **secure.trust,
    }
    with (
        Admin(secure.server("SSL_CLIENT_REQUIRED"), **settings) as admin,
        pytest.raises(ClientCertificateError, match="refuses this client: its certificate"),
    ):
        admin.list_topics()


def test_a_wrong_host_name_is_taken_where_names_are_not_checked(secure: SecureKafka) -> None:
    settings = {"security_protocol": "SSL", "ssl_endpoint_identification_algorithm": "", **secure.trust}
    with Admin(secure.server("SSL_WRONG_HOST"), **settings) as admin:
        assert admin.describe_cluster().nodes


def test_a_host_name_error_lists_the_names(secure: SecureKafka) -> None:
    with (
        Admin(secure.server("SSL_WRONG_HOST"), security_protocol="SSL", **secure.trust) as admin,
        pytest.raises(HostNameError) as caught,
    ):
        admin.list_topics()
    assert caught.value.names == ("other.example",)


def test_a_port_that_wants_sasl_is_guessed_from_its_silence(secure: SecureKafka) -> None:
    with (
        Admin(secure.server("SASL_PLAINTEXT"), default_api_timeout_ms=5_000) as admin,
        pytest.raises(BootstrapError, match="if it expects SASL, set security_protocol to SASL_SSL"),
    ):
        admin.list_topics()


@pytest.mark.parametrize(
    ("token", "kind", "text"),
    [
        (lambda: unsecured_token("alice").replace(".", "x", 1), SaslAuthenticationError, "OAUTHBEARER"),
        (lambda: "no token at all", CredentialsError, "characters that a token cannot have"),
        (lambda: unsecured_token("alice", lifetime_seconds=-60), CredentialsError, "expired already"),
        (lambda: 1 // 0, CredentialsError, "token_callback raised ZeroDivisionError"),
        (lambda: 17, CredentialsError, "token_callback gave a int"),
    ],
    ids=["garbled", "not a token", "expired", "raises", "wrong type"],
)
def test_a_token_that_cannot_work_is_called_so(
    secure: SecureKafka, token: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    settings = secure.as_user(mechanism="OAUTHBEARER", sasl_oauthbearer_token_callback=token)
    with Admin(secure.server("SASL_SSL"), **settings) as admin, pytest.raises(kind, match=text):
        admin.list_topics()


def test_a_token_may_come_from_a_coroutine_with_extensions(secure: SecureKafka) -> None:
    async def token() -> OAuthBearerToken:
        await asyncio.sleep(0)
        return OAuthBearerToken(unsecured_token("alice"), extensions={"tenant": "north"})

    settings = secure.as_user(mechanism="OAUTHBEARER", sasl_oauthbearer_token_callback=token)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes


def test_a_broker_that_hangs_up_in_the_tls_handshake_may_be_tried_again() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        settings = {"security_protocol": "SSL", "default_api_timeout_ms": 5_000}
        with (
            Admin(f"127.0.0.1:{port}", **settings) as admin,
            pytest.raises(BootstrapError, match="hung up during the TLS handshake"),
        ):
            admin.list_topics()
        listener.shutdown(socket.SHUT_RDWR)
        hanging_up.join(AT_ONCE_SECONDS)


# Credentials that change


def test_replaced_credentials_are_used_for_the_next_connection(secure: SecureKafka, new_topic: str) -> None:
    server, wrong = secure.server("SASL_SSL"), secure.as_user(sasl_password="wrong")
    with Producer(server, **wrong) as producer:
        with pytest.raises(SaslAuthenticationError):
            producer.send(new_topic, b"1")
        producer.set_sasl_credentials("admin", "admin-secret")
        delivery = None
        while delivery is None:
            # Of an attempt that was under way.
            with contextlib.suppress(SaslAuthenticationError):
                delivery = producer.send(new_topic, b"1")
        assert delivery.result(AT_ONCE_SECONDS).offset == 0
    with Consumer(server, topics=[new_topic], auto_offset_reset="earliest", **wrong) as consumer:
        with pytest.raises(SaslAuthenticationError):
            consumer.poll(AT_ONCE_SECONDS)
        consumer.set_sasl_credentials("admin", "admin-secret")
        value = None
        while value is None:
            try:
                record = consumer.poll_one(AT_ONCE_SECONDS)
            except SaslAuthenticationError:
                # Of an attempt that was under way.
                continue
            assert record is not None
            value = record.value
        assert value == b"1"


def test_a_password_changed_by_the_cluster_keeps_open_connections(secure: SecureKafka) -> None:
    with Admin(secure.server("SASL_SSL"), **secure.as_user("bob")) as admin:
        assert admin.describe_cluster().nodes
        admin.set_sasl_credentials("bob", "wrong")
        assert admin.describe_cluster().nodes


def test_credentials_of_a_token_are_not_replaced(secure: SecureKafka) -> None:
    with (
        Admin(secure.server("SASL_SSL"), **secure.as_user(mechanism="OAUTHBEARER")) as admin,
        pytest.raises(MisuseError, match="set_sasl_credentials is for sasl_mechanism PLAIN"),
    ):
        admin.set_sasl_credentials("alice", "alice-secret")


def test_records_on_their_way_fail_at_once_when_the_broker_stops_letting_in(
    secure: SecureKafka, new_topic: str, eventually: Callable[..., bool]
) -> None:
    settings = secure.as_user(linger_ms=0, connections_max_idle_ms=100)
    with Producer(secure.server("SASL_SSL"), **settings) as producer:
        producer.send(new_topic, b"1").result(AT_ONCE_SECONDS)
        producer.set_sasl_credentials("admin", "wrong")

        def is_refused() -> bool:
            """Once the idle connection is gone."""
            time.sleep(0.3)
            try:
                producer.send(new_topic, b"2").result(AT_ONCE_SECONDS)
            except SaslAuthenticationError:
                return True
            return False

        assert eventually(is_refused)
        producer.flush(AT_ONCE_SECONDS)
