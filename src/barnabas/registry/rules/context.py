"""What a rule knows of the message it is for: the schemas, the rule, and the field that is looked at.

The shapes are those of Confluent's client, so that executors and actions that were written for it run here.
Schemas, rules and metadata may be `barnabas.registry.schemas`'s or the original's: what is relied on are
their attributes (`rule_set`, `metadata`, `name`, `kind`, `mode`, `type`, `tags`, `params`, `expr`, `doc`,
`disabled`, `on_success`, `on_failure`), and that what holds a mapping is one, or has it in an attribute of
its own name, as the original's `rule.params.params`, `metadata.tags.tags` and
`metadata.properties.properties`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from barnabas.registry.rules.kinds import PRIMITIVE_TYPES, FieldType, RuleMode
from barnabas.registry.rules.wildcards import wildcard_match


class RecordPlace(Protocol):
    """Which part of which record is serialized. `field`: "key" or "value"; `headers`: pairs, or a mapping,
    or None."""

    @property
    def topic(self) -> str | None: ...
    @property
    def field(self) -> str: ...
    @property
    def headers(self) -> Any: ...


class FieldContext:
    """The field that is looked at. `full_name` and `name` are the schema's, `containing_message` is the
    caller's own. `field_descriptor`: the caller's protobuf FieldDescriptor, whose name may be another one
    than the schema's; None in other formats."""

    __slots__ = ("containing_message", "field_descriptor", "field_type", "full_name", "name", "tags")

    def __init__(
        self,
        containing_message: Any,
        full_name: str,
        name: str,
        field_type: FieldType,
        tags: set[str],
        field_descriptor: Any = None,
    ) -> None:
        self.containing_message = containing_message
        self.full_name = full_name
        self.name = name
        self.field_type = field_type
        self.tags = tags
        self.field_descriptor = field_descriptor

    def is_primitive(self) -> bool:
        return self.field_type in PRIMITIVE_TYPES

    def type_name(self) -> str:
        return self.field_type.name


class RuleContext:
    """One rule at one message. `rules`: all that are run, of which this one is at `index`. `inline_tags`: of
    fields by full name, where the format has them beside the schema. `field_transformer` walks the message.
    `original_key`, `original_value`: what was given before any rule."""

    __slots__ = (
        "_field_contexts",
        "enabled_env",
        "field_transformer",
        "index",
        "inline_tags",
        "original_key",
        "original_value",
        "rule",
        "rule_mode",
        "rules",
        "ser_ctx",
        "source",
        "subject",
        "target",
    )

    def __init__(
        self,
        enabled_env: str | None,
        ser_ctx: RecordPlace | None,
        source: Any,
        target: Any,
        subject: str,
        rule_mode: RuleMode,
        rule: Any,
        index: int,
        rules: Sequence[Any],
        inline_tags: Mapping[str, set[str]] | None,
        field_transformer: FieldTransformer | None,
        original_key: Any = None,
        original_value: Any = None,
    ) -> None:
        self.enabled_env = enabled_env
        self.ser_ctx = ser_ctx
        self.source = source
        self.target = target
        self.subject = subject
        self.rule_mode = rule_mode
        self.rule = rule
        self.index = index
        self.rules = rules
        self.inline_tags = inline_tags
        self.field_transformer = field_transformer
        self.original_key = original_key
        self.original_value = original_value
        self._field_contexts: list[FieldContext] = []

    def get_parameter(self, name: str) -> str | None:
        """Returns a parameter of the rule, or else a property of the target schema's metadata."""
        value = mapping_of(self.rule.params, "params").get(name)
        if value is None:
            metadata = self._metadata()
            value = None if metadata is None else mapping_of(metadata.properties, "properties").get(name)
        return value

    def current_field(self) -> FieldContext | None:
        return self._field_contexts[-1] if self._field_contexts else None

    def enter_field(
        self,
        containing_message: Any,
        full_name: str,
        name: str,
        field_type: FieldType,
        tags: Iterable[str] | None,
        field_descriptor: Any = None,
    ) -> FieldContext:
        """`tags`: None takes those of `inline_tags`. To be followed by `exit_field`."""
        if tags is None:
            tags = () if self.inline_tags is None else self.inline_tags.get(full_name, ())
        all_tags = {*tags, *self.get_tags(full_name)}
        field = FieldContext(containing_message, full_name, name, field_type, all_tags, field_descriptor)
        self._field_contexts.append(field)
        return field

    def get_tags(self, full_name: str) -> set[str]:
        """Those that the target schema's metadata has for a field."""
        metadata = self._metadata()
        found: set[str] = set()
        if metadata is not None:
            for pattern, tags in mapping_of(metadata.tags, "tags").items():
                if wildcard_match(full_name, pattern):
                    found.update(tags)
        return found

    def exit_field(self) -> None:
        if self._field_contexts:
            self._field_contexts.pop()

    def _metadata(self) -> Any:
        return None if self.target is None else self.target.metadata


FieldTransform = Callable[[RuleContext, FieldContext, Any], Any]
"""What becomes of a field's value."""
FieldTransformer = Callable[[RuleContext, FieldTransform, Any], Any]
"""Walks a message, asks the transform about each field that the rule is for, and gives the message."""


def mapping_of(holder: Any, name: str) -> Mapping[str, Any]:
    """A mapping that may be in an attribute of an object of its own, or be None."""
    if holder is None:
        return {}
    if isinstance(holder, Mapping):
        return cast(Mapping[str, Any], holder)
    return getattr(holder, name) or {}
