"""Decoding and encoding whole columns: the kernel's work, with arrays brought into the form it takes."""

# PyArrow has no types, and makes its compute functions at run time.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from barnabas._kernel import Format
from barnabas.errors import BarnabasError
from barnabas.formats.errors import SchemaError
from barnabas.formats.form import Form

ERROR_TYPE = pa.struct([("row", pa.int64()), ("field", pa.string()), ("error", pa.string())])

ERROR_COLUMN_TYPE = pa.struct([("bytes", pa.binary()), ("field", pa.string()), ("message", pa.string())])


class EncodeError(BarnabasError):
    """A value does not fit its schema. `row` counts from 0; `field` is empty where it is the value itself."""

    def __init__(self, row: int, field: str, reason: str) -> None:
        where = f"field {field!r} of row {row}" if field else f"row {row}"
        super().__init__(f"{where}: {reason}")
        self.row, self.field, self.reason = row, field, reason


class Codec:
    """One format with one schema. Not to be pickled: send its `Form`."""

    def __init__(self, form: Form) -> None:
        """Raises: SchemaError."""
        self.form = form
        header = form.header
        index = None if header is None else header.message_index
        try:
            self._format = Format(
                form.name,
                form.data_type,
                ERROR_TYPE,
                pa.binary(),
                plan=form.plan,
                has_header=header is not None,
                schema_id=None if header is None else header.schema_id,
                message_index=None if index is None else [*index],
            )
        except ValueError as error:
            raise SchemaError(f"{form.name}: {error}") from None

    def decode(self, values: pa.Array, *, stop_at_error: bool = False) -> tuple[pa.Array, pa.StructArray]:
        """The column, with null for what is null or cannot be read; and `ERROR_TYPE` for each that cannot.
        With `stop_at_error` the first such is the last row of the column."""
        column, errors = self._format.decode(values, stop_at_error=stop_at_error)
        return pa.array(column), pa.array(errors)

    def decode_by_schema(
        self,
        values: pa.Array,
        writers: Mapping[int | bytes, Codec | str],
        headers: pa.Array | None = None,
        *,
        stop_at_error: bool = False,
    ) -> tuple[pa.Array, pa.StructArray]:
        """Decodes as `decode` does, where each value names the schema that it was written with, by its id or
        the bytes of its guid: `writers` has what reads it into this codec's type, or in words why it is not
        read. `headers`: of each record the header that names its schema, or null, where the value itself
        does."""
        column, errors = self._format.decode_by_schema(
            values,
            {key: writer if isinstance(writer, str) else writer._format for key, writer in writers.items()},
            headers=headers,
            stop_at_error=stop_at_error,
        )
        return pa.array(column), pa.array(errors)

    def encode(self, column: pa.Array) -> pa.Array:
        """Bytes; null stays null.

        Raises: EncodeError (a value that the schema does not take), SchemaError (a column it does not).
        """
        encoded, error = self._format.encode(conform(column, self.form.data_type))
        if error is not None:
            raise EncodeError(*error)
        return pa.array(encoded)


def error_column(values: pa.Array, errors: pa.StructArray) -> pa.StructArray:
    """What could not be read, as a column beside the others: null where a row is well."""
    if not len(errors):
        return pa.nulls(len(values), ERROR_COLUMN_TYPE)
    rows = errors.field("row")
    details = pa.StructArray.from_arrays(
        [values.take(rows), errors.field("field"), errors.field("error")], fields=list(ERROR_COLUMN_TYPE)
    )
    return scattered(details, rows.to_numpy(), len(values))


def scattered(values: pa.Array, rows: np.ndarray[Any, Any], length: int) -> pa.Array:
    """A column of that many rows, with `values` in `rows` and null elsewhere."""
    places = np.full(length, -1)
    places[rows] = np.arange(len(values))
    return values.take(pa.array(places, mask=places < 0))


def conform(array: pa.Array, data_type: pa.DataType, path: str = "") -> pa.Array:
    """The array in this type: fields by their names, numbers in their width where nothing is lost. A field
    that is missing is null.

    Raises: SchemaError.
    """
    if array.type.equals(data_type):
        return array
    types = pa.types
    if types.is_struct(data_type) and types.is_struct(array.type):
        return _conform_struct(array, data_type, path)
    if types.is_list(data_type) and (types.is_list(array.type) or types.is_large_list(array.type)):
        whole = array.cast(pa.list_(array.type.value_type)) if types.is_large_list(array.type) else array
        items = conform(whole.values, data_type.value_type, f"{path}[]")
        return pa.Array.from_buffers(
            data_type, len(whole), whole.buffers()[:2], whole.null_count, whole.offset, [items]
        )
    if types.is_map(data_type) and types.is_map(array.type):
        entries = pa.StructArray.from_arrays(
            [
                conform(array.keys, data_type.key_type, f"{path}[]"),
                conform(array.items, data_type.item_type, f"{path}[]"),
            ],
            fields=[data_type.key_field, data_type.item_field],
        )
        return pa.Array.from_buffers(
            data_type, len(array), array.buffers()[:2], array.null_count, array.offset, [entries]
        )
    if types.is_nested(data_type) or types.is_nested(array.type):
        raise SchemaError(f"{path or 'the value'} is {array.type}, where the schema has {data_type}")
    try:
        return _cast(array, data_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"{path or 'the value'}: {error}") from None


def _conform_struct(array: pa.StructArray, data_type: pa.StructType, path: str) -> pa.Array:
    names = [field.name for field in data_type]
    extra = [field.name for field in array.type if field.name not in names]
    if extra:
        where = f" of {path}" if path else ""
        raise SchemaError(
            f"the schema has no field {', '.join(map(repr, extra))}{where}; "
            f"it has {', '.join(names) or 'none'}"
        )
    children: list[pa.Array] = []
    for field in data_type:
        if array.type.get_field_index(field.name) < 0:
            children.append(pa.nulls(len(array), field.type))
        else:
            where = f"{path}.{field.name}" if path else field.name
            children.append(conform(array.field(field.name), field.type, where))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(data_type), mask=mask)


def _cast(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Raises: pa.ArrowInvalid, pa.ArrowNotImplementedError."""
    types = pa.types
    is_text_to_number = types.is_string(array.type) and not (
        types.is_string(data_type) or types.is_binary(data_type)
    )
    is_number_to_text = types.is_string(data_type) and not (
        types.is_string(array.type) or types.is_large_string(array.type)
    )
    if (is_text_to_number or is_number_to_text) and not types.is_null(array.type):
        raise pa.ArrowInvalid(f"{array.type}, where the schema has {data_type}: cast the column")
    if types.is_integer(array.type) and types.is_decimal(data_type):
        # Any int64 fits in 19 digits; PyArrow wants room for all of them beforehand.
        return array.cast(pa.decimal128(38, data_type.scale)).cast(data_type)
    return array.cast(data_type)
