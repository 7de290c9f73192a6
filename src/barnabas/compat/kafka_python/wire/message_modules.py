"""What a module of kafka.protocol has of requests and responses, made when a program asks for it.

Knows no single message.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from barnabas.compat.kafka_python.generations import generation
from barnabas.compat.kafka_python.generations.api_messages import API_MESSAGES
from barnabas.compat.kafka_python.wire.struct_classes import names_in, struct_class

__all__ = ["MessageModule"]

_PROTOCOL = "barnabas.compat.kafka.protocol."


class MessageModule:
    """One module, given by its `__name__`. `own`: what else it has."""

    def __init__(self, name: str, *own: str) -> None:
        self._name = name
        self._short = name.removeprefix(_PROTOCOL)
        self._messages = _messages_in(self._short)
        if self._messages and not generation().messages_are_unversioned:
            # Where the other generations have structs of that name, they are meant.
            self._messages -= names_in(self._short).keys()
        self.names = [*own, *sorted(self._messages)]
        """What `from ... import *` gives."""
        if not self._messages or not generation().messages_are_unversioned:
            self.names += [each for each in names_in(self._short) if each not in self._messages]

    def find(self, name: str) -> Any:
        """The module's `__getattr__`."""
        if name in self._messages:
            value = _message_class(name)
        elif name in names_in(self._short):
            value = struct_class(self._short, name)
        else:
            raise AttributeError(f"module {self._name!r} has no attribute {name!r}")
        vars(sys.modules[self._name])[name] = value
        return value

    def listed(self) -> list[str]:
        """The module's `__dir__`."""
        return sorted({*vars(sys.modules[self._name]), *self.names})


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
    from barnabas.compat.kafka_python.wire.api_messages import api_message

    return api_message(name)
