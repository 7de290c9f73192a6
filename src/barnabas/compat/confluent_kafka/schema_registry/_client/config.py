# pyright: basic
"""The properties of a client of a registry: read, checked in the original's order, refused in its words.

Knows nothing of how they are used.
"""

from __future__ import annotations

import os
import ssl
from typing import Any
from urllib.parse import unquote, urlparse

from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import take_bearer_source
from barnabas.credentials import shown_url
from barnabas.errors import MissingExtraError


class RestConfig:
    """Raises: ValueError, TypeError, OSError (a file of TLS), MissingExtraError."""

    def __init__(self, conf: dict[str, Any]) -> None:
        left = conf.copy()
        self.base_urls = _take_urls(left)
        self.verify = _take_tls(left)
        self.auth = _take_user(left, self.base_urls[0])
        self.proxy = left.pop("proxy", None)
        self.timeout = left.pop("timeout", None)
        self.cache_capacity = int(_take_number(left, "cache.capacity", 1000))
        self.cache_latest_ttl_sec = _take_number(left, "cache.latest.ttl.sec", None)
        self.max_retries = int(_take_number(left, "max.retries", 3))
        self.retries_wait_ms = int(_take_number(left, "retries.wait.ms", 1000))
        self.retries_max_wait_ms = int(_take_number(left, "retries.max.wait.ms", 20000))
        self.bearer_source = take_bearer_source(left)
        if left:
            raise ValueError(f"Unrecognized properties: {', '.join(left)}")


def _take_urls(conf: dict[str, Any]) -> list[str]:
    given = conf.pop("url", None)
    if given is None:
        raise ValueError("Missing required configuration property url")
    if not isinstance(given, str):
        raise TypeError(f"url must be a str, not {type(given)}")
    urls = [url.strip().rstrip("/") for url in given.split(",")]
    for url in urls:
        if not url.startswith(("http", "mock")):
            raise ValueError(f"Invalid url {shown_url(url)}")
    return urls


def _take_tls(conf: dict[str, Any]) -> ssl.SSLContext:
    authorities = conf.pop("ssl.ca.location", None)
    key, password = conf.pop("ssl.key.location", None), conf.pop("ssl.key.password", None)
    certificate = conf.pop("ssl.certificate.location", None)
    if authorities is False:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif isinstance(authorities, str):
        is_folder = os.path.isdir(authorities)
        context = ssl.create_default_context(
            cafile=None if is_folder else authorities, capath=authorities if is_folder else None
        )
    else:
        context = _trusting_as_httpx_does()
    if certificate is not None:
        context.load_cert_chain(certificate, key, password)
    elif key is not None or password is not None:
        raise ValueError(
            "ssl.certificate.location required when configuring ssl.key.location or ssl.key.password"
        )
    return context


def _trusting_as_httpx_does() -> ssl.SSLContext:
    """By SSL_CERT_FILE, SSL_CERT_DIR, or certifi."""
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("a schema registry", "registry") from None
    return httpx.create_ssl_context()


def _take_user(conf: dict[str, Any], url: str) -> tuple[str, str] | None:
    """Name and password."""
    parsed = urlparse(url)
    user = ("", "")
    if parsed.username is not None and parsed.password is not None:
        user = (unquote(parsed.username), unquote(parsed.password))
    if "basic.auth.user.info" in conf:
        if user != ("", ""):
            raise ValueError(
                "basic.auth.user.info configured with userinfo credentials in the URL. Remove userinfo "
                "credentials from the url or remove basic.auth.user.info from the configuration"
            )
        name, colon, password = conf.pop("basic.auth.user.info").partition(":")
        if not colon:
            raise ValueError("basic.auth.user.info must be in the form of {username}:{password}")
        user = (name, password)
    return user if user != ("", "") else None


def _take_number(conf: dict[str, Any], name: str, default: Any) -> Any:
    value = conf.pop(name, None)
    if value is None:
        return default
    if not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, not {type(value)}")
    return value
