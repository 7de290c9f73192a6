"""Avro, one value at a time: bytes to Python objects and back, in the kernel.

Knows nothing of where a schema comes from, and leaves what it means to `avro_resolution`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas._kernel import AvroCodec
from barnabas.formats.avro_resolution import Schema, Strictness, parsed, plan


class AvroDuration(NamedTuple):
    """A value of the logical type `duration`: calendars decide how long months and days are."""

    months: int
    days: int
    milliseconds: int


class AvroValues:
    """Values of an Avro schema. All threads may share one, and it may be pickled.

    `schema`: that of the bytes, in JSON. `reader_schema`: what `decode` makes of them, if it is another one.
    `references` and `reader_references`: schemas whose types these name, each after those that it needs.
    `tells_records`: of a union, a record is given as `(full name, record)`. `strict`: a dict has exactly the
    fields of its record when it is written (`all`); `but_defaults`: those that have a default may be missing.

    Records are dicts, enums strings, and logical types `date`, `time`, `datetime` (with UTC, or local without
    a zone), `Decimal`, `UUID` and `AvroDuration`; nanoseconds stay whole numbers. `encode` takes any mapping
    and sequence, instances of dataclasses and of Pydantic models, members of Python's Enum, bare values in
    place of logical types, and of a union the first type that a value fits, of records the one that has most
    of its fields; `(name, value)`, a dict's key "-type" or a model's class chooses one.

    Raises: SchemaError, MissingExtraError.
    """

    def __init__(
        self,
        schema: str,
        reader_schema: str | None = None,
        *,
        references: Sequence[str] = (),
        reader_references: Sequence[str] = (),
        tells_records: bool = False,
        strict: Strictness = "no",
    ) -> None:
        self._made_of = (
            schema,
            reader_schema,
            tuple(references),
            tuple(reader_references),
            tells_records,
            strict,
        )
        names: dict[str, Schema] = {}
        writer = parsed(schema, references, names)
        reader, reader_names = writer, names
        if reader_schema is not None:
            reader_names = dict[str, Schema]()
            reader = parsed(reader_schema, reader_references, reader_names)
        reading = plan(writer, names, reader, reader_names, tells_records=tells_records)
        writing = plan(writer, names, writer, names, is_writing=True, strict=strict)
        self._codec = AvroCodec(reading, writing, AvroDuration)
        self.decode = self._codec.decode
        """`decode(data, offset=0)` gives the value of the bytes behind `offset`. Raises: SerializationError,
        which names the field."""
        self.encode = self._codec.encode
        """`encode(value, header=b"")` gives bytes, behind `header`. Raises: SerializationError, which names
        the field."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._made_of


def _again(
    schema: str,
    reader_schema: str | None,
    references: Sequence[str],
    reader_references: Sequence[str],
    tells_records: bool,
    strict: Strictness,
) -> AvroValues:
    return AvroValues(
        schema,
        reader_schema,
        references=references,
        reader_references=reader_references,
        tells_records=tells_records,
        strict=strict,
    )
