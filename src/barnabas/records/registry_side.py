"""One side of records by a registry's schema: Arrow columns, and JSON by the types of these.

Owns what errors of columns are called where they are shown. Knows no options but their names.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.errors import SerializationError
from barnabas.records.texts import JsonText, Part, Side, Unread, place_of
from barnabas.registry.errors import RegistryError, SubjectNotFoundError

if TYPE_CHECKING:
    from barnabas import Record

# A registry's serializers begin with another byte.
_BEGINS_JSON = tuple(bytes([byte]) for byte in b'{["-0123456789tfn \t\n')


class RegistrySide:
    """Keys or values of one topic by a `RegistryFormat`. `name`: what the format is called."""

    def __init__(self, format: Any, side: Side, name: str) -> None:
        self._format = format
        self._side: Side = side
        self._name = name
        self._json: Any = None

    def read(self, records: Sequence[Record], data: Sequence[bytes | None]) -> list[Part]:
        """As JSON. Raises: RegistryError, SchemaError, SerializationError."""
        import pyarrow as pa

        from barnabas.registry.columns import HEADERS

        named = [header_of(record, HEADERS[self._side]) for record in records]
        headers = None if named.count(None) == len(named) else pa.array(named, pa.binary())
        with self._asking():
            column, errors = self._format.run(self._format.column_of(pa.array(data, pa.binary()), headers))
        texts: list[bytes | None] = self._codec().encode(column).to_pylist()
        found: list[Part] = [None if text is None else JsonText(text) for text in texts]
        for error in errors.to_pylist():
            row = error["row"]
            field = f", field {error['field']!r}" if error["field"] else ""
            looks_like_json = named[row] is None and (data[row] or b"")[:1] in _BEGINS_JSON
            hint = self._hint() if looks_like_json else ""
            if "ignores_rules" in error["error"]:
                hint = " (--ignore-rules)"
            found[row] = Unread.because(
                data[row],
                f"{place_of(records[row])}: the {self._side}{field} cannot be read as {self._name}: "
                f"{error['error']}{hint}",
            )
        return found

    def write(self, text: bytes, line_number: int | None) -> bytes:
        """The bytes of JSON, of a line or of none. Raises: SerializationError (names the line),
        RegistryError, SchemaError."""
        import pyarrow as pa

        from barnabas.formats import EncodeError

        with self._asking():
            column, errors = self._codec().decode(pa.array([text], pa.binary()))
        field, reason = "", ""
        for error in errors.to_pylist():
            field, reason = error["field"], f"it is not JSON of its schema: {error['error']}"
        if not reason:
            try:
                return self._format.run(self._format.bytes_of(column))[0].as_py()
            except EncodeError as error:
                field, reason = error.field, error.reason
        where = f", field {field!r}" if field else ""
        line = "" if line_number is None else f"line {line_number}: "
        raise SerializationError(f"{line}the {self._side}{where} cannot be written as {self._name}: {reason}")

    def column(self, texts: Sequence[bytes | None]) -> Any:
        """What `read` gave as an Arrow array of the schema's type."""
        import pyarrow as pa

        with self._asking():
            return self._codec().decode(pa.array(texts, pa.binary()))[0]

    def data_type(self) -> Any:
        """Of `column`. Raises: RegistryError, SchemaError."""
        with self._asking():
            return self._format.run(self._format.data_type())

    @contextmanager
    def _asking(self) -> Generator[None]:
        """Around what asks the registry for schemas. Raises: SerializationError in place of a RegistryError
        where the format is json, by which plain JSON may be meant, or there is no such subject."""
        try:
            yield
        except RegistryError as error:
            hint = self._hint()
            if isinstance(error, SubjectNotFoundError) and self._name in ("avro", "protobuf"):
                side = self._side
                hint = (
                    f"; --{side}-subject names another subject, produce --{side}-schema registers one, and "
                    f"consume --{side}-format auto needs none"
                )
            if not hint:
                raise
            raise SerializationError(f"{error}{hint}") from error

    def _hint(self) -> str:
        if self._name != "json":
            return ""
        return f"; {self._side}s that are plain JSON, without a registry, need no --{self._side}-format"

    def _codec(self) -> Any:
        if self._json is None:
            from barnabas.formats import Codec, json

            self._json = Codec(json(self._format.run(self._format.data_type())))
        return self._json


def header_of(record: Record, name: str) -> bytes | None:
    return next((value for key, value in record.headers if key == name), None)
