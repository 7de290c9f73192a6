"""What a module of kafka.protocol has of requests and responses, made when a program asks for it.

Knows no single message.
"""

from __future__ import annotations

import sys
from typing import Any

from barnabas.compat.kafka_python.wire.struct_classes import names_in, struct_class

__all__ = ["MessageModule"]

_PROTOCOL = "barnabas.compat.kafka.protocol."


class MessageModule:
    """One module, given by its `__name__`. `own`: what else it has."""

    def __init__(self, name: str, *own: str) -> None:
        self._name = name
        self._short = name.removeprefix(_PROTOCOL)
        self.names = [*own, *names_in(self._short)]
        """What `from ... import *` gives."""

    def find(self, name: str) -> Any:
        """The module's `__getattr__`."""
        if name not in names_in(self._short):
            raise AttributeError(f"module {self._name!r} has no attribute {name!r}")
        value = struct_class(self._short, name)
        vars(sys.modules[self._name])[name] = value
        return value

    def listed(self) -> list[str]:
        """The module's `__dir__`."""
        return sorted({*vars(sys.modules[self._name]), *self.names})
