# pyright: basic
"""What `bearer.auth.` properties say, source by source, and where they say too little.

Pure. What gives tokens over HTTP is made elsewhere, out of what is read here.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlparse, urlunparse

__all__ = ["normalize_identity_pool"]

_AZURE_URL = "http://169.254.169.254/metadata/identity/oauth2/token"
_LOGICAL_CLUSTER = "bearer.auth.logical.cluster"
_OIDC = (
    "bearer.auth.client.id",
    "bearer.auth.client.secret",
    "bearer.auth.scope",
    "bearer.auth.issuer.endpoint.url",
)
_CUSTOM = ("bearer.auth.custom.provider.function", "bearer.auth.custom.provider.config")


def normalize_identity_pool(identity_pool_raw: str | list[str] | None) -> str | None:
    """One pool, or several with commas between them, as one text. Raises: TypeError."""
    if identity_pool_raw is None or isinstance(identity_pool_raw, str):
        return identity_pool_raw
    if not isinstance(identity_pool_raw, list):
        raise TypeError(f"identity pool id must be a str or list, not {type(identity_pool_raw)}")
    if not all(isinstance(pool, str) for pool in identity_pool_raw):
        raise TypeError("All items in identity pool list must be strings")
    return ",".join(identity_pool_raw)


class _BearerFieldProvider(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def get_bearer_fields(self) -> dict[str, str]:
        raise NotImplementedError


class _AsyncBearerFieldProvider(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    async def get_bearer_fields(self) -> dict[str, str]:
        raise NotImplementedError


class _StaticFieldProvider(_BearerFieldProvider):
    """The same fields whenever it is asked."""

    def __init__(self, token: str, logical_cluster: str, identity_pool: str | None = None) -> None:
        self.token = token
        self.logical_cluster = logical_cluster
        self.identity_pool = identity_pool

    def get_bearer_fields(self) -> dict[str, str]:
        return bearer_fields(self.token, self.logical_cluster, self.identity_pool)


class _AsyncStaticFieldProvider(_AsyncBearerFieldProvider):
    """The same fields whenever it is asked."""

    def __init__(self, token: str, logical_cluster: str, identity_pool: str | None = None) -> None:
        self.token = token
        self.logical_cluster = logical_cluster
        self.identity_pool = identity_pool

    async def get_bearer_fields(self) -> dict[str, str]:
        return bearer_fields(self.token, self.logical_cluster, self.identity_pool)


def bearer_fields(token: str, logical_cluster: str, identity_pool: str | None) -> dict[str, str]:
    """As a provider gives them."""
    fields = {"bearer.auth.token": token, _LOGICAL_CLUSTER: logical_cluster}
    if identity_pool is not None:
        fields["bearer.auth.identity.pool.id"] = identity_pool
    return fields


class StaticSource(NamedTuple):
    """A token that does not change."""

    logical_cluster: str
    identity_pool: str | None
    token: str

    def __repr__(self) -> str:
        return f"StaticSource({self.logical_cluster!r}, {self.identity_pool!r})"


class OidcSource(NamedTuple):
    """An endpoint that gives tokens to a client with a secret."""

    logical_cluster: str
    identity_pool: str | None
    client_id: str
    client_secret: str
    scope: str
    token_endpoint: str

    def __repr__(self) -> str:
        return f"OidcSource({self.logical_cluster!r}, {self.identity_pool!r}, {self.client_id!r})"


class AzureSource(NamedTuple):
    """The metadata service of a machine in Azure."""

    logical_cluster: str
    identity_pool: str | None
    token_endpoint: str


class CustomSource(NamedTuple):
    """A function of the program's, which gives all fields."""

    function: Callable[[dict[str, Any]], Any]
    config: dict[str, Any]


BearerSource = StaticSource | OidcSource | AzureSource | CustomSource


def take_bearer_source(conf: dict[str, Any]) -> BearerSource | None:
    """What `conf` says of it, which is taken out of it. Raises: ValueError, TypeError."""
    source = conf.pop("bearer.auth.credentials.source", None)
    if source is None:
        return None
    take = _SOURCES.get(source)
    if take is None:
        raise ValueError("Unrecognized bearer.auth.credentials.source")
    return take(conf)


def _take_whose(conf: dict[str, Any]) -> tuple[str, str | None]:
    """Logical cluster and identity pool."""
    if _LOGICAL_CLUSTER not in conf:
        raise ValueError(f"Missing required bearer configuration properties: {_LOGICAL_CLUSTER}")
    cluster = _take_text(conf, _LOGICAL_CLUSTER, "logical cluster")
    return cluster, normalize_identity_pool(conf.pop("bearer.auth.identity.pool.id", None))


def _take_text(conf: dict[str, Any], name: str, called: str | None = None) -> str:
    value = conf.pop(name)
    if not isinstance(value, str):
        raise TypeError(f"{called or name} must be a str, not {type(value)}")
    return value


def _take_static(conf: dict[str, Any]) -> StaticSource:
    whose = _take_whose(conf)
    if "bearer.auth.token" not in conf:
        raise ValueError("Missing bearer.auth.token")
    return StaticSource(*whose, _take_text(conf, "bearer.auth.token"))


def _take_oidc(conf: dict[str, Any]) -> OidcSource:
    whose = _take_whose(conf)
    missing = [name for name in _OIDC if name not in conf]
    if missing:
        raise ValueError(f"Missing required OAuth configuration properties: {', '.join(missing)}")
    return OidcSource(*whose, *[_take_text(conf, name) for name in _OIDC])


def _take_azure(conf: dict[str, Any]) -> AzureSource:
    whose = _take_whose(conf)
    is_given = "bearer.auth.issuer.endpoint.url" in conf
    endpoint = _AZURE_URL
    if is_given:
        endpoint = _take_text(conf, "bearer.auth.issuer.endpoint.url")
    try:
        parsed = urlparse(endpoint)
    except ValueError as error:
        raise ValueError(f"Failed to parse token endpoint URL: {error}") from None
    query = conf.pop("bearer.auth.issuer.endpoint.query", None)
    if query:
        if not isinstance(query, str):
            raise TypeError(f"bearer.auth.issuer.endpoint.query must be a str, not {type(query)}")
        endpoint = urlunparse(parsed._replace(query=query, fragment=""))
    elif not is_given:
        raise ValueError(
            "bearer.auth.issuer.endpoint.query must be provided when bearer.auth.issuer.endpoint.url "
            "isn't overridden"
        )
    return AzureSource(*whose, endpoint)


def _take_custom(conf: dict[str, Any]) -> CustomSource:
    missing = [name for name in _CUSTOM if name not in conf]
    if missing:
        raise ValueError(f"Missing required custom OAuth configuration properties: {', '.join(missing)}")
    function, config = (conf.pop(name) for name in _CUSTOM)
    if not callable(function):
        raise TypeError(f"bearer.auth.custom.provider.function must be a callable, not {type(function)}")
    if not isinstance(config, dict):
        raise TypeError(f"bearer.auth.custom.provider.config must be a dict, not {type(config)}")
    return CustomSource(function, config)


_SOURCES: dict[str, Callable[[dict[str, Any]], BearerSource]] = {
    "OAUTHBEARER": _take_oidc,
    "OAUTHBEARER_AZURE_IMDS": _take_azure,
    "STATIC_TOKEN": _take_static,
    "CUSTOM": _take_custom,
}
