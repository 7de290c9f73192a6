"""OAUTHBEARER with tokens from an endpoint: what it is asked, and what is refused or told of."""

from __future__ import annotations

import base64
import json
import tempfile
import time
import urllib.parse
from pathlib import Path
from types import ModuleType
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from tests.compat.differential.http_service import Answer, Asked, serve
from tests.compat.differential.script import script
from tests.compat.differential.stage import UNREACHABLE, Stage

OIDC = {
    "bootstrap.servers": UNREACHABLE,
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "log_level": 0,
}
JWT_BEARER = {"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
AZURE = {"sasl.oauthbearer.metadata.authentication.type": "azure_imds"}
SECRET = {"sasl.oauthbearer.client.id": "some client", "sasl.oauthbearer.client.secret": "s"}
URL = "sasl.oauthbearer.token.endpoint.url"
CONFIG = "sasl.oauthbearer.config"
ASSERTION = "sasl.oauthbearer.assertion."


class Endpoint:
    """Gives tokens over HTTP; `asked` is what it was asked, method, path, headers and body of each."""

    def __init__(self, stage: Stage) -> None:
        self.asked: list[tuple[str, str, dict[str, str], str]] = []

        def answer(asked: Asked) -> Answer:
            self.asked.append((asked.method, asked.path, dict(asked.headers), asked.body))
            text = json.dumps({"access_token": _token(), "expires_in": 300})
            return Answer(200, "application/json", text.encode())

        self.url = f"{serve(stage, answer)}/token"


def _token() -> str:
    now = time.time()
    parts = ({"alg": "none"}, {"sub": "me", "iat": now, "exp": now + 300})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, "signature"])


def _pem(key: Any, passphrase: bytes | None = None) -> str:
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def _file(stage: Stage, content: str) -> str:
    folder = tempfile.TemporaryDirectory()
    stage.closing(folder.cleanup)
    path = Path(folder.name) / "file"
    path.write_text(content)
    return str(path)


def _claims(part: str) -> Any:
    """A part of an assertion, with times as what they are from now on, and random values as their length."""
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    now = time.time()
    for name in ("iat", "exp", "nbf"):
        if name in claims:
            # By whole minutes, as both are not asked at once.
            claims[name] = round((claims[name] - now) / 60)
    if "jti" in claims:
        claims["jti"] = len(claims["jti"])
    return claims


def _record_asked(kafka: ModuleType, stage: Stage, label: str, settings: dict[str, Any]) -> None:
    """What a client asks of an endpoint as soon as it is made."""
    endpoint = Endpoint(stage)
    url = {} if URL in settings else {URL: endpoint.url}
    producer = kafka.Producer({**OIDC, **url, **settings})
    stage.closing(producer.close)
    stage.until(lambda: endpoint.asked, lambda: producer.poll(0.05))
    if not endpoint.asked:
        return
    method, path, headers, body = endpoint.asked[0]
    form = dict(urllib.parse.parse_qsl(body))
    if "assertion" in form:
        header, payload, signature = form.pop("assertion").split(".")
        stage.record(f"{label}: assertion", [_claims(header), _claims(payload), bool(signature)])
    stage.record(label, [method, path, form, headers.get("Authorization"), headers.get("Metadata")])
    stage.record(f"{label}: types", [headers.get("Accept"), headers.get("Content-Type")])


@script()
def an_endpoint_is_asked_by_a_client_with_a_secret(kafka: ModuleType, stage: Stage) -> None:
    _record_asked(kafka, stage, "plain", SECRET)
    _record_asked(kafka, stage, "scope", {**SECRET, "sasl.oauthbearer.scope": "kafka"})


@script()
def an_endpoint_is_shown_assertions(kafka: ModuleType, stage: Stage) -> None:
    key, curve = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
    template = {"header": {"kid": "k", "alg": "none"}, "payload": {"sub": "s", "more": [1], "iat": 1}}
    cases: dict[str, dict[str, Any]] = {
        "file": {"private.key.file": _file(stage, _pem(key))},
        "pem": {"private.key.pem": _pem(key), "claim.jti.include": True},
        "curve": {"private.key.pem": _pem(curve), "algorithm": "ES256"},
        "encrypted": {
            "private.key.pem": _pem(key, b"secret"),
            "private.key.passphrase": "secret",
            "claim.sub": "sub",
            "claim.iss": "iss",
            "claim.aud": "aud",
            "claim.exp.seconds": 600,
            "claim.nbf.seconds": 120,
        },
        "template": {
            "private.key.pem": _pem(key),
            "jwt.template.file": _file(stage, json.dumps(template)),
            "claim.aud": "aud",
        },
    }
    for label, case in cases.items():
        settings = {f"{ASSERTION}{name}": value for name, value in case.items()}
        _record_asked(kafka, stage, label, {**JWT_BEARER, **settings, "sasl.oauthbearer.scope": "a b"})


