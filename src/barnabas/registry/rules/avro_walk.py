"""Walks values of an Avro schema, for rules that are about fields.

A schema is read once, into nodes that know what they are; a value of a union is given to the first branch
that fastavro takes it for. Names and tags are the schema's. Messages are copied, not changed.
"""

# fastavro has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from barnabas.errors import MissingExtraError
from barnabas.formats.avro_resolution import loaded
from barnabas.formats.errors import SchemaError
from barnabas.registry.rules.context import FieldTransform, RuleContext
from barnabas.registry.rules.errors import RuleConditionError
from barnabas.registry.rules.kinds import FieldType, RuleKind
from barnabas.registry.rules.validation import (
    VALIDATION_RULES_PROP,
    Findings,
    ValidationRule,
    ValidationRuleError,
    ValidationRuleExecutor,
    parse_validation_rules,
)

TAGS_PROP = "confluent:tags"
_FIELD_TYPES = {
    **{kind: FieldType(kind.upper()) for kind in ("record", "enum", "array", "map", "fixed", "string")},
    **{kind: FieldType(kind.upper()) for kind in ("bytes", "int", "long", "float", "double", "boolean")},
    "error": FieldType.RECORD,
    "union": FieldType.COMBINED,
    "null": FieldType.NULL,
}


@dataclass(eq=False, slots=True)
class _Node:
    """A type. `parts`: a union's branches, or the one type of what is in an array or a map."""

    kind: str
    schema: Any
    name: str = ""
    parts: list[_Node] = field(default_factory=list["_Node"])
    fields: list[_Field] = field(default_factory=list["_Field"])
    rules: list[ValidationRule] = field(default_factory=list[ValidationRule])

    @property
    def field_type(self) -> FieldType:
        return _FIELD_TYPES[self.kind]


@dataclass(eq=False, slots=True)
class _Field:
    name: str
    full_name: str
    type: _Node
    rules: list[ValidationRule]


