"""Keys and values by a schema in a file, without a registry.

Owns how such files are read. What a `RegistryFormat` is for `RegistrySide`, a `RawSchema` is.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.cli.formats.options import SideOptions
from barnabas.cli.options import UsageError
from barnabas.records.texts import Side

if TYPE_CHECKING:
    from barnabas.formats import Codec


class RawSchema:
    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def run(self, found: Any) -> Any:
        """Nobody is asked for anything."""
        return found

    def column_of(self, values: Any, headers: Any = None) -> Any:
        return self._codec.decode(values)

    def bytes_of(self, column: Any) -> Any:
        return self._codec.encode(column)

    def data_type(self) -> Any:
        return self._codec.form.data_type


def raw_schema(side: Side, options: SideOptions, name: str) -> RawSchema:
    """Raises: UsageError, SchemaError, MissingExtraError."""
    from barnabas.formats import Codec, avro, protobuf

    path = options.schema
    assert path is not None, "the options were checked"
    if name == "raw-avro":
        return RawSchema(Codec(avro(text_of(side, path))))
    if path.suffix == ".proto":
        return RawSchema(Codec(protobuf(text_of(side, path), options.message or "")))
    # A descriptor set has many files, none of which is the first.
    if options.message is None:
        raise UsageError(
            f"--{side}-schema {str(path)!r} is no .proto file: name a message by --{side}-message"
        )
    return RawSchema(Codec(protobuf(path.read_bytes(), options.message)))


def text_of(side: Side, path: Path) -> str:
    """Raises: UsageError."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--{side}-schema {str(path)!r} cannot be read: {error}") from None
