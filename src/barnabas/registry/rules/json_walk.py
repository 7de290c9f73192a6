"""Walks values of a JSON Schema, for rules that are about fields.

A field's full name is its path, `$.order.name`. Of `oneOf` and `anyOf` those count that take the value, which
jsonschema-rs decides. Messages are copied, not changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import quote

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

NO_REFERENCES: Mapping[str, str] = MappingProxyType({})
ROOT = "the-schema-itself.json"
"""What the schema is called as a reference of its own parts."""
TAGS_KEYWORD = "confluent:tags"
# Whose values rules are given.
VALUES = (FieldType.ENUM, FieldType.STRING, FieldType.INT, FieldType.DOUBLE, FieldType.BOOLEAN)
_FIELD_TYPES = {
    "array": FieldType.ARRAY,
    "string": FieldType.STRING,
    "integer": FieldType.INT,
    "number": FieldType.DOUBLE,
    "boolean": FieldType.BOOLEAN,
    "null": FieldType.NULL,
}


class JsonWalk:
    """Of one schema. `references`: the texts of the schemas that it refers to, by the names in `$ref`. All
    threads may share one. Raises: SchemaError."""

    inline_tags = None
    """Tags come with each field."""

    def __init__(self, schema: str, references: Mapping[str, str] = NO_REFERENCES) -> None:
        self._documents = Documents(schema, references)
        self._texts = {**references, ROOT: schema}
        self._values: dict[tuple[str, tuple[str, ...]], JsonValues] = {}

    # What takes a value

    def _takes(self, place: Place, value: Any) -> bool:
        key = (place.document, place.path)
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = self._values_of(place)
        try:
            values.check(value)
        except SerializationError:
            return False
        return True

    def _values_of(self, place: Place) -> JsonValues:
        steps = (quote(step.replace("~", "~0").replace("/", "~1")) for step in place.path)
        schema = {"$ref": "/".join([f"{place.document or ROOT}#", *steps])}
        root: Any = self._documents.root.schema
        if isinstance(root, dict) and "$schema" in root:
            schema["$schema"] = cast(dict[str, Any], root)["$schema"]
        return JsonValues(json.dumps(schema), references=self._texts)

    def _narrowed(self, place: Place, value: Any) -> Place | None:
        """The same schema with the one of its types that the value has."""
        if not self._takes(place, value):
            return None
        kind = next((each for each in place.schema["type"] if _is_of(each, value)), None)
        return None if kind is None else replace(place, schema={**place.schema, "type": kind})

    def _combined(self, place: Place, value: Callable[[], Any]) -> Iterator[Place] | None:
        """The schemas that are combined and take the value, one after another; None if none are."""
        schema = place.schema
        keyword = next((name for name in ("allOf", "oneOf", "anyOf") if schema.get(name) is not None), None)
        return None if keyword is None else self._combined_by(keyword, place, value)

    def _combined_by(self, keyword: str, place: Place, value: Callable[[], Any]) -> Iterator[Place]:
        for number in range(len(place.schema[keyword])):
            branch = self._documents.child(place, keyword, str(number))
            if keyword == "allOf":
                yield branch
            elif isinstance(branch.schema, dict) and self._takes(branch, value()):
                ref = cast(dict[str, Any], branch.schema).get("$ref")
                yield branch if ref is None else self._documents.resolve(ref, branch)
                if keyword == "oneOf":
                    return

    def _items(self, place: Place, count: int) -> list[Place | None] | None:
        """The schemas of a list's values; None if there are none."""
        items = place.schema.get("items")
        first = (
            "prefixItems" if "prefixItems" in place.schema else "items" if isinstance(items, list) else None
        )
        if items is None and first is None:
            return None
        rest = None if items is None or first == "items" else self._documents.child(place, "items")
        known: list[Any] = place.schema[first][:count] if first is not None else []
        places: list[Place | None] = [
            self._documents.child(place, str(first), str(number)) for number in range(len(known))
        ]
        return places + [rest] * (count - len(places))

    def _properties(self, place: Place) -> Iterator[tuple[str, Place]]:
        properties: dict[str, Any] = place.schema.get("properties") or {}
        for name, schema in properties.items():
            if isinstance(schema, dict):
                yield name, self._documents.child(place, "properties", name)

    # Transformations

    def transform(self, ctx: RuleContext, field_transform: FieldTransform, message: Any) -> Any:
        """A FieldTransformer: what becomes of the fields that the rule is for."""
        return self._transformed(ctx, self._documents.root, "$", message, field_transform)

    def _transformed(
        self, ctx: RuleContext, place: Place, path: str, value: Any, change: FieldTransform
    ) -> Any:
        found: Any = place.schema
        if value is None or not isinstance(found, dict):
            return value
        schema = cast(dict[str, Any], found)
        current = ctx.current_field()
        if current is not None:
            current.field_type = field_type(schema)
        if isinstance(schema.get("type"), list) and schema["type"]:
            narrowed = self._narrowed(place, value)
            if narrowed is not None:
                return self._transformed(ctx, narrowed, path, value, change)
        combined = self._combined(place, lambda: value)
        if combined is not None:
            for branch in combined:
                value = self._transformed(ctx, branch, path, value, change)
            if isinstance(value, dict):
                value = self._transformed_object(ctx, place, path, cast(dict[str, Any], value), change)
            return self._transformed_items(ctx, place, path, value, change)
        if isinstance(value, list) and (schema.get("items") is not None or "prefixItems" in schema):
            return self._transformed_items(ctx, place, path, cast(list[Any], value), change)
        if schema.get("$ref") is not None:
            target = self._documents.resolve(schema["$ref"], place)
            return self._transformed(ctx, target, path, value, change)
        kind = field_type(schema)
        if kind == FieldType.RECORD:
            if isinstance(value, dict):
                fields = cast(dict[str, Any], value)
                return self._transformed_object(ctx, place, path, fields, change)
            return cast(Any, value)
        is_for_it = not ctx.rule.tags or (current and not current.tags.isdisjoint(ctx.rule.tags))
        if kind in VALUES and current is not None and is_for_it:
            return change(ctx, current, value)
        return cast(Any, value)

    def _transformed_items(
        self, ctx: RuleContext, place: Place, path: str, value: Any, change: FieldTransform
    ) -> Any:
        if not isinstance(value, list):
            return value
        values = cast(list[Any], value)
        places = self._items(place, len(values))
        if places is None:
            return values
        return [
            each if item is None else self._transformed(ctx, item, path, each, change)
            for item, each in zip(places, values, strict=True)
        ]

    def _transformed_object(
        self, ctx: RuleContext, place: Place, path: str, value: dict[str, Any], change: FieldTransform
    ) -> Any:
        copied = copy.copy(value)
        for name, of_property in self._properties(place):
            if copied.get(name) is None:
                continue
            full_name = f"{path}.{name}"
            schema = of_property.schema
            ctx.enter_field(copied, full_name, name, field_type(schema), schema.get(TAGS_KEYWORD) or ())
            # What fails leaves the field where it is, for the error to name it.
            changed = self._transformed(ctx, of_property, full_name, copied[name], change)
            if ctx.rule.kind != RuleKind.CONDITION:
                copied[name] = changed
            elif changed is False:
                raise RuleConditionError(ctx.rule)
            ctx.exit_field()
        return copied

    # Conditions in the schema itself

    def violations(
        self, executor: ValidationRuleExecutor, message: Any, *, stops_at_first: bool = False
    ) -> list[ValidationRuleError]:
        """What does not hold of the conditions that the schema has for its objects and their properties."""
        findings = Findings(executor, stops_at_first)
        self._check(findings, self._documents.root, message, "$")
        return findings.found

    def _check(self, findings: Findings, place: Place, value: Any, path: str) -> None:
        found: Any = place.schema
        if findings.is_enough or value is None or not isinstance(found, dict):
            return
        schema = cast(dict[str, Any], found)
        if isinstance(schema.get("type"), list) and schema["type"]:
            narrowed = self._narrowed(place, value)
            if narrowed is not None:
                self._check(findings, narrowed, value, path)
            return
        combined = self._combined(place, lambda: value)
        if combined is not None:
            for branch in combined:
                self._check(findings, branch, value, path)
            self._check_object(findings, place, value, path)
            self._check_items(findings, place, value, path)
        elif isinstance(value, list) and (schema.get("items") is not None or "prefixItems" in schema):
            self._check_items(findings, place, value, path)
        elif schema.get("$ref") is not None:
            self._check(findings, self._documents.resolve(schema["$ref"], place), value, path)
        else:
            self._check_object(findings, place, value, path)

    def _check_items(self, findings: Findings, place: Place, value: Any, path: str) -> None:
        if isinstance(value, list):
            values = cast(list[Any], value)
            places = self._items(place, len(values)) or ()
            for number, (item, each) in enumerate(zip(places, values, strict=False)):
                if item is not None:
                    self._check(findings, item, each, f"{path}[{number}]")

    def _check_object(self, findings: Findings, place: Place, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            return
        fields = cast(dict[str, Any], value)
        findings.check(
            parse_validation_rules(place.schema.get(VALIDATION_RULES_PROP)), place.schema, path, fields
        )
        for name, of_property in self._properties(place):
            inner, full_name = fields.get(name), f"{path}.{name}"
            if inner is not None:
                rules = parse_validation_rules(of_property.schema.get(VALIDATION_RULES_PROP))
                findings.check(rules, of_property.schema, full_name, inner)
            self._check(findings, of_property, inner, full_name)


def field_type(schema: Mapping[str, Any]) -> FieldType:
    kind = schema.get("type")
    if schema.get("const") is not None or schema.get("enum") is not None:
        return FieldType.ENUM
    if kind == "object":
        return FieldType.RECORD if schema.get("properties") else FieldType.MAP
    if isinstance(kind, str) and kind in _FIELD_TYPES:
        return _FIELD_TYPES[kind]
    return FieldType.NULL if schema.get("properties") is None else FieldType.RECORD


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return kind in ("integer", "number")
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    kinds = {"string": str, "array": (list, tuple), "object": dict}
    return kind in kinds and isinstance(value, kinds[kind])
