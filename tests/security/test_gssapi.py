"""GSSAPI: the conversation, what is wrong with tickets, and where the extra or a setting is missing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gssapi
import pytest
from tests.waiting import NEVER_MS

from barnabas import AclOperation, AclResourceType, Admin, Producer
from barnabas.broker_errors import TopicAuthorizationFailedError
from barnabas.compat import confluent_kafka
from barnabas.errors import (
    CredentialsError,
    InvalidSettingError,
    MissingExtraError,
    SaslAuthenticationError,
)
from barnabas.net.sasl.gssapi import Gssapi
from barnabas.net.sasl.mechanism import Conversation
from barnabas.settings.table import AdminConfig, load

from .kerberos import REALM, SERVICE, Kerberos
from .secure_kafka import SecureKafka

# What is wrong with a ticket shows at once: the deadline of a call is a minute.


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'barnabas\[gssapi\]'"):
        Admin(
            "host:9092",
            security_protocol="SASL_SSL",
            sasl_mechanism="GSSAPI",
            sasl_kerberos_service_name="kafka",
        )


def test_a_user_without_a_mechanism_is_told_which_ones_take_users() -> None:
    with pytest.raises(InvalidSettingError, match="set sasl_mechanism to PLAIN, SCRAM-SHA-256 or SCRAM"):
        Admin("host:9092", security_protocol="SASL_SSL", sasl_username="alice", sasl_password="secret")


def conversation(**settings: Any) -> Conversation:
    given = {
        "bootstrap_servers": "host:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
    }
    return Gssapi(load(AdminConfig, given | settings)).converse("127.0.0.1")


def by_keytab(kerberos: Kerberos, user: str) -> Conversation:
    return conversation(sasl_kerberos_principal=user, sasl_kerberos_keytab=str(kerberos.keytab(user)))


class Acceptor:
    """The broker's side of Kerberos."""

    def __init__(self, kerberos: Kerberos) -> None:
        credentials = gssapi.Credentials(usage="accept", store={"keytab": str(kerberos.keytab(SERVICE))})
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")

    @property
    def user(self) -> str:
        return str(self._context.initiator_name)

    def answer(self, token: bytes | None) -> bytes:
        return self._context.step(token) or b""

    def offer(self, layers: bytes) -> bytes:
        return self._context.wrap(layers, False).message

    def chosen(self, message: bytes | None) -> bytes:
        return self._context.unwrap(message).message


@pytest.mark.integration
def test_tokens_go_to_and_fro_until_no_layer_is_chosen(kerberos: Kerberos) -> None:
    acceptor = Acceptor(kerberos)

    async def main() -> None:
        talk = by_keytab(kerberos, "alice")
        # RFC 4752: an empty token when the context is complete, then a choice of layers, and nothing more.
        assert await talk.reply(acceptor.answer(await talk.first())) == b""
        choice = await talk.reply(acceptor.offer(b"\x07\x00\x10\x00"))
        assert acceptor.chosen(choice) == b"\x01\x00\x00\x00"
        assert await talk.reply(b"") is None

    asyncio.run(main())
    assert acceptor.user == f"alice@{REALM}"


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        ("first", "Kerberos does not agree with the broker: .*[Tt]oken"),
        (b"not wrapped", "Kerberos does not agree with the broker: .*[Tt]oken"),
        (b"\x06\x00\x10\x00", "insists on a security layer"),
        (b"\x01", "insists on a security layer"),
    ],
)
@pytest.mark.integration
def test_a_broker_that_does_not_keep_to_it_is_refused(
    kerberos: Kerberos, challenge: str | bytes, reason: str
) -> None:
    acceptor = Acceptor(kerberos)

    async def main() -> None:
        talk = by_keytab(kerberos, "alice")
        token = acceptor.answer(await talk.first())
        if challenge == "first":
            await talk.reply(b"nonsense")
        await talk.reply(token)
        await talk.reply(challenge if challenge == b"not wrapped" else acceptor.offer(challenge))

    with pytest.raises(SaslAuthenticationError, match=reason):
        asyncio.run(main())


