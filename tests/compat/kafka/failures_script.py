"""Prints, as JSON, what each error of the core becomes in the generation that is chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator

import kafka.errors

from barnabas import broker_errors, errors
from barnabas.compat.kafka_engine.values.failures import failure_of, no_brokers


def instances() -> Iterator[errors.BarnabasError]:
    """One of each class of the core's errors."""
    for each in vars(errors).values():
        if not isinstance(each, type) or not issubclass(each, errors.BarnabasError):
            continue
        match each:
            case errors.MissingExtraError:
                yield errors.MissingExtraError("zstd", "zstd")
            case errors.LogTruncationError:
                yield errors.LogTruncationError("topic", 1, 5, 3)
            case _:
                yield each("the core's text")
    for code in (*broker_errors.BY_CODE, 9_999):
        yield broker_errors.error_for(code, "the context")


def told() -> dict[str, object]:
    failures = {type(error).__name__: failure_of(error) for error in instances()}
    theirs = ValueError("from a serializer")
    return {
        "failures": {name: f"{type(each).__name__}{each.args}" for name, each in failures.items()},
        "errnos": {name: getattr(each, "errno", None) for name, each in failures.items()},
        "of the core": [name for name, each in failures.items() if isinstance(each, errors.BarnabasError)],
        "not of the facade": [
            name for name, each in failures.items() if not isinstance(each, kafka.errors.KafkaError)
        ],
        "unknown": str(failure_of(broker_errors.error_for(36, "the context"))),
        "is an unknown error": isinstance(failure_of(broker_errors.error_for(36)), kafka.errors.UnknownError),
        "others pass": failure_of(theirs) is theirs,
        "no brokers": repr(no_brokers(["a:1", "b:2"])),
        "other text": repr(failure_of(errors.KafkaTimeoutError("ours"), "theirs", 2)),
    }


print(json.dumps(told()))
