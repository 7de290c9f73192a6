"""CEL over Protobuf messages, beside the original's."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.schema_registry.common import protobuf as original_protobuf
from confluent_kafka.schema_registry.confluent.type import decimal_pb2, variant_pb2
from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from tests.registry.rules.cel.test_executors import comparable, original_outcome, outcome

KINDS = {"f64": 1, "f32": 2, "i64": 3, "u64": 4, "i32": 5, "x64": 6, "x32": 7, "yes": 8, "text": 9}
KINDS |= {"raw": 12, "u32": 13, "sx32": 15, "sx64": 16, "s32": 17, "s64": 18}
MESSAGES = {
    "at": ".google.protobuf.Timestamp",
    "took": ".google.protobuf.Duration",
    "sum": ".confluent.type.Decimal",
    "anything": ".confluent.type.Variant",
    "some_text": ".google.protobuf.StringValue",
    "some_number": ".google.protobuf.Int32Value",
    "child": ".shop.Order",
}


def order_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="cel_order.proto", package="shop", syntax="proto3")
    for each in (timestamp_pb2, duration_pb2, decimal_pb2, variant_pb2, wrappers_pb2):
        file.dependency.append(each.DESCRIPTOR.name)
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("NONE", "GOOD")):
        kind.value.add(name=name, number=number)
    order = file.message_type.add(name="Order")
    fields = [(name, type, None, 1) for name, type in KINDS.items()]
    fields += [(name, 11, of, 1) for name, of in MESSAGES.items()]
    fields += [("kind", 14, ".shop.Kind", 1), ("words", 9, None, 3), ("children", 11, ".shop.Order", 3)]
    for name, of in (("counts", None), ("by_name", ".shop.Order")):
        entry = order.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=9, label=1)
        entry.field.add(name="value", number=2, type=11 if of else 3, type_name=of, label=1)
        fields.append((name, 11, f".shop.Order.{entry.name}", 3))
    for number, (name, type, of, label) in enumerate(fields, 1):
        order.field.add(name=name, number=number, type=type, type_name=of, label=label)
    order.oneof_decl.add(name="either")
    order.field.add(name="one", number=50, type=9, label=1, oneof_index=0)
    order.field.add(name="other", number=51, type=3, label=1, oneof_index=0)
    order.oneof_decl.add(name="_maybe")
    order.field.add(name="maybe", number=52, type=3, label=1, oneof_index=1, proto3_optional=True)
    pool = DescriptorPool()
    original_protobuf._init_pool(pool)
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


ORDER = order_class()
FULL = ORDER(
    f64=1.5, f32=2.5, i64=-5, u64=5, i32=-6, x64=7, x32=8, yes=True, text="Jo", raw=b"\xff", u32=9,
    sx32=-1, sx64=-2, s32=-3, s64=-4,
    at={"seconds": 5, "nanos": 123456789}, took={"seconds": -3, "nanos": -5},
    sum={"value": b"\x04\xd2", "scale": 2, "precision": 4},
    anything={"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"}, some_text={"value": "x"}, some_number={},
    child={"text": "inner"}, kind=1, words=["a", "b"], children=[{"text": "c"}], counts={"a": 1},
    by_name={"b": {"text": "d"}}, other=5, maybe=0,
)  # fmt: skip
EMPTY = ORDER()
EXPRESSIONS = """
message
message.text
message.u64 == 5u
message.i64 + 1
message.at
message.took
message.sum
message.sum == decimal('12.34')
string(message.sum)
message.anything
variants.as(message.anything, 'int')
message.some_text
message.some_text == null
message.some_number == null
message.child.text
message.children.map(c, c.text)
message.counts
message.by_name['b'].text
message.kind == 1
has(message.text)
has(message.i64)
has(message.maybe)
has(message.child)
has(message.one)
has(message.words)
has(message.counts)
has(message.sum)
message.maybe
message.one
message.unknown
message.at < timestamp(6)
{'text': message.text + '!', 'i64': 5}
{'text': 5}
{'text': null, 'i64': message.i64}
{'unknown': 1}
{'i32': 1.0}
{'i32': 1.5}
{'i32': true}
{'i32': 2147483648}
{'i32': 'x'}
{'u32': -1}
{'u64': 18446744073709551615u}
{'f32': 1}
{'f32': 1e39}
{'f64': decimal('1e1000')}
{'f64': decimal('1.5')}
{'f64': true}
{'f64': 'x'}
{'i64': decimal('5')}
{'i64': decimal('5.5')}
{'i64': decimal('1e100000000')}
{'yes': 1}
{'yes': 'false'}
{'yes': false}
{'raw': 'x'}
{'raw': b'x'}
{'raw': 5}
{'kind': 'GOOD'}
{'kind': 'BAD'}
{'kind': 1}
{'words': ['x', 'y']}
{'words': 'x'}
{'words': {'a': 'b'}}
{'words': [null]}
{'words': 5}
{'children': [{'text': 'x'}, {}]}
{'children': [message.child]}
{'counts': {'x': 5}}
{'counts': {'x': null}}
{'counts': [1]}
{'by_name': {'x': {'text': 'y'}}}
{'child': {'text': 'x', 'child': {'text': 'y'}}}
{'child': message.child}
{'child': 5}
{'at': message.at}
{'at': timestamp('2026-01-02T03:04:05.678Z')}
{'at': 5}
{'took': message.took}
{'took': duration('-3s')}
{'took': duration('1500ms')}
{'sum': message.sum}
{'sum': decimals.mul(message.sum, '-2')}
{'sum': decimal('1e3')}
{'sum': 5}
{'anything': message.anything}
{'anything': variants.field(variants.parseJson('{"a": {"b": 1}}'), 'a')}
{'some_text': message.some_text}
{'some_text': 'y'}
{'some_text': 5}
{'some_number': 5}
{'some_number': 1.9}
{'someText': 'camel'}
{'some_text': 'a', 'someText': 'b'}
{'one': 'x', 'other': 5}
{'one': 'x', 'other': null}
{'maybe': 0}
{'maybe': null}
message.child
message.i64 > 100; message
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("message", [FULL, EMPTY], ids=["full", "empty"])
@pytest.mark.parametrize("kind", ["TRANSFORM", "CONDITION"])
def test_an_expression_gives_what_it_gives_in_the_original(kind: str, message: Any, expression: str) -> None:
    expected, found = original_outcome(kind, expression, message), outcome(kind, expression, message)
    if isinstance(expected, tuple) and expected[0] == "failed":
        assert found[0] == "failed", found
    elif isinstance(expected, ORDER) or isinstance(found, ORDER):
        assert found == expected
    else:
        assert comparable(found) == comparable(expected)


def test_an_empty_message_that_a_rule_gives_is_set() -> None:
    """The original loses it."""
    found = outcome("TRANSFORM", "{'child': {}, 'some_number': 0}", FULL)
    assert found.HasField("child")
    assert found.HasField("some_number")
