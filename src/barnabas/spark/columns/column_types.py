"""The types of columns that keys and values become: schemas as Spark's DDL, Spark's types as Arrow's."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import assert_never

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    _parse_datatype_json_string,  # pyright: ignore[reportPrivateUsage]
)

from barnabas.errors import BarnabasError
from barnabas.formats import Form, SchemaError, avro, json, protobuf, text
from barnabas.spark.columns.format_options import FormatOptions
from barnabas.spark.columns.registry_formats import registry_format, type_of
from barnabas.spark.errors import InvalidOptionError

# A type and not a list of fields: one word, perhaps with numbers, or one with types in angle brackets.
_ONE_TYPE = re.compile(r"\w+\s*(\(\s*[\d\s,]*\))?|(array|map|struct)\s*<.*>", re.IGNORECASE | re.DOTALL)
SESSION_TIME_ZONE = "UTC"


def type_ddl(options: FormatOptions) -> str:
    """The type of the column, as DDL. Of JSON it is what the user gave, which Spark reads itself.

    Raises: InvalidOptionError, MissingExtraError.
    """
    if options.registry is not None:
        data_type = type_of(registry_format(options), options.side)
        return to_ddl(from_arrow_type(data_type, prefer_timestamp_ntz=True))
    if options.format != "json":
        return to_ddl(from_arrow_type(form_of(options).data_type, prefer_timestamp_ntz=True))
    schema = options.schema
    if not isinstance(schema, str):
        raise InvalidOptionError(
            f"{options.side}.format=json needs {options.side}.schema, such as 'id BIGINT, name STRING'"
        )
    if schema.startswith(("{", '"')):
        return to_ddl(_from_json(schema, options.side))
    return schema if _ONE_TYPE.fullmatch(schema) else f"struct<{schema}>"


def form_of(options: FormatOptions, data_type: pa.DataType | None = None) -> Form:
    """How bytes become columns. `data_type` is that of the column, where it is known; JSON needs it.

    Raises: InvalidOptionError, MissingExtraError.
    """
    form = _form(options, data_type)
    if data_type is not None:
        form = form.with_type(data_type)
    return form.with_header(options.schema_id) if options.is_framed else form


def _form(options: FormatOptions, data_type: pa.DataType | None) -> Form:
    schema, side = options.schema, options.side
    try:
        match options.format:
            case "string":
                return text()
            case "json":
                if data_type is None:
                    raise InvalidOptionError(f"{side}.format=json needs {side}.schema")
                return json(data_type)
            case "avro":
                return avro(str(schema))
            case "protobuf":
                descriptors = schema if isinstance(schema, bytes) else b""
                return protobuf(descriptors, options.message or "")
            case _:
                assert_never(options.format)
    except SchemaError as error:
        raise InvalidOptionError(f"{side}.schema: {error}") from None


def arrow_type(data_type: DataType, what: str) -> pa.DataType:
    """Arrow's type for Spark's. Raises: InvalidOptionError."""
    try:
        return to_arrow_type(data_type, timezone=SESSION_TIME_ZONE)
    except (PySparkException, BarnabasError) as error:
        raise InvalidOptionError(
            f"{what}: {data_type.simpleString()} has no form in Arrow: {error}"
        ) from None


def check_nullable(data_type: DataType, what: str) -> None:
    """Raises: InvalidOptionError where a field must not be null: any may be missing from a record."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                if not field.nullable:
                    raise InvalidOptionError(
                        f"{what}.schema: field {field.name!r} is NOT NULL, but records may lack it"
                    )
                check_nullable(field.dataType, what)
        case ArrayType():
            check_nullable(data_type.elementType, what)
        case MapType():
            check_nullable(data_type.valueType, what)
        case _:
            pass


def to_ddl(data_type: DataType) -> str:
    """A type as Spark's parser takes it, whatever its fields are called."""
    match data_type:
        case StructType():
            fields = (f"{_quoted(field.name)}: {to_ddl(field.dataType)}" for field in data_type.fields)
            return f"struct<{', '.join(fields)}>"
        case ArrayType():
            return f"array<{to_ddl(data_type.elementType)}>"
        case MapType():
            return f"map<{to_ddl(data_type.keyType)}, {to_ddl(data_type.valueType)}>"
        case _:
            return data_type.simpleString()


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _from_json(schema: str, side: str) -> DataType:
    try:
        return _parse_datatype_json_string(schema)
    except (PySparkException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidOptionError(
            f"{side}.schema is not a type in Spark's JSON, as DataFrame.schema.json() gives: {error}"
        ) from None