@script()
def azures_metadata_service_is_asked(kafka: ModuleType, stage: Stage) -> None:
    # The original does not survive a configuration without a query, and misses one behind something else.
    for config in ("query=api-version=2018-02-01&resource=r", "query="):
        _record_asked(kafka, stage, config, {**AZURE, CONFIG: config})
    endpoint = Endpoint(stage)
    _record_asked(kafka, stage, "none", {**AZURE, **JWT_BEARER, **SECRET})
    settings = {**AZURE, URL: f"{endpoint.url}?a=b", CONFIG: "query=c=d"}
    producer = kafka.Producer({**OIDC, **settings})
    stage.closing(producer.close)
    stage.until(lambda: endpoint.asked, lambda: producer.poll(0.05))
    stage.record("query of the URL", [path for _, path, _, _ in endpoint.asked[:1]])


@script()
def a_token_that_is_not_to_be_had_is_told_of(kafka: ModuleType, stage: Stage) -> None:
    cases: dict[str, dict[str, Any]] = {
        "no such key": {**JWT_BEARER, f"{ASSERTION}private.key.file": "/nowhere"},
        "no such file": {**JWT_BEARER, f"{ASSERTION}file": "/nowhere"},
    }
    told = kafka.KafkaError._AUTHENTICATION
    for label, case in cases.items():
        errors: list[Any] = []
        producer = kafka.Producer({**OIDC, URL: "http://127.0.0.1:1/", **case, "error_cb": errors.append})
        stage.closing(producer.close)
        stage.until(
            lambda found=errors: any(error.code() == told for error in found),
            lambda polled=producer: polled.poll(0.05),
        )
        first = next(error for error in errors if error.code() == told)
        stage.record(label, [first.str().partition(":")[0], first.fatal(), first.retriable()])


@script()
def settings_of_tokens_that_exclude_each_other_are_refused(kafka: ModuleType, stage: Stage) -> None:
    key, url = {f"{ASSERTION}private.key.file": "k"}, {URL: "http://127.0.0.1:1/"}
    file = {f"{ASSERTION}file": "f"}
    cases: dict[str, dict[str, Any]] = {
        "no key": {**url, **JWT_BEARER},
        "no url": {**JWT_BEARER, **key},
        "nothing": JWT_BEARER,
        "two keys": {**url, **JWT_BEARER, **key, f"{ASSERTION}private.key.pem": "p"},
        "file and key": {**url, **JWT_BEARER, **file, **key},
        "algorithm": {**url, **JWT_BEARER, **key, f"{ASSERTION}algorithm": "HS256"},
        "seconds": {**url, **JWT_BEARER, **key, f"{ASSERTION}claim.exp.seconds": 0},
        "grant": {**url, "sasl.oauthbearer.grant.type": "password"},
        "no id": url,
        "no secret": {**url, "sasl.oauthbearer.client.id": "c"},
        "azure without url": AZURE,
        "unsecured": {**url, **SECRET, "enable.sasl.oauthbearer.unsecure.jwt": True},
        "blank claim": {**url, **SECRET, "sasl.oauthbearer.sub.claim.name": " "},
    }
    for part, value in (
        ("private.key.pem", "p"),
        ("private.key.passphrase", "p"),
        ("jwt.template.file", "t"),
        ("claim.sub", "s"),
        ("claim.aud", "a"),
        ("claim.iss", "i"),
        ("claim.jti.include", False),
        ("claim.exp.seconds", 300),
        ("claim.nbf.seconds", 60),
    ):
        cases[f"file and {part}"] = {**url, **JWT_BEARER, **file, f"{ASSERTION}{part}": value}
    for label, case in cases.items():
        for make, more in ((kafka.Producer, {}), (kafka.Consumer, {"group.id": "g"})):
            stage.attempt(f"{label} {make.__name__}", make, {**OIDC, **case, **more})
