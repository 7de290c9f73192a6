"""What a consumer's `key_deserializer` and `value_deserializer` make of records, and how they fail.

The kernel calls these when a key or value is first asked for. Must not know consumers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, Literal

from barnabas._kernel import Record, decoded_records
from barnabas.errors import BarnabasError, SerializationError
from barnabas.settings.table import ConsumerConfig, ShareConsumerConfig

Side = Literal["key", "value"]


class Deserializing:
    """The deserializers of one consumer."""

    def __init__(self, key: Any, value: Any) -> None:
        self._key = None if key is None else _decoder(key, "key")
        self._value = None if value is None else _decoder(value, "value")

    @classmethod
    def of(cls, config: ConsumerConfig | ShareConsumerConfig) -> Deserializing | None:
        """None where keys and values stay bytes. Raises: InvalidSettingError."""
        if config.key_deserializer is None and config.value_deserializer is None:
            return None
        return cls(config.key_deserializer, config.value_deserializer)

    def records(self, records: list[Record]) -> list[Record]:
        """The records, whose keys and values are deserialized when they are asked for."""
        return decoded_records(records, self._key, self._value)


class _Decoder:
    """`decoder(record)`, for a deserializer. Can be pickled where that can be."""

    def __init__(self, deserializer: Any, side: Side) -> None:
        self._deserializer = deserializer
        self._side: Side = side

    def __call__(self, record: Record) -> Any:
        try:
            return self._read(record)
        except SerializationError as error:
            raise SerializationError(f"{_place(record, self._side)}: {error}") from error
        except BarnabasError:
            # Of a registry that does not answer, for instance: nothing is wrong with the record.
            raise
        except Exception as error:
            name = getattr(self._deserializer, "__qualname__", type(self._deserializer).__qualname__)
            raise SerializationError(
                f"{_place(record, self._side)}: {self._side}_deserializer {name} failed with "
                f"{type(error).__name__}: {error}; the bytes are {reprlib.repr(getattr(record, self._side))}"
            ) from error

    def _read(self, record: Record) -> Any:
        raise NotImplementedError


class _OfBytes(_Decoder):
    def _read(self, record: Record) -> Any:
        return self._deserializer(record.key if self._side == "key" else record.value)


class _OfRecord(_Decoder):
    def _read(self, record: Record) -> Any:
        side = self._side
        return self._deserializer.key_of(record) if side == "key" else self._deserializer.value_of(record)


def _decoder(deserializer: Any, side: Side) -> Callable[[Record], Any]:
    return (_OfRecord if hasattr(deserializer, "is_awaited") else _OfBytes)(deserializer, side)


def _place(record: Record, side: Side) -> str:
    return f"{record.topic}-{record.partition}, offset {record.offset}, {side}"
