# pyright: basic
"""The subject that a registry has associated with a topic, and what is taken where there is none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._serde.steps import Asked
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
    topic_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.error import SchemaRegistryError
from barnabas.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)
from barnabas.registry.cache import Cache

KAFKA_CLUSTER_ID = "subject.name.strategy.kafka.cluster.id"
NAMESPACE_WILDCARD = "-"
FALLBACK_TYPE = "subject.name.strategy.fallback.type"
DEFAULT_CACHE_CAPACITY = 1000
NOT_FOUND = 404


class AssociatedNames:
    """Owns what was found by topic, and who tells the cluster's id. For all threads.

    `changes` counts how often it forgot everything, for those who keep what it gave.
    """

    def __init__(self, cache_capacity: int = DEFAULT_CACHE_CAPACITY) -> None:
        self._cache: Cache[tuple[str, bool, str | None], str] = Cache(cache_capacity)
        self._cluster_id_resolver: Callable[[], Any] | None = None
        self.changes = 0

    def _forget(self) -> None:
        self._cache.clear()
        self.changes += 1

    def _find(
        self,
        ctx: SerializationContext | None,
        record_name: str | None,
        client: Any,
        conf: dict[str, Any] | None,
    ) -> Asked[str | None]:
        if ctx is None:
            raise ValueError(
                f"SerializationContext is required for {type(self).__name__}. "
                "Either provide a SerializationContext or use a different strategy."
            )
        if ctx.topic is None:
            return None
        key = (ctx.topic, ctx.field == MessageField.KEY, record_name)
        known = self._cache.get(key)
        if known is None:
            known = yield from self._ask(ctx, record_name, client, conf or {})
            if known is not None:
                self._cache.put(key, known)
        return known

    def _ask(
        self, ctx: SerializationContext, record_name: str | None, client: Any, conf: dict[str, Any]
    ) -> Asked[str | None]:
        if client is None:
            return topic_subject_name_strategy(ctx, record_name)
        fallback = _fallback_of(conf)
        namespace = yield from self._namespace(conf)
        try:
            found = yield partial(
                client.get_associations_by_resource_name,
                resource_name=ctx.topic,
                resource_namespace=namespace,
                resource_type="topic",
                association_types=["key" if ctx.field == MessageField.KEY else "value"],
                offset=0,
                limit=-1,
            )
        except SchemaRegistryError as error:
            # Registries without associations say the same as those that have none for the topic.
            if error.http_status_code != NOT_FOUND:
                raise
            found = []
        if len(found) > 1:
            raise SerializationError(f"Multiple associated subjects found for topic {ctx.topic}")
        if found:
            return found[0].subject
        if fallback == SubjectNameStrategyType.NONE:
            raise SerializationError(f"No associated subject found for topic {ctx.topic}")
        if fallback == SubjectNameStrategyType.ASSOCIATED:
            raise ValueError(
                f"Invalid value for {FALLBACK_TYPE}: {fallback.value}. "
                "ASSOCIATED cannot be used as a fallback strategy."
            )
        return STRATEGY_TYPE_MAP[fallback](ctx, record_name)

    def _namespace(self, conf: dict[str, Any]) -> Asked[str]:
        """The id of the cluster: configured, or told, or any."""
        configured = conf.get(KAFKA_CLUSTER_ID)
        if configured:
            return configured
        if self._cluster_id_resolver is None:
            return NAMESPACE_WILDCARD
        try:
            found = yield self._cluster_id_resolver
        except Exception as error:
            raise SerializationError(
                "associated name strategy: could not resolve the Kafka cluster id, which typically means the "
                f"client has not reached a broker yet; set {KAFKA_CLUSTER_ID} to supply it explicitly: "
                f"{error}"
            ) from error
        if not found:
            raise SerializationError(
                "associated name strategy: the Kafka cluster id resolved to an empty string; set "
                f"{KAFKA_CLUSTER_ID} to supply it explicitly"
            )
        return found


def _fallback_of(conf: dict[str, Any]) -> SubjectNameStrategyType:
    given = conf.get(FALLBACK_TYPE)
    if given is None:
        return SubjectNameStrategyType.TOPIC
    if isinstance(given, SubjectNameStrategyType):
        return given
    try:
        return SubjectNameStrategyType(str(given).upper())
    except ValueError:
        others = [each for each in SubjectNameStrategyType if each != SubjectNameStrategyType.ASSOCIATED]
        raise ValueError(  # noqa: B904  the original names no cause either
            f"Invalid value for {FALLBACK_TYPE}: {given}. "
            f"Valid values are: {', '.join(each.value for each in others)}"
        )
