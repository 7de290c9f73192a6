"""What is in the bytes of other messages, as kafka-python 3 has it: the version comes first."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.wire.data_containers import DataContainer
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode_prefix, encode

__all__ = ["ApiData"]

_VERSION_BYTES = 2
_LENGTH_BYTES = 4


class ApiData(DataContainer):
    """`ApiData(version, *values)`, or with the version by its name."""

    __module__ = "barnabas.compat.kafka.protocol.api_data"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and isinstance(args[0], int) and "version" not in kwargs:
            kwargs["version"], args = args[0], args[1:]
        super().__init__(*args, **kwargs)

    def encode(self, version: int | None = None, header: bool = True, framed: bool = False) -> bytes:
        """`header`: with the version; `framed`: with the length before all. Raises: ValueError."""
        if version is not None:
            self._version = version
        own: Any = self._version
        if own is None:
            raise ValueError("Version required to encode data")
        try:
            written = encode(self.to_core(own), own)
        except BrokenProtocolError as error:
            raise ValueError(str(error)) from None
        if header:
            written = own.to_bytes(_VERSION_BYTES, "big") + written
        return len(written).to_bytes(_LENGTH_BYTES, "big") + written if framed else written

    @classmethod
    def decode(cls, data: Any, version: int | None = None, header: bool = True, framed: bool = False) -> Any:
        """Out of such bytes. Raises: ValueError."""
        rest = bytes(data.read() if hasattr(data, "read") else data)
        highest = cls._core.VERSIONS[1]
        if framed:
            rest = rest[_LENGTH_BYTES:]
        if header:
            found = int.from_bytes(rest[:_VERSION_BYTES], "big", signed=True)
            rest = rest[_VERSION_BYTES:]
            if version is not None and version > found:
                raise ValueError(f"Version mismatch: found v{found}, expected v{version}")
            version = min(found, highest)
        elif version is None:
            raise ValueError("Version required to decode data")
        elif not 0 <= version <= highest:
            raise ValueError(f"Invalid version {version} (max version is {highest}).")
        try:
            message, _ = decode_prefix(cls._core, version, rest)
        except BrokenProtocolError as error:
            raise ValueError(str(error)) from None
        return cls.of_core(message, version)
