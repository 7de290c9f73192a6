"""Protobuf serializers, beside those of confluent-kafka on the same registry."""

from __future__ import annotations

from typing import Any

import confluent_kafka.schema_registry as theirs
import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.errors import InvalidSettingError, MisuseError, SerializationError
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.formats.protobuf_values import file_of, message_class
from barnabas.registry import ProtobufDeserializer, ProtobufSerializer, Schema

COMMON = """
syntax = "proto3";
package shop;
message Money { string currency = 1; int64 cents = 2; }
"""
ORDERS = """
syntax = "proto3";
package shop;
import "common.proto";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  shop.Money price = 2;
  google.protobuf.Timestamp at = 3;
  message Line { string sku = 1; message Part { int32 number = 1; } }
}
message Refund { int64 id = 1; string note = 2; }
"""
FILE = file_of(ProtobufSchema(ORDERS, {"common.proto": COMMON}).descriptor_set)
Order = message_class(FILE.message_types_by_name["Order"])
Refund = message_class(FILE.message_types_by_name["Refund"])
Part = message_class(FILE.message_types_by_name["Order"].nested_types_by_name["Line"].nested_types[0])


def order() -> Any:
    made = Order(id=5)
    made.price.currency, made.price.cents = "EUR", 120
    made.at.FromSeconds(1_000)
    return made


def on(topic: str) -> TheirContext:
    return TheirContext(topic, MessageField.VALUE)


@pytest.mark.parametrize(
    ("message", "framing"),
    [(order(), b"\0"), (Refund(id=1, note="n"), b"\x02\x02"), (Part(number=7), b"\x06\0\0\0")],
)
def test_both_write_the_same_bytes_and_read_each_others(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient, message: Any, framing: bytes
) -> None:
    kind = type(message)
    data = ProtobufSerializer(registry, kind)("orders", message)
    assert data[5:].startswith(framing)
    assert TheirSerializer(kind, their_client)(message, on("orders")) == data
    assert TheirDeserializer(kind, {}, their_client)(data, on("orders")) == message
    reader = ProtobufDeserializer(registry, kind)
    assert reader("orders", data) == reader("orders", data) == message
    asked = len(registry.calls.asked)
    reader("orders", data)
    assert len(registry.calls.asked) == asked


def test_files_that_are_imported_are_schemas_of_their_own(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    ProtobufSerializer(registry, Order)("orders", order())
    assert their_client.get_subjects() == ["common.proto", "orders-value"]
    references = their_client.get_latest_version("orders-value").schema.references
    assert [(each.name, each.subject, each.version) for each in references] == [
        ("common.proto", "common.proto", 1)
    ]
    under = ProtobufSerializer(
        registry, Order, reference_subject_name_strategy=lambda context, file: f"imports/{file.name}"
    )
    under("others", order())
    assert "imports/common.proto" in their_client.get_subjects()


def test_without_a_class_messages_are_of_the_schema_that_was_written(registry: TheirRegistry) -> None:
    reader = ProtobufDeserializer(registry)
    for message in (order(), Refund(id=1, note="n"), Part(number=7)):
        data = ProtobufSerializer(registry, type(message))("orders", message)
        found = reader("orders", data)
        assert found.DESCRIPTOR.full_name == message.DESCRIPTOR.full_name
        assert found.SerializeToString() == message.SerializeToString()


def test_a_schema_in_words_is_read_as_well(registry: TheirRegistry) -> None:
    text = 'syntax = "proto3"; package shop; message Refund { int64 id = 1; string note = 2; }'
    found = registry.run(registry.calls.register("refunds-value", Schema(text, "PROTOBUF")))
    data = b"\0" + found.id.to_bytes(4) + b"\0" + Refund(id=3).SerializeToString()
    assert ProtobufDeserializer(registry, Refund)("refunds", data) == Refund(id=3)
    assert ProtobufDeserializer(registry)("refunds", data).id == 3
    latest = ProtobufSerializer(registry, Refund, use_latest_version=True)
    assert latest("refunds", Refund(id=3))[:5] == data[:5]


def test_subjects_may_be_named_by_the_message(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    named = ProtobufSerializer(registry, Refund, subject_name_strategy="record")
    data = named("orders", Refund(id=1))
    assert "shop.Refund" in their_client.get_subjects()
    reader = ProtobufDeserializer(registry, Refund, subject_name_strategy="record")
    assert reader("orders", data) == Refund(id=1)


def test_what_is_wrong_is_said(registry: TheirRegistry) -> None:
    serializer, reader = ProtobufSerializer(registry, Refund), ProtobufDeserializer(registry, Refund)
    with pytest.raises(SerializationError, match=r"where shop.Refund is due"):
        serializer("orders", order())
    data = serializer("orders", Refund(id=1))
    with pytest.raises(SerializationError, match=r"shop.Refund"):
        reader("orders", data + b"\xff")
    with pytest.raises(SerializationError, match="index"):
        reader("orders", data[:5] + b"\x02\x08" + data[7:])
    registry.run(registry.calls.register("others-value", Schema(COMMON, "PROTOBUF")))
    with pytest.raises(MisuseError, match=r"others-value has no message shop.Refund"):
        ProtobufSerializer(registry, Refund, use_latest_version=True)("others", Refund(id=1))
    with pytest.raises(InvalidSettingError, match="must be the class"):
        ProtobufSerializer(registry, Refund())
