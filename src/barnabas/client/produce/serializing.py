"""What a producer's `key_serializer` and `value_serializer` make of records, and how they fail.

Must not know producers. The kernel calls a serializer by itself where there is nothing else to do.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from dataclasses import replace
from typing import Any, Literal, cast

from barnabas.errors import BarnabasError, InvalidSettingError, SerializationError
from barnabas.types import Buffer, ProducerRecord

Side = Literal["key", "value"]


class Serializing:
    """The serializers of one producer; false where there are none."""

    def __init__(self, key: Any, value: Any) -> None:
        self.key, self.value = key, value
        self._is_plain = key is None and value is None

    def __bool__(self) -> bool:
        return not self._is_plain

    @property
    def is_of_values(self) -> bool:
        """Whether each is a function of the key or value alone."""
        return not any(hasattr(serializer, "is_awaited") for serializer in (self.key, self.value))

    def check(self, *, is_awaited: bool) -> None:
        """Raises: InvalidSettingError where one is for other clients."""
        for side, serializer in (("key", self.key), ("value", self.value)):
            if getattr(serializer, "is_awaited", is_awaited) != is_awaited:
                home = "barnabas.aio" if is_awaited else "barnabas.registry"
                raise InvalidSettingError(f"{side}_serializer: this producer takes the serializers of {home}")

    def serialized(self, record: ProducerRecord) -> ProducerRecord:
        """The record with key and value as bytes. Raises: SerializationError, RegistryError."""
        steps = self._steps(record)
        while True:
            try:
                awaitable = next(steps)
            except StopIteration as done:
                return done.value
            if inspect.iscoroutine(awaitable):
                awaitable.close()
            steps.throw(TypeError("it has to be awaited, and this producer cannot"))

    async def serialized_awaiting(self, record: ProducerRecord) -> ProducerRecord:
        """As `serialized`, and awaits what has to be. Raises: InvalidSettingError, see `check`."""
        self.check(is_awaited=True)
        steps = self._steps(record)
        try:
            awaitable = next(steps)
            while True:
                try:
                    made = await awaitable
                except Exception as error:
                    awaitable = steps.throw(error)
                else:
                    awaitable = steps.send(made)
        except StopIteration as done:
            return done.value

    def _steps(self, record: ProducerRecord) -> Generator[Any, Any, ProducerRecord]:
        """What has to be awaited, which is sent back."""
        if self._is_plain:
            return record
        headers = list(record.headers or ())
        key, value = record.key, record.value
        if self.key is not None and key is not None:
            key = yield from _bytes_of(self.key, record.topic, "key", key, headers)
        if self.value is not None and value is not None:
            value = yield from _bytes_of(self.value, record.topic, "value", value, headers)
        return replace(record, key=key, value=value, headers=headers)


def _bytes_of(
    serializer: Any, topic: str, side: Side, given: Any, headers: list[tuple[str, bytes | None]]
) -> Generator[Any, Any, Any]:
    try:
        if hasattr(serializer, "is_awaited"):
            made = serializer(topic, given, is_key=side == "key", headers=headers)
        else:
            made = serializer(given)
        if inspect.isawaitable(made):
            made = yield made
    except BarnabasError:
        raise
    except Exception as error:
        name = getattr(serializer, "__qualname__", type(serializer).__qualname__)
        raise SerializationError(
            f"topic {topic!r}: {side}_serializer {name} failed with {type(error).__name__}: {error}"
        ) from error
    if made is not None and not isinstance(made, Buffer):
        raise SerializationError(
            f"topic {topic!r}: {side}_serializer returned {type(made).__qualname__}, not bytes"
        )
    return cast("Buffer | None", made)
