"""GSSAPI: the conversation, and where its extra is not installed or a setting is missing."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Admin
from barnabas.config import AdminConfig, load
from barnabas.errors import (
    CredentialsError,
    InvalidSettingError,
    MissingExtraError,
    SaslAuthenticationError,
)
from barnabas.net.sasl.gssapi import Gssapi
from barnabas.net.sasl.mechanism import Conversation


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


class GSSError(Exception):
    pass


class StandIn:
    """Takes the place of the `gssapi` package, which needs a Kerberos of its own: a context that is complete
    after its second token, and then wraps by putting a letter in front."""

    def __init__(self, offer: bytes = b"\x07\x00\x10\x00") -> None:
        self.offer = b"w" + offer
        self.asked: dict[str, Any] = {}
        self.has_ticket = True
        self.exceptions = SimpleNamespace(GSSError=GSSError)
        self.NameType = SimpleNamespace(user="user", hostbased_service="service")
        self.MechType = SimpleNamespace(kerberos="kerberos")

    def Name(self, name: str, kind: str) -> str:
        return f"{kind}:{name}"

    def Credentials(self, **asked: Any) -> str:
        self.asked |= {"principal": asked["name"], "store": asked["store"]}
        if not self.has_ticket:
            raise GSSError("no credentials cache")
        return "credentials"

    def SecurityContext(self, **asked: Any) -> StandIn.Context:
        self.asked["service"] = asked["name"]
        return self.Context()

    class Context:
        def __init__(self) -> None:
            self.complete = False

        def step(self, token: bytes | None = None) -> bytes | None:
            if token is None:
                return b"first"
            if token != b"from the broker":
                raise GSSError("a token that makes no sense")
            self.complete = True
            return None

        def unwrap(self, message: bytes) -> SimpleNamespace:
            if not message.startswith(b"w"):
                raise GSSError("a message that was not wrapped")
            return SimpleNamespace(message=message[1:])

        def wrap(self, message: bytes, encrypt: bool) -> SimpleNamespace:
            assert not encrypt
            return SimpleNamespace(message=b"w" + message)


def conversation(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn, **settings: Any) -> Conversation:
    monkeypatch.setitem(sys.modules, "gssapi", stand_in)
    config = load(
        AdminConfig,
        {
            "bootstrap_servers": "host:9092",
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "GSSAPI",
            "sasl_kerberos_service_name": "kafka",
            **settings,
        },
    )
    return Gssapi(config).converse("broker.example")


def test_tokens_go_to_and_fro_until_no_layer_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandIn()

    async def main() -> list[bytes | None]:
        talk = conversation(
            monkeypatch,
            stand_in,
            sasl_kerberos_principal="alice@REALM",
            sasl_kerberos_keytab="/etc/alice.keytab",
        )
        return [
            await talk.first(),
            await talk.reply(b"from the broker"),
            await talk.reply(stand_in.offer),
            await talk.reply(b""),
        ]

    # RFC 4752: an empty token when the context is complete, then a choice of layers, and nothing more.
    assert asyncio.run(main()) == [b"first", b"", b"w\x01\x00\x00\x00", None]
    assert stand_in.asked == {
        "principal": "user:alice@REALM",
        "store": {"client_keytab": "/etc/alice.keytab"},
        "service": "service:kafka@broker.example",
    }


def test_without_a_ticket_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = StandIn()
    stand_in.has_ticket = False
    with pytest.raises(CredentialsError, match=r"no Kerberos ticket for kafka@broker\.example.*kinit"):
        asyncio.run(conversation(monkeypatch, stand_in).first())


@pytest.mark.parametrize(
    ("challenges", "reason"),
    [
        ([b"nonsense"], "Kerberos does not agree with the broker: a token that makes no sense"),
        ([b"from the broker", b"not wrapped"], "a message that was not wrapped"),
        ([b"from the broker", b"w\x06\x00\x10\x00"], "insists on a security layer"),
        ([b"from the broker", b"w\x01"], "insists on a security layer"),
    ],
)
def test_a_broker_that_does_not_keep_to_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, challenges: list[bytes], reason: str
) -> None:
    async def main() -> None:
        talk = conversation(monkeypatch, StandIn())
        await talk.first()
        for challenge in challenges:
            await talk.reply(challenge)

    with pytest.raises(SaslAuthenticationError, match=reason):
        asyncio.run(main())
