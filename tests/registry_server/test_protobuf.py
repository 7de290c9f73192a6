"""Schemas of Protocol Buffers in the registry: its API in the words of Confluent's, and confluent_kafka's own
serializers against it."""

# google.protobuf has no types.
# pyright: basic

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2
from tests.registry_server.conftest import Ask

from barnabas.formats.protobuf_schema import compile_text, text_of
from barnabas.formats.protobuf_values import file_of, message_at, message_class

ORDER = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n'
LOOSE = '// Orders.\nsyntax="proto3"; package shop; message Order { int64 id = 0x1; }'
OTHER = ORDER.replace("int64", "string")
ITEMS = 'syntax = "proto3";\npackage shop;\n\nimport "order.proto";\n\nmessage Items {\n  Order of = 1;\n}\n'


def body(text: str, *references: tuple[str, str, int], **others: Any) -> dict[str, Any]:
    named = [dict(zip(("name", "subject", "version"), each, strict=True)) for each in references]
    return {"schema": text, "schemaType": "PROTOBUF", "references": named, **others}


def test_a_text_is_kept_in_canonical_form(ask: Ask) -> None:
    assert ask("POST /subjects/s/versions", body(LOOSE))[0] == 200
    status, found = ask("GET /subjects/s/versions/1")
    assert (status, found["schema"], found["schemaType"]) == (200, ORDER, "PROTOBUF")
    assert ask("POST /subjects/s", body(ORDER))[1]["version"] == 1


def test_a_schema_is_given_as_a_descriptor_and_without_extensions(ask: Ask) -> None:
    text = ORDER.replace("id = 1", 'id = 1 [(confluent.field_meta).tags = "PII", (no.such) = 1]')
    text = text.replace("message", 'import "no/such.proto"; import "confluent/meta.proto"; message', 1)
    assert ask("POST /subjects/s/versions", body(text))[0] == 200
    found = ask("GET /subjects/s/versions/1?format=serialized")[1]["schema"]
    descriptor = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(found))
    assert (descriptor.name, descriptor.package) == ("default", "shop")
    assert list(descriptor.dependency) == ["confluent/meta.proto"]
    plain = ask("GET /subjects/s/versions/1?format=ignore_extensions")[1]["schema"]
    assert 'int64 id = 1 [(confluent.field_meta).tags = "PII"];' in plain


def test_an_incompatible_schema_is_refused_with_the_reasons(ask: Ask) -> None:
    ask("POST /subjects/s/versions", body(ORDER))
    answer = ask("POST /compatibility/subjects/s/versions/latest?verbose=true", body(OTHER))[1]
    assert answer["is_compatible"] is False
    assert answer["messages"][0].startswith(
        '{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"The kind of'
    )
    assert ask("POST /subjects/s/versions", body(OTHER))[0] == 409


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("message M { nothing }", "expected optional, required, repeated"),
        ("message M { optional Nothing a = 1; }", "the type 'Nothing' is not defined"),
        ("message M {" * 10_000, "the limit is 32"),
    ],
)
def test_what_is_no_schema_is_refused(ask: Ask, text: str, words: str) -> None:
    status, found = ask("POST /subjects/s/versions", body(text))
    assert (status, found["error_code"]) == (422, 42201)
    assert words in found["message"]


def test_references_are_imports(ask: Ask) -> None:
    assert ask("POST /subjects/items/versions", body(ITEMS))[0] == 422
    ask("POST /subjects/order/versions", body(ORDER))
    assert ask("POST /subjects/items/versions", body(ITEMS, ("order.proto", "order", 1)))[0] == 200
    assert ask("GET /subjects/order/versions/1/referencedby")[0] == 200
    ask("PUT /config/order", {"compatibility": "NONE"})
    ask("POST /subjects/order/versions", body(OTHER))
    told = ask(
        "POST /compatibility/subjects/items/versions/1?verbose=true", body(ITEMS, ("order.proto", "order", 2))
    )
    assert [each.partition(",")[0] for each in told[1]["messages"][:2]] == [
        '{errorType:"FIELD_SCALAR_KIND_CHANGED"',
        '{errorType:"FIELD_NAMED_TYPE_CHANGED"',
    ]


TEXT = """
syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto"; import "confluent/meta.proto"; import "part.proto";
message Order {
  map<string, Item> items = 1 [(confluent.field_meta).tags = "PII"];
  google.protobuf.Timestamp at = 2; Part part = 4;
  message Item { string sku = 1; oneof o { int32 a = 2; string b = 3; } optional bool c = 4; }
  message Line { repeated Item items = 1; }
}
message Other { Order.Line line = 1; }
"""
FILE = file_of(
    compile_text(TEXT, {"part.proto": 'syntax = "proto3"; package shop; message Part { int32 n = 1; }'})
)


@pytest.fixture
def client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry_url}) as made:
        yield made


@pytest.fixture
def reader(registry_url: str) -> Iterator[SchemaRegistryClient]:
    """Another one: who registered a text has it in its cache, and asks for no descriptor."""
    with SchemaRegistryClient({"url": registry_url}) as made:
        yield made


@pytest.mark.parametrize("index", [(0,), (0, 0), (0, 1), (1,)])
@pytest.mark.integration
def test_the_originals_serializers_register_and_read(
    client: SchemaRegistryClient, reader: SchemaRegistryClient, index: tuple[int, ...]
) -> None:
    topic = f"topic-{uuid.uuid4().hex[:12]}"
    where = SerializationContext(topic, MessageField.VALUE)
    class_ = message_class(message_at(FILE, index))
    value = class_()
    if index == (0,):
        value.items["x"].sku, value.part.n, value.at.seconds = "y", 5, 6
    data = ProtobufSerializer(class_, client)(value, where)
    assert ProtobufDeserializer(class_, {}, reader)(data, where) == value
    if len(index) == 1:
        # The original does not find inner messages in the latest version.
        latest = {"auto.register.schemas": False, "use.latest.version": True}
        assert ProtobufSerializer(class_, reader, latest)(value, where) == data
    found = client.get_latest_version(f"{topic}-value")
    assert [each.name for each in found.schema.references] == ["part.proto"]
    assert found.schema.schema_str == text_of(FILE.serialized_pb)


@pytest.mark.integration
def test_a_text_that_was_registered_by_hand_serves_the_originals_serializers(
    client: SchemaRegistryClient, reader: SchemaRegistryClient
) -> None:
    topic = f"topic-{uuid.uuid4().hex[:12]}"
    where = SerializationContext(topic, MessageField.VALUE)
    client.register_schema(f"{topic}-value", Schema(LOOSE, "PROTOBUF"))
    class_ = message_class(message_at(file_of(compile_text(LOOSE)), (0,)))
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    data = ProtobufSerializer(class_, client, latest)(class_(id=7), where)
    assert ProtobufDeserializer(class_, {}, reader)(data, where) == class_(id=7)
