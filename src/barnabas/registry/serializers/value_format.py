"""What serializers need of a format: what a schema's text means, with all that it refers to.

Knows nothing of subjects, ids or rules. One of these belongs to one serializer or deserializer, with the
options that only this format has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from barnabas.registry.references import Referenced
from barnabas.registry.rules.context import FieldTransform, RuleContext
from barnabas.registry.rules.validation import ValidationRuleError, ValidationRuleExecutor
from barnabas.registry.schemas import Schema

Encode = Callable[[Any, bytes], bytes]
"""`encode(value, header)` gives the value's bytes behind `header`."""
Decode = Callable[[Any, int], Any]
"""`decode(data, offset)` gives the value of the bytes behind `offset`."""


class Walk(Protocol):
    """Knows the fields of a schema's values."""

    @property
    def inline_tags(self) -> Mapping[str, set[str]] | None:
        """Of fields, by their full names; None where `transform` brings them."""
        ...

    def transform(self, ctx: RuleContext, field_transform: FieldTransform, message: Any) -> Any:
        """What a rule makes of the fields of `message`."""
        ...

    def violations(
        self, executor: ValidationRuleExecutor, message: Any, *, stops_at_first: bool = ...
    ) -> list[ValidationRuleError]:
        """Of the conditions that the schema's text itself has for records and fields."""
        ...


class ReadSchema(ABC):
    """A schema that was read. All threads share one."""

    name: str | None = None
    """Of the record that it describes, by which subjects may be named."""

    encode: Encode
    """Raises: SerializationError."""

    @abstractmethod
    def walk(self) -> Walk:
        """For rules."""

    @abstractmethod
    def shape(self) -> Any:
        """Equal for schemas of which the same values have the same bytes, whatever they say besides:
        comments, tags, conditions."""

    @abstractmethod
    def tags(self) -> set[str]:
        """All that the schema's text has on fields."""


S = TypeVar("S", bound=ReadSchema)


class ValueFormat(ABC, Generic[S]):
    """How schemas of one type are read, and values with them."""

    type: str
    asked_as: str | None = None
    """In which of the registry's formats schemas are asked for."""

    @abstractmethod
    def read(self, schema: Schema, references: Sequence[Referenced]) -> S:
        """`references`: all that is referred to, at however many removes, each after what it needs. Raises:
        SchemaError."""

    @abstractmethod
    def decoder(self, writer: S | None, reader: S | None, indexes: Sequence[int] | None) -> Decode:
        """From bytes to values, if there are no rules. None: the writer's is not known; the reader's is the
        writer's."""

    @abstractmethod
    def rule_decoder(
        self, writer: S | None, reader: S | None, indexes: Sequence[int] | None, *, migrates: bool
    ) -> Decode:
        """From bytes to what the rules are given: those of migrations if there are any."""

    def plain(self, value: Any) -> Any:
        """What rules are given of what is to be written."""
        return value

    def resolver(self, writer: S | None, reader: S | None) -> Callable[[Any], Any] | None:
        """What makes a value of the reader's schema of one of the writer's; None: they are the same."""
        return None

    def after_migrations(self, value: Any, reader: S | None) -> Any:
        """What the reader's own rules are given."""
        return value

    def after_rules(self, value: Any, reader: S | None) -> Any:
        """What the caller is given."""
        return value

    def record_name(self, writer: S, indexes: Sequence[int] | None) -> str | None:
        """Of data that was written so."""
        return writer.name

    def is_built_in(self, name: str) -> bool:
        """Whether a reference by this name needs no registry."""
        return False
