"""Whether schemas may follow others: levels, groups, reserved fields, and the order of the reasons."""

from __future__ import annotations

import pytest
from tests.registry_server.conftest import Ask
from tests.registry_server.schemas import OTHER, USER, USER_2, USER_3

NO_DEFAULT = (
    "{{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field '{field}' at path '/fields/0' "
    "in the {reader} schema has no default value and is missing in the {writer} schema', "
    "additionalInfo:'{field}'}}"
)


def missing(field: str, reader: str, writer: str) -> str:
    return NO_DEFAULT.format(field=field, reader=reader, writer=writer)


def end(level: str, validates: str = "false") -> str:
    return f"{{validateFields: '{validates}', compatibility: '{level}'}}"


OLD = ["{oldSchemaVersion: 1}", f"{{oldSchema: '{USER}'}}"]


@pytest.mark.parametrize(
    ("level", "messages"),
    [
        ("NONE", []),
        ("BACKWARD", [missing("x", "new", "old"), *OLD, end("BACKWARD")]),
        ("FORWARD", [missing("id", "old", "new"), *OLD, end("FORWARD")]),
        ("FULL", [missing("id", "old", "new"), missing("x", "new", "old"), *OLD, end("FULL")]),
    ],
)
def test_each_level_has_its_reasons_in_the_originals_order(ask: Ask, level: str, messages: list[str]) -> None:
    ask("POST /subjects/s/versions", {"schema": USER})
    ask("PUT /config/s", {"compatibility": level})
    answer = {"is_compatible": not messages, "messages": messages}
    assert ask("POST /compatibility/subjects/s/versions?verbose=true", {"schema": OTHER}) == (200, answer)
    assert ask("POST /compatibility/subjects/s/versions/1?verbose=true", {"schema": OTHER}) == (200, answer)
    silent = ask("POST /compatibility/subjects/s/versions/latest", {"schema": OTHER})
    assert silent == (200, {"is_compatible": not messages})
    status, found = ask("POST /subjects/s/versions", {"schema": OTHER})
    if not messages:
        assert status == 200
        return
    words = (
        'Schema being registered is incompatible with an earlier schema for subject "s", details: '
        f"[{', '.join(messages)}]"
    )
    assert (status, found) == (409, {"error_code": 409, "message": words})
    assert ask("POST /subjects/s/versions?force=true", {"schema": OTHER})[0] == 200


def test_only_transitive_levels_look_behind_the_latest(ask: Ask) -> None:
    ask("PUT /config/s", {"compatibility": "NONE"})
    for schema in (OTHER, USER, USER_2):
        ask("POST /subjects/s/versions", {"schema": schema})
    ask("PUT /config/s", {"compatibility": "BACKWARD"})
    check = "POST /compatibility/subjects/s/versions?verbose=true"
    assert ask(check, {"schema": USER_3})[1] == {"is_compatible": True, "messages": []}
    ask("PUT /config/s", {"compatibility": "BACKWARD_TRANSITIVE"})
    found = ask(check, {"schema": USER_3})[1]["messages"]
    assert found == [
        missing("id", "new", "old"),
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{OTHER}'}}",
        end("BACKWARD_TRANSITIVE"),
    ]


def test_versions_of_another_group_are_not_looked_at(ask: Ask) -> None:
    ask("PUT /config/s", {"compatibility": "BACKWARD", "compatibilityGroup": "major"})
    first = {"schema": USER, "metadata": {"properties": {"major": "1"}}}
    second = {"schema": OTHER, "metadata": {"properties": {"major": "2"}}}
    ask("POST /subjects/s/versions", first)
    assert ask("POST /subjects/s/versions", second)[1]["version"] == 2
    third = {"schema": USER_2, "metadata": {"properties": {"major": "1"}}}
    assert ask("POST /subjects/s/versions", third)[1]["version"] == 3
    assert ask("POST /subjects/s/versions", {**third, "schema": OTHER})[0] == 409


def test_reserved_fields_stay_free(ask: Ask) -> None:
    ask("PUT /config/s", {"compatibility": "NONE", "validateFields": True})
    reserving = {"properties": {"confluent:reserved": "gone, old"}}
    assert ask("POST /subjects/s/versions", {"schema": USER, "metadata": reserving})[0] == 200
    check = "POST /compatibility/subjects/s/versions?verbose=true"
    without = {"schema": USER, "metadata": {"properties": {"confluent:reserved": "gone"}}}
    assert ask(check, without)[1]["messages"] == [
        "The new schema has reserved field old removed from its metadata which is present in the old "
        "schema's metadata.",
        end("NONE", "true"),
    ]
    using = {"schema": USER.replace('"id"', '"old"'), "metadata": reserving}
    assert ask(check, using)[1]["messages"] == [
        "The new schema has field that conflicts with the reserved field old.",
        end("NONE", "true"),
    ]


def test_a_check_without_a_version_to_check_against(ask: Ask) -> None:
    for version in ("", "/latest"):
        found = ask(f"POST /compatibility/subjects/s/versions{version}?verbose=true", {"schema": USER})
        assert found == (200, {"is_compatible": True, "messages": []})
    assert ask("POST /compatibility/subjects/s/versions/1", {"schema": USER})[1]["error_code"] == 40402
    assert ask("POST /compatibility/subjects/s/versions/x", {"schema": USER})[1]["error_code"] == 42202


def test_what_is_no_schema_is_a_reason_where_reasons_are_asked_for(ask: Ask) -> None:
    line = "POST /compatibility/subjects/s/versions"
    assert ask(line, {"schema": "{"})[1]["error_code"] == 42201
    status, found = ask(f"{line}?verbose=true", {"schema": "{"})
    assert (status, found["is_compatible"]) == (200, False)
    assert found["messages"][0].startswith("Invalid schema of type AVRO")


def test_a_long_schema_is_cut_where_it_is_quoted(ask: Ask) -> None:
    long = '{"type":"record","name":"R","doc":"' + "x" * 11_000 + '","fields":[]}'
    ask("POST /subjects/s/versions", {"schema": long})
    found = ask("POST /compatibility/subjects/s/versions?verbose=true", {"schema": '"int"'})[1]["messages"]
    assert found[-2] == f"{{oldSchema: <truncated> '{long[: 10 * 1024]}...'}}"
