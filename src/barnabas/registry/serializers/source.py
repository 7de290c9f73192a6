"""What a serializer asks of a registry, whoever the registry's client is.

Each answer comes by steps, which whoever drives the serializer takes: waiting, or awaiting. A serializer
keeps what it has found, so that nothing is asked for a value like one before.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from barnabas.registry.schemas import Association, RegisteredSchema, Schema

T = TypeVar("T")

Asked = Generator[Any, Any, T]
"""Steps until a `T` is there. What a step is, only the source and the driver know."""


class SchemaSource(Protocol):
    """`RegistryCalls` is one. What they raise, the serializer's caller gets."""

    @property
    def latest_seconds(self) -> float:
        """How long a serializer takes what `latest` gave for the latest. 0: it asks for every value."""
        ...

    def register(self, subject: str, schema: Schema, *, normalize: bool = ...) -> Asked[RegisteredSchema]: ...

    def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = ..., deleted: bool = ...
    ) -> Asked[RegisteredSchema]: ...

    def latest(
        self,
        subject: str,
        *,
        metadata: Mapping[str, str] | None = ...,
        format: str | None = ...,
        is_renewed: bool = ...,
    ) -> Asked[RegisteredSchema]:
        """`metadata`: the latest of those that have these properties, deleted ones among them. `is_renewed`:
        whatever is remembered, the registry is asked."""
        ...

    def schema(self, id: int, *, subject: str | None = ..., format: str | None = ...) -> Asked[Schema]: ...

    def schema_by_guid(self, guid: str, *, format: str | None = ...) -> Asked[Schema]: ...

    def version(
        self, subject: str, version: int, *, deleted: bool = ..., format: str | None = ...
    ) -> Asked[RegisteredSchema]: ...

    def associations(
        self,
        resource_name: str,
        *,
        namespace: str = ...,
        resource_type: str | None = ...,
        association_types: Sequence[str] = ...,
        offset: int = ...,
        limit: int | None = ...,
    ) -> Asked[list[Association]]: ...
