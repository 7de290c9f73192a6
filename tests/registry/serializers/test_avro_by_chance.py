"""Avro schemas and values by chance: what one side's serializer writes, the other's deserializer reads."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import confluent_kafka.schema_registry as theirs
import fastavro
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.avro_by_chance import Maker
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.registry import AvroDeserializer, AvroSerializer


def as_theirs_reads(schema: Any, data: bytes) -> Any:
    parsed = fastavro.parse_schema(schema)
    return fastavro.schemaless_reader(io.BytesIO(data), parsed, None)


@pytest.mark.parametrize("seed", range(100))
def test_both_read_what_the_other_wrote(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient, seed: int
) -> None:
    maker = Maker(random.Random(seed))
    schema = {"type": "record", "name": "Whole", "fields": [{"name": "part", "type": maker.schema()}]}
    text = json.dumps(schema)
    context = TheirContext("chance", MessageField.VALUE)
    ours, reader = AvroSerializer(registry, text), AvroDeserializer(registry)
    their_own, their_reader = TheirSerializer(their_client, text), TheirDeserializer(their_client)
    for _ in range(5):
        value = maker.value(schema)
        data = ours("chance", value)
        theirs_data = their_own(value, context)
        assert data == theirs_data
        assert data is not None
        expected = as_theirs_reads(schema, data[5:])
        assert repr(reader("chance", theirs_data)) == repr(expected)
        # Theirs takes no value of no bytes.
        if len(data) > 5:
            assert repr(their_reader(data, context)) == repr(expected)
