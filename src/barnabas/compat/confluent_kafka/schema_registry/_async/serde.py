# pyright: basic
"""What (de)serializers for asyncio have in common: the strategy that asks the registry, their ends, how
builders build them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._async.schema_registry_client import (
    AsyncSchemaRegistryClient,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.associated import (
    DEFAULT_CACHE_CAPACITY,
    FALLBACK_TYPE,
    KAFKA_CLUSTER_ID,
    AssociatedNames,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.associated import (
    NAMESPACE_WILDCARD as NAMESPACE_WILDCARD,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.base import SerdeParts
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run_async
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    STRATEGY_TYPE_MAP as STRATEGY_TYPE_MAP,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import (
    DLQ_RULE_NAME_HEADER as DLQ_RULE_NAME_HEADER,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import FieldTransformer as FieldTransformer
from barnabas.compat.confluent_kafka.serialization import Deserializer, SerializationContext, Serializer

__all__ = [
    "FALLBACK_TYPE",
    "KAFKA_CLUSTER_ID",
    "AsyncAssociatedNameStrategy",
    "AsyncBaseDeserializer",
    "AsyncBaseSerde",
    "AsyncBaseSerializer",
    "async_build_serde",
]

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry._async.serde")

D = TypeVar("D", bound="AsyncBaseSerde")


class AsyncAssociatedNameStrategy(AssociatedNames):
    """The subject that a registry has associated with a topic, which is remembered; where there is none,
    one that is named by `subject.name.strategy.fallback.type` (TOPIC, RECORD, TOPIC_RECORD, or NONE for an
    error)."""

    def __init__(self, cache_capacity: int = DEFAULT_CACHE_CAPACITY) -> None:
        super().__init__(cache_capacity)

    def set_async_cluster_id_resolver(self, resolver: Callable[[], Awaitable[Any]]) -> None:
        """What tells the id of the Kafka cluster, which is asked for when it is needed. The one that was
        given last counts. Experimental, as the original says."""
        self._cluster_id_resolver = resolver

    async def __call__(
        self,
        ctx: SerializationContext | None,
        record_name: str | None,
        schema_registry_client: Any,
        conf: dict[str, Any] | None = None,
    ) -> str | None:
        """Raises: SerializationError, ValueError, SchemaRegistryError."""
        return await run_async(self._find(ctx, record_name, schema_registry_client, conf))

    async def clear_cache(self) -> None:
        """Forgets what was found."""
        self._forget()


async def async_build_serde(
    schema_registry_client: Any,
    schema_registry_conf: dict[str, Any] | None,
    construct: Callable[[Any], Any],
    init: Callable[[D], Awaitable[None]] | None = None,
) -> D:
    """What `construct` makes with a client of a registry: the one that is given, or one that is made here,
    which the (de)serializer then closes. What was made is closed when something fails. Raises: ValueError,
    for both a client and a configuration."""
    if schema_registry_client is not None and schema_registry_conf is not None:
        raise ValueError(
            "Cannot specify both a Schema Registry client and a configuration; use one or the other"
        )
    client = schema_registry_client
    is_own = client is None and schema_registry_conf is not None
    if client is None and schema_registry_conf is not None:
        client = AsyncSchemaRegistryClient.new_client(schema_registry_conf)
    try:
        serde = await construct(client)
    except BaseException:
        if is_own and client is not None:
            try:
                await client.aclose()
            except Exception:
                log.warning(
                    "Failed to close the Schema Registry client of a serde that failed to build",
                    exc_info=True,
                )
        raise
    if is_own:
        serde.own_schema_registry_client()
    if init is not None:
        try:
            await init(serde)
        except BaseException:
            try:
                await serde.aclose()
            except Exception:
                log.warning("Failed to close a serde whose init callback failed", exc_info=True)
            raise
    return serde


class AsyncBaseSerde(SerdeParts):
    """Of all (de)serializers."""

    _associated = AsyncAssociatedNameStrategy

    def set_async_cluster_id_resolver(self, resolver: Callable[[], Awaitable[Any]]) -> None:
        """What tells the id of the Kafka cluster, for the strategy that asks the registry; others have no use
        for it. Experimental, as the original says."""
        if isinstance(self._subjects.function, AsyncAssociatedNameStrategy):
            self._subjects.function.set_async_cluster_id_resolver(resolver)

    async def aclose(self) -> None:
        """Closes what only this has: executors and actions of a rule registry of its own, and the client that
        a builder made. A second time does nothing to the client. Experimental, as the original says."""
        try:
            self._close_rules()
        finally:
            client = self._client_to_close()
            if client is not None:
                await client.aclose()


class AsyncBaseSerializer(AsyncBaseSerde, Serializer):
    """Of all serializers."""


class AsyncBaseDeserializer(AsyncBaseSerde, Deserializer):
    """Of all deserializers."""
