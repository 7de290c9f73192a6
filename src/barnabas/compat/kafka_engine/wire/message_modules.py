"""What a module of kafka.protocol has of requests and responses, made when a program asks for it.

Knows no single message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.api_messages import API_MESSAGES
from barnabas.compat.kafka_engine.wire.struct_classes import names_in, struct_class

__all__ = ["message_module"]

_PROTOCOL = "barnabas.compat.kafka.protocol."


def message_module(name: str, *own: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module, given by its `__name__`, which gets `__all__` and `__dir__` as well.
    `own`: what else it has."""
    attributes = vars(sys.modules[name])
    short = name.removeprefix(_PROTOCOL)
    structs = names_in(short)
    messages = _messages_in(short)
    if messages and not generation().messages_are_unversioned:
        # Where the other generations have structs of that name, they are meant.
        messages -= structs.keys()
    names = [*own, *sorted(messages)]
    if not messages or not generation().messages_are_unversioned:
        names += [each for each in structs if each not in messages]

    def find(wanted: str) -> Any:
        if wanted in messages:
            value = _message_class(wanted)
        elif wanted in structs:
            value = struct_class(short, wanted)
        else:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        attributes[wanted] = value
        return value

    attributes["__all__"] = names
    attributes["__dir__"] = lambda: sorted({*attributes, *names})
    return find


@cache
def _messages_in(short: str) -> frozenset[str]:
    """The requests and responses of a module or package of kafka-python 3."""
    return frozenset(
        f"{name}{kind}"
        for module, names in API_MESSAGES.items()
        if f"{module}.".startswith(f"{short}.")
        for name in names
        for kind in ("Request", "Response")
    )


def _message_class(name: str) -> Any:
    # Only programs for kafka-python 3 need it.
    from barnabas.compat.kafka_engine.wire.api_messages import api_message

    return api_message(name)
