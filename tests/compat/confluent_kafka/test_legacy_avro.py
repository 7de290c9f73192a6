"""`confluent_kafka.avro` where it takes more than the original does, and without the original's libraries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.compat.confluent_kafka.avro import (
    CachedSchemaRegistryClient,
    ClientError,
    MessageSerializer,
    _no_answer,
    loads,
)

AVRO = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": "string"}]}'


@pytest.fixture(params=["requests", "urllib3"])
def missing_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(sys.modules, request.param, None)
    _no_answer._class_of.cache_clear()
    yield request.param
    _no_answer._class_of.cache_clear()


@pytest.mark.integration
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1", "http://127.0.0.1:port"])
def test_without_the_originals_libraries_who_gets_no_answer_gets_a_client_error(
    missing_library: str, url: str
) -> None:
    with CachedSchemaRegistryClient({"url": url}) as client, pytest.raises(ClientError) as raised:
        client.get_by_id(1)
    assert type(raised.value) is ClientError
    assert url in str(raised.value)


class OwnRegistry:
    """A registry's client of a program, which has the calls and nothing else."""

    def __init__(self) -> None:
        self.schemas: list[Any] = []

    def register(self, subject: str, schema: Any) -> int:
        self.schemas.append(schema)
        return len(self.schemas)

    def get_by_id(self, schema_id: int) -> Any:
        return self.schemas[schema_id - 1]


def test_a_programs_own_client_needs_no_auto_register_schemas() -> None:
    serializer = MessageSerializer(OwnRegistry())
    data = serializer.encode_record_with_schema("topic", loads(AVRO), {"f": "x"})
    assert data == b"\0\0\0\0\1\2x"
    assert serializer.decode_message(data) == {"f": "x"}
