# pyright: basic
"""What every (de)serializer has: a client, rules, names of subjects; and how a call gets to them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._serde.associated import AssociatedNames
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import Chosen, Subjects, subjects_of
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import Asked, ClientSource
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import SubjectNameStrategyType
from barnabas.compat.confluent_kafka.schema_registry.common._validation import Validation, take_validation
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    RegisteredSchema,
    Schema,
)
from barnabas.compat.confluent_kafka.schema_registry.common.serde import ErrorAction
from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)
from barnabas.formats.errors import SchemaError
from barnabas.registry.references import referenced
from barnabas.registry.rules.engine import RuleEngine, original_key
from barnabas.registry.serializers.remembered import Remembered
from barnabas.registry.serializers.value_format import ReadSchema, ValueFormat

log = logging.getLogger(__name__)

S = TypeVar("S", bound=ReadSchema)

CAPACITY = 1_000
"""Of what one (de)serializer keeps."""
KEY, VALUE = MessageField.KEY, MessageField.VALUE
"""Looking a member up costs as much as the rest of a look at a message."""


class SerdeParts:
    """The parts of a (de)serializer, by the original's names for them where programs see these."""

    _associated: type[AssociatedNames] = AssociatedNames
    _registry: Any
    _rule_registry: Any
    _rule_conf: dict[str, Any] | None = None
    _subjects: Subjects
    _validation: Validation
    _owns_registry = False

    def configure_validation_rules(self, conf: dict[str, Any]) -> None:
        """Takes `validation.rules.execution`, `.fail.fast` and `.executor` out of `conf`. Raises:
        ValueError."""
        self._validation = take_validation(conf)

    def configure_subject_name_strategy(
        self,
        subject_name_strategy_type: SubjectNameStrategyType | str | None = None,
        subject_name_strategy_conf: dict[str, Any] | None = None,
        subject_name_strategy: Callable[..., Any] | None = None,
    ) -> None:
        """Says how subjects are named: by a function, or by one of TOPIC, RECORD, TOPIC_RECORD and
        ASSOCIATED, which is what holds without either. Raises: ValueError."""
        self._subjects = subjects_of(
            self._associated,
            subject_name_strategy_type,
            subject_name_strategy_conf,
            subject_name_strategy,
        )

    def own_schema_registry_client(self) -> None:
        """From now on the client is closed with the (de)serializer. Experimental, as the original says."""
        self._owns_registry = True

    # Of its own workings

    def _take_rules(self, rule_registry: Any) -> None:
        self._rule_registry = rule_registry or RuleRegistry.get_global_instance()
        self._rules = RuleEngine(
            self._rule_registry, error_action=ErrorAction(), passing=(SerializationError,), as_original=True
        )

    def _configure_rules(self) -> None:
        client_conf = self._registry.config() if self._registry else {}
        self._rules.configure(client_conf, self._rule_conf or {})

    def _close_rules(self) -> None:
        # Those of the global registry are other people's too.
        if self._rule_registry is not RuleRegistry.get_global_instance():
            self._rules.close()

    def _client_to_close(self) -> Any:
        """The client, if it is to be closed, and the first time it is asked for."""
        owns, self._owns_registry = self._owns_registry, False
        return self._registry if owns else None


class Flow(Generic[S]):
    """What reading and writing have in common: schemas that were read, and subjects."""

    def __init__(
        self,
        client: Any,
        format: ValueFormat[S],
        subjects: Subjects,
        chosen: Chosen,
        rules: RuleEngine,
    ) -> None:
        self.source = None if client is None else ClientSource(client)
        self.format = format
        self.rules = rules
        self._subjects = subjects
        self._chosen = chosen
        self._client = client
        self._read: Remembered[Schema, S] = Remembered(CAPACITY)
        self._strategy: Any = subjects.function if hasattr(subjects.function, "changes") else _Unchanging
        """Counts in `changes` how often it was told to forget what it knew. What was found before then is not
        found."""

    def reading(self, schema: Schema) -> Asked[S]:
        """Raises: what the format says of a broken schema, and what the client raises."""
        read = self._read.get(schema)
        if read is None:
            references = []
            if schema.references:
                for reference in schema.references:
                    if reference.subject is None or reference.version is None:
                        raise TypeError("Subject or version cannot be None")
                references = yield from referenced(
                    self.source,  # pyright: ignore[reportArgumentType]
                    schema,  # pyright: ignore[reportArgumentType]
                    format=self.format.asked_as,
                    is_built_in=self.format.is_built_in,
                )
            if schema.schema_str is None:
                raise TypeError("Schema string cannot be None")
            try:
                read = self.format.read(schema, references)  # pyright: ignore[reportArgumentType]
            except SchemaError as error:
                raise ValueError(str(error)) from error
            self._read.put(schema, read)
        return read

    def subject(self, ctx: SerializationContext | None, name: str | None) -> Asked[str | None]:
        subjects = self._subjects
        if not subjects.asks:
            return subjects.function(ctx, name)
        return (yield partial(subjects.function, ctx, name, self._client, subjects.conf))

    def chosen(self, subject: str | None) -> Asked[RegisteredSchema | None]:
        """Which of the subject's schemas is to be used, if the configuration says it."""
        if subject is None or self.source is None or not self._chosen.is_any:
            return None
        return (yield from self.source.chosen(subject, *self._chosen, self.format.asked_as))


class _Unchanging:
    """Stands for a strategy that has nothing to forget."""

    changes = 0


def track_key(ctx: SerializationContext | None, key: Any) -> None:
    """For the actions of the rules of the value that comes next."""
    if ctx is not None and ctx.field == KEY:
        original_key.set(key)
    elif original_key.get() is not None:
        original_key.set(None)


class InvalidValueError(SerializationError, ValueError):
    """A value does not fit its schema; the message names the field. The original lets ValueErrors of other
    packages through."""
