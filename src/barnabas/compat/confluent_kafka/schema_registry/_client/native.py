# pyright: basic
"""The properties of a client as Barnabas's own clients have them: for those of the DEK registry."""

from __future__ import annotations

from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    AzureSource,
    BearerSource,
    CustomSource,
    OidcSource,
    StaticSource,
)
from barnabas.credentials import Secret
from barnabas.registry.config import RegistryConfig
from barnabas.registry.transport import LONGEST_TIMEOUT_MS


def registry_config(conf: dict[str, Any]) -> RegistryConfig:
    """Raises: ValueError, TypeError."""
    config = RestConfig(conf)
    return RegistryConfig(
        url=tuple(config.base_urls),
        basic_auth_user_info=None if config.auth is None else Secret(":".join(config.auth)),
        ssl_context=config.verify,
        proxy=config.proxy,
        request_timeout_ms=LONGEST_TIMEOUT_MS if config.timeout is None else int(config.timeout * 1000),
        retries=config.max_retries,
        retry_backoff_ms=config.retries_wait_ms,
        retry_backoff_max_ms=config.retries_max_wait_ms,
        cache_capacity=config.cache_capacity,
        **_bearer(config.bearer_source),
    )


def _bearer(source: BearerSource | None) -> dict[str, Any]:
    if source is None:
        return {}
    if isinstance(source, AzureSource):
        raise ValueError("tokens of Azure's metadata service are not for the DEK registry yet")
    if isinstance(source, CustomSource):
        # For which registry, and whose rights, does not change.
        fields = source.function(source.config)
        return {
            "bearer_auth_callback": lambda: source.function(source.config)["bearer.auth.token"],
            "bearer_auth_logical_cluster": fields.get("bearer.auth.logical.cluster"),
            "bearer_auth_identity_pool_id": fields.get("bearer.auth.identity.pool.id"),
        }
    found: dict[str, Any] = {
        "bearer_auth_logical_cluster": source.logical_cluster,
        "bearer_auth_identity_pool_id": source.identity_pool,
    }
    if isinstance(source, StaticSource):
        return {**found, "bearer_auth_token": Secret(source.token)}
    assert isinstance(source, OidcSource)
    return {
        **found,
        "bearer_auth_issuer_endpoint_url": source.token_endpoint,
        "bearer_auth_client_id": source.client_id,
        "bearer_auth_client_secret": Secret(source.client_secret),
        "bearer_auth_scope": source.scope,
    }
