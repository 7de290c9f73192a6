"""How `barnabas consume` decodes, chooses, measures and keeps what it reads."""

from __future__ import annotations

import csv
import json
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas import Producer, Registry
from barnabas.records.fields import FieldPath
from barnabas.records.parquet import SelectedParquetFile
from barnabas.records.texts import ReadRecord
from barnabas.registry import Schema
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

Here = Callable[..., Any]
Made = Callable[..., str]

USER = '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}'
ORDER = (
    '{"type": "record", "name": "Order", "fields": [{"name": "price", "type": '
    '{"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}}]}'
)
PROTO = 'syntax = "proto3"; message First { string a = 1; } message Second { int64 b = 1; }'
READ = ("--from-beginning", "--until-end")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with EmbeddedRegistry() as server:
        yield server.url


@pytest.fixture
def sent(embedded_broker: EmbeddedBroker, made: Made) -> Callable[..., str]:
    """`sent(b"a", b"b")` is a topic of one partition with these values, or with records that are dicts."""

    def send(*records: bytes | dict[str, Any] | None) -> str:
        name = made()
        with Producer(embedded_broker.bootstrap) as producer:
            for each in records:
                producer.send(name, **(each if isinstance(each, dict) else {"value": each}))
        return name

    return send


def values(here: Here, *arguments: str) -> list[Any]:
    lines = here("consume", *arguments, *READ, "--json").stdout.splitlines()
    return [json.loads(line)["value"] for line in lines]