def test_a_ticket_of_kinit_serves_whoever_has_no_keytab(
    kerberos: Kerberos, secure: SecureKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "tickets"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    kerberos.ticket("admin", kerberos.keytab("admin"), cache)
    before = cache.read_bytes()
    settings = secure.as_user(mechanism="GSSAPI", sasl_kerberos_keytab=None, sasl_kerberos_principal=None)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes
    # It now holds one for the service too, and is not touched by clients that have keytabs.
    after = cache.read_bytes()
    assert after.startswith(before)
    with Admin(secure.server("SASL_SSL"), **secure.as_user("bob", mechanism="GSSAPI")) as admin:
        assert admin.describe_cluster().nodes
    assert cache.read_bytes() == after


def test_users_of_one_process_are_told_apart(secure: SecureKafka, new_topic: str) -> None:
    secure.allow("alice", AclResourceType.TOPIC, new_topic, AclOperation.WRITE)
    server = secure.server("SASL_SSL")
    with (
        Producer(server, **secure.as_user("alice", mechanism="GSSAPI")) as alice,
        Producer(server, enable_idempotence=False, **secure.as_user("bob", mechanism="GSSAPI")) as bob,
    ):
        assert alice.send(new_topic, b"v").result(30).offset == 0
        with pytest.raises(TopicAuthorizationFailedError, match=new_topic):
            bob.send(new_topic, b"v").result(30)
        assert alice.send(new_topic, b"v").result(30).offset == 1


def test_settings_by_librdkafkas_names_serve_too(
    kerberos: Kerberos, secure: SecureKafka, new_topic: str
) -> None:
    settings = {
        "bootstrap.servers": secure.server("SASL_SSL"),
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": secure.trust["ssl_truststore_location"],
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.principal": "admin",
        "sasl.kerberos.keytab": str(kerberos.keytab("admin")),
    }
    producer = confluent_kafka.Producer(settings)
    delivered: list[Any] = []
    producer.produce(new_topic, b"v", on_delivery=lambda error, message: delivered.append(error))
    assert producer.flush(30) == 0
    assert delivered == [None]


Spoil = Callable[[Kerberos, Path, pytest.MonkeyPatch], dict[str, Any]]


def no_keytab_there(kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"sasl_kerberos_keytab": str(folder / "nothing")}


def a_keytab_of_someone_else(
    kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    return {"sasl_kerberos_keytab": str(kerberos.keytab("bob"))}


def an_outdated_key(kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    keytab = kerberos.keytab("dora")
    kerberos.change_key("dora")
    return {"sasl_kerberos_principal": "dora", "sasl_kerberos_keytab": str(keytab)}


def no_ticket(kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"sasl_kerberos_keytab": None}


def another_service(kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"sasl_kerberos_service_name": "pulsar"}


def nobody_who_gives_tickets(
    kerberos: Kerberos, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    elsewhere = folder / "krb5.conf"
    elsewhere.write_text(kerberos.settings.read_text().replace("kdc = 127.0.0.1", "kdc = 127.0.0.2"))
    monkeypatch.setenv("KRB5_CONFIG", str(elsewhere))
    return {"sasl_kerberos_principal": "erik", "sasl_kerberos_keytab": str(kerberos.keytab("erik"))}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (no_keytab_there, "no Kerberos ticket for admin by the keytab .*nothing: .*; it must be readable"),
        (
            a_keytab_of_someone_else,
            r"for admin by the keytab .*bob\.keytab: .*hold that principal's key as it is",
        ),
        (an_outdated_key, r"for dora by the keytab .*dora\.keytab: .*[Dd]ecrypt"),
        (no_ticket, f"no Kerberos ticket for admin: .*admin@{REALM}.*; get one with kinit, or set"),
        (another_service, r"for the service pulsar@127\.0\.0\.1: Server pulsar/127\.0\.0\.1@.* not found"),
        (nobody_who_gives_tickets, f"for erik by the keytab .*: Cannot contact any KDC for realm '{REALM}'"),
    ],
)
def test_the_error_says_what_is_wrong_with_tickets_at_once(
    kerberos: Kerberos,
    secure: SecureKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Spoil,
    reason: str,
) -> None:
    settings = secure.as_user(mechanism="GSSAPI") | spoil(kerberos, tmp_path, monkeypatch)
    with (
        Admin(secure.server("SASL_SSL"), default_api_timeout_ms=NEVER_MS, **settings) as admin,
        pytest.raises(CredentialsError, match=reason),
    ):
        admin.describe_cluster()


def test_a_ticket_that_has_expired_is_told(
    kerberos: Kerberos,
    secure: SecureKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., Any],
) -> None:
    cache = tmp_path / "tickets"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    kerberos.ticket("admin", kerberos.keytab("admin"), cache, "-l", "1s")
    settings = secure.as_user(mechanism="GSSAPI", sasl_kerberos_keytab=None)

    def is_told() -> bool:
        with Admin(secure.server("SASL_SSL"), **settings) as admin:
            try:
                admin.describe_cluster()
            except CredentialsError as error:
                return "xpired" in str(error)
            return False

    eventually(is_told)
