"""The messages that callbacks of producers are given: one object serves for many that nobody keeps."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from tests.kernel.message_senders import drained, opened_sender

from barnabas._kernel import EventQueue, Message


class Bytes(bytes):
    """Of a class of its own, so that it may lead anywhere."""

    message: Message
    mark: Mark


class Mark:
    """Can be referred to weakly, which bytes cannot."""


@pytest.fixture
def events() -> EventQueue:
    return EventQueue()


@pytest.fixture
def reported(events: EventQueue) -> Any:
    """Has messages produced and delivered from offset 40 on, and their reports told."""
    sender, accumulator, _ = opened_sender(events)
    accumulator.set_partition_count("t", 1)

    def produce_all(*messages: dict[str, Any]) -> None:
        for message in messages:
            sender.produce("t", partition=0, timestamp=1000, **message)
        for batch in drained(accumulator):
            batch.complete(40)
        events.serve_all(0)

    return produce_all


def values(messages: list[Message]) -> list[tuple[int | None, bytes | None]]:
    return [(message.offset(), message.value()) for message in messages]


def test_messages_that_a_callback_keeps_stay_as_they_are(reported: Any) -> None:
    kept: list[Message] = []

    def keep_every_other(_error: object, message: Message) -> None:
        if (message.offset() or 0) % 2 == 0:
            kept.append(message)

    reported(*({"value": b"%d" % number, "callback": keep_every_other} for number in range(7)))
    assert values(kept) == [(40, b"0"), (42, b"2"), (44, b"4"), (46, b"6")]


def test_what_a_callback_changes_in_a_message_is_not_in_the_next(reported: Any) -> None:
    seen: list[tuple[bytes | None, Any]] = []

    def change(_error: object, message: Message) -> None:
        seen.append((message.value(), message.headers()))
        message.set_value(b"changed")
        message.set_headers([("name", message)])

    reported(*({"value": b"%d" % number, "callback": change} for number in range(3)))
    assert seen == [(b"0", None), (b"1", None), (b"2", None)]


def test_an_exception_leaves_its_message_to_whoever_has_it(reported: Any, events: EventQueue) -> None:
    later: list[Message] = []

    def fail(_error: object, _message: Message) -> None:
        raise LookupError

    keep: Any = lambda _error, message: later.append(message)  # noqa: E731
    with pytest.raises(LookupError) as raised:
        reported({"value": b"0", "callback": fail}, *[{"value": b"1", "callback": keep}] * 2)
    events.serve_all(0)
    traceback = raised.value.__traceback__
    while traceback is not None and "_message" not in traceback.tb_frame.f_locals:
        traceback = traceback.tb_next
    assert traceback is not None
    assert values([traceback.tb_frame.f_locals["_message"], *later]) == [(40, b"0"), (41, b"1"), (42, b"1")]


def test_a_delivered_message_has_all_its_parts_whichever_is_looked_at_first(reported: Any) -> None:
    looks: list[Any] = [
        lambda message: message.topic() == "t",
        lambda message: message.partition() == 0,
        lambda message: message.offset() in range(40, 60),
        lambda message: message.key() == "schlüssel".encode() and message.key() is message.key(),
        lambda message: message.value() == b"value" and len(message) == 5,
        lambda message: message.timestamp() == (1, 1000),
        lambda message: 0 <= message.latency() < 60,
        lambda message: message.headers() is message.error() is message.leader_epoch() is None,
        lambda message: message.delivery_count() is None,
        lambda message: Message(*message.__reduce__()[1]) == message,
    ]
    wrong: list[int] = []

    def look_from(first: int) -> Any:
        def look(_error: object, message: Message) -> None:
            order = [*range(first, len(looks)), *range(first)]
            wrong.extend(index for index in order if not looks[index](message))

        return look

    reported(*({"value": b"value", "key": "schlüssel", "callback": look_from(first)} for first in range(10)))
    assert wrong == []


def test_messages_that_lead_back_to_themselves_are_collected(reported: Any) -> None:
    value, mark = Bytes(b"value"), Mark()
    value.mark = mark

    def close_the_circle(_error: object, message: Message) -> None:
        given: Any = message.value()
        given.message = message

    reported({"value": value, "callback": close_the_circle})
    assert value.message.value() is value
    gone = weakref.ref(mark)
    del value, mark
    gc.collect()
    assert gone() is None
