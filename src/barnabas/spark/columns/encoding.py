"""Encoding in the sink: typed columns become the bytes of keys and values, batch by batch."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.types import DataType, StructType

from barnabas.formats import Codec, EncodeError, Form, SchemaError
from barnabas.formats.codec import conform
from barnabas.registry import RegistryError
from barnabas.registry.columns import RegistryFormat
from barnabas.spark.columns.column_types import arrow_type, form_of
from barnabas.spark.columns.format_options import FormatOptions, Side
from barnabas.spark.columns.registry_formats import registry_format, type_of
from barnabas.spark.errors import InvalidOptionError, InvalidRowsError
from barnabas.values import frozen


@frozen
class Encoder:
    """Can be pickled."""

    forms: tuple[tuple[Side, Form], ...]

    def encode(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Raises: InvalidRowsError."""
        codecs: list[tuple[Side, Codec]] = [(side, Codec(form)) for side, form in self.forms]
        for batch in batches:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for side, codec in codecs:
                columns[side] = _encoded(columns[side], side, codec)
            yield pa.record_batch(columns)


def _encoded(column: pa.Array, side: Side, codec: Codec) -> pa.Array:
    try:
        return codec.encode(column)
    except EncodeError as error:
        field = f", field {error.field!r}" if error.field else ""
        raise InvalidRowsError(
            f"column {side!r}{field} cannot be written as {codec.form.name}: {error.reason}"
        ) from None
    except SchemaError as error:
        raise InvalidRowsError(f"column {side!r} cannot be written as {codec.form.name}: {error}") from None


def encoder(options: tuple[FormatOptions, ...], schema: StructType) -> Encoder:
    """`schema` is that of the rows. Raises: InvalidOptionError, InvalidRowsError, MissingExtraError."""
    types = {field.name: field.dataType for field in schema.fields}
    forms: list[tuple[Side, Form]] = []
    for side in options:
        if side.side not in types:
            raise InvalidRowsError(
                f"{side.side}.format is given, and there is no column {side.side!r}; "
                f"found {', '.join(types) or 'none'}"
            )
        forms.append((side.side, _form(side, types[side.side])))
    return Encoder(tuple(forms))


def _form(options: FormatOptions, data_type: DataType) -> Form:
    side = options.side
    column_type = arrow_type(data_type, f"column {side!r}")
    if options.registry is not None:
        format = registry_format(options)
        _check_fit(column_type, type_of(format, side), side)
        return _registered(format, side)
    if options.format == "json":
        return form_of(options, column_type)
    form = form_of(options)
    _check_fit(column_type, form.data_type, side)
    return form


def _check_fit(column_type: pa.DataType, wanted: pa.DataType, side: Side) -> None:
    """Raises: InvalidRowsError."""
    try:
        # Whether the column fits can be seen of one without rows.
        conform(pa.array([], column_type), wanted)
    except SchemaError as error:
        raise InvalidRowsError(f"column {side!r} does not fit {side}.schema: {error}") from None


def _registered(format: RegistryFormat, side: Side) -> Form:
    """With the id of its schema, so that tasks need no registry. Raises: InvalidOptionError."""
    try:
        form, id = format.run(format.writing())
    except (RegistryError, SchemaError) as error:
        raise InvalidOptionError(f"the {side} cannot be written with its schema: {error}") from None
    return form.with_header(id)
