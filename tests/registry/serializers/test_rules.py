"""Rules of schemas in serializers: where Confluent's run, on fields and bytes, and between versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.registry.serializers.conftest import TheirRegistry
from tests.registry.serializers.test_protobuf import Refund

from barnabas.errors import SerializationError
from barnabas.registry import (
    AvroDeserializer,
    AvroSerializer,
    InlineRules,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Rule,
    RuleSet,
    Schema,
)
from barnabas.registry.rules import (
    FieldRuleExecutor,
    FieldTransform,
    RuleAction,
    RuleContext,
    RuleExecutor,
    RuleMode,
    RuleRegistry,
)
from barnabas.registry.rules.validation import ValidationRule, ValidationRuleExecutor

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "name", "type": "string", "confluent:tags": ["PII"]},
            {"name": "city", "type": ["null", "string"]},
            {
                "name": "mails",
                "type": {"type": "array", "items": "string"},
                "confluent:tags": ["PII"],
                "confluent:rules": [{"name": "some", "expr": "len"}],
            },
        ],
    }
)
JSON = json.dumps(
    {
        "title": "Person",
        "type": "object",
        "properties": {
            "name": {"type": "string", "confluent:tags": ["PII"]},
            "city": {"type": ["null", "string"]},
            "mails": {
                "type": "array",
                "items": {"$ref": "#/definitions/mail"},
                "confluent:tags": ["PII"],
                "confluent:rules": [{"name": "some", "expr": "len"}],
            },
            "either": {
                "oneOf": [{"$ref": "#/definitions/mail"}, {"type": "integer"}],
                "confluent:tags": ["PII"],
            },
        },
        "definitions": {"mail": {"type": "string"}},
    }
)
PERSON = {"name": "Ada", "city": "Köln", "mails": ["a@x", "b@x"]}


class Turned(FieldRuleExecutor):
    """Turns texts around, which undoes itself."""

    def type(self) -> str:
        return "TURN"

    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        return lambda ctx, field, value: value[::-1] if isinstance(value, str) else value


class Xor(RuleExecutor):
    """Of bytes, which undoes itself."""

    def type(self) -> str:
        return "XOR"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        return bytes(byte ^ 0x55 for byte in message)


class Renamed(RuleExecutor):
    """Between versions: `town` was `city`."""

    def type(self) -> str:
        return "RENAME"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        before, after = ("city", "town") if ctx.rule_mode == RuleMode.UPGRADE else ("town", "city")
        return {(after if key == before else key): value for key, value in message.items()}


class Replaced(RuleExecutor):
    """Between versions of a message: it becomes what a function makes of it, and that is kept."""

    def __init__(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._change = change
        self.seen: list[dict[str, Any]] = []

    def type(self) -> str:
        return "REPLACE"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        self.seen.append(message)
        return self._change(message)


class Never(RuleExecutor):
    def type(self) -> str:
        return "NEVER"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        return False


class Kept(RuleAction):
    def __init__(self) -> None:
        self.kept: list[tuple[Any, Any]] = []

    def type(self) -> str:
        return "KEEP"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        self.kept.append((ctx.original_key, ctx.original_value))


class NotEmpty(ValidationRuleExecutor):
    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> bool:
        return len(message) > 0


@pytest.fixture
def executors() -> RuleRegistry:
    found = RuleRegistry()
    for executor in (Turned(), Xor(), Renamed(), Never()):
        found.register_executor(executor)
    return found


def turning(*, mode: str = "WRITEREAD", encoding: bool = False) -> RuleSet:
    rule = Rule("turn", kind="TRANSFORM", mode=mode, type="TURN", tags=["PII"])
    xor = (Rule("xor", kind="TRANSFORM", mode="WRITEREAD", type="XOR"),) if encoding else ()
    return RuleSet(domain_rules=(rule,), encoding_rules=xor)


FORMATS = [(AVRO, "AVRO", AvroSerializer, AvroDeserializer), (JSON, "JSON", JSONSerializer, JSONDeserializer)]


@pytest.mark.parametrize(("text", "type", "writes", "reads"), FORMATS)
def test_fields_with_a_rules_tag_are_changed_and_others_are_not(
    registry: TheirRegistry, executors: RuleRegistry, text: str, type: str, writes: Any, reads: Any
) -> None:
    schema = Schema(text, type, rule_set=turning())
    given = json.loads(json.dumps(PERSON))
    data = writes(registry, schema, rule_registry=executors)("people", given)
    assert given == PERSON
    plain = reads(registry, rule_registry=RuleRegistry(), use_latest_version=False)
    with pytest.raises(SerializationError, match="TURN"):
        plain("people", data)
    unruled = reads(registry, Schema(text, type, rule_set=RuleSet()))("people", data)
    assert unruled == {"name": "adA", "city": "Köln", "mails": ["x@a", "x@b"]}
    assert reads(registry, rule_registry=executors)("people", data) == PERSON


def test_alternatives_are_walked_that_the_value_is_valid_by(
    registry: TheirRegistry, executors: RuleRegistry
) -> None:
    schema = Schema(JSON, "JSON", rule_set=turning(mode="WRITE"))
    serializer = JSONSerializer(registry, schema, rule_registry=executors)
    assert json.loads(serializer("people", {"either": "abc"})[5:]) == {"either": "cba"}
    assert json.loads(serializer("people", {"either": 12})[5:]) == {"either": 12}


@pytest.mark.parametrize(("text", "type", "writes", "reads"), FORMATS)
def test_rules_of_bytes_are_behind_those_of_messages(
    registry: TheirRegistry, executors: RuleRegistry, text: str, type: str, writes: Any, reads: Any
) -> None:
    schema = Schema(text, type, rule_set=turning(encoding=True))
    data = writes(registry, schema, rule_registry=executors)("people", PERSON)
    bare = writes(registry, Schema(text, type, rule_set=turning()), rule_registry=executors)("others", PERSON)
    assert bytes(byte ^ 0x55 for byte in data[5:]) == bare[5:]
    assert reads(registry, rule_registry=executors)("people", data) == PERSON


@pytest.mark.parametrize(("text", "type", "writes", "reads"), FORMATS)
def test_what_an_older_version_has_is_migrated_to_the_latest_and_back(
    registry: TheirRegistry, executors: RuleRegistry, text: str, type: str, writes: Any, reads: Any
) -> None:
    later = text.replace('"city"', '"town"')
    rename = Rule("rename", kind="TRANSFORM", mode="UPDOWN", type="RENAME")
    first = registry.run(registry.calls.register("people-value", Schema(text, type)))
    old = writes(registry, Schema(text, type), rule_registry=executors)("people", PERSON)
    registry.run(
        registry.calls.register(
            "people-value", Schema(later, type, rule_set=RuleSet(migration_rules=(rename,)))
        )
    )
    reader = reads(registry, rule_registry=executors, use_latest_version=True)
    assert reader("people", old) == {"name": "Ada", "town": "Köln", "mails": ["a@x", "b@x"]}
    assert old[1:5] == first.id.to_bytes(4)


def test_messages_of_protobuf_are_ruled_by_the_latest_schema(
    registry: TheirRegistry, executors: RuleRegistry
) -> None:
    text = 'syntax = "proto3"; package shop; message Refund { int64 id = 1; string note = 2; }'
    rule = Rule("turn", kind="TRANSFORM", mode="WRITEREAD", type="TURN")
    registry.run(
        registry.calls.register(
            "refunds-value", Schema(text, "PROTOBUF", rule_set=RuleSet(domain_rules=(rule,)))
        )
    )
    serializer = ProtobufSerializer(registry, Refund, use_latest_version=True, rule_registry=executors)
    given = Refund(id=1, note="abc")
    data = serializer("refunds", given)
    # Alone in the registered file, the second one in that of its class.
    assert data[5:6] == b"\0"
    assert given.note == "abc"
    assert Refund.FromString(data[6:]).note == "cba"
    assert ProtobufDeserializer(registry, Refund, rule_registry=executors)("refunds", data) == given


CLAIM = 'syntax = "proto3"; package claims; message Claim { int64 claim_id = 1; string note = 2; }'
LATER_CLAIM = CLAIM.replace("string note = 2", "repeated string remarks = 3")


def register_two_claims(registry: TheirRegistry) -> bytes:
    """A message of the first version, when there is a second one with a migration."""
    change = Rule("change", kind="TRANSFORM", mode="UPDOWN", type="REPLACE")
    first = Schema(CLAIM, "PROTOBUF")
    second = Schema(LATER_CLAIM, "PROTOBUF", rule_set=RuleSet(migration_rules=(change,)))
    found = registry.run(registry.calls.register("claims-value", first))
    registry.run(registry.calls.register("claims-value", second))
    return b"\0" + found.id.to_bytes(4) + b"\0" + b"\x08\x05\x12\x04late"


def test_messages_of_protobuf_are_migrated_as_what_they_are_in_json(registry: TheirRegistry) -> None:
    old = register_two_claims(registry)
    executors = RuleRegistry()
    replaced = Replaced(lambda claim: {"claimId": claim["claimId"], "remarks": [claim["note"], "migrated"]})
    executors.register_executor(replaced)
    claim = ProtobufDeserializer(registry, rule_registry=executors, use_latest_version=True)("claims", old)
    assert replaced.seen == [{"claimId": "5", "note": "late"}]
    assert (claim.claim_id, list(claim.remarks)) == (5, ["late", "migrated"])
    assert claim.DESCRIPTOR.full_name == "claims.Claim"


def test_what_a_migration_makes_has_to_be_of_the_latest_message(registry: TheirRegistry) -> None:
    old = register_two_claims(registry)
    executors = RuleRegistry()
    executors.register_executor(Replaced(lambda claim: claim))
    reader = ProtobufDeserializer(registry, rule_registry=executors, use_latest_version=True)
    with pytest.raises(SerializationError, match=r"what the migrations made is no claims\.Claim: .*note"):
        reader("claims", old)


def test_a_condition_that_does_not_hold_is_an_error_or_an_actions_with_the_key(
    registry: TheirRegistry, executors: RuleRegistry
) -> None:
    kept = Kept()
    executors.register_action(kept)
    for on_failure in (None, "KEEP"):
        rule = Rule("no", kind="CONDITION", mode="WRITE", type="NEVER", on_failure=on_failure)
        schema = Schema(AVRO, rule_set=RuleSet(domain_rules=(rule,)))
        serializer = AvroSerializer(registry, schema, rule_registry=executors)
        keys = AvroSerializer(registry, '"string"', rule_registry=executors)
        keys("people", "the key", is_key=True)
        if on_failure is None:
            with pytest.raises(SerializationError, match="no"):
                serializer("people", PERSON)
        else:
            serializer("people", PERSON)
            serializer("people", PERSON)
    assert kept.kept == [("the key", PERSON), (None, PERSON)]


@pytest.mark.parametrize(("text", "type", "writes", "reads"), FORMATS)
@pytest.mark.parametrize("time", ["before_rules", "after_rules"])
def test_conditions_in_the_schema_are_checked_where_it_is_wanted(
    registry: TheirRegistry, text: str, type: str, writes: Any, reads: Any, time: Any
) -> None:
    serializer = writes(registry, Schema(text, type), inline_rules=InlineRules(time, NotEmpty()))
    serializer("people", PERSON)
    with pytest.raises(SerializationError, match=r"1 violation.*\n.*mails: some"):
        serializer("people", {**PERSON, "mails": []})
    writes(registry, Schema(text, type))("people", {**PERSON, "mails": []})
