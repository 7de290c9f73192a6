# Made by codegen/plain_calls.py, of
# barnabas/compat/confluent_kafka/schema_registry/_async/serde.py
# pyright: basic
"""What (de)serializers for plain calls have in common: the strategy that asks the registry, their ends, how
builders build them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

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
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import run
from barnabas.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    SchemaRegistryClient,
)
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
    "AssociatedNameStrategy",
    "BaseDeserializer",
    "BaseSerde",
    "BaseSerializer",
    "build_serde",
]

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry._sync.serde")

D = TypeVar("D", bound="BaseSerde")


class AssociatedNameStrategy(AssociatedNames):
    """The subject that a registry has associated with a topic, which is remembered; where there is none,
    one that is named by `subject.name.strategy.fallback.type` (TOPIC, RECORD, TOPIC_RECORD, or NONE for an
    error)."""

    def __init__(self, cache_capacity: int = DEFAULT_CACHE_CAPACITY) -> None:
        super().__init__(cache_capacity)

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """What tells the id of the Kafka cluster, which is asked for when it is needed. The one that was
        given last counts. Experimental, as the original says."""
        self._cluster_id_resolver = resolver

    def __call__(
        self,
        ctx: SerializationContext | None,
        record_name: str | None,
        schema_registry_client: Any,
        conf: dict[str, Any] | None = None,
    ) -> str | None:
        """Raises: SerializationError, ValueError, SchemaRegistryError."""
        return run(self._find(ctx, record_name, schema_registry_client, conf))

    def clear_cache(self) -> None:
        """Forgets what was found."""
        self._forget()


def build_serde(
    schema_registry_client: Any,
    schema_registry_conf: dict[str, Any] | None,
    construct: Callable[[Any], Any],
    init: Callable[[D], None] | None = None,
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
        client = SchemaRegistryClient.new_client(schema_registry_conf)
    try:
        serde = construct(client)
    except BaseException:
        if is_own and client is not None:
            try:
                client.close()
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
            init(serde)
        except BaseException:
            try:
                serde.close()
            except Exception:
                log.warning("Failed to close a serde whose init callback failed", exc_info=True)
            raise
    return serde


class BaseSerde(SerdeParts):
    """Of all (de)serializers."""

    _associated = AssociatedNameStrategy

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """What tells the id of the Kafka cluster, for the strategy that asks the registry; others have no use
        for it. Experimental, as the original says."""
        if isinstance(self._subjects.function, AssociatedNameStrategy):
            self._subjects.function.set_cluster_id_resolver(resolver)

    def close(self) -> None:
        """Closes what only this has: executors and actions of a rule registry of its own, and the client that
        a builder made. A second time does nothing to the client. Experimental, as the original says."""
        try:
            self._close_rules()
        finally:
            client = self._client_to_close()
            if client is not None:
                client.close()


class BaseSerializer(BaseSerde, Serializer):
    """Of all serializers."""


class BaseDeserializer(BaseSerde, Deserializer):
    """Of all deserializers."""
