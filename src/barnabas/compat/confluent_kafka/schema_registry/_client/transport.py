# pyright: basic
"""Settings of a client as its transport takes them."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.registry.config import RegistryConfig
from barnabas.registry.transport import LONGEST_TIMEOUT_MS


def transport_config(config: RestConfig) -> RegistryConfig:
    # The original waits for ever unless it is told otherwise.
    timeout_ms = LONGEST_TIMEOUT_MS if config.timeout is None else int(config.timeout * 1000)
    return RegistryConfig(ssl_context=config.verify, proxy=config.proxy, request_timeout_ms=timeout_ms)
