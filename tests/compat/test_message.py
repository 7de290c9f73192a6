"""`Message` beside the real one: what is constructed, changed, compared and copied."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import confluent_kafka.cimpl
import pytest
from confluent_kafka import KafkaError

from barnabas import _kernel
from barnabas.compat.confluent_kafka import Message

ALL = {
    "topic": "t",
    "partition": 1,
    "offset": 2,
    "key": b"k",
    "value": b"vv",
    "headers": [("h", b"x")],
    "error": None,
    "timestamp": (1, 123),
    "latency": 1.5,
    "leader_epoch": 7,
    "delivery_count": 3,
}
OTHERS = {
    "topic": "u",
    "partition": 2,
    "offset": 3,
    "key": b"l",
    "value": b"ww",
    "headers": None,
    "error": KafkaError(1, "one"),
    "timestamp": (1, 5),
    "latency": 0.25,
    "leader_epoch": 8,
    "delivery_count": 4,
}
GETTERS = [*ALL, "deserialized_key", "deserialized_value"]


def parts(message: Any) -> list[Any]:
    return [*(getattr(message, name)() for name in GETTERS), len(message), bool(message)]


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return type(error), error.args


def both(work: Callable[[type], Any]) -> None:
    assert outcome(lambda: work(_kernel.Message)) == outcome(lambda: work(confluent_kafka.cimpl.Message))


def test_without_arguments_it_has_no_parts() -> None:
    both(lambda message: parts(message()))


def test_arguments_are_taken_by_place_and_by_name() -> None:
    both(lambda message: parts(message(**ALL)))
    both(lambda message: parts(message(*ALL.values())))
    both(lambda message: parts(message("t", 3, value=b"v")))


@pytest.mark.parametrize(
    "arguments",
    [
        {"unknown": 1},
        {"partition": None},
        {"partition": "x"},
        {"partition": 2**31},
        {"partition": -(2**31) - 1},
        {"offset": "x"},
        {"offset": 2**63},
        {"offset": -(2**63) - 1},
        {"timestamp": 5},
        {"timestamp": (1, 2, 3)},
        {"latency": None},
        {"leader_epoch": 2**40},
        {"delivery_count": 2**16},
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_as_the_real_one_refuses_it(arguments: dict[str, Any]) -> None:
    both(lambda message: parts(message(**arguments)))


def test_too_many_arguments_are_refused() -> None:
    both(lambda message: message(*ALL.values(), 1))


@pytest.mark.parametrize(
    "arguments",
    [
        {"partition": -1},
        {"partition": True},
        {"offset": -5},
        {"offset": 2**63 - 1},
        {"latency": -0.5},
        {"latency": 1e-9},
        {"leader_epoch": -2},
        {"delivery_count": 0},
        {"value": b""},
        {"value": "äö"},
        {"value": [1, 2, 3]},
        {"key": 5, "topic": b"bytes", "headers": {"a": "b"}, "error": "none"},
        {"timestamp": None},
        {"value": 5},
    ],
    ids=str,
)
def test_any_objects_are_parts_and_negative_numbers_mean_none(arguments: dict[str, Any]) -> None:
    both(lambda message: parts(message(**arguments)))


@pytest.mark.parametrize("name", list(ALL))
def test_equality_is_that_of_the_same_parts(name: str) -> None:
    both(lambda message: message(**ALL) == message(**{**ALL, name: OTHERS[name]}))
    both(lambda message: message(**ALL) != message(**{**ALL, name: OTHERS[name]}))


@pytest.mark.parametrize(
    "arguments",
    [
        {"partition": -2},
        {"partition": -(2**31)},
        {"offset": -1},
        {"offset": -1001},
        {"offset": -(2**63)},
        {"latency": -0.5},
        {"leader_epoch": -2},
        {"delivery_count": 0},
        {"delivery_count": -2},
    ],
    ids=str,
)
def test_all_numbers_that_mean_none_are_equal_and_reduced_to_the_same(arguments: dict[str, Any]) -> None:
    both(lambda message: (message(**arguments) == message(), message(**arguments).__reduce__()[1]))


class Incomparable:
    """As arrays do, it answers a comparison with what has no truth."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["topic", "key", "value", "headers", "error"])
def test_an_object_in_two_messages_equals_itself_whatever_it_says(name: str) -> None:
    for part in (float("nan"), Incomparable()):
        both(lambda message, part=part: message(**{name: part}) == message(**{name: part}))
    both(lambda message: message(**{name: Incomparable()}) == message(**{name: Incomparable()}))


class EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_it_is_unequal_to_what_is_no_message_and_would_be_equal_to_it() -> None:
    both(lambda message: (message() == EqualToAll(), message() != EqualToAll(), EqualToAll() == message()))


def test_it_is_not_ordered_not_hashed_and_unequal_to_others() -> None:
    both(lambda message: message() < message())
    both(lambda message: hash(message()))
    both(lambda message: (message() == 5, message() is None, message() == message()))


@pytest.mark.parametrize("name", ["topic", "key", "value", "headers", "error"])
def test_setters_take_exactly_one_object(name: str) -> None:
    def set_all(message: type) -> Any:
        outcomes: list[Any] = []
        for value in ("text", b"bytes", None, [("a", b"b")]):
            changed = message(**ALL)
            outcomes.append((getattr(changed, f"set_{name}")(value), parts(changed)))
        return outcomes

    both(set_all)
    both(lambda message: getattr(message(), f"set_{name}")())
    both(lambda message: getattr(message(), f"set_{name}")(1, 2))
    both(lambda message: getattr(message(), f"set_{name}")(value=1))


