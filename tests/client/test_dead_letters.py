"""Records that could not be processed, on their way to a dead-letter topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.reading import read

from barnabas import Consumer, Producer, Record, dead_letter
from barnabas.records.dead_letters import conventions

MakeTopic = Callable[..., str]


@pytest.fixture
def unreadable(broker: Any, make_topic: MakeTopic) -> Record:
    """The second record of its topic; it is no JSON."""
    topic = make_topic(broker)
    with Producer(broker.bootstrap) as producer:
        producer.send(topic, b"{}")
        producer.send(topic, b"{id", key=b"k", headers=[("source", b"web")], timestamp=1_700_000_000_000)
    with Consumer(broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        return read(consumer, 2)[1]


def failure(record: Record) -> Exception:
    try:
        json.loads(record.value or b"")
    except ValueError as error:
        return error
    raise AssertionError("it could be read")


def test_a_dead_letter_has_the_record_and_says_where_it_is_from_and_why(
    broker: Any, make_topic: MakeTopic, unreadable: Record
) -> None:
    dead = make_topic(broker)
    with Producer(broker.bootstrap) as producer:
        producer.send(**dead_letter(unreadable, failure(unreadable), topic=dead))
    with Consumer(broker.bootstrap, topics=[dead], auto_offset_reset="earliest") as consumer:
        [letter] = read(consumer, 1)
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"{id", 1_700_000_000_000)
    headers = dict(letter.headers)
    assert headers["source"] == b"web"
    assert headers["__connect.errors.exception.class.name"] == b"json.decoder.JSONDecodeError"
    assert b"in failure\n" in (headers["__connect.errors.exception.stacktrace"] or b"")
    # As `barnabas dlq replay` reads it.
    told = conventions.CONNECT.letter(letter)
    assert told is not None
    assert told.origin == (unreadable.topic, 0, 1)
    assert told.error == str(failure(unreadable))
    assert told.read_at > unreadable.timestamp
    assert conventions.own_headers(letter.headers) == [("source", b"web")]


def test_a_reason_may_be_text(unreadable: Record) -> None:
    headers = dict(dead_letter(unreadable, "no such customer \udcff", topic="dead")["headers"])
    assert headers["__connect.errors.exception.message"] == b"no such customer ?"
    assert "__connect.errors.exception.class.name" not in headers
