"""Clients of schema registries beside the original's, on a registry of other people's; and what ours can do
besides."""

from __future__ import annotations

import importlib
import pickle
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import confluent_kafka.schema_registry as real
import pytest
from tests.compat.differential.scripts.registry.protobuf import classes
from tests.registry.apicurio import Apicurio

import barnabas.compat.confluent_kafka.schema_registry as ours
from barnabas.compat.confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from barnabas.compat.confluent_kafka.schema_registry.common._schema_cache import _SchemaCache
from barnabas.compat.confluent_kafka.schema_registry.serde import AssociatedNameStrategy
from barnabas.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)
from barnabas.testing import EmbeddedRegistry

JSON = '{"type": "object", "properties": {"f": {"type": "string"}}}'
Leaf = classes()["a.Leaf"]
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": "string"}]}'
NEWER = AVRO.replace("]", ', {"name": "g", "type": "int", "default": 0}]')
OTHER = '{"type": "record", "name": "R", "fields": [{"name": "h", "type": "string"}]}'


@pytest.fixture(scope="module")
def apicurio() -> Iterator[str]:
    server = Apicurio()
    yield server.url
    server.close()


@pytest.fixture(scope="module")
def embedded() -> Iterator[str]:
    with EmbeddedRegistry() as registry:
        yield registry.url


def story(registry: ModuleType, url: str) -> list[str]:
    """What a program sees of a registry, with what the run chose left out."""
    subject = f"subject-{uuid.uuid4().hex[:12]}"
    seen: list[str] = []
    ids: dict[int, str] = {}

    def told(value: Any) -> str:
        text = repr(value).replace(subject, "<subject>")
        for number, name in ids.items():
            text = text.replace(f"schema_id={number}", f"schema_id={name}")
        return text

    with registry.SchemaRegistryClient({"url": url}) as client:

        def step(name: str, *arguments: Any, **keywords: Any) -> Any:
            try:
                result = getattr(client, name)(*arguments, **keywords)
            except Exception as error:
                seen.append(f"{name}: {type(error).__name__} {told(error)}")
                return None
            if name != "register_schema":
                seen.append(f"{name}: {told(result)}")
            return result

        for number, text in enumerate((AVRO, NEWER)):
            ids[step("register_schema", subject, registry.Schema(text))] = f"<id {number}>"
        step("register_schema", subject, registry.Schema(OTHER))
        step("register_schema", subject, registry.Schema("{"))
        step("set_compatibility", subject, "full")
        step("register_schema", subject, registry.Schema(OTHER))
        step("test_compatibility", subject, registry.Schema(OTHER))
        step("test_compatibility", subject, registry.Schema(NEWER), 1)
        step("get_compatibility", subject)
        step("get_schema", min(ids))
        step("get_schema", 2**30)
        step("lookup_schema", subject, registry.Schema(NEWER))
        step("lookup_schema", subject, registry.Schema(AVRO.replace("R", "S")))
        step("get_latest_version", subject)
        step("get_version", subject, 1)
        step("get_version", subject, 9)
        step("get_versions", subject)
        step("get_versions", "nothing")
        step("get_subjects_by_schema_id", min(ids))
        step("get_schema_versions", min(ids))
        step("get_mode", subject)
        step("get_global_mode")
        step("delete_version", subject, 1)
        step("delete_subject", subject)
        step("get_latest_version", "nothing")
    return seen


