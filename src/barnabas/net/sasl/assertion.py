"""The assertion that a client shows an endpoint in place of a secret (RFC 7523): a JSON Web Token that it
signs anew each time, or one that something else keeps in a file. Signing takes the package `cryptography`,
an extra.

Knows nothing of endpoints.
"""

from __future__ import annotations

import base64
import importlib
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from barnabas.clock import now_ms
from barnabas.credentials import Secret
from barnabas.errors import CredentialsError, InvalidSettingError, MissingExtraError
from barnabas.values import frozen

Algorithm = Literal["RS256", "ES256"]

_PREFIX = "sasl_oauthbearer_assertion"
# Of a signature by ES256 (RFC 7518, 3.4): two numbers of this size.
_ES256_NUMBER_BYTES = 32


class Assertion(Protocol):
    def text(self) -> str:
        """Raises: CredentialsError."""
        ...


@frozen
class AssertionFile:
    """An assertion that something else writes, and replaces in time."""

    path: str

    def text(self) -> str:
        return _read(self.path, f"{_PREFIX}_file").strip()


@frozen
class Claims:
    """What the client says of itself. `seconds_valid` from now on, and from `seconds_before` on, since clocks
    differ. `template`: a file with a JSON object of `header` and `payload`, to which the others are added."""

    subject: str | None = None
    issuer: str | None = None
    audience: str | None = None
    seconds_valid: int = 300
    seconds_before: int = 60
    has_id: bool = False
    template: str | None = None

    def header_and_payload(self, algorithm: Algorithm) -> tuple[dict[str, Any], dict[str, Any]]:
        """Raises: CredentialsError."""
        header, payload = ({}, {}) if self.template is None else _read_template(self.template)
        now = now_ms() // 1000
        times = {
            "iat": now,
            "exp": now + self.seconds_valid,
            "nbf": now - self.seconds_before,
        }
        named = {"sub": self.subject, "iss": self.issuer, "aud": self.audience}
        if self.has_id:
            named["jti"] = str(uuid.uuid4())
        payload = {**payload, **times, **{name: text for name, text in named.items() if text is not None}}
        return {**header, "alg": algorithm, "typ": "JWT"}, payload


class SignedAssertion:
    """An assertion for each request. `key` is a file or a PEM text. Raises: MissingExtraError."""

    def __init__(
        self, key: str | Secret, passphrase: Secret | None, algorithm: Algorithm, claims: Claims
    ) -> None:
        try:
            self._serialization = importlib.import_module("cryptography.hazmat.primitives.serialization")
        except ImportError as error:
            raise MissingExtraError(f"{_PREFIX}_private_key_file", "crypto") from error
        self._key = key
        self._passphrase = passphrase
        self._algorithm: Algorithm = algorithm
        self._claims = claims

    def text(self) -> str:
        header, payload = self._claims.header_and_payload(self._algorithm)
        signed = f"{_encoded_json(header)}.{_encoded_json(payload)}"
        return f"{signed}.{_encoded(self._signature(signed.encode()))}"

    def _signature(self, text: bytes) -> bytes:
        hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
        asymmetric = "cryptography.hazmat.primitives.asymmetric"
        key = self._private_key()
        if self._algorithm == "RS256":
            rsa: Any = importlib.import_module(f"{asymmetric}.rsa")
            padding: Any = importlib.import_module(f"{asymmetric}.padding")
            if isinstance(key, rsa.RSAPrivateKey):
                return key.sign(text, padding.PKCS1v15(), hashes.SHA256())
        else:
            curves: Any = importlib.import_module(f"{asymmetric}.ec")
            utils: Any = importlib.import_module(f"{asymmetric}.utils")
            if isinstance(key, curves.EllipticCurvePrivateKey) and key.curve.name == "secp256r1":
                numbers = utils.decode_dss_signature(key.sign(text, curves.ECDSA(hashes.SHA256())))
                return b"".join(number.to_bytes(_ES256_NUMBER_BYTES, "big") for number in numbers)
        wanted = "an RSA key" if self._algorithm == "RS256" else "a key on the curve P-256"
        raise CredentialsError(f"{_PREFIX}_algorithm {self._algorithm} takes {wanted}, and this is another")

    def _private_key(self) -> Any:
        key, setting = self._key, f"{_PREFIX}_private_key_pem"
        if isinstance(key, Secret):
            pem = key.reveal()
        else:
            setting = f"{_PREFIX}_private_key_file"
            pem = _read(key, setting)
        passphrase = None if self._passphrase is None else self._passphrase.reveal().encode()
        serialization: Any = self._serialization
        try:
            return serialization.load_pem_private_key(pem.encode(), passphrase)
        except TypeError:
            # One was given for a key that is open, or none for one that is not.
            problem = (
                "the key is not encrypted" if passphrase else "the key is encrypted: give the passphrase"
            )
        except ValueError:
            problem = "no private key can be read there, or the passphrase does not open it"
        raise CredentialsError(f"{setting}: {problem} ({_PREFIX}_private_key_passphrase)")


def _read(path: str, setting: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise CredentialsError(f"{setting} {path!r} cannot be read: {reason}") from None


def _read_template(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    setting = f"{_PREFIX}_template_file"
    try:
        template: Any = json.loads(_read(path, setting))
        header, payload = template["header"], template["payload"]
    except (ValueError, KeyError, TypeError):
        header = payload = None
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise CredentialsError(
            f"{setting} {path!r} is no JSON object with the objects `header` and `payload`"
        )
    return cast("dict[str, Any]", header), cast("dict[str, Any]", payload)


def _encoded_json(part: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(part, separators=(",", ":")).encode())


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def check_exclusive(file: str | None, others: Mapping[str, object]) -> None:
    """A file holds the whole assertion. Raises: InvalidSettingError."""
    given = [name for name, value in others.items() if value is not None]
    if file is not None and given:
        raise InvalidSettingError(f"{_PREFIX}_file and {given[0]} exclude each other")
