"""What librdkafka says, in the words of OpenSSL, of files and texts for TLS that cannot be used.

Owns the words. Knows nothing of what TLS makes of good ones.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from barnabas.compat.librdkafka.config.property_rules import PropertyValues

_BEGINNING_OF_PEM = b"-----BEGIN "
_NO_FILE = "error:05880020:x509 certificate routines::BIO lib"
_NO_FILE_OF_ONES_OWN = "error:0A080002:SSL routines::system lib"
_NO_CERTIFICATE = "error:05800088:x509 certificate routines::no certificate or crl found"
_NO_PEM = "error:0A080009:SSL routines::PEM lib"
_NO_START = "error:0480006C:PEM routines::no start line: Expecting: CERTIFICATE"
_NO_KEY = "error:1E08010C:DECODER routines::unsupported: No supported data to decode. Input type: PEM"


def tls_complaint(values: PropertyValues) -> str | None:
    """The first of them, where the protocol has TLS."""
    if not values["security.protocol"].endswith("ssl"):
        return None
    return next(_complaints(values), None)


def _complaints(values: PropertyValues) -> Iterator[str]:
    if values["ssl.cipher.suites"] and not _has_a_cipher(values["ssl.cipher.suites"]):
        yield "ssl.cipher.suites failed: error:0A0000B9:SSL routines::no cipher match"
    yield from _of_file("ssl.ca.location", values, _NO_FILE, _NO_CERTIFICATE)
    if _is_no_pem(values["ssl.ca.pem"]):
        yield f"failed to read certificate #0 from ssl.ca.pem: not in PEM format?: {_NO_START}"
    yield from _of_file("ssl.crl.location", values, _NO_FILE, _NO_CERTIFICATE)
    yield from _of_file("ssl.certificate.location", values, _NO_FILE_OF_ONES_OWN, _NO_PEM)
    if _is_no_pem(values["ssl.certificate.pem"]):
        yield f"ssl.certificate.pem failed: error reading certificate: {_NO_START}"
    yield from _of_file("ssl.key.location", values, _NO_FILE_OF_ONES_OWN, _NO_PEM)
    if _is_no_pem(values["ssl.key.pem"]):
        yield f"ssl.key.pem failed: not in PEM format?: {_NO_KEY}"
    keystore = values["ssl.keystore.location"]
    if keystore and not Path(keystore).exists():
        yield f"Failed to open ssl.keystore.location: {keystore}: error:10000080:BIO routines::no such file"


def _has_a_cipher(suites: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(suites)
    except ssl.SSLError:
        return False
    return True


def _of_file(name: str, values: PropertyValues, missing: str, without_pem: str) -> Iterator[str]:
    location = values[name]
    if not location or location == "probe":
        return
    try:
        content = Path(location).read_bytes()
    except IsADirectoryError:
        return
    except OSError:
        yield f"{name} failed: {missing}"
        return
    if _BEGINNING_OF_PEM not in content:
        yield f"{name} failed: {without_pem}"


def _is_no_pem(text: str | None) -> bool:
    return bool(text) and _BEGINNING_OF_PEM not in text.encode()
