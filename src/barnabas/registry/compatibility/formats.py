"""What is known of each kind of schema: one row a type. Knows nothing of levels, nor of registries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from barnabas.registry.compatibility import avro, avro_text
from barnabas.registry.compatibility.difference import Difference, Sides
from barnabas.values import frozen

References = Mapping[str, str]
"""The texts of the schemas that another one needs, all of them, by the names that they are referred to by;
each after those that it needs itself."""


class Differences(Protocol):
    def __call__(
        self,
        reader: str,
        writer: str,
        *,
        reader_references: References = ...,
        writer_references: References = ...,
        sides: Sides = ...,
    ) -> Sequence[Difference]: ...


class Rewritten(Protocol):
    def __call__(self, text: str, references: References, /) -> str: ...


@frozen
class SchemaFormat:
    """`differences`: what keeps data of one from being read by another. The others give a text that means the
    same: `canonical` as it is kept, `normalized` as it is kept where that is asked for, `resolved` with what
    it refers to inside of it (where the format has that; otherwise as it is kept). All raise
    InvalidSchemaError for what is no schema."""

    differences: Differences
    canonical: Rewritten
    normalized: Rewritten
    resolved: Rewritten


def _avro_differences(
    reader: str,
    writer: str,
    *,
    reader_references: References = {},  # noqa: B006  it is only read
    writer_references: References = {},  # noqa: B006
    sides: Sides = Sides(),  # noqa: B008  it is frozen
) -> Sequence[Difference]:
    return avro.differences(
        reader,
        writer,
        reader_references=list(reader_references.values()),
        writer_references=list(writer_references.values()),
        sides=sides,
    )


FORMATS: dict[str, SchemaFormat] = {
    "AVRO": SchemaFormat(_avro_differences, avro_text.canonical, avro_text.normalized, avro_text.resolved),
}
"""By the name of the type."""
