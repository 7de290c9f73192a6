"""What is known of each kind of schema: one row a type. Knows nothing of levels, nor of registries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from barnabas.registry.compatibility import (
    avro,
    avro_tags,
    avro_text,
    json_schema,
    json_schema_tags,
    json_schema_text,
    protobuf,
    protobuf_tags,
)
from barnabas.registry.compatibility.difference import Difference, Sides
from barnabas.registry.compatibility.tags import Entity
from barnabas.values import frozen

References = Mapping[str, str]
"""The texts of the schemas that another one needs, all of them, by the names that they are referred to by;
each after those that it needs itself."""


class Differences(Protocol):
    """`is_lenient`: by the compatibility policy LENIENT, which means something for JSON Schema only."""

    def __call__(
        self,
        reader: str,
        writer: str,
        *,
        reader_references: References = ...,
        writer_references: References = ...,
        sides: Sides = ...,
        is_lenient: bool = ...,
    ) -> Sequence[Difference]: ...


Rewritten = Callable[[str, References], str]
"""`rewritten(text, references)`: a text that means the same. Raises: InvalidSchemaError."""


class Tagging(Protocol):
    """Tags inside of a schema's text, by `confluent:tags`. Raises: InvalidSchemaError."""

    def found(self, text: str) -> Mapping[Entity, list[str]]: ...

    def changed(
        self, text: str, to_add: Mapping[Entity, Sequence[str]], to_remove: Mapping[Entity, Sequence[str]]
    ) -> str: ...


@frozen
class SchemaKind:
    """`differences`: what keeps data of one from being read by another. `canonical`: the text as it is kept,
    which refuses what is no schema; `normalized`: as it is kept where that is asked for; `forms`: others that
    may be asked for, `resolved` has inside of it what it refers to. `top_level_fields`: names in a valid
    schema. `tagging`: None where tags are not written into the text."""

    differences: Differences
    canonical: Rewritten
    normalized: Rewritten
    top_level_fields: Callable[[str], Sequence[str]]
    forms: Mapping[str, Rewritten] = field(default_factory=dict[str, Rewritten])
    tagging: Tagging | None = None


def _avro_differences(
    reader: str,
    writer: str,
    *,
    reader_references: References = {},  # noqa: B006  it is only read
    writer_references: References = {},  # noqa: B006
    sides: Sides = Sides(),  # noqa: B008  it is frozen
    is_lenient: bool = False,
) -> Sequence[Difference]:
    return avro.differences(
        reader,
        writer,
        reader_references=list(reader_references.values()),
        writer_references=list(writer_references.values()),
        sides=sides,
        # What is kept may be of a registry that did not ask for it.
        is_strict=False,
    )


def _protobuf_differences(
    reader: str,
    writer: str,
    *,
    reader_references: References = {},  # noqa: B006
    writer_references: References = {},  # noqa: B006
    sides: Sides = Sides(),  # noqa: B008
    is_lenient: bool = False,
) -> Sequence[Difference]:
    return protobuf.differences(
        reader,
        writer,
        reader_references=reader_references,
        writer_references=writer_references,
        sides=sides,
    )


FORMATS: dict[str, SchemaKind] = {
    "AVRO": SchemaKind(
        _avro_differences,
        avro_text.canonical,
        avro_text.normalized,
        avro_tags.top_level_fields,
        {"resolved": avro_text.resolved},
        avro_tags,
    ),
    "PROTOBUF": SchemaKind(
        _protobuf_differences,
        protobuf.canonical,
        protobuf.normalized,
        protobuf.top_level_fields,
        {"serialized": protobuf.serialized, "ignore_extensions": protobuf.without_extensions},
        protobuf_tags,
    ),
    "JSON": SchemaKind(
        json_schema.differences,
        json_schema_text.canonical,
        json_schema_text.normalized,
        json_schema_tags.top_level_fields,
        tagging=json_schema_tags,
    ),
}
"""By the name of the type."""
