"""What headers tell of dead letters, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.cli.options import UsageError
from barnabas.records.dead_letters.conventions import (
    BY_KEY,
    DeadLetter,
    KnownConventions,
    number_of,
    own_convention,
    own_headers,
)
from barnabas.records.texts import ReadRecord

Headers = list[tuple[str, bytes | None]]
STREAMS = "__streams.errors."
CONNECT = "__connect.errors."
OF_STREAMS: Headers = [
    (f"{STREAMS}exception", b"java.lang.IllegalStateException: no"),
    (f"{STREAMS}message", b"no"),
    (f"{STREAMS}stacktrace", b"at ..."),
    (f"{STREAMS}topic", b"orders"),
    (f"{STREAMS}partition", b"3"),
    (f"{STREAMS}offset", b"40"),
]
OF_CONNECT: Headers = [
    (f"{CONNECT}topic", b"orders"),
    (f"{CONNECT}partition", b"1"),
    (f"{CONNECT}offset", b"7"),
    (f"{CONNECT}exception.message", b"bad"),
]


def of_spring(topic: str, partition: int, offset: int, prefix: str = "kafka_dlt-") -> Headers:
    """As Java's serializers write numbers."""
    return [
        (f"{prefix}original-topic", topic.encode()),
        (f"{prefix}original-partition", partition.to_bytes(4)),
        (f"{prefix}original-offset", offset.to_bytes(8)),
        (f"{prefix}original-timestamp", (1_700_000_000_000).to_bytes(8)),
        (f"{prefix}original-timestamp-type", b"CreateTime"),
    ]


def record(headers: Headers, value: bytes | None = b"v", *, partition: int = 2, offset: int = 9) -> Any:
    return ReadRecord("dead", partition, offset, 5000, b"k", value, [("own", b"1"), *headers])


def told(headers: Headers) -> DeadLetter | None:
    return KnownConventions().letter(record(headers))


def test_kafka_streams_tells_it_in_text() -> None:
    letter = told(OF_STREAMS)
    assert letter is not None
    assert (letter.origin, letter.error, letter.timestamp) == (("orders", 3, 40), "no", None)
    assert own_headers(record(OF_STREAMS).headers, letter.added) == [("own", b"1")]


def test_spring_tells_it_in_numbers_and_the_time_of_the_record_too() -> None:
    headers = [
        *of_spring("orders", 3, 2**33),
        ("kafka_dlt-exception-message", b"no"),
        ("kafka_dlt-exception-fqcn", b"x.Y"),
    ]
    letter = told(headers)
    assert letter is not None
    assert (letter.origin, letter.error) == (("orders", 3, 2**33), "no")
    assert (letter.timestamp, letter.read_at) == (1_700_000_000_000, 5000)
    assert own_headers(record(headers).headers, letter.added) == [("own", b"1")]


def test_after_springs_topics_to_try_again_it_is_the_first_topic_that_counts() -> None:
    letter = told(
        [
            *of_spring("orders", 3, 40, "kafka_"),
            ("retry_topic-attempts", (3).to_bytes(4)),
            *of_spring("orders-retry-2", 0, 5),
            ("kafka_dlt-exception-message", b"no"),
        ]
    )
    assert letter is not None
    assert (letter.origin, letter.error) == (("orders", 3, 40), "no")


def test_of_several_conventions_the_one_that_was_written_last_counts() -> None:
    letter = told([*OF_CONNECT, *of_spring("connected", 0, 1)])
    assert letter is not None
    assert letter.origin == ("connected", 0, 1)
    again = told([*of_spring("connected", 0, 1), *OF_CONNECT])
    assert again is not None
    assert again.origin == ("orders", 1, 7)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        OF_CONNECT[:2],
        [*OF_STREAMS[:-1], (f"{STREAMS}offset", b"-1")],
        [*OF_STREAMS[:-1], (f"{STREAMS}offset", None)],
        [*OF_STREAMS[:-2], (f"{STREAMS}partition", b"two"), OF_STREAMS[-1]],
    ],
)
def test_a_record_that_does_not_tell_it_all_is_no_letter(headers: Headers) -> None:
    assert told(headers) is None


def test_headers_of_ones_own_are_named() -> None:
    own = own_convention("header:x-topic", "header:x-part", "header:x-at", "header:x-why", ["x-t-*"])
    headers: Headers = [
        ("x-topic", b"orders"), ("x-part", b"1"), ("x-at", (7).to_bytes(8)), ("x-why", b"bad"),
        ("x-t-1", b""), ("x-topics", b"stays"),
    ]  # fmt: skip
    letter = own.letter(record(headers))
    assert letter is not None
    assert (letter.origin, letter.error) == (("orders", 1, 7), "bad")
    assert own_headers(record(headers).headers, letter.added) == [("own", b"1"), ("x-topics", b"stays")]


def test_a_field_of_the_value_may_tell_it() -> None:
    own = own_convention("value.from.topic", "value.from.partition", "value.from.offset", "value.why", [])
    value = b'{"from": {"topic": "orders", "partition": 1, "offset": 7}, "why": "bad"}'
    letter = own.letter(record([], value))
    assert letter is not None
    assert (letter.origin, letter.error) == (("orders", 1, 7), "bad")
    assert own.letter(record([], b"no JSON")) is None


def test_letters_that_tell_only_their_topic_have_the_order_of_their_own_and_are_all_different() -> None:
    own = own_convention("header:x-topic", None, None, None, [])
    letters = [
        own.letter(record([("x-topic", b"orders")], partition=partition, offset=offset))
        for partition, offset in [(0, 1), (1, 1), (0, 2)]
    ]
    origins = [letter.origin for letter in letters if letter is not None]
    assert [origin.partition for origin in origins] == [BY_KEY] * 3
    assert origins == sorted(set(origins))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, "header:p", None, None, []), "--partition-from means nothing without --topic-from"),
        ((None, None, None, None, ["x"]), "--drop-header means nothing without --topic-from"),
        (("header:t", None, "header:o", None, []), "--offset-from means nothing without --partition-from"),
        (("header:", None, None, None, []), "--topic-from 'header:' names no header"),
        (("x-topic", None, None, None, []), "--topic-from 'x-topic' is no field"),
    ],
)
def test_what_names_nothing_is_told(arguments: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        own_convention(*arguments)


def test_numbers_are_digits_or_bytes_of_java() -> None:
    assert [number_of(each) for each in (5, "5", b"5", b"1234", (5).to_bytes(4))] == [5, 5, 5, 1234, 5]
    for each in (True, None, b"\0\0", "x", -1, (-1).to_bytes(8, signed=True)):
        with pytest.raises(ValueError, match=r".+"):
            number_of(each)
