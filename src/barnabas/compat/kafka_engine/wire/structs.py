"""Structs of one fixed version each, which programs make, send and read: their base classes and headers.

The classes themselves are made by `struct_classes`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from io import BytesIO
from typing import Any, ClassVar

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.wire.types import (
    AbstractType,
    Array,
    Int16,
    Int32,
    Schema,
    String,
    TaggedFields,
)
from barnabas.protocol.secrets import shown_field

__all__ = [
    "Request",
    "RequestHeader",
    "RequestHeaderV2",
    "Response",
    "ResponseHeader",
    "ResponseHeaderV2",
    "Struct",
    "StructEncode",
]

_HOME = "barnabas.compat.kafka.protocol.api"


class StructEncode:
    """`Struct.encode(values)` of a class writes values, `struct.encode()` the struct's own."""

    def of_struct(self, struct: Any) -> Any:
        schema = struct.SCHEMA
        return lambda: schema.encode([getattr(struct, name) for name in schema.names])

    def __get__(self, struct: Any, cls: Any) -> Any:
        if struct is not None:
            return self.of_struct(struct)

        def encode(item: Any) -> bytes:
            return b"".join([field.encode(item[place]) for place, field in enumerate(cls.SCHEMA.fields)])

        return encode


class Struct(AbstractType):
    """Values by the names of SCHEMA: all of them in order, or by their names."""

    __module__ = "barnabas.compat.kafka.protocol.struct"

    SCHEMA: ClassVar[Any] = Schema()
    encode: ClassVar[Any] = StructEncode()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.SCHEMA.names
        if len(args) == len(names):
            for name, value in zip(names, args, strict=True):
                setattr(self, name, value)
            return
        if args:
            raise ValueError("Args must be empty or mirror schema")
        if generation().structs_check_their_names:
            unknown = [name for name in kwargs if name not in names]
            if unknown:
                raise ValueError(f"Keyword(s) not in schema {list(names)}: {', '.join(unknown)}")
            kwargs = {name: kwargs.get(name) for name in names}
        for name, value in kwargs.items():
            setattr(self, name, value)

    @classmethod
    def decode(cls, data: Any) -> Any:
        if isinstance(data, bytes):
            data = BytesIO(data)
        return cls(*[field.decode(data) for field in cls.SCHEMA.fields])

    def get_item(self, name: str) -> Any:
        if name not in self.SCHEMA.names:
            raise KeyError(f"{name} is not in the schema")
        return getattr(self, name)

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self.SCHEMA.names}
        shown = [
            f"{name}={shown_field(name, values, field.repr)}"
            for name, field in zip(self.SCHEMA.names, self.SCHEMA.fields, strict=True)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __hash__(self) -> int:
        return hash(self.encode())

    def __eq__(self, other: Any) -> bool:
        if self.SCHEMA != other.SCHEMA:
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self.SCHEMA.names)


class RequestHeader(Struct):
    __module__ = _HOME
    SCHEMA = Schema(
        ("api_key", Int16), ("api_version", Int16), ("correlation_id", Int32), ("client_id", String("utf-8"))
    )

    def __init__(self, request: Any, correlation_id: int = 0, client_id: str = "kafka-python") -> None:
        super().__init__(request.API_KEY, request.API_VERSION, correlation_id, client_id)


class RequestHeaderV2(Struct):
    """With tagged fields (KIP-482)."""

    __module__ = _HOME
    SCHEMA = Schema(
        *zip(RequestHeader.SCHEMA.names, RequestHeader.SCHEMA.fields, strict=True), ("tags", TaggedFields)
    )

    def __init__(
        self, request: Any, correlation_id: int = 0, client_id: str = "kafka-python", tags: Any = None
    ) -> None:
        super().__init__(request.API_KEY, request.API_VERSION, correlation_id, client_id, tags or {})


class ResponseHeader(Struct):
    __module__ = _HOME
    SCHEMA = Schema(("correlation_id", Int32))


class ResponseHeaderV2(Struct):
    """With tagged fields (KIP-482)."""

    __module__ = _HOME
    SCHEMA = Schema(("correlation_id", Int32), ("tags", TaggedFields))


class _Versioned(Struct, metaclass=ABCMeta):
    """A message of one version of an API, which a class has to say."""

    FLEXIBLE_VERSION: ClassVar[bool] = False

    @property
    @abstractmethod
    def API_KEY(self) -> Any:
        """The number of the API."""

    @property
    @abstractmethod
    def API_VERSION(self) -> Any:
        """The version of the API."""

    def to_object(self) -> dict[str, Any]:
        """The values as dictionaries by their names."""
        return _to_object(self.SCHEMA, [getattr(self, name) for name in self.SCHEMA.names])


class Request(_Versioned):
    __module__ = _HOME

    @property
    @abstractmethod
    def RESPONSE_TYPE(self) -> Any:
        """The class of the answer."""

    def expect_response(self) -> bool:
        """Whether brokers answer it."""
        return True

    def build_header(self, correlation_id: int, client_id: str) -> Any:
        header = RequestHeaderV2 if self.FLEXIBLE_VERSION else RequestHeader
        return header(self, correlation_id=correlation_id, client_id=client_id)


class Response(_Versioned):
    __module__ = _HOME

    @classmethod
    def parse_header(cls, read_buffer: Any) -> Any:
        return (ResponseHeaderV2 if cls.FLEXIBLE_VERSION else ResponseHeader).decode(read_buffer)


def _to_object(schema: Any, values: Any) -> dict[str, Any]:
    return {
        name: _value_to_object(field, value)
        for name, field, value in zip(schema.names, schema.fields, values, strict=True)
    }


def _value_to_object(field: Any, value: Any) -> Any:
    if isinstance(field, Schema):
        return _to_object(field, value)
    if isinstance(field, Array) and isinstance(field.array_of, Schema):
        return [_to_object(field.array_of, each) for each in value]
    return value
