"""The settings of a Registry, in one table. Knows nothing of how they are used."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict
from urllib.parse import unquote, urlsplit

from barnabas.credentials import Secret, shown_url
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import checked_values, setting
from barnabas.values import frozen

BearerCallback = Callable[[], str | Awaitable[str]]
"""Gives a token. Only an `aio.Registry` takes one that has to be awaited."""


def _urls(name: str, urls: tuple[str, ...]) -> tuple[str, ...]:
    for url in urls:
        if not _is_address(url):
            raise InvalidSettingError(f"{name}: {shown_url(url)!r} is not like http://host:8081")
    return tuple(url.rstrip("/") for url in urls)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _user_and_password(name: str, value: Secret | None) -> Secret | None:
    if value is not None and ":" not in value.reveal():
        raise InvalidSettingError(f"{name} must be user:password")
    return value


@frozen
class RegistryConfig:
    """Settings of a Registry, by the names that Confluent's clients have for them, in snake_case."""

    url: tuple[str, ...] = setting(
        (),
        "Where it is: http://host:port, with its path if it has one; several are asked in turn.",
        check=_urls,
    )
    basic_auth_user_info: Secret | None = setting(
        None, "user:password; otherwise what the first URL has before its @.", check=_user_and_password
    )
    bearer_auth_token: Secret | None = setting(None, "A token that does not change.")
    bearer_auth_callback: BearerCallback | None = setting(None, "Gives a token, before each request.")
    bearer_auth_issuer_endpoint_url: str | None = setting(
        None, "Where tokens are issued to a client with a secret (OIDC)."
    )
    bearer_auth_client_id: str | None = setting(None, "Client id at the endpoint.")
    bearer_auth_client_secret: Secret | None = setting(None, "Its secret there.")
    bearer_auth_scope: str | None = setting(None, "Scope of the token to ask for.")
    bearer_auth_logical_cluster: str | None = setting(
        None, "Which registry a token is for (target-sr-cluster)."
    )
    bearer_auth_identity_pool_id: str | None = setting(None, "Whose rights (Confluent-Identity-Pool-Id).")
    ssl_ca_location: str | None = setting(
        None, "PEM file or folder of the authorities to trust; None is the system's."
    )
    ssl_certificate_location: str | None = setting(None, "PEM file of the client's own certificate.")
    ssl_key_location: str | None = setting(None, "PEM file of its key, if it is not with the certificate.")
    ssl_key_password: Secret | None = setting(None, "Of that key.")
    ssl_context: ssl.SSLContext | None = setting(None, "In place of all ssl_ settings.")
    proxy: str | None = setting(
        None, "http://host:port; None takes the environment's (https_proxy, no_proxy)."
    )
    request_timeout_ms: int = setting(30_000, "How long one request may take.", low=1)
    retries: int = setting(3, "Rounds through all URLs after the first one failed.", low=0)
    retry_backoff_ms: int = setting(100, "Before the first of them; each is twice as long.", low=0)
    retry_backoff_max_ms: int = setting(5_000, "At most before any of them.", low=0)
    cache_capacity: int = setting(1_000, "Schemas that are remembered, of each way of asking.", low=1)
    # Of others -1, for ever: a new version would only be seen after a restart.
    cache_latest_ttl_ms: int = setting(60_000, "How long a latest version is taken for the latest.", low=0)


class RegistryKeywords(TypedDict, total=False):
    """What a Registry takes, but for its URLs."""

    basic_auth_user_info: str | Secret | None
    bearer_auth_token: str | Secret | None
    bearer_auth_callback: BearerCallback | None
    bearer_auth_issuer_endpoint_url: str | None
    bearer_auth_client_id: str | None
    bearer_auth_client_secret: str | Secret | None
    bearer_auth_scope: str | None
    bearer_auth_logical_cluster: str | None
    bearer_auth_identity_pool_id: str | None
    ssl_ca_location: str | None
    ssl_certificate_location: str | None
    ssl_key_location: str | None
    ssl_key_password: str | Secret | None
    ssl_context: ssl.SSLContext | None
    proxy: str | None
    request_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    cache_capacity: int
    cache_latest_ttl_ms: int


_ALIASES = {"bearer_auth_identity_pool": "bearer_auth_identity_pool_id"}


def load_registry_config(url: str | Sequence[str], settings: Mapping[str, Any]) -> RegistryConfig:
    """Raises: UnknownSettingError, InvalidSettingError."""
    config = RegistryConfig(**checked_values(RegistryConfig, {"url": url, **settings}, _ALIASES))
    if not config.url:
        raise InvalidSettingError("url is missing: give at least one, http://host:8081")
    # Not to be seen in what is printed of an address.
    user = config.basic_auth_user_info or _user_of(config.url[0])
    config = replace(config, url=tuple(map(_without_user, config.url)), basic_auth_user_info=user)
    ways = {
        "basic_auth_user_info": user,
        "bearer_auth_token": config.bearer_auth_token,
        "bearer_auth_callback": config.bearer_auth_callback,
        "bearer_auth_issuer_endpoint_url": config.bearer_auth_issuer_endpoint_url,
    }
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InvalidSettingError(f"{given[0]} and {given[1]} are both given: give one")
    client = (config.bearer_auth_client_id, config.bearer_auth_client_secret)
    if config.bearer_auth_issuer_endpoint_url is not None and None in client:
        raise InvalidSettingError(
            "bearer_auth_issuer_endpoint_url needs bearer_auth_client_id and bearer_auth_client_secret"
        )
    if config.ssl_key_location is not None and config.ssl_certificate_location is None:
        raise InvalidSettingError("ssl_key_location needs ssl_certificate_location")
    return config


def _user_of(url: str) -> Secret | None:
    """What a URL has before its `@`: user and password."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    return Secret(f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
