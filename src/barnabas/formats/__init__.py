"""What the bytes of keys and values mean: columns of bytes into typed Arrow columns, and back.

    form = avro(schema_json)        # or text(), json(arrow_type), protobuf(descriptors, message)
    column, errors = Codec(form).decode(values)     # errors: a struct of row, field and error
    values = Codec(form).encode(column)

Or one value at a time, as Python objects: `AvroValues(schema_json).decode(data)`.

Schemas are read here, once; the kernel does what costs per value. Must know nothing of Spark, of topics or of
clients. A schema comes as text or bytes: whoever gets it from a registry, by subject or by the id in a
message's header, calls the same functions.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

from barnabas.formats.avro_columns import avro
from barnabas.formats.avro_values import AvroDuration, AvroValues
from barnabas.formats.codec import Codec, EncodeError
from barnabas.formats.form import Form, Header, SchemaError, json, text
from barnabas.formats.protobuf import protobuf

__all__ = [
    "AvroDuration",
    "AvroValues",
    "Codec",
    "EncodeError",
    "Form",
    "Header",
    "SchemaError",
    "avro",
    "json",
    "protobuf",
    "text",
]
