"""Keys or values of records as columns of their own types, and back: one side of a batch or a table."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa

from barnabas.errors import MisuseError, SerializationError
from barnabas.formats.codec import Codec, EncodeError, error_column
from barnabas.formats.form import Form

Side = Literal["key", "value"]


def with_decoded(
    batch: pa.RecordBatch, side: Side, column: pa.Array, errors: pa.StructArray
) -> pa.RecordBatch:
    """Records with this side as `column`, and what could not be read in the column `valueError`
    (`keyError`), struct<bytes: binary, field: string, message: string>."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns[side] = column
    columns[f"{side}Error"] = error_column(batch.column(side), errors)
    return pa.record_batch(columns)


def table_with(rows: Any, side: Side, format: object) -> pa.Table:
    """A table or a record batch as a table. Raises: MisuseError where this side's column is missing."""
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else pa.table(rows)
    if side not in table.column_names:
        raise MisuseError(f"there is no column {side!r} to be written as {format!r}")
    return table


def with_encoded(table: pa.Table, side: Side, encode: Callable[[pa.Array], pa.Array]) -> pa.Table:
    """The table with this side's column as bytes, which `encode` makes of each of its arrays, or raises
    EncodeError. Raises: SerializationError (names row and field)."""
    written: list[pa.Array] = []
    before = 0
    for chunk in table.column(side).chunks:
        try:
            written.append(encode(chunk))
        except EncodeError as error:
            field = f", field {error.field!r}" if error.field else ""
            raise SerializationError(f"{side} of row {before + error.row}{field}: {error.reason}") from None
        before += len(chunk)
    place = table.column_names.index(side)
    return table.set_column(place, side, pa.chunked_array(written, pa.binary()))


class FormColumns:
    """A form, for the clients' `poll_arrow` and `send_arrow`. `is_awaited`: for those of `barnabas.aio`."""

    def __init__(self, form: Form, *, is_awaited: bool) -> None:
        """Raises: SchemaError."""
        self.is_awaited = is_awaited
        self._codec = Codec(form)

    def run(self, steps: Any) -> Any:
        """What `decoded` or `encoded` gave: nobody has to be asked."""
        return _awaited(steps) if self.is_awaited else steps

    def decoded(self, batch: pa.RecordBatch, side: Side) -> pa.RecordBatch:
        """See `with_decoded`."""
        return with_decoded(batch, side, *self._codec.decode(batch.column(side)))

    def encoded(self, rows: Any, side: Side) -> pa.Table:
        """A table or a record batch with this side's column as bytes. Raises: SerializationError (names row
        and field), MisuseError (the column is missing), SchemaError (it is of another type)."""
        return with_encoded(table_with(rows, side, self), side, self._codec.encode)

    def __repr__(self) -> str:
        return f"barnabas.formats.{self._codec.form.name}"


async def _awaited(done: Any) -> Any:
    return done
