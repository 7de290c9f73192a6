"""The walk of Protobuf messages, beside the original's."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.common import protobuf as original_protobuf
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import descriptor_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import SerializationError
from barnabas.registry import Rule, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules.protobuf_walk import ProtobufWalk
from barnabas.registry.rules.validation import ValidationRule, ValidationRuleExecutor

STRING, BYTES, INT32, INT64, DOUBLE, BOOL, MESSAGE, ENUM = 9, 12, 5, 3, 1, 8, 11, 14
OPTIONAL, REPEATED = 1, 3


def file_of(renamed: bool, with_more: bool = False) -> Any:
    """`renamed`: one field has another name. `with_more`: the schema has a field more."""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    for each in (timestamp_pb2, decimal_pb2, meta_pb2):
        file.dependency.append(each.DESCRIPTOR.name)
    place = file.message_type.add(name="Place")
    add(place, "street", 1, STRING, tags=["PII"], rules=["street"])
    order = file.message_type.add(name="Order")
    order.options.Extensions[meta_pb2.message_meta].rules.add(name="whole", doc="d", expr="whole")
    add(order, "label" if renamed else "name", 1, STRING, tags=["PII", "NAME"], rules=["name"])
    add(order, "id", 2, INT64)
    add(order, "raw", 3, BYTES, tags=["PII"])
    add(order, "words", 4, STRING, REPEATED, tags=["PII"], rules=["words"])
    add(order, "place", 5, MESSAGE, kind=".shop.Place")
    add(order, "places", 6, MESSAGE, REPEATED, kind=".shop.Place")
    add(order, "at", 7, MESSAGE, kind=".google.protobuf.Timestamp", tags=["PII"])
    add(order, "sum", 8, MESSAGE, kind=".confluent.type.Decimal", tags=["PII"])
    add(order, "sums", 9, MESSAGE, REPEATED, kind=".confluent.type.Decimal")
    for number, name, kind in (
        (10, "texts", STRING),
        (11, "by_name", MESSAGE),
        (12, "sums_by_name", MESSAGE),
    ):
        camel = "".join(part.capitalize() for part in name.split("_"))
        entry = order.nested_type.add(name=f"{camel}Entry")
        entry.options.map_entry = True
        add(entry, "key", 1, STRING)
        of = ".confluent.type.Decimal" if number == 12 else ".shop.Place"
        add(entry, "value", 2, kind, kind=of if kind == MESSAGE else "")
        add(order, name, number, MESSAGE, REPEATED, kind=f".shop.Order.{camel}Entry", tags=["PII"])
    order.oneof_decl.add(name="either")
    add(order, "one", 13, STRING, tags=["PII"]).oneof_index = 0
    add(order, "other", 14, DOUBLE).oneof_index = 0
    add(order, "yes", 15, BOOL)
    add(order, "child", 16, MESSAGE, kind=".shop.Order")
    if with_more:
        add(order, "more", 17, STRING)
    return file


def add(
    message: Any, name: str, number: int, type: int, label: int = OPTIONAL, *, kind: str = "", tags: Any = (),
    rules: Any = (),
) -> Any:  # fmt: skip
    field = message.field.add(name=name, number=number, type=type, label=label, type_name=kind or None)
    if tags or rules:
        meta = field.options.Extensions[meta_pb2.field_meta]
        meta.tags.extend(tags)
        for each in rules:
            meta.rules.add(name=each, expr=each)
    return field


def order_of(file: Any) -> Any:
    pool = DescriptorPool()
    original_protobuf._init_pool(pool)
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindMessageTypeByName("shop.Order")


SCHEMA = order_of(file_of(renamed=False))
RENAMED = order_of(file_of(renamed=True))
LARGER = order_of(file_of(renamed=False, with_more=True))
TEXT = st.text("xyz", max_size=3)
PLACE = st.fixed_dictionaries({"street": TEXT})
# A map of one: the order of more is not told.
SUM = st.builds(
    lambda unscaled: {"value": unscaled, "scale": 2, "precision": 3}, st.binary(min_size=1, max_size=2)
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXT,
        "id": st.integers(0, 9),
        "raw": st.binary(max_size=3),
        "words": st.lists(TEXT, max_size=2),
        "place": PLACE,
        "places": st.lists(PLACE, max_size=2),
        "at": st.fixed_dictionaries({"seconds": st.integers(0, 9), "nanos": st.integers(0, 999_999_999)}),
        "sum": SUM,
        "sums": st.lists(SUM, max_size=2),
        "texts": st.dictionaries(TEXT, TEXT, max_size=1),
        "by_name": st.dictionaries(TEXT, PLACE, max_size=1),
        "one": TEXT,
        "yes": st.booleans(),
        "child": st.fixed_dictionaries({"name": TEXT, "place": PLACE}),
    },
)
RULES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["TRANSFORM", "CONDITION"]),
        "tags": st.sampled_from([None, ["PII"], ["NAME", "OTHER"]]),
    }
)


def relabelled(fields: dict[str, Any]) -> dict[str, Any]:
    found = {"label" if name == "name" else name: value for name, value in fields.items()}
    if "child" in found:
        found["child"] = relabelled(found["child"])
    return found


def built(descriptor: Any, fields: dict[str, Any]) -> Any:
    if "label" in descriptor.fields_by_name:
        fields = relabelled(fields)
    return GetMessageClass(descriptor)(**fields)


def change(seen: list[Any], is_condition: bool) -> Any:
    def transform(ctx: Any, field: Any, value: Any) -> Any:
        seen.append(
            (field.full_name, field.name, str(field.field_type.value), sorted(field.tags), str(value),
             field.field_descriptor.name)
        )  # fmt: skip
        if is_condition:
            return value != "x"
        return f"<{value}>" if isinstance(value, str) else value

    return transform


def walked(descriptor: Any, rule: Rule, message: Any, transform: Any) -> Any:
    walk = ProtobufWalk(descriptor)
    mode = ours.RuleMode.WRITE
    context = ours.RuleContext(None, None, None, Schema(""), "s", mode, rule, 0, [rule], None, walk.transform)
    return walk.transform(context, transform, message)


def original_rule(words: dict[str, Any]) -> Any:
    kind, mode = original.RuleKind(words["kind"]), original.RuleMode.WRITE
    return original.Rule("r", None, kind, mode, "X", words["tags"], None, None, None, None, None)


def original_walked(descriptor: Any, rule: Any, message: Any, transform: Any) -> Any:
    mode: Any = original.RuleMode.WRITE
    none: Any = None
    context = original_serde.RuleContext(
        None, none, None, original.Schema(""), "s", mode, rule, 0, [rule], None, None
    )
    return original_protobuf.transform(context, descriptor, message, transform)


def outcome(call: Any) -> Any:
    try:
        return call()
    except (ours.RuleConditionError, original_serde.RuleConditionError) as error:
        return type(error).__name__, str(error)


@given(FIELDS, RULES, st.sampled_from([SCHEMA, RENAMED]))
def test_messages_are_walked_as_the_original_walks_them(
    fields: dict[str, Any], words: dict[str, Any], own: Any
) -> None:
    is_condition = words["kind"] == "CONDITION"
    expected_seen: list[Any] = []
    seen: list[Any] = []
    message = built(own, fields)
    theirs = original_rule(words)
    expected = outcome(
        lambda: original_walked(SCHEMA, theirs, built(own, fields), change(expected_seen, is_condition))
    )
    rule = Rule("r", mode="WRITE", type="X", **words)
    assert outcome(lambda: walked(SCHEMA, rule, message, change(seen, is_condition))) == expected
    assert seen == expected_seen
    # The original changes the caller's message.
    assert message == built(own, fields)


RULE = Rule("r", kind="TRANSFORM", mode="WRITE", type="X")


def test_decimals_and_timestamps_of_rules_become_messages_wherever_they_are() -> None:
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)

    def transform(ctx: Any, field: Any, value: Any) -> Any:
        return {"sum": Decimal("-1.28"), "sums": Decimal("12E+3"), "sums_by_name": Decimal("0.05")}.get(
            field.name, moment if field.name == "at" else value
        )

    some = {"value": b"\x01", "scale": 1}
    message = built(SCHEMA, {"at": {}, "sum": some, "sums": [some], "sums_by_name": {"a": some}})
    found = walked(SCHEMA, RULE, message, transform)
    assert found.at.ToDatetime(datetime.UTC) == moment
    assert (found.sum.value, found.sum.scale, found.sum.precision) == (b"\x80", 2, 3)
    assert (found.sums[0].value, found.sums[0].scale, found.sums[0].precision) == (b"\x0c", -3, 2)
    assert (found.sums_by_name["a"].value, found.sums_by_name["a"].scale) == (b"\x05", 2)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (
            None,
            ours.RuleError,
            "Rule returned null for field 'shop.Order.sum', which is a confluent.type.Decimal",
        ),
        ("1.5", ours.RuleError, "Rule returned str for field 'shop.Order.sum'.*expected a decimal"),
        (Decimal("NaN"), ValueError, "cannot write a non-finite decimal"),
        (Decimal("1E+3000000000"), ValueError, "a scale of -3000000000, which does not fit"),
        (Decimal("9" * 5000), ValueError, "has 5000 digits, past the 4300"),
    ],
)
def test_a_rule_that_gives_no_decimal_is_told_so(value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        walked(
            SCHEMA,
            RULE,
            built(SCHEMA, {"sum": {"scale": 1}}),
            lambda _, field, given: value if field.name == "sum" else given,
        )


class Executor(ValidationRuleExecutor):
    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> Any:
        if rule.expr == "whole":
            return "" if message.name != "x" else f"{message.name} is no name"
        if rule.expr == "words":
            return len(message) < 2
        if rule.expr == "street":
            raise ours.RuleError("cannot be evaluated")
        return message == ""


class OriginalExecutor(original_serde.ValidationRuleExecutor):
    def execute(self, rule: Any, schema: Any, message: Any) -> Any:
        try:
            return Executor().execute(rule, schema, message)
        except ours.RuleError as error:
            raise original_serde.RuleError(str(error)) from None


@given(FIELDS, st.booleans(), st.sampled_from([SCHEMA, RENAMED]), st.sampled_from([SCHEMA, LARGER]))
def test_conditions_in_the_schema_are_checked_as_the_original_does(
    fields: dict[str, Any], stops_at_first: bool, own: Any, schema: Any
) -> None:
    message = built(own, fields)
    expected = original_protobuf.validate_message(OriginalExecutor(), schema, message, stops_at_first)
    found = ProtobufWalk(schema).violations(Executor(), message, stops_at_first=stops_at_first)
    assert list(map(str, found)) == list(map(str, expected))


def test_a_message_that_the_schema_cannot_read_is_said() -> None:
    file = file_of(renamed=False)
    order = next(each for each in file.message_type if each.name == "Order")
    next(each for each in order.field if each.name == "name").type = BYTES
    message = built(order_of(file), {"name": b"\xff"})
    with pytest.raises(
        SerializationError, match=r"Could not read message shop\.Order through the registered"
    ):
        ProtobufWalk(SCHEMA).violations(Executor(), message)
