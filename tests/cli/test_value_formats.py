"""Lines of JSON into records of a registry's schemas, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

from barnabas import Consumer, Producer, Registry, TopicPartition
from barnabas.registry import AvroSerializer, Rule, RuleSet, Schema
from barnabas.testing import EmbeddedRegistry

Created = Callable[..., str]
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)
LINE = '{"id":5,"at":"2026-11-25T01:02:03.456Z","day":"2026-11-25","price":12.50,"note":"ä"}'
JSON_SCHEMA = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
PROTO = 'syntax = "proto3"; message Order { int64 id = 1; string note = 2; }'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with EmbeddedRegistry() as server:
        yield server.url


@pytest.fixture
def order(tmp_path: Path) -> str:
    (tmp_path / "order.avsc").write_text(ORDER)
    return str(tmp_path / "order.avsc")


def test_json_lines_are_written_as_avro_and_come_back(
    cli: Cli, created: Created, url: str, order: str, broker: object
) -> None:
    name = created()
    avro = ["--value-format", "avro", "--registry-url", url]
    cli("produce", name, *avro, "--value-schema", order, "--key-separator", "|", input=f"k|{LINE}\n")
    with Registry(url) as registry:
        id = registry.latest(f"{name}-value").id
    with Consumer(broker.bootstrap) as consumer:  # type: ignore[attr-defined]
        consumer.assign([TopicPartition(name, 0)])
        consumer.seek_to_beginning()
        record = consumer.poll_one(30)
    assert record is not None
    assert record.value[:5] == b"\0" + id.to_bytes(4, "big")
    read = ["--from-beginning", "--until-end"]
    assert cli("consume", name, *avro, *read).stdout == LINE + "\n"
    assert cli("consume", name, *avro, *read, "--key").stdout == f"k\t{LINE}\n"
    shown = json.loads(cli("consume", name, *avro, *read, "--json").stdout)
    assert (shown["key"], shown["value"]["day"], shown["value"]["note"]) == ("k", "2026-11-25", "ä")
    # By the schema that is there already.
    assert "1 record sent" in cli("produce", name, *avro, input=LINE + "\n").stderr


def test_keys_have_a_format_of_their_own_and_nothing_stays_nothing(
    cli: Cli, created: Created, url: str
) -> None:
    name = created()
    with Registry(url) as registry:
        registry.register(f"{name}-key", Schema('"long"'))
    keys = ["--key-format", "avro", "--registry-url", url]
    cli("produce", name, *keys, "-K", ":", "--tombstones", input="7:\n")
    shown = json.loads(cli("consume", name, *keys, "--from-beginning", "--until-end", "--json").stdout)
    assert (shown["key"], shown["value"]) == (7, None)


def test_protobuf_and_json_schemas(cli: Cli, created: Created, url: str, tmp_path: Path) -> None:
    for format, text in (
        ("protobuf", PROTO),
        ("json", '{"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}}'),
    ):
        name = created()
        (tmp_path / "schema").write_text(text)
        options = ["--value-format", format, "--registry-url", url]
        line = '{"id":3,"note":"n"}\n'
        cli("produce", name, *options, "--value-schema", str(tmp_path / "schema"), input=line)
        assert cli("consume", name, *options, "--from-beginning", "--until-end").stdout == line


def test_a_line_or_a_record_that_does_not_fit_is_named(
    cli: Cli, created: Created, url: str, order: str
) -> None:
    name = created()
    avro = ["--value-format", "avro", "--registry-url", url]
    bad = LINE.replace("12.50", '"much"')
    failed = cli("produce", name, *avro, "--value-schema", order, input=f"{LINE}\n{bad}\n", ok=False)
    assert failed.returncode != 0
    assert "line 2: the value, field 'price' cannot be written as avro" in failed.stderr.replace("\n", " ")
    assert "1 record sent" in failed.stderr
    missing = cli("produce", name, *avro, input="{}\n", ok=False).stderr.replace("\n", " ")
    assert "line 1: the value, field 'id' cannot be written as avro: null" in missing
    cli("produce", name, input="plain\n")
    failed = cli("consume", name, *avro, "--from-beginning", "--until-end", ok=False)
    assert f"{name}-0 at offset 1: the value cannot be read as avro" in failed.stderr.replace("\n", " ")


def test_options_that_mean_nothing_together_are_refused(cli: Cli, created: Created, order: str) -> None:
    name = created()
    for options, message in (
        (["--value-schema", order], "--value-schema means nothing without --value-format"),
        (
            ["--value-format", "xml"],
            "--value-format is one of avro, json, protobuf, raw-avro, raw-protobuf, short,",
        ),
        (["--value-format", "avro", "--value-version", "x"], "--value-version is a number or latest"),
    ):
        failed = cli("consume", name, *options, "--until-end", ok=False)
        assert failed.returncode != 0
        assert message in failed.stderr.replace("\n", " ")


def test_a_properties_file_has_the_registrys_settings_beside_the_clients(
    cli: Cli, created: Created, url: str, tmp_path: Path
) -> None:
    name = created()
    with Registry(url) as registry:
        registry.register(f"{name}-value", Schema('"long"'))
    (tmp_path / "client.properties").write_text(f"schema.registry.url={url}\nclient.id=me\n")
    options = ["--value-format", "avro", "--command-config", str(tmp_path / "client.properties")]
    cli("produce", name, *options, input="7\n")
    assert cli("consume", name, *options, "--from-beginning", "--until-end").stdout == "7\n"


def test_the_address_of_the_command_line_goes_before_that_of_the_file(
    cli: Cli, created: Created, url: str, tmp_path: Path
) -> None:
    name = created()
    with Registry(url) as registry:
        registry.register(f"{name}-value", Schema('"long"'))
    (tmp_path / "client.properties").write_text("schema.registry.url=http://127.0.0.1:1\n")
    of_file = ["--command-config", str(tmp_path / "client.properties")]
    options = ["--value-format", "avro", "-r", url, *of_file]
    cli("produce", name, *options, input="7\n")
    assert cli("consume", name, *options, "--from-beginning", "--until-end").stdout == "7\n"
    of_x = ["-X", "schema.registry.url=http://127.0.0.1:1"]
    options = ["--value-format", "avro", "-r", url, *of_x]
    assert cli("consume", name, *options, "--from-beginning", "--until-end").stdout == "7\n"
    for more in (of_file, of_x):
        assert f"{name}-value" in cli("schemas", "list", "-r", url, *more).stdout
        # The environment names it as well as -r does.
        assert f"{name}-value" in cli("schemas", "list", *more, BARNABAS_REGISTRY=url).stdout
    # Without either, the address of the file or of -X is asked.
    for more in (of_file, of_x):
        assert "127.0.0.1:1" in cli("schemas", "list", *more, ok=False).stderr


def test_where_there_is_no_subject_it_is_told_what_else_there_is(
    cli: Cli, created: Created, url: str
) -> None:
    topic = created()
    cli("produce", topic, input="a\n")
    read = ("consume", topic, "-o", "beginning", "-e", "--value-format", "avro", "--registry", url)
    told = cli(*read, ok=False).stderr
    assert f"Subject '{topic}-value' not found" in told
    assert told.endswith(
        "; --value-subject names another subject, produce --value-schema registers one, and consume "
        "--value-format auto needs none\n"
    )


def test_plain_json_that_is_taken_for_a_registrys_is_told_to_be_plain(
    cli: Cli, created: Created, url: str
) -> None:
    name = created()
    hint = "values that are plain JSON, without a registry, need no --value-format"
    options = ["--value-format", "json", "-r", url]
    cli("produce", name, input='{"id": 1}\n')
    read = ["--from-beginning", "--until-end"]
    # There is no schema of it.
    for failed in (
        cli("consume", name, *options, *read, ok=False),
        cli("produce", name, *options, input='{"id": 1}\n', ok=False),
        cli("consume", name, "--value-format", "json", "-r", "http://127.0.0.1:1", *read, ok=False),
    ):
        assert failed.returncode == 1
        assert failed.stderr.splitlines()[-1].endswith(f"; {hint}")
    with Registry(url) as registry:
        registry.register(f"{name}-value", Schema(JSON_SCHEMA, "JSON"))
    failed = cli("consume", name, *options, *read, ok=False)
    assert failed.stderr.startswith(f"error: {name}-0 at offset 0: the value cannot be read as json: ")
    assert failed.stderr.endswith(f"; {hint}\n")
    assert len(failed.stderr.splitlines()) == 1
    assert cli("consume", name, *read).stdout == '{"id": 1}\n'


SMALL = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'


def test_lines_are_not_written_past_the_rules_of_their_subject(cli: Cli, created: Created, url: str) -> None:
    name = created()
    rule = Rule("hide", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT", tags=["PII"])
    with Registry(url) as registry:
        registry.register(f"{name}-value", Schema(SMALL, rule_set=RuleSet(domain_rules=(rule,))))
    avro = ["--value-format", "avro", "--registry-url", url]
    told = cli("produce", name, *avro, input='{"id":5}\n', ok=False).stderr
    assert f"version 1 of subject '{name}-value' has the rule 'hide' (ENCRYPT, WRITEREAD)" in told
    assert "Write with AvroSerializer" in told
    assert cli("consume", name, "--from-beginning", "--until-end").stdout == ""


def test_values_with_rules_are_read_only_where_their_rules_are_ignored(
    cli: Cli, created: Created, url: str, broker: object
) -> None:
    name = created()
    rule = Rule("see", kind="CONDITION", mode="READ", type="CEL", expr="true")
    with Registry(url) as registry, Producer(broker.bootstrap) as producer:  # type: ignore[attr-defined]
        schema = Schema(SMALL, rule_set=RuleSet(domain_rules=(rule,)))
        producer.send(name, AvroSerializer(registry, schema)(name, {"id": 5}))
    avro = ["--value-format", "avro", "--registry-url", url, "--from-beginning", "--until-end"]
    told = cli("consume", name, *avro, ok=False).stderr
    assert f"{name}-0 at offset 0" in told
    assert "has the rule 'see' (CEL, READ)" in told
    assert "(--ignore-rules)" in told
    assert cli("consume", name, *avro, "--ignore-rules").stdout == '{"id":5}\n'
