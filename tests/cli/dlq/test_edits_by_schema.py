"""Dead letters whose keys or values name a schema of a registry: edited as JSON, and written by it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.reading import read

from barnabas import Consumer, Producer, Registry
from barnabas.cli.dlq import editing
from barnabas.cli.dlq.editing import Editing
from barnabas.cli.dlq.edits import change_all, lines_of, sets_of, shown, take_lines
from barnabas.cli.dlq.schemas import LetterSchemas
from barnabas.cli.options import UsageError
from barnabas.client.dead_letters import HEADER_PREFIX
from barnabas.records.dead_letters.conventions import DeadLetter, Origin
from barnabas.records.dead_letters.spool import LetterSpool
from barnabas.records.texts import ReadRecord
from barnabas.registry import Schema
from barnabas.registry.serializers.schema_id import SchemaId
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

SCHEMAS = {
    "AVRO": """{"type": "record", "name": "Order", "fields": [
        {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": null}]}""",
    "JSON": """{"type": "object", "additionalProperties": false, "properties": {
        "id": {"type": "integer"}, "note": {"type": ["null", "string"]}}}""",
    "PROTOBUF": """syntax = "proto3"; message Other { string x = 1; }
        message Order { int64 id = 1; optional string note = 2; }""",
}
# The order 5 with the note "n", and the order 6 with it.
FIVE = {"AVRO": b"\x0a\x02\x02n", "JSON": b'{"note": "n", "id": 5}', "PROTOBUF": b"\x12\x01n\x08\x05"}
SIX = {"AVRO": b"\x0c\x02\x02n", "JSON": b'{"note":"n","id":6}', "PROTOBUF": b"\x08\x06\x12\x01n"}
PLAIN = LetterSchemas(None)
TYPES = pytest.mark.parametrize("type", [*SCHEMAS])


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as server:
        yield server


@pytest.fixture
def registry(server: EmbeddedRegistry) -> Iterator[Registry]:
    with Registry(server.url) as registry:
        yield registry


@pytest.fixture
def schemas(registry: Registry) -> LetterSchemas:
    return LetterSchemas(registry)


@pytest.fixture
def prefix(registry: Registry) -> Callable[[str], bytes]:
    """What names the schema of this type."""

    def named(type: str) -> bytes:
        key = registry.register(f"{type}-value", Schema(SCHEMAS[type], type)).id
        return SchemaId(type, key, message_indexes=[1] if type == "PROTOBUF" else None).id_to_bytes()

    return named


@pytest.fixture
def spool() -> Iterator[LetterSpool]:
    with LetterSpool() as spool:
        yield spool


def put(spool: LetterSpool, *values: bytes, headers: Any = ()) -> None:
    for offset, value in enumerate(values):
        record: Any = ReadRecord("dead", 0, 0, 1_700_000_000_000, value, value, headers)
        spool.add([(DeadLetter(Origin("orders", 0, offset), "", "", "", "", 0), record)])


def edit(spool: LetterSpool, schemas: LetterSchemas, change: Callable[[dict[str, Any]], object]) -> list[Any]:
    documents = [json.loads(line) for line in lines_of(spool, schemas).splitlines()]
    change(documents[0])
    text = "\n".join(map(json.dumps, documents)).encode()
    return take_lines(spool, text, "file", schemas, is_rest_dropped=True)[0]


@TYPES
def test_what_was_edited_is_written_by_its_schema_and_all_else_keeps_its_bytes(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes], type: str
) -> None:
    five, six = prefix(type) + FIVE[type], prefix(type) + SIX[type]
    put(spool, five, five)
    (change,) = edit(spool, schemas, lambda document: document["value"].update(id=6))
    assert [(letter.key, letter.value) for letter in spool.letters()] == [(five, six), (five, five)]
    told = shown(change)
    assert (int(told["before"]["value"]["id"]), int(told["after"]["value"]["id"])) == (5, 6)


@TYPES
def test_an_edit_that_does_not_fit_names_line_letter_field_and_schema(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes], type: str
) -> None:
    named = prefix(type)
    put(spool, named + FIVE[type])
    before = list(spool.letters())
    with pytest.raises(UsageError) as refused:
        edit(spool, schemas, lambda document: document["value"].update(id="six"))
    told = str(refused.value)
    key = int.from_bytes(named[1:5])
    assert told.startswith("file, line 1: orders-0 at offset 0: the value")
    assert "id" in told
    assert f"cannot be written as {type.lower()}, schema {key}: " in told
    assert told.endswith(f"; barnabas schemas show --id {key} prints the schema")
    assert list(spool.letters()) == before


@TYPES
def test_a_schema_that_a_header_names_is_known_too(
    spool: LetterSpool, registry: Registry, schemas: LetterSchemas, prefix: Callable[[str], bytes], type: str
) -> None:
    put(spool, FIVE[type], headers=[("__value_schema_id", prefix(type))])
    edit(spool, schemas, lambda document: document["value"].update(id=6))
    (letter,) = spool.letters()
    assert (letter.key, letter.value) == (FIVE[type], SIX[type])


