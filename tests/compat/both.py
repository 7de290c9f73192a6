"""What a piece of code does, in a form that can be compared between the real package and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Outcome = tuple[str, Any, Any]


def _plain(value: Any) -> Any:
    """`value` without the modules and identities that two packages cannot share."""
    if isinstance(value, tuple | list):
        return type(value)(_plain(item) for item in value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, type):
        return value.__name__
    if value is None or isinstance(value, str | bytes | int | float):
        return value
    return repr(value)


def _text(value: str) -> str:
    """A message of CPython, which names a type of the real package in full and ours by its name alone."""
    return value.replace("confluent_kafka.cimpl.", "").replace("cimpl.", "").replace("barnabas.compat.", "")


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """What `call` gives, or the exception it raises, with its arguments."""
    try:
        result = call()
    except Exception as error:
        return (
            "raised",
            type(error).__name__,
            [_text(a) if isinstance(a, str) else _plain(a) for a in error.args],
        )
    return "gave", type(result).__name__, _plain(result)


def outcomes(expression: str, *packages: Mapping[str, Any]) -> list[Outcome]:
    """What a Python expression does in each of several namespaces."""
    return [outcome_of(lambda names=names: eval(expression, dict(names))) for names in packages]
