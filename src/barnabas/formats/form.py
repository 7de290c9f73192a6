"""A format with a schema that was read: what the kernel needs to decode and encode. Can be pickled."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import reprlib
from dataclasses import field, replace

import pyarrow as pa

from barnabas.formats.errors import SchemaError
from barnabas.values import frozen


@frozen
class Header:
    """The header that serializers of a schema registry write before each value. `schema_id`: which one it
    must name, None for any; it is needed to write. `message_index`: where in its file a message of Protocol
    Buffers is; None for other formats."""

    schema_id: int | None = None
    message_index: tuple[int, ...] | None = None


@frozen
class Form:
    """`data_type` is that of the column, `plan` how it lies in the bytes."""

    name: str
    data_type: pa.DataType
    plan: str = ""
    header: Header | None = None
    message_index: tuple[int, ...] | None = field(default=None)
    """Of Protocol Buffers, whether there is a header or not."""
    message: str | None = None
    """Of Protocol Buffers, its full name."""

    def with_header(self, schema_id: int | None = None) -> Form:
        """The same, with a header before each value."""
        return replace(self, header=Header(schema_id, self.message_index))

    def with_type(self, data_type: pa.DataType) -> Form:
        """The same for a column whose type has other names or flags where they do not matter."""
        return replace(self, data_type=data_type)


def text() -> Form:
    """UTF-8."""
    return Form("string", pa.string())


def json(data_type: pa.DataType) -> Form:
    """JSON of this type. Raises: SchemaError, TypeError."""
    if not isinstance(data_type, pa.DataType):
        raise TypeError(
            f"expected a pyarrow.DataType for data_type, got {reprlib.repr(data_type)}: give, for objects, "
            'pyarrow.struct({"name": pyarrow.string()})'
        )
    _check_json(data_type, "")
    return Form("json", data_type)


def _check_json(data_type: pa.DataType, path: str) -> None:
    types = pa.types
    if types.is_struct(data_type):
        names = [field.name for field in data_type]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"field {path}{name} is there twice")
        for each in data_type:
            _check_json(each.type, f"{path}{each.name}.")
    elif types.is_list(data_type):
        _check_json(data_type.value_type, path)
    elif types.is_map(data_type):
        if not types.is_string(data_type.key_type):
            raise SchemaError(f"{path.rstrip('.') or 'the value'}: the keys of a map in JSON are strings")
        _check_json(data_type.item_type, path)
    elif not _is_json_leaf(data_type):
        raise SchemaError(f"{path.rstrip('.') or 'the value'}: JSON has no form for {data_type}")


def _is_json_leaf(data_type: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_boolean(data_type)
        or types.is_signed_integer(data_type)
        or data_type in (pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32())
        or types.is_decimal128(data_type)
        or (types.is_timestamp(data_type) and data_type.unit == "us")
    )