def framed(schema_id: int, rest: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + rest


def test_auto_reads_each_value_by_the_schema_that_it_names_or_as_it_looks(
    here: Here, sent: Callable[..., str], url: str
) -> None:
    with Registry(url) as registry:
        user = registry.register("user", Schema(USER)).id
        order = registry.register("order", Schema(ORDER)).id
        proto = registry.register("proto", Schema(PROTO, "PROTOBUF")).id
        note = registry.register("note", Schema('{"type": "object"}', "JSON")).id
    name = sent(
        framed(user, b"\x0e"),
        framed(order, b"\x04\x04\xe2"),
        # The second message of its file: one index, 1.
        framed(proto, b"\x02\x02\x08\x05"),
        framed(note, b'{"text": "hi"}'),
        b'{"plain": [1, 2]}',
        "grüß dich".encode(),
        struct.pack(">q", 5),
        framed(9999, b"no such schema"),
        b"{not json",
        None,
        b"",
    )
    assert values(here, name, "--value-format", "auto", "--registry-url", url) == [
        {"id": 7},
        {"price": 12.5},
        {"b": 5},
        {"text": "hi"},
        {"plain": [1, 2]},
        "grüß dich",
        "0000000000000005",
        "000000270f6e6f207375636820736368656d61",
        "{not json",
        None,
        "",
    ]
    # Without a registry, what names a schema is bytes like others.
    assert values(here, name, "--value-format", "auto")[:2] == [f"00{user:08x}0e", f"00{order:08x}0404e2"]


def test_auto_takes_keys_and_schemas_that_headers_name(
    here: Here, embedded_broker: EmbeddedBroker, made: Made, url: str
) -> None:
    name = made()
    with Registry(url) as registry, Producer(embedded_broker.bootstrap) as producer:
        registered = registry.register(f"{name}-value", Schema(USER))
        headers = [("__value_schema_id", b"\1" + uuid.UUID(registered.guid).bytes)]
        producer.send(name, key=framed(registered.id, b"\x02"), value=b"\x04", headers=headers)
    both = ("--value-format", "auto", "--key-format", "auto", "--registry-url", url)
    (line,) = here("consume", name, *READ, *both, "--json").stdout.splitlines()
    assert (json.loads(line)["key"], json.loads(line)["value"]) == ({"id": 1}, {"id": 2})


@pytest.mark.parametrize("form", ["avro", "auto"])
def test_what_cannot_be_read_ends_it_or_is_left_out_or_stands_in_digits(
    here: Here, sent: Callable[..., str], url: str, form: str
) -> None:
    with Registry(url) as registry:
        user = registry.register("user", Schema(USER)).id
        name = sent(framed(user, b"\x0e"), framed(user, b""), framed(user, b"\x10"))
        registry.register(f"{name}-value", Schema(USER))
    read = (name, "--value-format", form, "--registry-url", url)
    done = here("consume", *read, *READ, ok=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {name}-0 at offset 1: the value")
    assert values(here, *read, "--on-error", "skip") == [{"id": 7}, {"id": 8}]
    assert values(here, *read, "--on-error", "hex") == [{"id": 7}, f"00{user:08x}", {"id": 8}]
    told = here("consume", *read, *READ, "--on-error", "skip").stderr
    assert told == "1 record could not be read: left out\n"
    assert (
        "--on-error is one of stop, skip, hex" in here("consume", *read, "--on-error", "x", ok=False).stderr
    )


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        ("value.amount > 100", [1, 2]),
        ("value.amount >= 100.5", [1, 2]),
        ("value.amount + 0.5 == 101.0", [1]),
        ("value.who == 'ann' || key == 'k3'", [0, 3]),
        ("headers.source == 'web'", [2]),
        ("has(value.who)", [0]),
        ("offset > 1 && partition == 0", [2, 3]),
        ("value.tags.exists(tag, tag == 'x')", [2]),
    ],
)
def test_only_records_of_which_a_condition_is_true_are_printed(
    here: Here, sent: Callable[..., str], where: str, offsets: list[int]
) -> None:
    name = sent(
        b'{"amount": 5, "who": "ann"}',
        b'{"amount": 100.5}',
        {"value": b'{"amount": 300, "tags": ["w", "x"]}', "headers": [("source", b"web")]},
        {"key": b"k3", "value": b"no JSON"},
    )
    found = here("consume", name, *READ, "--where", where, "--format", "{offset}\n").stdout
    assert [int(line) for line in found.split()] == offsets


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("value.amount >", "is no condition in CEL: see column"),
        ("value.amount", "is no condition: it gives 5, not true or false"),
        (
            "amount > 5",
            "names what no record has; there are topic, partition, offset, timestamp, key, value, headers",
        ),
    ],
)
def test_a_condition_that_is_none_is_refused(
    here: Here, sent: Callable[..., str], where: str, why: str
) -> None:
    done = here("consume", sent(b'{"amount": 5}'), *READ, "--where", where, ok=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr


def test_single_fields_are_printed_with_tabs_or_as_an_object(here: Here, sent: Callable[..., str]) -> None:
    name = sent(
        {"key": b"a", "value": b'{"user": {"name": "Ann"}, "lines": [{"n": 1}, {"n": 2}], "x.y": true}'},
        {"key": None, "value": b"text"},
    )
    fields = ("key", "value.user.name", "value.lines.1.n", 'value."x.y"', "value.user")
    select = [word for field in fields for word in ("--select", field)]
    lines = here("consume", name, *READ, *select).stdout
    assert lines == 'a\tAnn\t2\ttrue\t{"name": "Ann"}\n\t\t\t\t\n'
    first, second = (
        json.loads(line) for line in here("consume", name, *READ, *select, "--json").stdout.splitlines()
    )
    assert first == dict(zip(fields, ["a", "Ann", 2, True, {"name": "Ann"}], strict=True))
    assert second == dict.fromkeys(fields)
    for wrong in ("amount", "value..a", ""):
        done = here("consume", name, "--select", wrong, ok=False)
        assert f"--select {wrong!r} is no field" in done.stderr


def test_figures_tell_of_sizes_by_partition_and_of_the_largest_keys(
    here: Here, embedded_broker: EmbeddedBroker, made: Made
) -> None:
    name = made(2)
    with Producer(embedded_broker.bootstrap) as producer:
        for size in range(1, 101):
            producer.send(name, key=b"a", value=b"x" * (size - 1), partition=0, timestamp=1000 + size)
        producer.send(name, key=b"big", value=b"x" * 10_000, partition=1, timestamp=5000)
        producer.send(name, key=b"a", value=None, partition=1, timestamp=6000)
    found = json.loads(here("consume", name, *READ, "--stats", "--json").stdout)
    first, second, whole = found["partitions"]
    assert first == {
        "topic": name,
        "partition": 0,
        "records": 100,
        "bytes": 5050,
        "nulls": 0,
        "keys": 1,
        "min_bytes": 1,
        "p50_bytes": 50,
        "p90_bytes": 90,
        "p99_bytes": 99,
        "max_bytes": 100,
        "first_timestamp_ms": 1001,
        "last_timestamp_ms": 1100,
    }
    assert (second["records"], second["nulls"], second["max_bytes"]) == (2, 1, 10_003)
    assert (whole["topic"], whole["partition"], whole["records"], whole["keys"]) == ("all", None, 102, 2)
    assert found["largest_keys"] == [
        {"key": "big", "records": 1, "bytes": 10_003},
        {"key": "a", "records": 101, "bytes": 5051},
    ]
    shown = here("consume", name, *READ, "--stats", "--match-key", "big").stdout.split()
    assert shown.count("10003") == 7


def test_the_last_records_are_found_whatever_offsets_they_have(
    here: Here, embedded_broker: EmbeddedBroker, made: Made
) -> None:
    """Each of these transactions takes two offsets: the record, and the marker of its end."""
    name = made()
    with Producer(embedded_broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        for number in range(20):
            with producer.transaction():
                producer.send(name, str(number).encode())
    assert here("consume", name, "--tail", "3", "--until-end").stdout == "17\n18\n19\n"
    assert here("consume", name, "--offset", "-3", "--until-end").stdout == "19\n"
    assert here("consume", name, "--tail", "99", "--until-end").stdout.splitlines()[0] == "0"
    assert "exclude each other" in here("consume", name, "--tail", "3", "--from-beginning", ok=False).stderr


def test_the_last_records_of_an_empty_topic_are_none(here: Here, made: Made) -> None:
    assert here("consume", made(3), "--tail", "3", "--until-end").stdout == ""


def test_a_member_of_a_group_ends_at_the_end_that_its_topics_had(
    here: Here, sent: Callable[..., str]
) -> None:
    name = sent(b"a", b"b")
    member = ("consume", name, "--group", name, "--from-beginning", "--until-end")
    assert here(*member).stdout == "a\nb\n"
    here("produce", name, input="c\n")
    assert here(*member).stdout == "c\n"
    assert here(*member).stdout == ""
    (found,) = json.loads(here("groups", "describe", name, "--json").stdout)
    assert found["lag"] == 0


def test_records_go_to_a_file_of_lines_or_of_columns(
    here: Here, sent: Callable[..., str], tmp_path: Path, url: str
) -> None:
    header = [("h", b"\xff")]
    with Registry(url) as registry:
        order = registry.register("order", Schema(ORDER)).id
        name = sent(
            {
                "key": b"a",
                "value": framed(order, b"\x04\x04\xe2"),
                "timestamp": 1000,
                "headers": header,
            },
            {"key": None, "value": None, "timestamp": 2000},
        )
        registry.register(f"{name}-value", Schema(ORDER))
    avro = ("--value-format", "avro", "--registry-url", url)

    def written(suffix: str, *options: str) -> Path:
        path = tmp_path / f"orders{suffix}"
        done = here("consume", name, *READ, "--output", str(path), *options)
        assert done.stdout == ""
        return path

    lines = [json.loads(line) for line in written(".jsonl", *avro).read_text().splitlines()]
    assert [line["value"] for line in lines] == [{"price": 12.5}, None]
    rows = list(csv.reader(written(".csv", *avro).read_text().splitlines()))
    assert rows[0] == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
    assert rows[1][2:6] == ["0", "1000", "a", '{"price": 12.5}']
    assert rows[2][4:6] == ["", ""]
    chosen = written(".csv", *avro, "--select", "offset", "--select", "value.price").read_text()
    assert chosen == "offset,value.price\n0,12.5\n1,\n"

    table = pq.read_table(written(".parquet", *avro))
    assert table.schema.field("value").type.field("price").type == pa.decimal128(10, 2)
    assert [str(each["price"]) if each else None for each in table["value"].to_pylist()] == ["12.50", None]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [1000, 2000]
    assert table["headers"].to_pylist() == [[{"name": "h", "value": b"\xff"}], []]
    plain = pq.read_table(written(".parquet"))
    assert plain["value"].to_pylist() == [framed(order, b"\x04\x04\xe2"), None]
    auto = pq.read_table(written(".parquet", "--value-format", "auto", "--registry-url", url))
    assert auto["value"].to_pylist() == ['{"price":12.50}', None]
    for path in (tmp_path / "orders.xml", tmp_path / "missing" / "orders.csv"):
        done = here("consume", name, *READ, "--output", str(path), ok=False)
        assert done.stderr.startswith(f"error: --output {str(path)!r}")


def test_an_empty_topic_makes_an_empty_file(here: Here, made: Made, tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    here("consume", made(), *READ, "--output", str(path))
    assert pq.read_table(path).num_rows == 0


def test_fields_are_columns_of_a_parquet_file_with_the_types_of_their_schema(
    here: Here, embedded_broker: EmbeddedBroker, made: Made, url: str, tmp_path: Path
) -> None:
    name = made()
    inner = '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}'
    schema = ORDER.replace("]}", f', {{"name": "user", "type": ["null", {inner}], "default": null}}]}}')
    with Registry(url) as registry, Producer(embedded_broker.bootstrap) as producer:
        schema_id = registry.register(f"{name}-value", Schema(schema)).id
        producer.send(name, framed(schema_id, b"\x04\x04\xe2\x02\x0e"), key=b"a", timestamp=1000)
        producer.send(name, framed(schema_id, b"\x04\x04\xe2\x00"), headers=[("h", b"1")], timestamp=2000)
        producer.send(name, None, timestamp=3000)
    path = tmp_path / "orders.parquet"
    fields = ("key", "value.price", "value.user.id", "value.user", "timestamp", "headers.h", "offset")
    selected = [word for field in fields for word in ("--select", field)]
    avro = ("--value-format", "avro", "--registry-url", url)
    here("consume", name, *READ, *avro, "--output", str(path), *selected)
    table = pq.read_table(path)
    assert tuple(table.column_names) == fields
    types = {field.name: field.type for field in table.schema}
    assert types["value.price"] == pa.decimal128(10, 2)
    assert types["value.user.id"] == pa.int64()
    assert types["timestamp"] == pa.timestamp("ms", tz="UTC")
    assert table["value.user.id"].to_pylist() == [7, None, None]
    assert table["value.user"].to_pylist() == [{"id": 7}, None, None]
    assert [each and str(each) for each in table["value.price"].to_pylist()] == ["12.50", "12.50", None]
    assert table["key"].to_pylist() == ["a", None, None]
    assert table["headers.h"].to_pylist() == [None, "1", None]


@pytest.mark.parametrize("rows_together", [100, 1, 2])
def test_fields_of_plain_json_have_a_type_that_holds_all_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_together: int
) -> None:
    # Types change between groups of rows as well.
    monkeypatch.setattr("barnabas.records.parquet.ROWS_TOGETHER", rows_together)
    values: list[dict[str, Any]] = [
        {"n": 1, "many": 1, "deep": {}, "list": [1]},
        {"n": 2, "many": 2, "deep": {"a": 1}, "list": []},
        {"n": 2.5, "many": "x", "deep": {"a": 2}, "list": [1]},
        {"n": 3, "many": True, "deep": {"a": 3, "b": "c"}, "list": [2, 3]},
        {"many": {"y": 1}, "list": None},
    ]
    path = tmp_path / "a.parquet"
    fields = ("value.n", "value.many", "value.deep.a", "value.list", "value.list.0", "value.none")
    formats: Any = None
    selected = [FieldPath(field, "--select") for field in fields]
    with closing(SelectedParquetFile(path, selected, formats, [])) as file:
        for offset, value in enumerate(values):
            file.write([ReadRecord("t", 0, offset, 1000, None, json.dumps(value).encode(), [])])
    table = pq.read_table(path)
    assert table.schema.field("value.n").type == pa.float64()
    assert table["value.n"].to_pylist() == [1.0, 2.0, 2.5, 3.0, None]
    assert table["value.many"].to_pylist() == ["1", "2", "x", "true", '{"y": 1}']
    assert table.schema.field("value.deep.a").type == pa.int64()
    assert table["value.deep.a"].to_pylist() == [None, 1, 2, 3, None]
    assert table["value.list"].to_pylist() == [[1], [], [1], [2, 3], None]
    assert table["value.list.0"].to_pylist() == [1, None, 1, 2, None]
    assert table["value.none"].to_pylist() == [None] * 5
    assert [each.name for each in tmp_path.iterdir()] == ["a.parquet"]


def test_structs_of_plain_json_have_all_fields_that_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.records.parquet.ROWS_TOGETHER", 1)
    path = tmp_path / "a.parquet"
    formats: Any = None
    with closing(SelectedParquetFile(path, [FieldPath("value", "--select")], formats, [])) as file:
        for value in (b'{"a": 1}', b'{"a": 2.5, "b": [null]}', b'{"b": ["x"]}'):
            file.write([ReadRecord("t", 0, 0, 1000, None, value, [])])
    assert pq.read_table(path)["value"].to_pylist() == [
        {"a": 1.0, "b": None},
        {"a": 2.5, "b": [None]},
        {"a": None, "b": ["x"]},
    ]


def test_an_empty_topic_makes_an_empty_file_of_fields(here: Here, made: Made, tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    here("consume", made(), *READ, "--output", str(path), "--select", "value.a", "--select", "offset")
    assert pq.read_table(path).column_names == ["value.a", "offset"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--group", "g"), "--group is not for a Parquet file"),
        (("--on-error", "hex"), "--on-error hex is not for columns of a Parquet file: choose skip or stop"),
        (("--json",), "exclude each other: choose one way to print"),
    ],
)
def test_what_a_parquet_file_cannot_be_is_refused(
    here: Here, made: Made, tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    done = here("consume", made(), "--output", str(tmp_path / "a.parquet"), *options, ok=False)
    assert done.stderr.startswith("error: ")
    assert why in done.stderr


def test_values_are_read_and_written_by_a_schema_in_a_file_alone(
    here: Here, sent: Callable[..., str], made: Made, tmp_path: Path
) -> None:
    avro, proto = tmp_path / "order.avsc", tmp_path / "two.proto"
    avro.write_text(ORDER)
    proto.write_text(PROTO)
    raw_avro = ("--value-format", "raw-avro", "--value-schema", str(avro))
    raw_proto = ("--value-format", "raw-protobuf", "--value-schema", str(proto), "--value-message", "Second")
    assert values(here, sent(b"\x04\x04\xe2"), *raw_avro) == [{"price": 12.5}]
    assert values(here, sent(b"\x08\x05"), *raw_proto) == [{"b": 5}]
    name = made()
    here("produce", name, *raw_avro, input='{"price": 12.50}\n')
    assert here("consume", name, *READ, "--value-format", "hex").stdout == "0404e2\n"
    for wrong, why in (
        (("--value-format", "raw-avro"), "--value-format raw-avro needs --value-schema"),
        (
            (*raw_avro, "--value-message", "A"),
            "--value-message means nothing without --value-format protobuf",
        ),
        ((*raw_avro, "--value-subject", "s"), "--value-subject means nothing without --value-format avro"),
    ):
        assert why in here("consume", name, *wrong, ok=False).stderr
