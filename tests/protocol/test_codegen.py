"""The generator's reading of Kafka's definitions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from broker_errors import BrokerErrorRow, render_errors
from definitions import Message, merge, parse_versions, read_jar
from names import error_class_name, snake_case
from python_source import render_module


def messages_of(tmp_path: Path, name: str, *definitions: dict[str, Any] | str) -> dict[str, Message]:
    jar = tmp_path / f"{name}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for number, definition in enumerate(definitions):
            text = definition if isinstance(definition, str) else json.dumps(definition)
            archive.writestr(f"common/message/{number}.json", text)
    return read_jar(jar)


def request(versions: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiKey": 7,
        "type": "request",
        "name": "PingRequest",
        "validVersions": versions,
        "flexibleVersions": "none",
        "fields": list(fields),
        **more,
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("isKRaftController", "is_kraft_controller"),
        ("V3AndBelowProducerId", "v3_and_below_producer_id"),
        ("from", "from_"),
    ],
)
def test_names_become_those_of_python(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_error_classes_do_not_repeat_that_they_are_errors() -> None:
    assert error_class_name("NOT_CONTROLLER") == "NotControllerError"
    assert error_class_name("KAFKA_STORAGE_ERROR") == "KafkaStorageError"
    assert error_class_name("NETWORK_EXCEPTION") == "NetworkError"


@pytest.mark.parametrize(
    ("text", "expected"), [("0+", {0, 1, 2, 3}), ("3", {3}), ("1-2", {1, 2}), ("none", set())]
)
def test_ranges_of_versions_are_sets(text: str, expected: set[int]) -> None:
    assert parse_versions(text, 3) == expected


def test_comments_are_left_out_but_not_inside_of_text(tmp_path: Path) -> None:
    text = """{ "type": "data", // a "comment"
      "name": "A//B", "validVersions": "0", "flexibleVersions": "none", "fields": [] }"""
    assert list(messages_of(tmp_path, "one", text)) == ["A//B"]


def test_a_version_that_is_not_stable_is_left_out(tmp_path: Path) -> None:
    late = {"name": "Late", "type": "int32", "versions": "1+"}
    found = messages_of(tmp_path, "one", request("0-1", late, latestVersionUnstable=True))
    assert merge(found, {})["PingRequest"].versions == {0}
    assert merge(found, {})["PingRequest"].fields == []


def test_versions_that_the_newer_release_dropped_come_from_the_older_with_their_fields(
    tmp_path: Path,
) -> None:
    kept = {"name": "Kept", "type": "int32", "versions": "0+"}
    gone = {"name": "Gone", "type": "string", "versions": "0"}
    new = {"name": "New", "type": "bool", "versions": "2+", "default": "true"}
    older = messages_of(tmp_path, "older", request("0-1", gone, kept))
    newer = messages_of(tmp_path, "newer", request("1-2", kept, new))
    merged = merge(newer, older)["PingRequest"]
    assert merged.versions == {0, 1, 2}
    assert [(each.name, each.versions) for each in merged.fields] == [
        ("Gone", {0}),
        ("Kept", {0, 1, 2}),
        ("New", {2}),
    ]


def test_an_api_that_was_renamed_is_there_once(tmp_path: Path) -> None:
    older = messages_of(tmp_path, "older", {**request("0"), "name": "OldNameRequest"})
    newer = messages_of(tmp_path, "newer", request("0"))
    assert list(merge(newer, older)) == ["PingRequest"]


def test_no_prose_reaches_the_generated_source(tmp_path: Path) -> None:
    field = {"name": "Port", "type": "uint16", "versions": "0+", "about": "Prose."}
    found = messages_of(tmp_path, "one", {**request("0", field), "type": "data", "about": "Prose."})
    source = render_module(list(found.values()))
    assert 'port: int = wire("uint16", "0+")' in source
    assert "Prose" not in source


def test_an_error_without_an_explanation_is_named_with_the_file_that_lacks_it() -> None:
    with pytest.raises(ValueError, match=r"error_explanations.py: missing \['TOPIC_ASLEEP'\], of no error"):
        render_errors([BrokerErrorRow(200, "TOPIC_ASLEEP", True, False)])