@pytest.mark.parametrize("name", GETTERS)
def test_getters_take_nothing(name: str) -> None:
    both(lambda message: getattr(message(), name)(1))
    both(lambda message: getattr(message(), name)(x=1))


def test_it_is_reduced_to_the_arguments_of_its_constructor() -> None:
    both(lambda message: message(**ALL).__reduce__()[1])
    both(lambda message: message().__reduce__()[1])
    both(lambda message: message(**ALL).__reduce__()[0] is message)


def test_copies_are_equal_and_their_own() -> None:
    def copied(message: type) -> Any:
        one = message(**ALL)
        other = copy.copy(one)
        other.set_value(b"other")
        return parts(one), parts(other), parts(copy.deepcopy(one))

    both(copied)


def test_the_headers_that_it_gives_are_its_own() -> None:
    def changed(message: type) -> Any:
        one = message(headers=[("a", b"b")])
        one.headers().append(("c", b"d"))
        return one.headers()

    both(changed)


def test_it_can_be_subclassed_and_initialized_again() -> None:
    def subclassed(message: type) -> Any:
        class Subclass(message):
            def __init__(self, text: str) -> None:
                super().__init__(topic=text)

        one = Subclass("text")
        one.extra = 1
        again = message(**ALL)
        again.__init__("again")
        return parts(one), one.extra, one == message("text"), parts(again)

    both(subclassed)


def test_it_calls_itself_as_the_real_one_does() -> None:
    # Which module it is in is the facade's to say.
    both(lambda message: (message.__name__, repr(message()).partition(" at ")[0].rpartition(".")[2]))
    both(lambda message: setattr(message(), "extra", 1))


def test_it_has_every_public_name_of_the_real_one() -> None:
    assert {n for n in dir(confluent_kafka.cimpl.Message) if not n.startswith("_")} == {
        n for n in dir(_kernel.Message) if not n.startswith("_")
    }


def test_the_type_of_a_timestamp_does_not_count_in_a_comparison() -> None:
    both(lambda message: message(timestamp=(1, 5)) == message(timestamp=(0, 5)))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_can_be_pickled_whether_or_not_the_facade_is_installed(protocol: int) -> None:
    message = pickle.loads(pickle.dumps(Message(**ALL), protocol))
    assert (type(message), parts(message)) == (Message, parts(Message(**ALL)))


class Holder:
    """What a message may lead to, and what may lead to a message."""

    message: Any = None


def fetched_message(headers: Any = None) -> _kernel.Message:
    batch = _kernel.BatchBuilder()
    batch.append(0, None, b"value", headers or ())
    (message,) = _kernel.RecordReader("topic", 0, batch.build()).take_messages(1)
    return message


def circle_is_collected(lead_to: Callable[[Any], Any]) -> bool:
    """Whether the collector finds a holder and the message that `lead_to` made, which leads back to it."""
    holder = Holder()
    holder.message = lead_to(holder)
    lives = weakref.ref(holder)
    del holder
    gc.collect()
    return lives() is None


@pytest.mark.parametrize("setter", ["set_topic", "set_key", "set_value", "set_headers", "set_error"])
@pytest.mark.parametrize("make", [fetched_message, _kernel.Message], ids=["fetched", "made"])
def test_a_circle_through_what_was_set_in_a_message_is_collected(
    make: Callable[[], Any], setter: str
) -> None:
    def lead_to(holder: Holder) -> Any:
        message = make()
        getattr(message, setter)(holder)
        return message

    assert circle_is_collected(lead_to)


def test_a_circle_through_the_headers_of_a_message_is_collected() -> None:
    def lead_to(holder: Holder) -> Any:
        message = fetched_message([("name", b"value")])
        message.headers().append(holder)
        return message

    assert circle_is_collected(lead_to)


def test_a_circle_through_a_copy_of_a_message_is_collected() -> None:
    def lead_to(holder: Holder) -> Any:
        message = fetched_message([("name", b"value")])
        copy.copy(message).headers().append(holder)
        return message

    assert circle_is_collected(lead_to)


def test_a_circle_through_what_a_message_was_made_of_is_collected() -> None:
    assert circle_is_collected(lambda holder: _kernel.Message(value=holder))


def test_the_collector_passes_over_a_fetched_message_until_something_is_set_in_it() -> None:
    message = fetched_message()
    assert (message.value(), message.headers(), len(message)) == (b"value", None, 5)
    assert not gc.is_tracked(message)
    message.set_value({})
    assert gc.is_tracked(message)


def test_a_reader_shows_topics_by_the_name_it_is_told() -> None:
    batch = _kernel.BatchBuilder()
    for _ in range(3):
        batch.append(0, None, b"value")
    reader = _kernel.RecordReader("topic", 0, batch.build())
    (before,) = reader.take_messages(1)
    reader.show_topic("shown")
    (after,), (record,) = reader.take_messages(1), reader.take(1)
    assert (before.topic(), after.topic(), record.topic, reader.topic) == ("topic", "shown", "shown", "topic")
