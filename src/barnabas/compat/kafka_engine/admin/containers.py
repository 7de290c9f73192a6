"""What brokers answer in the shape that kafka-python 3 gives it: messages of `wire/api_messages`, and what
members of groups tell each other."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.wire import member_data
from barnabas.compat.kafka_engine.wire.api_messages import api_message
from barnabas.compat.kafka_engine.wire.data_containers import DataContainer
from barnabas.protocol.schema import Message, Request, Response

__all__ = ["container_of", "dict_of"]


def container_of(message: Message, version: int) -> Any:
    """A message of the core in this shape."""
    name = type(message).__name__
    is_api = isinstance(message, (Request, Response))
    cls: Any = api_message(name) if is_api else getattr(member_data, name)
    made = cls.of_core(message, version)
    if isinstance(message, Request):
        _forget_versions(made)
    return made


def _forget_versions(container: DataContainer) -> None:
    """kafka-python has no versions in the parts of what it sends."""
    for value in vars(container).values():
        for part in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(part, DataContainer):
                part._version = None  # pyright: ignore[reportPrivateUsage]
                _forget_versions(part)


def dict_of(message: Message, version: int) -> dict[str, Any]:
    """A response of the core as a dictionary."""
    return container_of(message, version).to_dict()
