# pyright: basic
"""Avro schemas as the package `avro` has them, which is what legacy programs hand around."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from barnabas.compat.confluent_kafka.avro.error import ClientError
from barnabas.errors import MissingExtraError


def loads(schema_str: str) -> Any:
    """The schema of a text. Raises: ClientError, MissingExtraError."""
    try:
        from avro import errors, schema
    except ImportError:
        raise MissingExtraError("confluent_kafka.avro", "legacy-avro") from None
    try:
        return schema.parse(schema_str)
    except errors.SchemaParseException as error:
        raise ClientError(f"Schema parse failed: {error}") from error


def load(fp: str | PathLike[str]) -> Any:
    """The schema in a file. Raises: ClientError, OSError, MissingExtraError."""
    # Not a file descriptor: it would be closed behind the back of whoever has it.
    with open(fspath(fp)) as file:
        return loads(file.read())
