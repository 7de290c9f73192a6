"""The registry, driven by confluent_kafka's own client and serializers, unchanged."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

USER = '{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}'
USER_2 = (
    '{"type":"record","name":"User","fields":[{"name":"id","type":"long"},'
    '{"name":"name","type":["null","string"],"default":null}]}'
)
OTHER = '{"type":"record","name":"User","fields":[{"name":"x","type":"int"}]}'


@pytest.fixture
def client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry_url}) as made:
        yield made


@pytest.fixture
def subject() -> str:
    return f"subject-{uuid.uuid4().hex[:12]}"


def test_schemas_are_registered_and_found(client: SchemaRegistryClient, subject: str) -> None:
    schema = Schema(USER, "AVRO")
    schema_id = client.register_schema(subject, schema)
    assert client.register_schema_full_response(subject, Schema(USER_2, "AVRO")).schema_id != schema_id
    assert client.get_schema(schema_id).schema_str == USER
    found = client.lookup_schema(subject, schema)
    assert (found.schema_id, found.version, found.subject) == (schema_id, 1, subject)
    assert found.guid is not None
    assert client.get_schema_by_guid(found.guid).schema_str == USER
    assert client.get_latest_version(subject).version == 2
    assert client.get_version(subject, 1).schema.schema_str == USER
    assert client.get_versions(subject) == [1, 2]
    assert subject in client.get_subjects()
    assert subject in client.get_subjects_by_schema_id(schema_id)
    assert {"subject": subject, "version": 1} in [
        {"subject": each.subject, "version": each.version} for each in client.get_schema_versions(schema_id)
    ]
    assert set(client.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}


def test_schemas_are_deleted_softly_and_for_good(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(subject, Schema(USER, "AVRO"))
    client.register_schema(subject, Schema(USER_2, "AVRO"))
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    with pytest.raises(SchemaRegistryError) as gone:
        client.get_versions(subject)
    assert (gone.value.http_status_code, gone.value.error_code) == (404, 40401)
    assert gone.value.error_message == f"Subject '{subject}' not found."
    assert subject in client.get_subjects(deleted=True)
    assert client.delete_subject(subject, permanent=True) == [2]


def test_compatibility_is_set_and_checked(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(subject, Schema(USER, "AVRO"))
    assert client.get_compatibility() == "BACKWARD"
    client.set_compatibility(subject, "FULL_TRANSITIVE")
    assert client.get_compatibility(subject) == "FULL_TRANSITIVE"
    assert client.test_compatibility(subject, Schema(USER_2, "AVRO"))
    assert not client.test_compatibility(subject, Schema(OTHER, "AVRO"))
    assert not client.test_compatibility_all_versions(subject, Schema(OTHER, "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(OTHER, "AVRO"))
    assert refused.value.http_status_code == 409
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in refused.value.error_message
    with pytest.raises(SchemaRegistryError) as nonsense:
        client.set_compatibility(subject, "SIDEWAYS")
    assert nonsense.value.error_code == 42203


def test_settings_are_kept_whole(client: SchemaRegistryClient, subject: str) -> None:
    rule = Rule(
        "checkId",
        "",
        RuleKind.CONDITION,
        RuleMode.WRITE,
        "CEL",
        ["PII"],
        RuleParams({"a": "b"}),
        "message.id > 0",
        "NONE",
        "ERROR",
        False,
    )
    config = ServerConfig(
        compatibility=ConfigCompatibilityLevel.FORWARD,
        compatibility_group="major",
        default_metadata=Metadata(None, MetadataProperties({"owner": "me"}), None),
        override_rule_set=RuleSet(None, [rule]),
    )
    client.set_config(subject, config)
    found = client.get_config(subject)
    assert found.compatibility_level == ConfigCompatibilityLevel.FORWARD
    assert found.compatibility_group == "major"
    assert found.default_metadata.properties.properties == {"owner": "me"}
    assert found.override_rule_set is not None
    assert [each.expr for each in found.override_rule_set.domain_rules] == ["message.id > 0"]
    client.register_schema(subject, Schema(USER, "AVRO"))
    registered = client.get_latest_version(subject)
    assert registered.schema.metadata.properties.properties == {"owner": "me"}
    assert registered.schema.rule_set.domain_rules[0].name == "checkId"
    assert client.get_latest_with_metadata(subject, {"owner": "me"}).version == 1
    client.delete_config(subject)
    with pytest.raises(SchemaRegistryError) as unset:
        client.get_config(subject)
    assert unset.value.error_code == 40408


def test_modes_refuse_what_they_do(client: SchemaRegistryClient, subject: str) -> None:
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(USER, "AVRO"))
    assert refused.value.error_code == 42205
    assert client.delete_mode(subject) == "READONLY"
    client.register_schema(subject, Schema(USER, "AVRO"))


def test_a_schema_refers_to_another(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(f"{subject}-user", Schema(USER, "AVRO"))
    team = '{"type":"record","name":"Team","fields":[{"name":"lead","type":"User"}]}'
    reference = SchemaReference("User", f"{subject}-user", 1)
    schema_id = client.register_schema(subject, Schema(team, "AVRO", [reference]))
    assert client.get_referenced_by(f"{subject}-user", 1) == [schema_id]
    assert client.get_schema(schema_id).references == [reference]
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_subject(f"{subject}-user")
    assert refused.value.error_code == 42206


def test_contexts_are_listed(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(f":.listed:{subject}", Schema(USER, "AVRO"))
    assert "." in client.get_contexts()
    assert ".listed" in client.get_contexts()
    assert f":.listed:{subject}" in client.get_subjects(subject_prefix=":.listed:")


def test_serializers_register_and_find(client: SchemaRegistryClient, subject: str) -> None:
    where = SerializationContext(subject, MessageField.VALUE)
    data = AvroSerializer(client, USER_2)({"id": 5, "name": "x"}, where)
    assert AvroDeserializer(client)(data, where) == {"id": 5, "name": "x"}
    assert client.get_latest_version(f"{subject}-value").version == 1
    latest: dict[str, Any] = {"auto.register.schemas": False, "use.latest.version": True}
    assert AvroSerializer(client, USER, conf=latest)({"id": 6, "name": None}, where)[:5] == data[:5]


def test_serializers_of_json_schema_do_the_same(client: SchemaRegistryClient, subject: str) -> None:
    where = SerializationContext(subject, MessageField.VALUE)
    schema = (
        '{"title":"U","type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}'
    )
    data = JSONSerializer(schema, client)({"id": 5}, where)
    assert JSONDeserializer(schema, schema_registry_client=client)(data, where) == {"id": 5}
    assert client.get_latest_version(f"{subject}-value").schema.schema_type == "JSON"


def test_serializers_of_protobuf_do_the_same(client: SchemaRegistryClient, subject: str) -> None:
    where = SerializationContext(subject, MessageField.VALUE)
    settings = {"use.deprecated.format": False}
    file = descriptor_pb2.FileDescriptorProto(name="reading.proto", package="tests", syntax="proto3")
    field = file.message_type.add(name="Reading").field.add(name="id", number=1)
    field.type, field.label = field.TYPE_INT64, field.LABEL_OPTIONAL
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("tests.Reading"))
    data = ProtobufSerializer(message, client, settings)(message(id=5), where)
    # The client that registered it remembers the text, and would not ask for the form that is read.
    client.clear_caches()
    assert ProtobufDeserializer(message, settings, client)(data, where).id == 5
    registered = client.get_latest_version(f"{subject}-value").schema
    assert registered.schema_type == "PROTOBUF"
    assert "message Reading {" in registered.schema_str


def test_the_client_of_asyncio_does_the_same(registry_url: str, subject: str) -> None:
    async def run() -> None:
        async with AsyncSchemaRegistryClient({"url": registry_url}) as client:
            schema_id = await client.register_schema(subject, Schema(USER, "AVRO"))
            assert (await client.get_schema(schema_id)).schema_str == USER
            assert await client.get_versions(subject) == [1]

    asyncio.run(run())
