"""Under which subject a value's schema is registered: the strategies, and the one that asks the registry.

A strategy is a function of the context and of the name of the value's record (Avro's full name, JSON
Schema's title, Protobuf's full name). It gives None where it needs a name and there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from barnabas.errors import InvalidSettingError, MisuseError
from barnabas.registry.errors import RegistryError
from barnabas.registry.serializers.context import ContextLike
from barnabas.registry.serializers.source import Asked, SchemaSource
from barnabas.values import frozen

Strategy = Callable[[Any, Any], str | None]
StrategyName = Literal["associated", "topic", "record", "topic_record"]

ANY_CLUSTER = "-"
NOT_FOUND = 404


def topic_subject(context: ContextLike | None, record_name: str | None) -> str | None:
    """`orders-value`."""
    if context is None or context.topic is None:
        raise MisuseError("the subject is named after the topic: give the topic")
    return f"{context.topic}-{context.field}"


def record_subject(context: ContextLike | None, record_name: str | None) -> str | None:
    """`com.example.Order`."""
    return record_name


def topic_record_subject(context: ContextLike | None, record_name: str | None) -> str | None:
    """`orders-com.example.Order`."""
    if context is None or context.topic is None:
        raise MisuseError("the subject is named after the topic: give the topic")
    return None if record_name is None else f"{context.topic}-{record_name}"


BY_NAME: dict[str, Strategy] = {
    "topic": topic_subject,
    "record": record_subject,
    "topic_record": topic_record_subject,
}


@frozen
class AssociatedSubject:
    """The subject that the registry has associated with the topic; otherwise as `fallback` names it, None
    for an error. `namespace`: the Kafka cluster's id, `-` is any."""

    fallback: Strategy | None = topic_subject
    namespace: str = ANY_CLUSTER

    def find(
        self, source: SchemaSource, context: ContextLike | None, record_name: str | None
    ) -> Asked[str | None]:
        """Finds the subject that is associated with the topic. Raises: MisuseError (there is no context, or
        several subjects are associated with the topic), RegistryError."""
        if context is None:
            raise MisuseError("the subject is the one associated with the topic: give the topic")
        if context.topic is None:
            return None
        field = "key" if context.field == "key" else "value"
        try:
            found = yield from source.associations(
                context.topic,
                namespace=self.namespace,
                resource_type="topic",
                association_types=[field],
                offset=0,
                limit=-1,
            )
        except RegistryError as error:
            # Registries that have no associations say the same as those that have none for the topic.
            if error.status != NOT_FOUND:
                raise
            found = []
        if len(found) > 1:
            raise MisuseError(f"several subjects are associated with the topic {context.topic!r}")
        if found:
            return found[0].subject
        if self.fallback is None:
            raise MisuseError(f"no subject is associated with the topic {context.topic!r}")
        return self.fallback(context, record_name)


Subjects = Strategy | AssociatedSubject


def subjects_of(strategy: StrategyName | Strategy | AssociatedSubject) -> Subjects:
    """Raises: InvalidSettingError."""
    if not isinstance(strategy, str):
        return strategy
    if strategy == "associated":
        return AssociatedSubject()
    if strategy not in BY_NAME:
        raise InvalidSettingError(
            f"subject_name_strategy {strategy!r} is none of associated, {', '.join(BY_NAME)}"
        )
    return BY_NAME[strategy]


def is_of_place(subjects: Subjects) -> bool:
    """Whether the same topic, field and name always give the same subject: own functions may look at
    headers, or at anything else."""
    return isinstance(subjects, AssociatedSubject) or subjects in BY_NAME.values()
