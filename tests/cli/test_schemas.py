from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import command_line
from tests.registry.apicurio import Apicurio

from barnabas.testing import EmbeddedRegistry

FIRST = '{"type": "record", "name": "U", "fields": [{"name": "id", "type": "long"}]}'
SECOND = FIRST.replace("]}", ', {"name": "e", "type": ["null", "string"], "default": null}]}')
OTHER = FIRST.replace("]}", ', {"name": "z", "type": "int"}]}')

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    server = Apicurio()
    yield server.url
    server.close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("list", ...)`, in a folder with the files first.avsc, second.avsc and other.avsc."""
    for name, text in (("first", FIRST), ("second", SECOND), ("other", OTHER)):
        (tmp_path / f"{name}.avsc").write_text(text)

    def run(
        *arguments: str, registry: str = "http://127.0.0.1:9", status: int = 0, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command_line("schemas", *arguments),
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "BARNABAS_REGISTRY": registry},
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def subject() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


def test_a_schema_is_checked_against_all_versions_that_the_level_is_about(
    run: Run, subject: str, tmp_path: Path
) -> None:
    fields = ', {"name": "e", "type": "string", "default": ""}]}'
    (tmp_path / "with_default.avsc").write_text(FIRST.replace("]}", fields))
    (tmp_path / "without.avsc").write_text(FIRST.replace("]}", fields.replace(', "default": ""', "")))
    with EmbeddedRegistry() as registry:
        run("register", subject, "first.avsc", registry=registry.url)
        run("register", subject, "with_default.avsc", registry=registry.url)
        check = ("check", "without.avsc", "--subject", subject)
        # The latest version has the field, the first one has not.
        run("config", subject, "--compatibility", "FULL", registry=registry.url)
        assert run(*check, registry=registry.url).stdout == "compatible\n"
        run("config", subject, "--compatibility", "FULL_TRANSITIVE", registry=registry.url)
        assert run(*check, registry=registry.url, status=1).stdout.startswith("not compatible\n")
        assert run(*check, "--version", "latest", registry=registry.url).stdout == "compatible\n"
        missing = run("check", "first.avsc", "--subject", "no-such", registry=registry.url, status=1)
        assert "no-such" in missing.stderr


def test_schemas_are_registered_listed_shown_compared_and_deleted(
    run: Run, registry: str, subject: str
) -> None:
    said = run("register", subject, "first.avsc", registry=registry).stdout
    assert said.startswith(f"{subject} version 1, id ")
    second = json.loads(run("register", subject, "second.avsc", "--json", registry=registry).stdout)
    assert (second["subject"], second["version"]) == (subject, 2)
    assert json.loads(run("list", subject, "--json", registry=registry).stdout) == {subject: [1, 2]}
    assert "1, 2" in run("list", subject, registry=registry).stdout
    assert json.loads(run("show", subject, registry=registry).stdout) == json.loads(SECOND)
    shown = json.loads(run("show", "--id", str(second["id"]), "--json", registry=registry).stdout)
    assert json.loads(shown["schema"]) == json.loads(SECOND)
    changes = run("diff", subject, "1", registry=registry).stdout
    assert f"--- {subject} version 1" in changes
    assert '+      "name": "e",' in changes
    assert run("diff", subject, "1", "1", registry=registry).stdout == ""
    assert "deleted" in run("delete", subject, "--yes", "--version", "1", registry=registry).stderr
    run("delete", subject, "--yes", registry=registry)
    gone = run("show", subject, registry=registry, status=1).stderr
    assert gone.startswith("error: GET /subjects/")
    assert len(gone.splitlines()) == 1


def test_a_registry_is_asked_whether_a_schema_may_follow(run: Run, registry: str, subject: str) -> None:
    run("register", subject, "-", "--type", "avro", registry=registry, input=FIRST)
    run("config", subject, "--compatibility", "BACKWARD", registry=registry)
    assert "compatibility=BACKWARD" in run("config", subject, registry=registry).stdout
    assert run("check", "second.avsc", "-s", subject, registry=registry).stdout == "compatible\n"
    refused = run("check", "other.avsc", "-s", subject, registry=registry, status=1)
    assert refused.stdout.startswith("not compatible")
    verdict = json.loads(
        run("check", "other.avsc", "-s", subject, "--json", registry=registry, status=1).stdout
    )
    assert verdict["is_compatible"] is False
    run("config", subject, "--reset", registry=registry)


def test_files_are_compared_without_a_registry(run: Run) -> None:
    assert run("check", "second.avsc", "--against", "first.avsc").stdout == "compatible\n"
    refused = run(
        "check", "other.avsc", "--against", "second.avsc", "--against", "first.avsc", status=1
    ).stdout
    assert refused.splitlines() == [
        "not compatible",
        "  first.avsc: {errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'z' at path "
        "'/fields/1' in the new schema has no default value and is missing in the old schema', "
        "additionalInfo:'z'}",
    ]
    run("check", "other.avsc", "--against", "first.avsc", "--level", "forward")
    run("check", "other.avsc", "--against", "first.avsc", "--level", "none")


def test_json_schemas_are_compared_without_a_registry(run: Run, tmp_path: Path) -> None:
    order = {"type": "object", "properties": {"item": {"$ref": "item.json"}}, "additionalProperties": False}
    more = {**order, "properties": {**order["properties"], "note": {"type": "string"}}, "required": ["note"]}
    for name, schema in (("order", order), ("more", more), ("item", {"type": "integer"})):
        (tmp_path / f"{name}.json").write_text(json.dumps(schema))
    references = ("--reference", "item.json=item.json")
    assert run("check", "order.json", "--against", "order.json", *references).stdout == "compatible\n"
    refused = run("check", "more.json", "--against", "order.json", *references, status=1).stdout
    assert refused.splitlines() == [
        "not compatible",
        '  order.json: {errorType:"REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", description:"The new '
        "schema has an unopen content model and has a required property at path '#/properties/note' which is "
        "missing in the old schema'}",
    ]
    missing = run("check", "order.json", "--against", "order.json", status=1).stderr
    assert "refers to 'item.json', which is none of its references" in missing


def test_avro_schemas_with_references_are_compared_without_a_registry(run: Run, tmp_path: Path) -> None:
    (tmp_path / "list.avsc").write_text('{"type": "array", "items": "U"}')
    against = ("--against", "list.avsc", "--reference", "U=first.avsc")
    assert run("check", "list.avsc", *against).stdout == "compatible\n"


def test_schemas_of_protocol_buffers_are_compared_without_a_registry(run: Run, tmp_path: Path) -> None:
    order = 'syntax = "proto3"; import "item.proto"; message Order { Item item = 1; }'
    (tmp_path / "order.proto").write_text(order)
    (tmp_path / "other.proto").write_text(order.replace("Item item", "int64 item"))
    (tmp_path / "item.proto").write_text('syntax = "proto3"; message Item { int32 id = 1; }')
    references = ("--reference", "item.proto=item.proto")
    assert run("check", "order.proto", "--against", "order.proto", *references).stdout == "compatible\n"
    refused = run("check", "other.proto", "--against", "order.proto", *references, status=1).stdout
    assert refused.splitlines() == [
        "not compatible",
        '  order.proto: {errorType:"FIELD_KIND_CHANGED", description:"The type of a field at path '
        "'#/Order/1' in the new schema does not match the old schema\"}",
    ]
    (tmp_path / "broken.proto").write_text("message Order {\n  int32 id = 1;\n}")
    broken = run("check", "broken.proto", "--against", "order.proto", *references, status=1).stderr
    assert "line 2, column 3: expected optional, required, repeated" in broken


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show"], "name a subject, or give --id"),
        (["check", "first.avsc"], "give --subject, to ask a registry, or --against"),
        (["show", "s", "--version", "first"], "a version is a number or latest, not 'first'"),
        (["register", "s", "-"], "give --type AVRO, JSON or PROTOBUF"),
        (
            ["register", "s", "first.avsc", "--reference", "U"],
            "--reference takes NAME=SUBJECT:VERSION, not 'U'",
        ),
        (["check", "first.avsc", "--against", "first.avsc", "--level", "x"], "compatibility must be one of"),
        (["check", "first.avsc", "--against", "first.avsc", "-t", "json"], "AVRO and JSON are different"),
        (
            ["check", "first.avsc", "--against", "first.avsc", "--reference", "a"],
            "without a registry --reference takes NAME=FILE, not 'a'",
        ),
        (["config", "--reset", "--normalize"], "--reset sets nothing"),
        (["register", "s", "nowhere.avsc"], "No such file or directory: 'nowhere.avsc'"),
        (["list", "-X", "retries=0"], "no registry answered within 1 tries: http://127.0.0.1:9"),
        (["list", "-X", "retrys=0"], "did you mean 'retries'"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(run: Run, arguments: list[str], words: str) -> None:
    said = run(*arguments, status=1, input="").stderr
    assert words in said
    assert len(said.splitlines()) == 1


def test_settings_of_the_registry_come_from_a_properties_file(
    run: Run, registry: str, tmp_path: Path
) -> None:
    (tmp_path / "client.properties").write_text(
        f"bootstrap.servers=localhost:9092\nschema.registry.url={registry}\nschema.registry.retries=0\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "BARNABAS_REGISTRY"}
    done = subprocess.run(
        command_line(
            "schemas", "list", "nothing-begins-so", "--json", "--command-config", "client.properties"
        ),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr
