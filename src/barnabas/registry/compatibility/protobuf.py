"""Schemas of Protocol Buffers: whether data of one can be read by another, by the rules and in the words of
Confluent's registry; and the texts that a registry keeps of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from barnabas.formats.errors import SchemaError
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.registry.compatibility.difference import Difference, Sides
from barnabas.registry.compatibility.protobuf_changes import COMPATIBLE, changes
from barnabas.registry.errors import InvalidSchemaError
from barnabas.values import frozen

References = Mapping[str, str]

# `{0}` is what the reader's schema is called, `{1}` the writer's, `{2}` the path.
DESCRIPTIONS = {
    "PACKAGE_CHANGED": "The package at '{2}' in the {0} schema does not match the package in the {1} schema",
    "MESSAGE_REMOVED": "The {0} schema is missing a MESSAGE type at path '{2}' in the {1} schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{2}' in the {0} schema does not match the {1} schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{2}' in the {0} schema does not match "
    "its kind in the {1} schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{2}' in the {0} schema does not match "
    "its type in the {1} schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{2}' in the {0} schema does not "
    "match its label in the {1} schema",
    "REQUIRED_FIELD_ADDED": "A required field  at path '{2}' in the {0} schema is missing in the {1} schema",
    "REQUIRED_FIELD_REMOVED": "The {0} schema is missing a required field at path: '{2}' in the {1} schema",
    "ONEOF_FIELD_REMOVED": "The {0} schema is missing a oneof field at path '{2}' in the {1} schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{2}' in the {0} schema are "
    "outside a oneof in the {1} schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{2}' in the {0} schema is outside an "
    "existing oneof in the {1} schema",
}


@frozen
class ProtobufDifference(Difference):
    """Confluent's registry tells those of Protocol Buffers in other marks, and without more information."""

    def __str__(self) -> str:
        return f'{{errorType:"{self.kind}", description:"{self.description}"}}'


def differences(
    reader: str,
    writer: str,
    *,
    reader_references: References = {},  # noqa: B006  it is only read
    writer_references: References = {},  # noqa: B006
    sides: Sides = Sides(),  # noqa: B008  it is frozen
) -> list[Difference]:
    """What keeps data that was written by `writer` from being read by `reader`; nothing if none is.

    Raises: InvalidSchemaError, MissingExtraError.
    """
    try:
        found = changes(ProtobufSchema(writer, writer_references), ProtobufSchema(reader, reader_references))
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None
    except RecursionError:
        raise InvalidSchemaError(
            "the messages of the Protobuf schemas are too many within each other"
        ) from None
    return [
        ProtobufDifference(kind, path, DESCRIPTIONS[kind].format(sides.reader, sides.writer, path))
        for kind, path in found
        if kind not in COMPATIBLE
    ]


def canonical(text: str, references: References = {}) -> str:  # noqa: B006  it is only read
    """As Confluent's registry keeps it; all that the schema uses must be there.

    Raises: InvalidSchemaError, MissingExtraError.
    """
    try:
        schema = ProtobufSchema(text, references)
        schema.descriptor_set  # noqa: B018  which finds what is wrong
        kept = schema.canonical_text
        if not schema.file.text:
            # It was a descriptor, which may have what no text says.
            ProtobufSchema(kept, references).descriptor_set  # noqa: B018
        return kept
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None


def normalized(text: str, references: References = {}) -> str:  # noqa: B006
    """The same for all texts that differ only in what means nothing. Raises: InvalidSchemaError."""
    try:
        return ProtobufSchema(text, references).normalized_text
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None


def without_extensions(text: str, references: References = {}) -> str:  # noqa: B006
    """What Confluent's registry calls the format `ignore_extensions`. Raises: InvalidSchemaError."""
    try:
        return ProtobufSchema(text, references).text_without_extensions
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None


def serialized(text: str, references: References = {}) -> str:  # noqa: B006
    """The descriptor in base64, which it calls the format `serialized`.

    Raises: InvalidSchemaError, MissingExtraError.
    """
    try:
        return base64.b64encode(ProtobufSchema(text, references).descriptor).decode()
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None


def top_level_fields(text: str) -> list[str]:
    """Of all messages of a valid schema that are in no other one, with those in oneofs."""
    messages = ProtobufSchema(text).file.messages
    fields = [field for message in messages for field in message.fields]
    fields += [field for message in messages for oneof in message.oneofs for field in oneof.fields]
    return [field.name for field in fields]