@pytest.mark.parametrize("registry", ["apicurio", "embedded"])
@pytest.mark.integration
def test_both_packages_see_the_same_of_a_registry(registry: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(registry)
    assert story(ours, url) == story(real, url)


@pytest.mark.parametrize("format", ["avro", "json_schema", "protobuf"])
@pytest.mark.parametrize("place", ["prefix", "header"])
@pytest.mark.integration
def test_each_package_reads_what_the_other_wrote(format: str, place: str, embedded: str) -> None:
    read: list[Any] = []
    for writing, reading in ((real, ours), (ours, real)):
        headers: list[Any] = []
        put_id = getattr(writing, f"{place}_schema_id_serializer")
        with client_of(writing, embedded) as client:
            serializer, value = writer_of(writing, format, client, {"schema.id.serializer": put_id})
            data = serializer(value, context_of(writing, headers))
        assert bool(headers) == (place == "header")
        with client_of(reading, embedded) as client:
            read.append(reader_of(reading, format, client)(data, context_of(reading, headers)))
    assert read == [value, value]


def context_of(package: ModuleType, headers: list[Any]) -> Any:
    return package.SerializationContext("orders", package.MessageField.VALUE, headers)


def client_of(package: ModuleType, url: str) -> Any:
    return package.SchemaRegistryClient({"url": url})


def writer_of(package: ModuleType, format: str, client: Any, conf: dict[str, Any]) -> tuple[Any, Any]:
    """A serializer, and a value for it."""
    module = importlib.import_module(f"{package.__name__}.{format}")
    conf = {**conf, "subject.name.strategy": lambda ctx, name: f"orders-{format}"}
    if format == "avro":
        return module.AvroSerializer(client, AVRO, conf=conf), {"f": "a text"}
    if format == "json_schema":
        return module.JSONSerializer(JSON, client, conf=conf), {"f": "a text"}
    return module.ProtobufSerializer(Leaf, client, conf), Leaf(x=5)


def reader_of(package: ModuleType, format: str, client: Any) -> Any:
    module = importlib.import_module(f"{package.__name__}.{format}")
    if format == "avro":
        return module.AvroDeserializer(client)
    if format == "json_schema":
        return module.JSONDeserializer(None, None, client)
    return module.ProtobufDeserializer(Leaf, None, client)


@pytest.mark.integration
def test_a_client_may_be_pickled_and_begins_anew(embedded: str) -> None:
    with ours.SchemaRegistryClient({"url": embedded}) as client:
        subject = f"subject-{uuid.uuid4().hex[:12]}"
        schema_id = client.register_schema(subject, ours.Schema(AVRO))
        again = pickle.loads(pickle.dumps(client))
    with again:
        assert "record" in str(again.get_schema(schema_id).schema_str)


def test_what_a_client_remembers_has_bounds() -> None:
    cache = _SchemaCache(2)
    schemas = [ours.Schema(str(number)) for number in range(3)]
    for number, schema in enumerate(schemas):
        cache.set_registered_schema(
            schema, ours.RegisteredSchema("s", number, number, f"guid-{number}", schema)
        )
    assert cache.get_schema_by_id("s", 0) is None
    assert cache.get_schema_by_guid("guid-0") is None
    assert cache.get_registered_by_subject_version("s", 0) is None
    assert cache.get_registered_by_subject_id("s", 2) is not None
    assert cache.get_id_by_schema("s", schemas[2]) == 2


@pytest.mark.integration
def test_a_latest_version_is_remembered_for_its_time_alone() -> None:
    client = ours.SchemaRegistryClient(
        {"url": "http://127.0.0.1:1", "cache.latest.ttl.sec": 0, "max.retries": 0}
    )
    client._calls._latest.put("s", ours.RegisteredSchema("s", 1, 1, None, ours.Schema(AVRO)))
    with pytest.raises(Exception, match="refused"):
        client.get_latest_version("s")


class Forgetful(ours.SchemaRegistryClient):
    """A program's own client: its topics are associated with what `subject` says."""

    subject = "first"

    def get_associations_by_resource_name(self, *args: Any, **kwargs: Any) -> list[ours.Association]:
        return [ours.Association(self.subject, None, "t", "-", "id", "topic", "value")]

    def register_schema_full_response(self, subject_name: str, schema: ours.Schema, **kwargs: Any) -> Any:
        number = {"first": 1, "second": 2}[subject_name]
        return ours.RegisteredSchema(subject_name, 1, number, None, schema)


def test_a_strategy_that_forgets_is_asked_again_by_serializers_that_know_the_topic() -> None:
    client = Forgetful({"url": "http://127.0.0.1:1"})
    strategy = AssociatedNameStrategy()
    serializer = AvroSerializer(client, AVRO, conf={"subject.name.strategy": strategy})
    context = SerializationContext("t", MessageField.VALUE)
    assert serializer({"f": "x"}, context) == b"\0\0\0\0\1\2x"
    client.subject = "second"
    assert serializer({"f": "x"}, context) == b"\0\0\0\0\1\2x"
    strategy.clear_cache()
    assert serializer({"f": "x"}, context) == b"\0\0\0\0\2\2x"


def test_what_a_serializer_has_found_takes_no_further_call_of_the_client() -> None:
    client = ours.SchemaRegistryClient.new_client({"url": "mock://"})
    serializer, deserializer = AvroSerializer(client, AVRO), AvroDeserializer(client)
    context = SerializationContext("t", MessageField.VALUE)
    data = serializer({"f": "x"}, context)
    assert deserializer(data, context) == {"f": "x"}

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the client was asked")

    for name in ("get_associations_by_resource_name", "register_schema_full_response", "get_schema"):
        setattr(client, name, fail)
    assert serializer({"f": "y"}, context) == data[:5] + b"\2y"
    assert deserializer(data, context) == {"f": "x"}


def test_a_value_that_does_not_fit_is_told_by_its_field_also_to_who_expects_a_value_error() -> None:
    client = ours.SchemaRegistryClient.new_client({"url": "mock://"})
    serializer = AvroSerializer(client, AVRO)
    for _ in range(2):
        with pytest.raises(ValueError, match="f") as raised:
            serializer({"f": 5}, SerializationContext("t", MessageField.VALUE))
        assert isinstance(raised.value, SerializationError)
