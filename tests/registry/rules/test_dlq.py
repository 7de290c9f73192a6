"""Records for which a rule failed, in a dead letter topic of a real broker, beside the original's."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.common import avro as original_avro
from confluent_kafka.schema_registry.rules.dlq.dlq_action import DlqAction as OriginalAction
from confluent_kafka.serialization import SerializationError as OriginalSerializationError
from fastavro.schema import expand_schema
from google.protobuf import struct_pb2

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition, aio
from barnabas.errors import InvalidSettingError, SerializationError
from barnabas.registry import Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules import DlqAction, dlq
from barnabas.registry.rules.avro_walk import AvroWalk
from barnabas.registry.rules.engine import RuleEngine, clear_original_key, set_original_key

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string", "confluent:tags": ["PII"]},
        {"name": "raw", "type": "bytes", "confluent:tags": ["PII"]},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "note", "type": "bytes"},
    ],
}
ORDER = {"id": 5, "name": "Jo", "raw": b"\xff", "sum": Decimal("1.25"), "note": b"\xe4"}
FAILING = {
    "name": "check",
    "kind": "CONDITION",
    "mode": "WRITE",
    "type": "CEL",
    "params": {"dlq.topic": "unused"},
}
ENCRYPTING = {"name": "hide", "kind": "TRANSFORM", "mode": "WRITE", "type": "ENCRYPT", "tags": ["PII"]}


@dataclass
class Place:
    topic: str | None = "orders"
    field: str = "value"
    headers: Any = None


def read(broker: Any, topic: str, count: int) -> list[Any]:
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        found: list[Any] = []
        while len(found) < count:
            found += consumer.poll(timeout=10)
        return [(record.key, record.value, list(record.headers)) for record in found]


def both_in_topic(
    broker: Any, topic: str, key: Any, value: Any, place: Place, error: Exception | None
) -> tuple[Any, Any]:
    """What the original and ours write of the same failure."""
    parsed = original_avro.parse_schema_with_repo(json.dumps(SCHEMA), {})
    expanded = expand_schema(parsed)
    mode, none = original.RuleMode.WRITE, None
    rules: list[Any] = [
        original.Rule(
            each["name"], None, original.RuleKind(each["kind"]), mode, each["type"], each.get("tags"),
            original.RuleParams(each["params"]) if "params" in each else None, None, None, None, None,
        )
        for each in (FAILING, ENCRYPTING)
    ]  # fmt: skip
    context = original_serde.RuleContext(
        None, place, None, original.Schema("{}"), "orders-value", mode, rules[0], 0, rules,  # type: ignore[arg-type]
        original_avro.get_inline_tags(parsed),
        lambda ctx, transform, message: original_avro.transform(ctx, expanded, message, transform),
        key, value,
    )  # fmt: skip
    action = OriginalAction(
        {"dlq.topic": topic, "bootstrap.servers": broker.bootstrap, "dlq.auto.flush": "true"}
    )
    with pytest.raises(OriginalSerializationError):
        action.run(context, none, error)
    walk = AvroWalk(json.dumps(SCHEMA))
    own_rules = [Rule(**each) for each in (FAILING, ENCRYPTING)]
    own = ours.RuleContext(
        None, place, None, Schema("{}"), "orders-value", ours.RuleMode.WRITE, own_rules[0], 0, own_rules,
        walk.inline_tags, walk.transform, key, value,
    )  # fmt: skip
    with Producer(broker.bootstrap) as producer, pytest.raises(SerializationError):
        DlqAction(producer, topic=topic, flushes=True).run(own, None, error)
    first, second = read(broker, topic, 2)
    return first, second


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        ({"id": 5, "name": "x", "raw": b"", "sum": Decimal(0), "note": b""}, ORDER, None),
        (b"key", b"\x00value", [("a", b"b"), ("n", None)]),
        ("key", 5, {"a": "b"}),
        (uuid.UUID(int=5), 1.5, [("a", bytearray(b"x"))]),
        (True, 1 << 70, None),
        pytest.param(bytearray(b"x"), memoryview(b"y"), None, id="buffers"),
        (None, ["a", None], None),
        (None, struct_pb2.Struct(fields={"a": struct_pb2.Value(string_value="x")}), None),
    ],
    ids=str,
)
def test_a_failed_record_is_in_the_topic_as_the_original_writes_it(
    embedded_broker: Any, make_topic: Any, key: Any, value: Any, headers: Any
) -> None:
    is_redacted = isinstance(value, dict) or value == b"\x00value"
    topic = make_topic(embedded_broker)
    error = ValueError("no") if is_redacted else None
    expected, found = both_in_topic(embedded_broker, topic, key, value, Place(headers=headers), error)
    assert found == expected
    if isinstance(value, dict):
        assert json.loads(found[1]) == {
            "id": 5, "name": "<REDACTED>", "raw": "<REDACTED>", "sum": "1.25", "note": "ä",
        }  # fmt: skip


def engine_with(action: DlqAction) -> RuleEngine:
    engine = RuleEngine(ours.RuleRegistry())
    engine.registry.register_action(action)
    return engine


RULES = RuleSet(
    domain_rules=[
        Rule(
            "check",
            kind="CONDITION",
            mode="WRITE",
            type="NOBODY",
            on_failure="DLQ",
            params={"dlq.topic": "t"},
        )
    ]
)


def test_the_call_fails_and_names_rule_and_subject(embedded_broker: Any, make_topic: Any) -> None:
    topic = make_topic(embedded_broker)
    with Producer(embedded_broker.bootstrap) as producer:
        with closing(engine_with(DlqAction())) as engine:
            engine.configure(None, {"producer": producer, "dlq.topic": topic})
            set_original_key("the key")
            with pytest.raises(
                SerializationError, match=r"^rule 'check' .* of subject 's' failed: Could not find"
            ):
                engine.run(Place(), "s", ours.RuleMode.WRITE, None, Schema("{}", rule_set=RULES), {"a": 1})
            clear_original_key()
        ((key, value, headers),) = read(embedded_broker, topic, 1)
    assert (key, value) == (b"the key", b'{"a": 1}')
    assert ("__rule.name", b"check") in headers
    # The record, written again, does not fail again.
    replayed = Place(headers=headers)
    schema = Schema("{}", rule_set=RULES)
    assert engine.run(replayed, "s", ours.RuleMode.WRITE, None, schema, {"a": 1}) == {"a": 1}


def test_a_record_that_could_not_be_sent_is_said() -> None:
    schema = Schema("{}", rule_set=RULES)
    with pytest.raises(SerializationError, match="it could not be sent to the dead letter topic t: the DLQ"):
        engine_with(DlqAction()).run(Place(), "s", ours.RuleMode.WRITE, None, schema, {"a": 1})
    rules = RuleSet(domain_rules=[Rule("r", mode="WRITE", type="NOBODY", on_failure="DLQ")])
    schema = Schema("{}", rule_set=rules)
    with pytest.raises(SerializationError, match=r"to a dead letter topic: dlq\.topic is not set"):
        engine_with(DlqAction()).run(Place(), "s", ours.RuleMode.WRITE, None, schema, {"a": 1})


def test_a_record_whose_secrets_cannot_be_taken_out_is_not_sent(embedded_broker: Any) -> None:
    def walk(ctx: Any, transform: Any, message: Any) -> Any:
        raise ValueError("cannot be walked")

    failing, encrypting = Rule(**{**FAILING, "on_failure": "DLQ", "type": "NOBODY"}), Rule(**ENCRYPTING)
    schema = Schema("{}", rule_set=RuleSet(domain_rules=[failing, encrypting]))
    with (
        Producer(embedded_broker.bootstrap) as producer,
        pytest.raises(
            SerializationError, match="could not be sent to the dead letter topic x: cannot be walked"
        ),
    ):
        engine_with(DlqAction(producer, topic="x")).run(
            Place(), "s", ours.RuleMode.WRITE, None, schema, ORDER, field_transformer=walk
        )


def failing(topic: str) -> Schema:
    rule = Rule("check", mode="WRITE", type="NOBODY", on_failure="DLQ", params={"dlq.topic": topic})
    return Schema("{}", rule_set=RuleSet(domain_rules=[rule]))


def test_a_dead_letter_topic_that_does_not_exist_is_told_before_max_block_ms(
    embedded_broker: Any, topic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dlq, "FIRST_SECONDS", 0.5)
    name = topic()
    # `send` itself would wait for ever, which ends the test.
    with (
        Producer(embedded_broker.bootstrap, allow_auto_create_topics=False, max_block_ms=600_000) as producer,
        Admin(embedded_broker.bootstrap) as admin,
        closing(engine_with(DlqAction(producer))) as engine,
    ):
        told = (
            rf"^rule 'check' \(NOBODY, WRITE\) of subject 's' failed: .*; it could not be sent to the dead "
            rf"letter topic {name}: the topic does not exist: create it, or correct dlq\.topic of the rule"
        )
        for _ in range(2):
            with pytest.raises(SerializationError, match=told):
                engine.run(Place(), "s", ours.RuleMode.WRITE, None, failing(name), {"a": 1})
        admin.create_topics([NewTopic(name, 1)])
        for _ in range(2):
            with pytest.raises(SerializationError, match=r"Could not find rule executor of type NOBODY$"):
                engine.run(Place(), "s", ours.RuleMode.WRITE, None, failing(name), {"a": 1})
    assert len(read(embedded_broker, name, 2)) == 2


def test_a_broker_may_create_a_dead_letter_topic(embedded_broker: Any, topic: Any) -> None:
    name = topic()
    with Producer(embedded_broker.bootstrap) as producer:
        engine = engine_with(DlqAction(producer, topic=name, flushes=True))
        with pytest.raises(SerializationError, match=r"of type NOBODY$"):
            engine.run(Place(), "s", ours.RuleMode.WRITE, None, failing("unused"), {"a": 1})
    assert len(read(embedded_broker, name, 1)) == 1


def test_a_producer_of_asyncio_is_refused_since_nobody_would_await_it() -> None:
    producer: Any = aio.Producer.__new__(aio.Producer)
    with pytest.raises(InvalidSettingError, match=r"must be a barnabas\.Producer"):
        DlqAction(producer)
    with pytest.raises(InvalidSettingError, match=r"must be a barnabas\.Producer"):
        DlqAction().configure(None, {"producer": producer})
