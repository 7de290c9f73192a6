"""PKCS#12 stores, as Java and Windows write them, as the PEM texts that OpenSSL takes. Takes the package
`cryptography`, an extra. Knows nothing of settings but their names in errors.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError, MissingExtraError


def key_and_certificates(setting: str, path: str, password: Secret | None) -> tuple[str, str]:
    """The private key, and the client's certificate with those that lead to its authority.

    Raises: InvalidSettingError, MissingExtraError.
    """
    key, certificate, others = _load(setting, path, password)
    if key is None or certificate is None:
        raise InvalidSettingError(f"{setting}: {path!r} holds no private key with a certificate")
    serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    key_pem: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return key_pem.decode(), _as_pem([certificate, *others])


def trusted_certificates(setting: str, path: str, password: Secret | None) -> str:
    """All certificates. Raises: InvalidSettingError, MissingExtraError."""
    _, certificate, others = _load(setting, path, password)
    certificates = [*([] if certificate is None else [certificate]), *others]
    if not certificates:
        raise InvalidSettingError(f"{setting}: {path!r} holds no certificates")
    return _as_pem(certificates)


def _load(setting: str, path: str, password: Secret | None) -> tuple[Any, Any, list[Any]]:
    try:
        pkcs12: Any = importlib.import_module("cryptography.hazmat.primitives.serialization.pkcs12")
    except ImportError as error:
        raise MissingExtraError(f"{setting} with a PKCS12 store", "crypto") from error
    try:
        data = Path(path).read_bytes()
        return pkcs12.load_key_and_certificates(
            data, None if password is None else password.reveal().encode()
        )
    except OSError as error:
        raise InvalidSettingError(f"{setting}: {path!r} cannot be read: {error.strerror}") from None
    except ValueError:
        name = setting.replace("location", "password")
        problem = f"give {name}" if password is None else f"{name} does not open it, or it is damaged"
        raise InvalidSettingError(f"{setting}: {path!r} is a PKCS12 store: {problem}") from None


def _as_pem(certificates: list[Any]) -> str:
    serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    texts: list[bytes] = [
        certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates
    ]
    return b"".join(texts).decode()
