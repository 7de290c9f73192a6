"""A program's deserializers as the kernel calls them: a function, and how many arguments it takes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, cast

from barnabas.compat.kafka_engine.generations import generation

Called = tuple[Callable[..., Any], int]


def called(deserializer: Any, setting: str, base: type) -> Called | None:
    """None where there is none. `base`: the class Deserializer. Warns, as generation 3 does, of a function in
    place of a Deserializer."""
    if not deserializer:
        return None
    deserialize = getattr(deserializer, "deserialize", None)
    takes_headers = generation().serializers_take_headers
    if isinstance(deserializer, base) and callable(deserialize):
        return deserialize, 3 if takes_headers and _takes(deserialize, 3) else 2
    if takes_headers:
        warnings.warn(
            f"{setting} does not implement kafka.serializer.Deserializer", DeprecationWarning, stacklevel=4
        )
    return cast("Callable[..., Any]", deserializer), 1


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        # What is not written in Python may not say.
        return True
    return True
