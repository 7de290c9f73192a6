"""What `barnabas produce` makes of its input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.producing.pieces import delimiter_of
from barnabas.records.plain import PLAIN_FORMATS

Here = Callable[..., Any]
Made = Callable[..., str]


@pytest.fixture
def read(here: Here) -> Callable[..., list[dict[str, Any]]]:
    """All records of a topic, as `consume --json` prints them."""

    def read(topic: str, *arguments: str) -> list[dict[str, Any]]:
        done = here("consume", topic, "--from-beginning", "-e", "--json", *arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


def test_lines_of_json_have_all_that_a_record_has(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]]
) -> None:
    name = made(partitions=2)
    lines = [
        {"key": "k", "value": "v", "headers": [["a", "1"], ["b", None]], "partition": 1, "timestamp": 1000},
        {"value": {"n": [1, 2.5]}, "headers": {"h": {"base64": "/w=="}}, "partition": 1},
        {"key": {"base64": "//4="}, "partition": 1},
    ]
    here("produce", name, "-J", "-H", "all=x", input="\n".join(map(json.dumps, lines)))
    first, second, third = read(name)
    assert first == {
        "topic": name,
        "partition": 1,
        "offset": 0,
        "timestamp": 1000,
        "key": "k",
        "value": "v",
        "headers": [["all", "x"], ["a", "1"], ["b", None]],
    }
    assert (json.loads(second["value"]), second["headers"][1]) == ({"n": [1, 2.5]}, ["h", {"base64": "/w=="}])
    assert (third["key"], third["value"]) == ({"base64": "//4="}, None)


def test_what_consume_prints_as_json_comes_back_the_same(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]]
) -> None:
    source, target = made(), made()
    here("produce", source, "-K", ":", "-H", "h=1", input=b"a:1\nb:\xff\n")
    printed = here("consume", source, "--from-beginning", "-e", "--json").stdout
    here("produce", target, "--json-lines", input=printed)
    assert read(target) == [{**record, "topic": target} for record in read(source)]


@pytest.mark.parametrize(
    ("delimiter", "given", "expected"),
    [
        (";", b"a;b\n;;c", ["a", "b\n", "", "c"]),
        (r"\0", b"a\nb\0c\0", ["a\nb", "c"]),
        (r"--\x0A", b"a--b--\nc", ["a--b", "c"]),
        (r"\n", b"a\r\nb\n\nc", ["a", "b", "", "c"]),
    ],
)
def test_any_text_may_divide_records(
    here: Here,
    made: Made,
    read: Callable[..., list[dict[str, Any]]],
    delimiter: str,
    given: bytes,
    expected: list[str],
) -> None:
    name = made()
    here("produce", name, "--delimiter", delimiter, input=given)
    assert [record["value"] for record in read(name)] == expected


def test_a_separator_of_keys_may_be_a_tab(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]]
) -> None:
    name = made()
    here("produce", name, "-K", r"\t", "--timestamp", "2026-01-31T12:00+00:00", input="k\tv\n")
    (record,) = read(name)
    assert (record["key"], record["value"], record["timestamp"]) == ("k", "v", 1_769_860_800_000)


def test_files_are_read_one_after_the_other_by_line_or_whole(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]], tmp_path: Path
) -> None:
    (tmp_path / "1").write_text("a\nb\n")
    (tmp_path / "2").write_text("c")
    files = ["-f", str(tmp_path / "1"), "-f", str(tmp_path / "2")]
    by_line, whole = made(), made()
    here("produce", by_line, *files)
    here("produce", whole, *files, "--whole")
    assert [record["value"] for record in read(by_line)] == ["a", "b", "c"]
    assert [record["value"] for record in read(whole)] == ["a\nb\n", "c"]


def test_a_transaction_is_there_as_a_whole_or_not_at_all(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]]
) -> None:
    name = made()
    committed = ["-X", "isolation.level=read_committed"]
    here("produce", name, "--transaction", input="a\nb\n")
    broken = here("produce", name, "--transaction", "-K", ":", input="k:c\nd\n", ok=False)
    assert broken.stderr.splitlines() == [
        f"the transaction is aborted: no record of it is in {name} for read_committed",
        "error: line 2 has no key separator ':'",
    ]
    assert [record["value"] for record in read(name, *committed)] == ["a", "b"]


@pytest.mark.parametrize(
    ("format", "text", "data"),
    [
        ("short", "-2", b"\xff\xfe"),
        ("int", "258", b"\0\0\1\2"),
        ("long", "-1", b"\xff" * 8),
        ("float", "0.5", b"\x3f\0\0\0"),
        ("double", "-2.0", b"\xc0" + b"\0" * 7),
        ("hex", "00ff", b"\0\xff"),
        ("base64", "AP8=", b"\0\xff"),
    ],
)
def test_plain_formats_are_those_of_kafkas_serializers(format: str, text: str, data: bytes) -> None:
    plain = PLAIN_FORMATS[format]
    assert (plain.write(text), plain.read(data)) == (data, text)


def test_numbers_are_written_and_read_by_their_format(
    here: Here, made: Made, read: Callable[..., list[dict[str, Any]]]
) -> None:
    name = made()
    here("produce", name, "-K", ":", "--key-format", "int", "--value-format", "long", input="1:2\n")
    here("produce", name, "-J", "--value-format", "long", input='{"value": 3}\n')
    formats = ["--key-format", "int", "--value-format", "long"]
    assert [(r["key"], r["value"]) for r in read(name, *formats)] == [(1, 2), (None, 3)]
    wrong = here("consume", name, "--from-beginning", "-e", "--value-format", "int", ok=False)
    assert (
        wrong.stderr
        == f"error: {name}-0 at offset 0: the value cannot be read as int: it has 8 bytes, not 4\n"
    )


@pytest.mark.parametrize(
    ("arguments", "given", "complaint"),
    [
        (["-J"], "a\n", "line 1 is not JSON"),
        (["-J"], "[]\n", "line 1 is not an object of JSON"),
        (["-J"], '{"valeu": 1}\n', "line 1 has 'valeu'; a record has key, value"),
        (["-J"], '{"partition": "1"}\n', 'line 1: partition is a number from 0 on, not "1"'),
        (["-J"], '{"headers": [1]}\n', "line 1: a header is [name, value], not 1"),
        (["-J"], '{"headers": 1}\n', "line 1: headers are an object, or a list of [name, value]"),
        (["-J"], '{"value": {"base64": "?"}}\n', "line 1: '?' is not base64"),
        (["-J", "-K", ":"], "", "--json-lines excludes --key, --key-separator and --whole"),
        (["-D", ""], "", "--delimiter is empty"),
        (
            ["--value-format", "short"],
            "70000\n",
            "cannot be written as short: 70000 does not fit into 2 bytes",
        ),
        (["--value-format", "int"], "x\n", "line 1: the value cannot be written as int: "),
        (["--value-format", "int", "--value-subject", "s"], "", "without --value-format avro or json or"),
        (["-X", "transactional.id=t"], "", "transactional_id means nothing without --transaction"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    here: Here, made: Made, arguments: list[str], given: str, complaint: str
) -> None:
    done = here("produce", made(), *arguments, input=given, ok=False)
    assert done.returncode == 1
    assert complaint in done.stderr.splitlines()[-1]


def test_a_delimiter_has_escapes() -> None:
    assert delimiter_of(r"a\\b\qä\xFF", "-D") == b"a\\b\\q\xc3\xa4\xff"
