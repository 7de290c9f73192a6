"""Tokens that an issuer has signed: Kafka and the embedded broker take the same, by the issuer's keys."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from barnabas import Admin, OAuthBearerToken
from barnabas.broker_errors import SaslAuthenticationFailedError
from barnabas.errors import SaslAuthenticationError

from .kerberos import Kerberos
from .secure_kafka import SecureKafka, secure_kafka, unsecured_token

ISSUER, AUDIENCE = "https://issuer.example", "kafka"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


class Issuer:
    """Its keys by their ids, and the address at which those are that it shows."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
        }
        self.hidden: set[str] = set()
        self.fetched = 0
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                content = json.dumps({"keys": issuer.shown()}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/keys"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def shown(self) -> list[dict[str, Any]]:
        return [
            {**_algorithm(key).to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig"}
            for name, key in self.keys.items()
            if name not in self.hidden
        ]

    def token(self, *, key: str = "rsa", signed_by: Any = None, **claims: Any) -> str:
        now = int(time.time())
        content = {"sub": "admin", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 600, **claims}
        content = {name: value for name, value in content.items() if value is not None}
        algorithm = "ES256" if key == "ec" else "RS256"
        return jwt.encode(content, signed_by or self.keys[key], algorithm=algorithm, headers={"kid": key})


def _algorithm(key: Any) -> Any:
    return RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()


@pytest.fixture(scope="module", params=["apache", "embedded"])
def checking(request: pytest.FixtureRequest, kerberos: Kerberos, issuer: Issuer) -> Iterator[SecureKafka]:
    settings = {
        "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class": HANDLER,
        "sasl.oauthbearer.jwks.endpoint.url": issuer.url,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.clock.skew.seconds": "5",
    }
    allowed = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.url}"]
    with secure_kafka(kerberos, kind=request.param, java_options=allowed, **settings) as kafka:
        yield kafka


def is_let_in(kafka: SecureKafka, token: str) -> bool:
    # What the client is told of its end, so that it does not hold back one that has ended.
    bearer = OAuthBearerToken(token, int(time.time() + 600) * 1000)
    settings = kafka.as_user("", mechanism="OAUTHBEARER", sasl_oauthbearer_token_callback=lambda: bearer)
    with Admin(kafka.server("SASL_SSL"), **settings) as admin:
        try:
            return bool(admin.describe_cluster().nodes)
        except (SaslAuthenticationError, SaslAuthenticationFailedError):
            return False


@pytest.mark.parametrize("key", ["rsa", "ec"])
def test_a_token_of_the_issuer_lets_its_user_in(checking: SecureKafka, issuer: Issuer, key: str) -> None:
    assert is_let_in(checking, issuer.token(key=key))


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"aud": None},
        {"iss": None},
        {"sub": None},
        {"exp": None},
        {"iat": None},
        {"exp": 1_700_000_000, "iat": 1_600_000_000},
    ],
    ids=str,
)
def test_a_token_that_says_something_else_does_not(
    checking: SecureKafka, issuer: Issuer, claims: dict[str, Any]
) -> None:
    assert not is_let_in(checking, issuer.token(**claims))


def test_an_audience_may_be_one_of_several(checking: SecureKafka, issuer: Issuer) -> None:
    assert is_let_in(checking, issuer.token(aud=["another", AUDIENCE]))


def test_a_clock_that_is_a_little_off_does_no_harm(checking: SecureKafka, issuer: Issuer) -> None:
    now = int(time.time())
    assert is_let_in(checking, issuer.token(exp=now + 600, iat=now + 2))


@pytest.mark.parametrize("kind", ["of another key", "unsigned", "no token"])
def test_what_the_issuer_has_not_signed_does_not(checking: SecureKafka, issuer: Issuer, kind: str) -> None:
    strange = {
        "of another key": issuer.token(
            signed_by=rsa.generate_private_key(public_exponent=65537, key_size=2048)
        ),
        "unsigned": unsecured_token("admin"),
        "no token": "not.a.token",
    }
    assert not is_let_in(checking, strange[kind])


def test_a_key_that_the_issuer_shows_later_is_found(kerberos: Kerberos) -> None:
    issuer = Issuer()
    issuer.hidden = {"ec"}
    settings = {"sasl.oauthbearer.jwks.endpoint.url": issuer.url}
    with secure_kafka(kerberos, kind="embedded", **settings) as kafka:
        assert is_let_in(kafka, issuer.token(key="rsa"))
        assert not is_let_in(kafka, issuer.token(key="ec"))
        assert is_let_in(kafka, issuer.token(key="rsa"))
        fetched = issuer.fetched
        issuer.hidden = set()
        assert is_let_in(kafka, issuer.token(key="ec"))
        assert issuer.fetched == fetched + 1
    issuer.server.shutdown()
    issuer.server.server_close()
