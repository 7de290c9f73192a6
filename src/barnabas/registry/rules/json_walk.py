"""Walks values of a JSON Schema, for rules that are about fields.

Paths begin with `$`. Of alternatives (`oneOf`, `anyOf`, a list of types) those are walked that the value is
valid by. Messages are copied, not changed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

from barnabas.errors import SerializationError
from barnabas.formats.json_schema_documents import Documents, Place
from barnabas.formats.json_values import JsonValues
from barnabas.registry.rules.context import FieldTransform, RuleContext
from barnabas.registry.rules.errors import RuleConditionError
from barnabas.registry.rules.kinds import FieldType, RuleKind
from barnabas.registry.rules.validation import (
    VALIDATION_RULES_PROP,
    Findings,
    ValidationRuleError,
    ValidationRuleExecutor,
    parse_validation_rules,
)

JsonObject = dict[str, Any]

TAGS_PROP = "confluent:tags"
ROOT_NAME = "barnabas-root.json"
"""What the schema is called as a reference of its own parts."""
_FIELD_TYPES = {
    "array": FieldType.ARRAY,
    "string": FieldType.STRING,
    "integer": FieldType.INT,
    "number": FieldType.DOUBLE,
    "boolean": FieldType.BOOLEAN,
    "null": FieldType.NULL,
}
# What has no parts, and so is a rule's to change.
_LEAVES = (FieldType.ENUM, FieldType.STRING, FieldType.INT, FieldType.DOUBLE, FieldType.BOOLEAN)


class JsonWalk:
    """Of one schema. `references`: the texts of what it refers to, by the names in `$ref`. All threads may
    share one. Raises: SchemaError, MissingExtraError."""

    inline_tags = None
    """Tags come with each field."""

    def __init__(self, schema: str, references: Mapping[str, str] | None = None) -> None:
        self._documents = Documents(schema, references)
        self._texts = {**(references or {}), ROOT_NAME: schema}
        # Documents are read when something refers to them.
        self._lock = threading.RLock()
        self._values: dict[str, JsonValues] = {}

    def _takes(self, place: Place, kind: str | None, value: Any) -> bool:
        """Whether a value is valid by what is there; with `kind`, as if that were its type."""
        key = f"{place.document or ROOT_NAME}#{place.pointer.partition('#')[2]} {kind or ''}"
        with self._lock:
            values = self._values.get(key)
            if values is None:
                reference = key.partition(" ")[0]
                schema: JsonObject = {"allOf": [{"$ref": reference}]}
                if kind is not None:
                    schema["type"] = kind
                told = words_of(self._documents.root).get("$schema")
                if told is not None:
                    schema["$schema"] = told
                values = JsonValues(json.dumps(schema), references=self._texts)
                self._values[key] = values
        try:
            values.check(value)
        except SerializationError:
            return False
        return True

    def _resolved(self, place: Place) -> Place:
        with self._lock:
            for _ in range(len(self._texts) + 100):
                reference = words_of(place).get("$ref")
                if not isinstance(reference, str):
                    return place
                place = self._documents.resolve(reference, place)
        return place

    def _parts(self, place: Place, value: Any) -> Iterator[tuple[Place, str | None]]:
        """The alternatives that a value is walked by besides what is there itself, each with the type that
        was chosen for it."""
        schema: JsonObject = place.schema
        for word in ("allOf", "oneOf", "anyOf"):
            if word not in schema:
                continue
            for number in range(len(schema[word])):
                part = self._resolved(self._documents.child(place, word, str(number)))
                if word == "allOf":
                    yield part, None
                elif words_of(part) and self._takes(part, None, value):
                    yield part, None
                    if word == "oneOf":
                        break
            # As Confluent's clients have it: of the three words only the first counts.
            return

    # Transformations

    def transform(self, ctx: RuleContext, field_transform: FieldTransform, message: Any) -> Any:
        """A FieldTransformer: what becomes of the fields that the rule is for."""
        return self._transformed(ctx, self._documents.root, None, "$", message, field_transform)

    def _transformed(
        self,
        ctx: RuleContext,
        place: Place,
        kind: str | None,
        path: str,
        value: Any,
        change: FieldTransform,
    ) -> Any:
        """`kind`: of several types that a schema has, the value's."""
        place = self._resolved(place)
        schema = words_of(place)
        if value is None or not schema:
            return value
        if kind is None and isinstance(schema.get("type"), list):
            kind = next((each for each in schema["type"] if self._takes(place, each, value)), None)
        current = ctx.current_field()
        if current is not None:
            current.field_type = field_type(schema, kind)
        has_parts = any(word in schema for word in ("allOf", "oneOf", "anyOf"))
        for part, chosen in self._parts(place, value):
            value = self._transformed(ctx, part, chosen, path, value, change)
        if "items" in schema and isinstance(value, list):
            return self._transformed_items(ctx, place, path, cast(list[Any], value), change)
        if isinstance(value, dict):
            return self._transformed_object(ctx, place, path, cast(JsonObject, value), change)
        is_leaf = not has_parts and field_type(schema, kind) in _LEAVES
        if current is None or not is_leaf or (ctx.rule.tags and current.tags.isdisjoint(ctx.rule.tags)):
            return value
        return change(ctx, current, value)

    def _transformed_items(
        self, ctx: RuleContext, place: Place, path: str, items: list[Any], change: FieldTransform
    ) -> list[Any]:
        if isinstance(place.schema["items"], list):
            return items
        item = self._documents.child(place, "items")
        return [self._transformed(ctx, item, None, path, each, change) for each in items]

    def _transformed_object(
        self, ctx: RuleContext, place: Place, path: str, value: JsonObject, change: FieldTransform
    ) -> JsonObject:
        changed = dict(value)
        for name, schema in self._properties(place):
            if value.get(name) is None:
                continue
            full_name = f"{path}.{name}"
            tags = words_of(schema).get(TAGS_PROP) or ()
            ctx.enter_field(changed, full_name, name, field_type(schema.schema, None), tags)
            # What fails leaves the field where it is, for the error to name it.
            found = self._transformed(ctx, schema, None, full_name, value[name], change)
            if ctx.rule.kind != RuleKind.CONDITION:
                changed[name] = found
            elif found is False:
                raise RuleConditionError(ctx.rule)
            ctx.exit_field()
        return changed

    def _properties(self, place: Place) -> Iterator[tuple[str, Place]]:
        properties = words_of(place).get("properties")
        if isinstance(properties, dict):
            for name, schema in cast(JsonObject, properties).items():
                if isinstance(schema, dict):
                    yield name, self._documents.child(place, "properties", name)

    # Conditions in the schema itself

    def violations(
        self, executor: ValidationRuleExecutor, message: Any, *, stops_at_first: bool = False
    ) -> list[ValidationRuleError]:
        """What does not hold of the conditions that the schema has for its objects and properties."""
        findings = Findings(executor, stops_at_first)
        self._check(findings, self._documents.root, "$", message)
        return findings.found

    def _check(self, findings: Findings, place: Place, path: str, value: Any) -> None:
        place = self._resolved(place)
        schema = words_of(place)
        if findings.is_enough or value is None or not schema:
            return
        for part, _ in self._parts(place, value):
            self._check(findings, part, path, value)
        if isinstance(value, list):
            if isinstance(schema.get("items"), dict):
                item = self._documents.child(place, "items")
                for number, each in enumerate(cast(list[Any], value)):
                    self._check(findings, item, f"{path}[{number}]", each)
        elif isinstance(value, dict):
            findings.check(parse_validation_rules(schema.get(VALIDATION_RULES_PROP)), schema, path, value)
            for name, inner in self._properties(place):
                found = cast(JsonObject, value).get(name)
                if found is None:
                    continue
                full_name = f"{path}.{name}"
                rules = parse_validation_rules(words_of(inner).get(VALIDATION_RULES_PROP))
                findings.check(rules, words_of(inner), full_name, found)
                self._check(findings, inner, full_name, found)


def words_of(place: Place) -> JsonObject:
    """Of a schema; `true` and `false` have none."""
    schema: Any = place.schema
    return cast(JsonObject, schema) if isinstance(schema, dict) else {}


def field_type(schema: Any, kind: str | None) -> FieldType:
    """`kind`: in place of the schema's type."""
    if not isinstance(schema, dict):
        return FieldType.COMBINED
    found = cast(JsonObject, schema)
    if found.get("const") is not None or found.get("enum") is not None:
        return FieldType.ENUM
    told = kind or found.get("type")
    if told == "object":
        return FieldType.RECORD if found.get("properties") else FieldType.MAP
    if isinstance(told, str) and told in _FIELD_TYPES:
        return _FIELD_TYPES[told]
    return FieldType.RECORD if "properties" in found else FieldType.NULL
