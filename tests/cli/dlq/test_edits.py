"""Dead letters that are changed before they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from barnabas.cli.dlq.edits import change_all, lines_of, sets_of, shown, take_lines
from barnabas.cli.dlq.schemas import LetterSchemas
from barnabas.cli.options import UsageError
from barnabas.records.dead_letters.conventions import BY_KEY, DeadLetter, Origin
from barnabas.records.dead_letters.spool import LetterSpool, Spooled
from barnabas.records.texts import ReadRecord

PLAIN = LetterSchemas(None)
VALUES: Sequence[bytes | None] = (b'{"id": 1, "lines": [{"n": 1}]}', b'{"id":2}', b"text", b"\xff", None)


@pytest.fixture
def spool() -> Iterator[LetterSpool]:
    """One letter of each of the values, at offsets from 0 on."""
    with LetterSpool() as spool:
        spool.add(
            (letter_of(offset), record(value, [("h", b"1"), ("h", b"2")]))
            for offset, value in enumerate(VALUES)
        )
        yield spool


def letter_of(offset: int, partition: int = 0) -> DeadLetter:
    return DeadLetter(Origin("orders", partition, offset), "", "", "", "", 0)


def record(value: bytes | None, headers: Any = ()) -> Any:
    return ReadRecord("dead", 0, 0, 1_700_000_000_000, b"k", value, headers)


def at(spool: LetterSpool, offset: int) -> Spooled:
    return next(letter for letter in spool.letters() if letter.origin.offset == offset)


def only(spool: LetterSpool, *offsets: int) -> None:
    for letter in list(spool.letters()):
        if letter.origin.offset not in offsets:
            spool.remove(letter.origin)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("value.id=3", b'{"id": 3, "lines": [{"n": 1}]}'),
        ("value.id=three", b'{"id": "three", "lines": [{"n": 1}]}'),
        ('value.id="3"', b'{"id": "3", "lines": [{"n": 1}]}'),
        ("value.new=null", b'{"id": 1, "lines": [{"n": 1}], "new": null}'),
        ("value.lines.0.n=2", b'{"id": 1, "lines": [{"n": 2}]}'),
        ("value=null", None),
        ("value=whole", b"whole"),
        ('value={"a": 1}', b'{"a":1}'),
    ],
)
def test_a_field_is_set_and_all_else_stays(spool: LetterSpool, text: str, value: bytes | None) -> None:
    only(spool, 0)
    _, count = change_all(spool, sets_of([text], []), PLAIN)
    letter = at(spool, 0)
    assert (count, letter.value, letter.key) == (1, value, b"k")
    assert letter.headers == [("h", b"1"), ("h", b"2")]


def test_json_stays_as_dense_as_it_was_and_headers_and_keys_are_set_too(spool: LetterSpool) -> None:
    only(spool, 1)
    change_all(spool, sets_of(["value.id=3", "headers.h=x", "headers.new=5", "key=other"], []), PLAIN)
    letter = at(spool, 1)
    assert (letter.value, letter.key) == (b'{"id":3}', b"other")
    assert letter.headers == [("h", b"x"), ("new", b"5")]


def test_what_is_set_may_be_computed(spool: LetterSpool) -> None:
    only(spool, 0)
    computed = ["value.id=value.id * 2.5", "value.lines=[{'n': value.lines[0].n + 1, 'k': key}]"]
    change_all(spool, sets_of([], computed), PLAIN)
    assert json.loads(at(spool, 0).value or b"") == {"id": 2.5, "lines": [{"n": 2, "k": "k"}]}
    with pytest.raises(UsageError, match=r"--set-cel 'value.none \+ 1' of orders-0 at offset 0: "):
        change_all(spool, sets_of([], ["value.id=value.none + 1"]), PLAIN)
    with pytest.raises(UsageError, match="is no expression in CEL"):
        sets_of([], ["value.id=1 +"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value.id", "is not PATH=VALUE"),
        ("topic=other", "can be set; --to says where it goes"),
        ("headers=1", "can be set"),
        ("amount=1", "is no field"),
        ("value.id.x=1", "the value of orders-0 at offset 0 has no place for it"),
        ("value.lines.7=1", "has no place for it"),
        ("key.id=1", "the key of orders-0 at offset 0 has no place for it: k"),
    ],
)
def test_what_cannot_be_set_is_told(spool: LetterSpool, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        change_all(spool, sets_of([text], []), PLAIN)


def test_lines_that_come_back_as_they_were_change_no_byte(spool: LetterSpool) -> None:
    before = list(spool.letters())
    text = lines_of(spool, PLAIN)
    changes, kept = take_lines(spool, text, "file", PLAIN, is_rest_dropped=True)
    assert (changes, kept) == ([], text)
    assert list(spool.letters()) == before


def test_an_edited_line_changes_what_is_different_and_a_line_that_is_gone_drops_its_letter(
    spool: LetterSpool,
) -> None:
    first, second, third, fourth, fifth = map(json.loads, lines_of(spool, PLAIN).splitlines())
    second["value"]["id"] = 5
    third["headers"] = {"h": "x"}
    fourth["value"] = {"base64": "AAE="}
    fifth["timestamp"] = 7
    edited = "\n".join(map(json.dumps, (second, third, fourth, fifth))).encode()
    changes, kept = take_lines(spool, edited, "file", PLAIN, is_rest_dropped=True)
    assert [letter.value for letter in spool.letters()] == [b'{"id":5}', b"text", b"\0\1", None]
    assert at(spool, 2).headers == [("h", b"x")]
    assert at(spool, 4).timestamp == 7
    assert shown(changes[0]) == {
        "topic": "orders",
        "partition": 0,
        "offset": 1,
        "before": {"value": {"id": 2}},
        "after": {"value": {"id": 5}},
    }
    assert json.loads(kept.splitlines()[-1]) == {"topic": "orders", "partition": 0, "offset": 0, "drop": True}
    assert first["offset"] == 0


def test_the_kept_lines_do_the_same_again(spool: LetterSpool) -> None:
    lines = lines_of(spool, PLAIN).splitlines(keepends=True)
    _, kept = take_lines(spool, lines[1].replace(b"2}", b"5}"), "file", PLAIN, is_rest_dropped=True)
    after = list(spool.letters())
    with LetterSpool() as again:
        again.add((letter_of(n), record(value, [("h", b"1"), ("h", b"2")])) for n, value in enumerate(VALUES))
        take_lines(again, kept, "file", PLAIN, is_rest_dropped=False)
        assert list(again.letters()) == after


def test_letters_without_a_partition_are_known_by_their_place(spool: LetterSpool) -> None:
    only(spool)
    spool.add([(letter_of(77, BY_KEY), record(b"v"))])
    text = lines_of(spool, PLAIN)
    assert json.loads(text)["partition"] is None
    take_lines(spool, text.replace(b'"v"', b'"w"'), "file", PLAIN, is_rest_dropped=True)
    assert at(spool, 77).value == b"w"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line + b"}", r"file, line 1 is not JSON"),
        (lambda line: b"[]", "file, line 1 is not an object of JSON with topic, partition, offset"),
        (
            lambda line: line.replace(b"orders", b"other"),
            "no letter that was chosen came from other-0 at offset",
        ),
        (lambda line: line + b"\n" + line, "line 2: there is a line of orders-0 at offset 0 already"),
        (lambda line: line.replace(b'"value"', b'"vlaue"'), "has no value: null stands for"),
        (lambda line: line.replace(b'"headers"', b'"x": 1, "headers"'), "line 1 has 'x'; a record has"),
        (lambda line: line.replace(b"1700000000000", b'"now"'), "line 1: timestamp is a number"),
    ],
)
def test_a_line_that_cannot_be_sent_is_named(spool: LetterSpool, change: Any, message: str) -> None:
    before = list(spool.letters())
    (line, *_) = lines_of(spool, PLAIN).splitlines()
    with pytest.raises(UsageError, match=message):
        take_lines(spool, change(line), "file", PLAIN, is_rest_dropped=True)
    assert list(spool.letters()) == before


def test_letters_that_a_kept_file_does_not_know_are_not_dropped_in_silence(spool: LetterSpool) -> None:
    lines = lines_of(spool, PLAIN).splitlines(keepends=True)
    with pytest.raises(UsageError, match=r"file has no line of orders-0 at offset 3, nor of 1 others"):
        take_lines(spool, b"".join(lines[:3]), "file", PLAIN, is_rest_dropped=False)
