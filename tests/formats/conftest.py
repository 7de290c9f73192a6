"""What the tests of formats share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from barnabas.formats import Codec, Form


def decode(form: Form, values: Sequence[bytes | None]) -> list[Any]:
    """What values mean, of which none is bad."""
    column, errors = Codec(form).decode(pa.array(values, pa.binary()))
    column.validate(full=True)
    assert errors.to_pylist() == []
    return column.to_pylist()


def errors_of(form: Form, values: Sequence[bytes | None]) -> list[tuple[int, str, str]]:
    """Row, field and reason of each bad value, which is null in the column."""
    column, errors = Codec(form).decode(pa.array(values, pa.binary()))
    column.validate(full=True)
    assert len(column) == len(values)
    found = [tuple(error.values()) for error in errors.to_pylist()]
    assert [row for row, value in enumerate(values) if value is not None and not column[row].is_valid] == [
        row for row, _, _ in found
    ]
    return found


def encode(form: Form, values: Sequence[Any]) -> list[bytes | None]:
    return Codec(form).encode(pa.array(values, form.data_type)).to_pylist()
