"""KafkaError, KafkaException and their relations."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage


@script()
def every_error_code_has_a_name_and_a_text(kafka: ModuleType, stage: Stage) -> None:
    for code in range(-250, 200):
        error = kafka.KafkaError(code)
        stage.record(str(code), [error.name(), error.str(), str(error), repr(error)])


@script()
def kafka_errors_constants_are_these(kafka: ModuleType, stage: Stage) -> None:
    # What Python itself puts there for classes written in it is of no concern.
    names = [name for name in vars(kafka.KafkaError) if not name.startswith("__")]
    members = {name: getattr(kafka.KafkaError, name) for name in names}
    stage.record("constants", {name: value for name, value in members.items() if isinstance(value, int)})


@script()
def a_kafka_error_is_made_in_many_ways(kafka: ModuleType, stage: Stage) -> None:
    make = kafka.KafkaError
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((3,), {}),
        ((3, "why"), {}),
        ((3, None), {}),
        ((3, ""), {}),
        ((3, "why", True), {}),
        ((3, "why", False, True), {}),
        ((3, "why", False, False, True), {}),
        ((3,), {"reason": "why", "fatal": True}),
        ((3,), {"retriable": True, "txn_requires_abort": True}),
        ((0,), {}),
        ((99999,), {}),
        ((-99999,), {}),
        ((), {}),
        (("3",), {}),
        ((3, 4), {}),
        ((3, b"why"), {}),
        ((3,), {"nonsense": 1}),
        ((3, "why", 1, 0, "yes"), {}),
        ((None,), {}),
    ]
    for arguments, keywords in cases:
        error = stage.attempt(f"{arguments} {keywords}", make, *arguments, **keywords)
        if error is not None:
            stage.record("shown", [str(error), repr(error), bool(error)])


@script()
def kafka_errors_are_compared_with_each_other_and_with_numbers(kafka: ModuleType, stage: Stage) -> None:
    error = kafka.KafkaError(3, "one")
    same, other = kafka.KafkaError(3, "two"), kafka.KafkaError(4)
    stage.record(
        "same", [error == same, error != same, error < same, error <= same, hash(error) == hash(same)]
    )
    stage.record("other", [error == other, error != other, error < other, error > other])
    stage.record(
        "number", [error == 3, error != 3, error < 4, error >= 4, error == 3, hash(error) == hash(3)]
    )
    stage.attempt("truth", lambda: [bool(error), bool(kafka.KafkaError(0))])
    stage.attempt("in a set", lambda: len({error, same, other}))


@script()
def kafka_errors_are_copied_and_pickled_or_not(kafka: ModuleType, stage: Stage) -> None:
    error = kafka.KafkaError(3, "why", retriable=True)
    stage.attempt("copy", copy.copy, error)
    stage.attempt("deepcopy", copy.deepcopy, error)
    stage.attempt("pickle", lambda: pickle.loads(pickle.dumps(error)))
    stage.attempt("attribute", setattr, error, "mine", 3)
    stage.record("dir", [name for name in dir(error) if not name.startswith("_") and not name.isupper()])


@script()
def a_kafka_exception_carries_an_error(kafka: ModuleType, stage: Stage) -> None:
    exception = kafka.KafkaException(kafka.KafkaError(3, "why"), "more")
    stage.record("args", exception)
    stage.record("str", str(exception))
    stage.record("repr", repr(exception))
    stage.record("empty", [str(kafka.KafkaException()), repr(kafka.KafkaException())])
    stage.record("text", repr(kafka.KafkaException("text")))
    stage.attempt("pickle", lambda: pickle.loads(pickle.dumps(exception)))
    stage.attempt("keyword", lambda: kafka.KafkaException(error=3))
    stage.attempt("attribute", setattr, exception, "mine", 3)
    stage.record("retriable", [hasattr(exception, "retriable"), hasattr(exception, "code")])


@script()
def special_exceptions_are_runtime_errors(kafka: ModuleType, stage: Stage) -> None:
    for name in ("IllegalStateException", "ConcurrentModificationException"):
        kind = getattr(kafka, name)
        stage.record(name, [base.__name__ for base in kind.__mro__])
        stage.record("shown", [str(kind("why")), repr(kind("why"))])


@script()
def errors_of_serialization_carry_what_failed(kafka: ModuleType, stage: Stage) -> None:
    error: Any = stage.module("error")
    message = kafka.Message("t", 1, 2, b"k", b"v")
    for name in (
        "ConsumeError",
        "KeyDeserializationError",
        "ValueDeserializationError",
    ):
        kind = getattr(error, name)
        stage.record(name, [base.__name__ for base in kind.__mro__])
        made = stage.attempt("made", lambda k=kind: k(ValueError("why"), kafka_message=message))
        made = kind(
            kafka.KafkaError(3) if name == "ConsumeError" else ValueError("why"), kafka_message=message
        )
        stage.record("attributes", vars(made))
        stage.record("shown", [str(made), repr(made)])
        stage.record("code", [made.code, made.name])
        stage.attempt("nothing", kind)
    for name in ("ProduceError", "KeySerializationError", "ValueSerializationError"):
        kind = getattr(error, name)
        stage.record(name, [base.__name__ for base in kind.__mro__])
        made = kind(kafka.KafkaError(3) if name == "ProduceError" else ValueError("why"))
        stage.record("attributes", vars(made))
        stage.record("shown", [str(made), repr(made)])
        stage.record("code", [made.code, made.name])
    stage.record("names", sorted(name for name in vars(error) if name.endswith(("Error", "Exception"))))
