"""All that a schema refers to, out of a registry: asked for by steps, whoever drives them.

Knows no format: what a reference's name means, its caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from barnabas.formats.errors import SchemaError
from barnabas.registry.schemas import RegisteredSchema, Schema
from barnabas.values import frozen

DEEPEST, MOST_REFERENCES = 100, 1_000


class ReferenceSource(Protocol):
    """`RegistryCalls` is one."""

    def version(
        self, subject: str, version: int, *, deleted: bool = ..., format: str | None = ...
    ) -> Generator[Any, Any, RegisteredSchema]: ...


@frozen
class Referenced:
    """A schema that another one refers to by `name`."""

    name: str
    schema: Schema


def referenced(
    source: ReferenceSource,
    schema: Schema,
    *,
    format: str | None = None,
    is_built_in: Callable[[str], bool] = lambda name: False,
) -> Generator[Any, Any, list[Referenced]]:
    """All that `schema` refers to, at however many removes, each after what it needs. `format`: one of the
    registry's. What is built in is not asked for.

    Raises: SchemaError, and what the source raises.
    """
    found: dict[tuple[str, str, int], Referenced] = {}

    def gather(schema: Schema, within: tuple[tuple[str, str, int], ...]) -> Generator[Any, Any, None]:
        for reference in schema.references:
            key = (reference.name, reference.subject, reference.version)
            if key in found or is_built_in(reference.name):
                continue
            if key in within:
                raise SchemaError(f"version {reference.version} of {reference.subject} refers to itself")
            if len(within) >= DEEPEST or len(found) >= MOST_REFERENCES:
                raise SchemaError(
                    f"the schema refers to others through more than {DEEPEST}, or to more than "
                    f"{MOST_REFERENCES}"
                )
            registered = yield from source.version(
                reference.subject, reference.version, deleted=True, format=format
            )
            yield from gather(registered.schema, (*within, key))
            found[key] = Referenced(reference.name, registered.schema)

    yield from gather(schema, ())
    return list(found.values())
