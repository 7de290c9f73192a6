"""What the bytes of keys and values mean: columns of bytes into typed Arrow columns, and back.

    form = avro(schema_json)        # or text(), json(arrow_type), protobuf(descriptors, message)
    column, errors = Codec(form).decode(values)     # errors: a struct of row, field and error
    values = Codec(form).encode(column)

Or one value at a time, as Python objects: `AvroValues(schema_json).decode(data)`, and so `JsonValues`.

Schemas are read here, once; the kernel does what costs per value. Must know nothing of Spark, of topics or of
clients. A schema comes as text or bytes: whoever gets it from a registry, by subject or by the id in a
message's header, calls the same functions. Everything is imported on first use: single values and schemas
need no PyArrow.
"""

# PyArrow has no types.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.errors import MissingExtraError

if TYPE_CHECKING:
    from barnabas.formats.avro_columns import avro
    from barnabas.formats.avro_values import AvroDuration, AvroValues
    from barnabas.formats.codec import Codec, EncodeError
    from barnabas.formats.errors import SchemaError
    from barnabas.formats.form import Form, Header, json, text
    from barnabas.formats.json_values import JsonValues
    from barnabas.formats.protobuf_columns import protobuf
    from barnabas.formats.protobuf_values import ProtobufValues

__all__ = [
    "AvroDuration",
    "AvroValues",
    "Codec",
    "EncodeError",
    "Form",
    "Header",
    "JsonValues",
    "ProtobufValues",
    "SchemaError",
    "avro",
    "json",
    "protobuf",
    "text",
]

_HOMES = {
    "AvroDuration": "avro_values",
    "AvroValues": "avro_values",
    "Codec": "codec",
    "EncodeError": "codec",
    "JsonValues": "json_values",
    "ProtobufValues": "protobuf_values",
    "SchemaError": "errors",
    "avro": "avro_columns",
    "protobuf": "protobuf_columns",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'barnabas.formats' has no attribute {name!r}")
    try:
        home = import_module(f"barnabas.formats.{_HOMES.get(name, 'form')}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyarrow", "numpy"):
            raise
        raise MissingExtraError(f"barnabas.formats.{name}", "arrow") from None
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
