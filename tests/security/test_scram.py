"""SCRAM by the letters of RFC 7677, and against servers that do not keep to it."""

from __future__ import annotations

import asyncio
import base64
import re

import pytest

from barnabas.credentials import Secret
from barnabas.errors import SaslAuthenticationError
from barnabas.net.sasl.scram import ScramConversation
from barnabas.net.sasl.user_password import UserPassword

# RFC 7677, section 3.
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def conversation(user: str = "user", *, is_token: bool = False) -> ScramConversation:
    return ScramConversation("SCRAM-SHA-256", UserPassword(user, Secret("pencil"), is_token), CLIENT_NONCE)


def run(*challenges: bytes) -> list[bytes | None]:
    """What the client says: first, and in reply to each challenge."""

    async def main() -> list[bytes | None]:
        talk = conversation()
        return [await talk.first(), *[await talk.reply(challenge) for challenge in challenges]]

    return asyncio.run(main())


def test_the_example_of_the_standard_comes_out_as_printed() -> None:
    assert run(SERVER_FIRST, SERVER_FINAL) == [CLIENT_FIRST, CLIENT_FINAL, None]


def test_a_name_with_signs_that_have_a_meaning_is_escaped() -> None:
    assert asyncio.run(conversation("a=b,c").first()) == f"n,,n=a=3Db=2Cc,r={CLIENT_NONCE}".encode()


def test_a_delegation_token_is_announced_as_such() -> None:
    first = asyncio.run(conversation("id", is_token=True).first())
    assert first == f"n,,n=id,r={CLIENT_NONCE},tokenauth=true".encode()


@pytest.mark.parametrize(
    ("challenges", "reason"),
    [
        ([b"\xff\xfe"], "no text"),
        ([b""], "does not fit the client's"),
        ([SERVER_FIRST.replace(b"r=rOpr", b"r=xxxx")], "does not fit the client's"),
        ([f"r={CLIENT_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()], "does not fit the client's"),
        ([SERVER_FIRST.replace(b"s=W22Z", b"s=!!!!")], "base 64"),
        ([SERVER_FIRST.replace(b"i=4096", b"i=4095")], "4095 iterations, which is not safe"),
        ([SERVER_FIRST.replace(b"i=4096", b"i=99999999999")], "not safe"),
        ([SERVER_FIRST.replace(b"i=4096", b"i=-1")], "not safe"),
        ([SERVER_FIRST, SERVER_FINAL.replace(b"6rri", b"6rrj")], "does not know the password itself"),
        ([SERVER_FIRST, b"v="], "does not know the password itself"),
        ([SERVER_FIRST, b"e=unknown-user"], "refuses 'user': unknown-user"),
    ],
)
def test_a_server_that_does_not_keep_to_it_is_refused(challenges: list[bytes], reason: str) -> None:
    with pytest.raises(SaslAuthenticationError, match=re.escape(reason)) as caught:
        run(*challenges)
    assert "pencil" not in str(caught.value)
    assert base64.b64encode(b"pencil").decode() not in str(caught.value)