class AvroWalk:
    """Of one schema. `references`: the texts of schemas whose names it uses, each after what it needs. All
    threads may share one. Raises: SchemaError, MissingExtraError."""

    def __init__(self, schema: str, references: Sequence[str] = ()) -> None:
        try:
            from fastavro.schema import parse_schema
            from fastavro.validation import validate
        except ImportError:
            raise MissingExtraError("rules for fields of Avro", "avro") from None
        self._validate = validate
        self._named: dict[str, Any] = {}
        try:
            for text in references:
                parse_schema(loaded(text), self._named)
            parsed = parse_schema(loaded(schema), self._named)
        except Exception as error:
            # fastavro has errors of several kinds for it.
            raise SchemaError(f"the Avro schema is broken: {error}") from None
        self._nodes: dict[str, _Node] = {}
        self.inline_tags: dict[str, set[str]] = {}
        """Of fields, by full name."""
        self._root = self._node(parsed)

    def _node(self, schema: Any) -> _Node:
        if isinstance(schema, list):
            return _Node("union", schema, parts=[self._node(branch) for branch in schema])
        if isinstance(schema, str):
            return _Node(schema, schema) if schema in _FIELD_TYPES else self._named_node(schema)
        kind = schema["type"]
        if kind in ("record", "error", "enum", "fixed"):
            return self._named_node(schema["name"])
        if kind in ("array", "map"):
            return _Node(
                kind,
                self._alone(schema),
                parts=[self._node(schema["items" if kind == "array" else "values"])],
            )
        if isinstance(kind, str) and kind in _FIELD_TYPES:
            return _Node(kind, schema)
        return self._node(kind)

    def _named_node(self, name: str) -> _Node:
        known = self._nodes.get(name)
        if known is not None:
            return known
        schema = self._named[name]
        node = self._nodes[name] = _Node(schema["type"], self._alone(schema), name)
        if node.kind in ("record", "error"):
            node.rules = parse_validation_rules(schema.get(VALIDATION_RULES_PROP))
            for each in schema["fields"]:
                full_name = f"{name}.{each['name']}"
                if each.get(TAGS_PROP):
                    self.inline_tags.setdefault(full_name, set()).update(each[TAGS_PROP])
                rules = parse_validation_rules(each.get(VALIDATION_RULES_PROP))
                node.fields.append(_Field(each["name"], full_name, self._node(each["type"]), rules))
        return node

    def _alone(self, schema: Mapping[str, Any]) -> Any:
        """So that fastavro need not be told again what it names."""
        return {**schema, "__fastavro_parsed": True, "__named_schemas": self._named}

    # Unions

    def _takes(self, branch: _Node, value: Any) -> bool:
        if value is None or branch.kind == "null":
            return value is None and branch.kind == "null"
        try:
            return bool(self._validate(value, branch.schema, raise_errors=False))
        except Exception:
            # Of a value's own making.
            return False

    def _branch(self, union: _Node, value: Any) -> tuple[_Node | None, Any]:
        """Which one a value is for, and the value without the branch's name."""
        name, inner = None, value
        if isinstance(value, tuple) and len(cast(tuple[Any, ...], value)) == 2:
            name, inner = cast(tuple[Any, Any], value)
        elif isinstance(value, dict) and "-type" in value:
            name = cast(dict[str, Any], value)["-type"]
        if name is None:
            return next((each for each in union.parts if self._takes(each, value)), None), value
        for each in union.parts:
            if name == (each.name or each.kind):
                return each, inner
        for each in union.parts:
            if each.name and "." not in each.name and str(name).rpartition(".")[2] == each.name:
                return each, inner
        return None, value

    # Transformations

    def transform(self, ctx: RuleContext, field_transform: FieldTransform, message: Any) -> Any:
        """A FieldTransformer: what becomes of the fields that the rule is for."""
        return self._transformed(ctx, self._root, message, field_transform)

    def _transformed(self, ctx: RuleContext, node: _Node, value: Any, change: FieldTransform) -> Any:
        current = ctx.current_field()
        if current is not None:
            current.field_type = node.field_type
        if node.kind == "union":
            branch, inner = self._branch(node, value)
            if branch is None:
                return value
            changed = self._transformed(ctx, branch, inner, change)
            if isinstance(value, tuple) and self._takes(branch, changed):
                return (cast(tuple[Any, Any], value)[0], changed)
            return changed
        if node.kind == "array":
            if not isinstance(value, list):
                return value
            return [self._transformed(ctx, node.parts[0], each, change) for each in cast(list[Any], value)]
        if node.kind == "map":
            if not isinstance(value, dict):
                return value
            items = cast(dict[str, Any], value).items()
            return {key: self._transformed(ctx, node.parts[0], each, change) for key, each in items}
        if node.kind in ("record", "error"):
            return self._transformed_record(ctx, node, value, change) if isinstance(value, dict) else value
        if current is not None and (not ctx.rule.tags or not current.tags.isdisjoint(ctx.rule.tags)):
            return change(ctx, current, value)
        return value

    def _transformed_record(self, ctx: RuleContext, node: _Node, value: Any, change: FieldTransform) -> Any:
        record: dict[str, Any] = copy.copy(value)
        for each in node.fields:
            if each.name not in record:
                continue
            ctx.enter_field(record, each.full_name, each.name, each.type.field_type, None)
            # What fails leaves the field where it is, for the error to name it.
            changed = self._transformed(ctx, each.type, record[each.name], change)
            if ctx.rule.kind != RuleKind.CONDITION:
                record[each.name] = changed
            elif changed is False:
                raise RuleConditionError(ctx.rule)
            ctx.exit_field()
        return record

    # Conditions in the schema itself

    def violations(
        self, executor: ValidationRuleExecutor, message: Any, *, stops_at_first: bool = False
    ) -> list[ValidationRuleError]:
        """What does not hold of the conditions that the schema has for its records and fields."""
        findings = Findings(executor, stops_at_first)
        self._check(findings, self._root, message, "")
        return findings.found

    def _check(self, findings: Findings, node: _Node, value: Any, path: str) -> None:
        if findings.is_enough or value is None:
            return
        if node.kind == "union":
            branch, inner = self._branch(node, value)
            if branch is not None:
                self._check(findings, branch, inner, path)
        elif node.kind == "array" and isinstance(value, list):
            for number, each in enumerate(cast(list[Any], value)):
                self._check(findings, node.parts[0], each, f"{path}[{number}]")
        elif node.kind == "map" and isinstance(value, dict):
            for key, each in cast(dict[str, Any], value).items():
                self._check(findings, node.parts[0], each, f'{path}["{key}"]')
        elif node.kind in ("record", "error") and isinstance(value, dict):
            findings.check(node.rules, node.schema, path, value)
            for each in node.fields:
                inner = cast(dict[str, Any], value).get(each.name)
                place = f"{path}.{each.name}" if path else each.name
                if inner is not None:
                    findings.check(each.rules, each.type.schema, place, inner)
                self._check(findings, each.type, inner, place)
