"""Avro serializers, beside those of confluent-kafka on the same registry."""

from __future__ import annotations

import pickle
from typing import Any

import confluent_kafka.schema_registry as theirs
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.errors import InvalidSettingError, MisuseError, SerializationError
from barnabas.formats import SchemaError
from barnabas.registry import (
    AvroDeserializer,
    AvroSerializer,
    RegisteredSchema,
    RegistryError,
    Schema,
    SchemaReference,
)

ORDER = (
    '{"type": "record", "name": "Order", "namespace": "shop", "fields": ['
    '{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": null}]}'
)
LATER = (
    '{"type": "record", "name": "Order", "namespace": "shop", "fields": ['
    '{"name": "id", "type": "double"}, {"name": "count", "type": "int", "default": 1}]}'
)
VALUE = {"id": 5, "note": "two"}


def on(topic: str, field: str = "value", headers: Any = None) -> TheirContext:
    return TheirContext(topic, MessageField(field), headers)


def test_both_write_the_same_bytes_and_read_each_others(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    ours = AvroSerializer(registry, ORDER)
    data = ours("orders", VALUE)
    assert data == TheirSerializer(their_client, ORDER)(VALUE, on("orders"))
    assert TheirDeserializer(their_client)(data, on("orders")) == VALUE
    assert AvroDeserializer(registry)("orders", data) == VALUE
    assert ours("orders", None) is None
    assert AvroDeserializer(registry)("orders", None) is None


def test_the_registry_is_asked_for_the_first_value_only(registry: TheirRegistry) -> None:
    ours, reader = AvroSerializer(registry, ORDER), AvroDeserializer(registry)
    reader("orders", ours("orders", VALUE))
    asked = list(registry.calls.asked)
    for number in range(3):
        value = {"id": number, "note": None}
        assert reader("orders", ours("orders", value)) == value
    assert registry.calls.asked == asked
    ours("orders", VALUE, is_key=True)
    assert registry.calls.asked[len(asked) :] == [
        "associations orders",
        "latest orders-key",
        "register orders-key",
    ]


def test_what_was_written_is_resolved_to_the_schema_that_is_wanted(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    data = AvroSerializer(registry, ORDER)("orders", VALUE)
    expected = TheirDeserializer(their_client, LATER)(data, on("orders"))
    assert AvroDeserializer(registry, LATER)("orders", data) == expected == {"id": 5.0, "count": 1}


def test_types_of_other_subjects_are_fetched_however_deep_they_are(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    unit = '{"type": "enum", "name": "Unit", "namespace": "shop", "symbols": ["KG", "L"]}'
    amount = (
        '{"type": "record", "name": "Amount", "namespace": "shop", "fields": ['
        '{"name": "unit", "type": "Unit"}]}'
    )
    line = (
        '{"type": "record", "name": "Line", "fields": [{"name": "a", "type": "shop.Amount"}, '
        '{"name": "u", "type": "shop.Unit"}]}'
    )
    to_unit = SchemaReference("shop.Unit", "unit", 1)
    registry.run(registry.calls.register("unit", Schema(unit)))
    registry.run(registry.calls.register("amount", Schema(amount, references=[to_unit])))
    schema = Schema(line, references=[SchemaReference("shop.Amount", "amount", 1), to_unit])
    value = {"a": {"unit": "KG"}, "u": "L"}
    data = AvroSerializer(registry, schema)("lines", value)
    assert TheirDeserializer(their_client)(data, on("lines")) == value
    assert AvroDeserializer(registry)("lines", data) == value


def test_schemas_that_refer_to_each_other_in_a_circle_are_refused(
    registry: TheirRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = {name: SchemaReference(name, name, 1) for name in ("a", "b")}
    circle = {"a": Schema('"int"', references=[to["b"]]), "b": Schema('"int"', references=[to["a"]])}

    def version(subject: str, version: int, **settings: Any) -> Any:
        return RegisteredSchema(subject, version, 1, None, circle[subject])
        yield

    monkeypatch.setattr(registry.calls, "version", version)
    with pytest.raises(SchemaError, match="refers to itself"):
        AvroSerializer(registry, circle["a"])("circle", 1)

    def deeper(subject: str, version: int, **settings: Any) -> Any:
        below = SchemaReference(subject, subject, version + 1)
        return RegisteredSchema(subject, version, 1, None, Schema('"int"', references=[below]))
        yield

    monkeypatch.setattr(registry.calls, "version", deeper)
    with pytest.raises(SchemaError, match="more than 100"):
        AvroSerializer(registry, circle["a"])("circle", 1)


def test_bytes_of_the_schema_bytes_are_as_they_are(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    for value in (b"", b"plain", bytes(1000)):
        data = AvroSerializer(registry, '"bytes"')("raw", value)
        assert data[5:] == value
        assert AvroDeserializer(registry)("raw", data) == value
        if value:
            assert TheirDeserializer(their_client)(data, on("raw")) == value


@pytest.mark.parametrize(
    ("strategy", "theirs_named", "subject"),
    [
        ("associated", "ASSOCIATED", "orders-value"),
        ("topic", "TOPIC", "orders-value"),
        ("record", "RECORD", "shop.Order"),
        ("topic_record", "TOPIC_RECORD", "orders-shop.Order"),
    ],
)
def test_subjects_are_named_by_a_strategy(
    registry: TheirRegistry,
    their_client: theirs.SchemaRegistryClient,
    strategy: Any,
    theirs_named: str,
    subject: str,
) -> None:
    data = AvroSerializer(registry, ORDER, subject_name_strategy=strategy)("orders", VALUE)
    assert their_client.get_subjects() == [subject]
    assert AvroDeserializer(registry, subject_name_strategy=strategy)("orders", data) == VALUE
    settings = {"subject.name.strategy.type": theirs_named}
    assert TheirSerializer(their_client, ORDER, conf=settings)(VALUE, on("orders")) == data
    assert their_client.get_subjects() == [subject]


def test_a_function_may_name_subjects_by_what_the_record_has(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    def by_tenant(context: Any, record_name: str | None) -> str | None:
        return f"{dict(context.headers)['tenant'].decode()}.{record_name}"

    ours = AvroSerializer(registry, ORDER, subject_name_strategy=by_tenant)
    for tenant in (b"a", b"b", b"a"):
        ours("orders", VALUE, headers=[("tenant", tenant)])
    assert their_client.get_subjects() == ["a.shop.Order", "b.shop.Order"]
    assert registry.calls.asked == [
        "latest a.shop.Order",
        "register a.shop.Order",
        "latest b.shop.Order",
        "register b.shop.Order",
    ]


def test_the_subject_may_be_the_one_associated_with_the_topic(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    info = theirs.AssociationCreateOrUpdateInfo("elsewhere", "value", None, None, None, None)
    their_client.create_association(
        theirs.AssociationCreateOrUpdateRequest("orders", "-", "orders-id", "topic", [info])
    )
    data = AvroSerializer(registry, ORDER)("orders", VALUE)
    assert their_client.get_subjects() == ["elsewhere"]
    assert TheirSerializer(their_client, ORDER)(VALUE, on("orders")) == data


def test_schemas_that_are_only_looked_up_have_to_be_there(registry: TheirRegistry) -> None:
    looking = AvroSerializer(registry, ORDER, auto_register_schemas=False)
    with pytest.raises(RegistryError):
        looking("orders", VALUE)
    data = AvroSerializer(registry, ORDER)("orders", VALUE)
    assert looking("orders", VALUE) == data


def test_the_latest_version_is_written_with_until_its_time_is_over(
    their_client: theirs.SchemaRegistryClient,
) -> None:
    lasting, renewed = TheirRegistry(their_client, 3600.0), TheirRegistry(their_client, 0.0)
    first = lasting.run(lasting.calls.register("orders-value", Schema(ORDER)))
    writers = [AvroSerializer(each, use_latest_version=True) for each in (lasting, renewed)]
    for writer in writers:
        assert writer("orders", VALUE)[:5] == b"\0" + first.id.to_bytes(4)
    second = lasting.run(lasting.calls.register("orders-value", Schema(LATER)))
    value = {"id": 1.5, "count": 3}
    assert writers[1]("orders", value)[:5] == b"\0" + second.id.to_bytes(4)
    assert writers[0]("orders", VALUE)[:5] == b"\0" + first.id.to_bytes(4)
    theirs_reads = TheirDeserializer(their_client)(writers[1]("orders", value), on("orders"))
    assert theirs_reads == value


def test_the_schema_may_be_chosen_by_its_id_or_by_its_metadata(registry: TheirRegistry) -> None:
    from barnabas.registry import Metadata

    first = registry.run(registry.calls.register("orders-value", Schema(ORDER)))
    marked = Schema(LATER, metadata=Metadata(properties={"major": "2"}))
    second = registry.run(registry.calls.register("orders-value", marked))
    registry.run(registry.calls.register("orders-value", Schema(ORDER.replace("note", "other"))))
    by_id = AvroSerializer(registry, use_schema_id=first.id)
    assert by_id("orders", VALUE)[:5] == b"\0" + first.id.to_bytes(4)
    by_metadata = AvroSerializer(registry, use_latest_with_metadata={"major": "2"})
    assert by_metadata("orders", {"id": 1.0})[:5] == b"\0" + second.id.to_bytes(4)


def test_the_id_may_be_in_the_headers(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    from confluent_kafka.schema_registry import header_schema_id_serializer

    ours = AvroSerializer(registry, ORDER, schema_id="header")
    settings = {"schema.id.serializer": header_schema_id_serializer}
    their_own = TheirSerializer(their_client, ORDER, conf=settings)
    for headers in ([("other", b"1")], {"other": b"1"}):
        theirs_headers: Any = type(headers)(headers)
        data = ours("orders", VALUE, headers=headers)
        assert their_own(VALUE, on("orders", "value", theirs_headers)) == data
        assert headers == theirs_headers
        assert dict(headers)["__value_schema_id"][0] == 1
        assert AvroDeserializer(registry)("orders", data, headers=headers) == VALUE
        assert TheirDeserializer(their_client)(data, on("orders", "value", headers)) == VALUE
    key_headers: dict[str, bytes] = {}
    key = ours("orders", VALUE, is_key=True, headers=key_headers)
    assert list(key_headers) == ["__key_schema_id"]
    assert AvroDeserializer(registry)("orders", key, is_key=True, headers=key_headers) == VALUE
    # A header of somebody else's does not mislead: the id is before the data.
    prefixed = AvroSerializer(registry, ORDER)("orders", VALUE)
    assert AvroDeserializer(registry)("orders", prefixed, headers=[("other", b"1")]) == VALUE
    with pytest.raises(MisuseError, match="headers"):
        ours("orders", VALUE)


def test_a_function_may_put_and_find_the_id(registry: TheirRegistry) -> None:
    from barnabas.registry.serializers.schema_id import SchemaId

    def put(payload: bytes, context: Any, schema_id: SchemaId) -> bytes:
        return payload + schema_id.id_to_bytes()

    def find(data: bytes, context: Any, schema_id: SchemaId) -> bytes:
        schema_id.read(data[-5:])
        return data[:-5]

    ours = AvroSerializer(registry, ORDER, schema_id=put)
    reader = AvroDeserializer(registry, schema_id=find)
    for number in (1, 2):
        value = {"id": number, "note": None}
        assert reader("orders", ours("orders", value)) == value
    assert len([each for each in registry.calls.asked if each.startswith("schema ")]) == 1


def test_records_of_unions_may_be_told_by_their_names(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    schema = (
        '[{"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]}, '
        '{"type": "record", "name": "B", "fields": [{"name": "x", "type": "int"}]}]'
    )
    data = AvroSerializer(registry, schema)("either", ("B", {"x": 1}))
    expected = TheirDeserializer(their_client, return_record_name=True)(data, on("either"))
    assert AvroDeserializer(registry, tells_records=True)("either", data) == expected == ("B", {"x": 1})
    assert AvroDeserializer(registry)("either", data) == {"x": 1}


def test_strict_serializers_refuse_fields_too_many_and_too_few(registry: TheirRegistry) -> None:
    every = AvroSerializer(registry, ORDER, strict="all")
    with pytest.raises(SerializationError, match="note: it is missing"):
        every("orders", {"id": 1})
    with pytest.raises(SerializationError, match='no field "extra"'):
        every("orders", {**VALUE, "extra": 1})
    but_defaults = AvroSerializer(registry, ORDER, strict="but_defaults")
    with pytest.raises(SerializationError, match="id: it is missing"):
        but_defaults("orders", {"note": None})
    assert but_defaults("orders", {"id": 1}) == every("orders", {"id": 1, "note": None})
    assert AvroSerializer(registry, ORDER)("orders", {"id": 1, "extra": 1})


def test_what_is_wrong_is_said_with_the_field_or_the_setting(registry: TheirRegistry) -> None:
    ours = AvroSerializer(registry, ORDER)
    with pytest.raises(SerializationError, match="id: 'five'"):
        ours("orders", {"id": "five"})
    with pytest.raises(MisuseError, match="give the topic"):
        AvroSerializer(registry, ORDER, subject_name_strategy="topic")(None, VALUE)
    with pytest.raises(InvalidSettingError, match="a schema is missing"):
        AvroSerializer(registry)
    with pytest.raises(InvalidSettingError, match="topic_record"):
        AvroSerializer(registry, ORDER, subject_name_strategy="topics")  # type: ignore[arg-type]
    reader = AvroDeserializer(registry)
    for broken in (b"", b"\0\0", b"\x01\0\0\0\0\0", b"plain text"):
        with pytest.raises(SerializationError, match=r"too few|was not written by"):
            reader("orders", broken)
    data = ours("orders", VALUE)
    with pytest.raises(SerializationError):
        reader("orders", data[:-1])


def test_a_deserializer_takes_a_consumers_record(registry: TheirRegistry) -> None:
    class Found:
        topic = "orders"
        key = AvroSerializer(registry, '"string"')("orders", "k", is_key=True)
        value = AvroSerializer(registry, ORDER)("orders", VALUE)
        headers = ()

    reader = AvroDeserializer(registry)
    assert reader.value_of(Found()) == VALUE
    assert reader.key_of(Found()) == "k"


def test_own_objects_are_converted_both_ways(registry: TheirRegistry) -> None:
    def pair_of(value: dict[str, Any]) -> tuple[Any, Any]:
        return value["id"], value["note"]

    ours = AvroSerializer(registry, ORDER, to_dict=lambda pair: {"id": pair[0], "note": pair[1]})
    assert AvroDeserializer(registry, from_dict=pair_of)("orders", ours("orders", (1, "x"))) == (1, "x")


def test_serializers_may_be_pickled_with_their_registry() -> None:
    from barnabas import Registry

    registry = Registry("http://localhost:1")
    ours = AvroSerializer(registry, ORDER, strict="all", normalize_schemas=True)
    again = pickle.loads(pickle.dumps(ours))
    assert again._core.settings == ours._core.settings
    assert again._core.schema == ours._core.schema
    reader = pickle.loads(pickle.dumps(AvroDeserializer(registry, ORDER, use_latest_version=True)))
    assert reader._core.settings.use_latest_version
