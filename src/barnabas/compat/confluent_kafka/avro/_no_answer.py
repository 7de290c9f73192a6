# pyright: basic
"""The ClientError of a request to a registry that got no answer.

The original asks with `requests`, and over HTTPS mostly with urllib3. Programs catch what these raise. So
where they are installed, the error is of their classes, too. Nothing needs them.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

from barnabas.compat.confluent_kafka.avro.error import ClientError
from barnabas.http.messages import TlsFailedError

# By httpx's name of what went wrong: the name that `requests` has for it.
_NAMES = {
    "ConnectTimeout": "ConnectTimeout",
    "ReadTimeout": "ReadTimeout",
    "WriteTimeout": "ReadTimeout",
    "ProxyError": "ProxyError",
    "DecodingError": "ContentDecodingError",
}
# Of what is not tried again urllib3 has other names than MaxRetryError.
_NAMES_OF_URLLIB3 = {
    "ChunkedEncodingError": "ProtocolError",
    "ContentDecodingError": "DecodeError",
    "InvalidURL": "LocationValueError",
}


def no_answer_error(url: str, failure: Exception) -> ClientError:
    """The error to raise from `failure`, with which a request for `url` ended."""
    name = _name(url, failure)
    over_tls = url.startswith("https:")
    error = _made(
        f"{url}: {failure}", name, _NAMES_OF_URLLIB3.get(name, "MaxRetryError") if over_tls else None
    )
    if over_tls:
        error.url, error.reason = url, failure  # type: ignore[attr-defined]
    return error


def _made(message: str, name: str, name_of_urllib3: str | None) -> Any:
    try:
        kind = _class_of(name, name_of_urllib3)
    except ImportError:
        kind = ClientError
    return kind(message)


@cache
def _class_of(name: str, name_of_urllib3: str | None) -> type:
    """Raises: ImportError."""
    from requests import exceptions
    from urllib3 import exceptions as exceptions_of_urllib3

    bases: list[type] = [ClientError, getattr(exceptions, name)]
    if name_of_urllib3 is not None:
        bases.append(getattr(exceptions_of_urllib3, name_of_urllib3))
    return type(
        name,
        tuple(bases),
        {
            "__module__": ClientError.__module__,
            # No module has the class by its name.
            "__reduce__": lambda self: (_made, (self.message, name, name_of_urllib3)),
            # What MaxRetryError has.
            "pool": None,
            "url": None,
            "reason": None,
        },
    )


def _name(url: str, failure: Exception) -> str:
    try:
        parts = urlsplit(url)
        # Raises, too, where the port is none.
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return "InvalidURL"
    if not parts.scheme:
        return "MissingSchema"
    if parts.scheme not in ("http", "https"):
        return "InvalidSchema"
    host = parts.hostname or ""
    if not is_port or host.startswith(("*", ".")) or " " in host or not host:
        return "InvalidURL"
    return _name_of(failure, parts)


def _name_of(failure: Exception, parts: SplitResult) -> str:
    cause = failure.__cause__
    if isinstance(failure, UnicodeError):
        # A part of the host's name is too long.
        return "InvalidURL"
    if isinstance(failure, TlsFailedError):
        return "SSLError"
    name = type(cause).__name__
    if name == "ConnectError" and _has_proxy(parts):
        return "ProxyError"
    if name == "RemoteProtocolError" and "message body" in str(cause):
        return "ChunkedEncodingError"
    return _NAMES.get(name, "ConnectionError")


def _has_proxy(parts: SplitResult) -> bool:
    """As the environment has it, which httpx and `requests` read alike."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    return (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(parts.netloc)
