"""What comes of values that are edited in a form."""

from __future__ import annotations

import pytest

from barnabas import Record, Registry, RegistryFormat
from barnabas.errors import BarnabasError
from barnabas.records.registry_side import RegistrySide
from barnabas.registry import Schema
from barnabas.testing import EmbeddedRegistry
from barnabas.ui.records.editing import MOST_EDITED_BYTES, RecordEditor

PROTO = """syntax = "proto3";
message Other { string a = 1; }
message Flight { int32 delay = 1; string carrier = 2; }
"""


def record(value: bytes | None, headers: list[tuple[str, bytes | None]] | None = None) -> Record:
    return Record("t", 0, 0, -1, None, value, headers or [])


def test_a_message_of_protobuf_is_written_as_the_same_message() -> None:
    with EmbeddedRegistry() as registry, Registry(registry.url) as client:
        format = RegistryFormat(client, "t-value", schema=Schema(PROTO, "PROTOBUF"), message="Flight")
        side = RegistrySide(format, "value", "protobuf")
        before, expected = (side.write(b'{"delay": %d, "carrier": "LH"}' % delay, 1) for delay in (12, 13))
        with RecordEditor(record(before), lambda: Registry(registry.url)) as editor:
            text = editor.editable().value.text
            edited = editor.edited({"value": text.replace("12", "13")})
    assert edited.value == expected


def test_a_value_whose_guid_is_in_a_header_is_told_not_to_be_editable() -> None:
    with EmbeddedRegistry() as registry, Registry(registry.url) as client:
        guid = client.register("t-value", Schema('"int"')).guid
        assert guid is not None
        header = b"\1" + bytes.fromhex(guid.replace("-", ""))
        before = record(b"\x18", [("__value_schema_id", header)])
        with RecordEditor(before, lambda: Registry(registry.url)) as editor:
            assert editor.editable().value.text == "12"
            assert editor.edited({"value": "12"}).value == b"\x18"
            with pytest.raises(BarnabasError, match="by a GUID"):
                editor.edited({"value": "13"})


def test_a_registry_that_does_not_answer_leaves_the_value_as_it_is() -> None:
    before = record(b"\0\0\0\0\1\x18")
    with RecordEditor(before, lambda: Registry("http://127.0.0.1:1", retries=0)) as editor:
        assert editor.editable().value.kind == "kept"
        assert editor.edited({"value": "forged"}).value == before.value


def test_what_is_very_long_is_not_in_the_form() -> None:
    before = record(b"a" * (MOST_EDITED_BYTES + 1))
    with RecordEditor(before, None) as editor:
        assert editor.editable().value.kind == "kept"
        assert editor.edited({"value_null": "1"}).value is None


def test_hexadecimal_digits_that_are_none_are_told() -> None:
    with RecordEditor(record(b"\xff"), None) as editor:
        assert editor.edited({"value": "fe 01"}).value == b"\xfe\x01"
        with pytest.raises(BarnabasError, match="hexadecimal"):
            editor.edited({"value": "fg"})


def test_headers_that_are_no_lines_are_told() -> None:
    with RecordEditor(record(b"a"), None) as editor, pytest.raises(BarnabasError, match="NAME=VALUE"):
        editor.edited({"headers": "a=1\nb"})