@TYPES
def test_fields_are_set_in_what_has_a_schema(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes], type: str
) -> None:
    named = prefix(type)
    put(spool, named + FIVE[type])
    given = ["value.id=7", "value.id=6"]
    _, count = change_all(spool, sets_of(given, ["key.id=key.id + 1"]), schemas)
    (letter,) = spool.letters()
    assert (count, letter.key, letter.value) == (1, named + SIX[type], named + SIX[type])
    with pytest.raises(UsageError, match=r"orders-0 at offset 0: the value.* cannot be written as"):
        change_all(spool, sets_of(["value.id=six"], []), schemas)


def test_what_cannot_be_read_by_its_schema_stands_as_bytes(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes]
) -> None:
    broken = prefix("AVRO") + b"\xff"
    put(spool, broken)
    document = json.loads(lines_of(spool, schemas))
    assert "base64" in document["value"]
    assert "value_schema" not in document
    edit(spool, schemas, lambda document: document.update(value={"base64": "AAE="}))
    assert [letter.value for letter in spool.letters()] == [b"\0\1"]


def test_a_value_may_become_none_or_without_its_schema_any_bytes(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes]
) -> None:
    put(spool, prefix("AVRO") + FIVE["AVRO"])
    edit(spool, schemas, lambda document: document.update(value=None))
    edit(spool, schemas, lambda document: (document.pop("key_schema"), document.update(key="text")))
    (letter,) = spool.letters()
    assert (letter.key, letter.value) == (b"text", None)


def test_lines_that_were_read_by_a_schema_need_it_again(
    spool: LetterSpool, schemas: LetterSchemas, prefix: Callable[[str], bytes]
) -> None:
    put(spool, prefix("AVRO") + FIVE["AVRO"])
    text = lines_of(spool, schemas)
    with pytest.raises(UsageError, match=r"line 1: the key of orders-0 at offset 0 was read by schema \d+: "):
        take_lines(spool, text, "file", PLAIN, is_rest_dropped=True)
    other = json.dumps({**json.loads(text), "value_schema": 77}).encode()
    with pytest.raises(UsageError, match=r"value_schema of orders-0 at offset 0 is .* changed to 77"):
        take_lines(spool, other, "file", schemas, is_rest_dropped=True)
    # And what was written without a registry means the same where there is one.
    changes, _ = take_lines(spool, lines_of(spool, PLAIN), "file", schemas, is_rest_dropped=True)
    assert changes == []


def test_a_replay_asks_the_registry_that_is_named(
    here: Cli,
    made: Callable[..., str],
    embedded_broker: EmbeddedBroker,
    server: EmbeddedRegistry,
    prefix: Callable[[str], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, letters = made(), made()
    named = prefix("AVRO")
    told = {"topic": source, "partition": 0, "offset": 4}
    headers = [(HEADER_PREFIX + name, str(value).encode()) for name, value in told.items()]
    with Producer(embedded_broker.bootstrap) as producer:
        producer.send(letters, named + FIVE["AVRO"], headers=headers).result()
    refused = here("dlq", "replay", letters, "--set", "value.id=6", ok=False)
    assert f"the value of {source}-0 at offset 4 has no place for it" in refused.stderr
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", """sed -i 's/"id": 5/"id": 6/'""")
    done = here("dlq", "replay", letters, "--edit", "--registry-url", server.url)
    assert "1 letter sent; 1 letter edited" in done.stderr
    with Consumer(embedded_broker.bootstrap, topics=[source], auto_offset_reset="earliest") as consumer:
        (record,) = read(consumer, 1)
    assert record.value == named + SIX["AVRO"]


def test_whoever_looks_may_edit_again_what_does_not_fit(
    spool: LetterSpool,
    server: EmbeddedRegistry,
    prefix: Callable[[str], bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    put(spool, prefix("AVRO") + FIVE["AVRO"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.delenv("VISUAL", raising=False)
    program = tmp_path / "editor.sh"
    # First to what does not fit, then to what does.
    program.write_text("""sed -i -e 's/"id": "six"/"id": 6/g' -e 's/"id": 5/"id": "six"/g' "$1"\n""")
    monkeypatch.setenv("EDITOR", f"sh {program}")
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return len(asked) < 2

    monkeypatch.setattr(editing.typer, "confirm", confirm)
    with Editing((), (), (), opens_editor=True, edited=None, registry_url=server.url) as step:
        step.apply(spool)
        step.sent()
    assert asked == ["edit again?"]
    assert [letter.value for letter in spool.letters()] == [prefix("AVRO") + SIX["AVRO"]]
    assert list(tmp_path.glob("*.jsonl")) == []
    monkeypatch.setenv("EDITOR", """sed -i 's/"id": 6/"id": "six"/'""")
    with (
        pytest.raises(UsageError, match="nothing was sent"),
        Editing((), (), (), opens_editor=True, edited=None, registry_url=server.url) as step,
    ):
        step.apply(spool)
    assert len(list(tmp_path.glob("*.jsonl"))) == 1
