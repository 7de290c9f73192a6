# pyright: basic
"""What a (de)serializer asks of others, step by step: each step is a call, of a client's method mostly.

So that everything is written once, for plain calls and for asyncio, whoever's client it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

from barnabas.both_ways import awaited, waited
from barnabas.compat.confluent_kafka._serde_builder import called
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    RegisteredSchema,
    Schema,
)

T = TypeVar("T")

Asked = Generator[Callable[[], Any], Any, T]
"""Calls that are to be made until a `T` is there; each is sent its result, or thrown what it raised."""


def run(steps: Asked[T]) -> T:
    """Raises: what the calls and the steps raise."""
    return waited(steps, operator.call)


async def run_async(steps: Asked[T]) -> T:
    """Awaits what the calls give, if it is to be awaited. Raises: what the calls and the steps raise."""
    return await awaited(steps, called)


class ClientSource:
    """A client's calls as steps, by the names that `barnabas.registry` has for them. The client may be a
    program's own."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Asked[RegisteredSchema]:
        return (
            yield partial(
                self.client.register_schema_full_response, subject, schema, normalize_schemas=normalize
            )
        )

    def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> Asked[RegisteredSchema]:
        more = {"deleted": True} if deleted else {}
        return (
            yield partial(self.client.lookup_schema, subject, schema, normalize_schemas=normalize, **more)
        )

    def version(
        self, subject: str, version: int, *, deleted: bool = False, format: str | None = None
    ) -> Asked[RegisteredSchema]:
        more = () if format is None else (format,)
        return (yield partial(self.client.get_version, subject, version, deleted, *more))

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Asked[Schema]:
        return (yield partial(self.client.get_schema, id, subject, format))

    def schema_by_guid(self, guid: str, *, format: str | None = None) -> Asked[Schema]:
        return (yield partial(self.client.get_schema_by_guid, guid, format))

    def chosen(
        self,
        subject: str,
        schema_id: int | None,
        metadata: dict[str, str] | None,
        is_latest: bool,
        format: str | None,
    ) -> Asked[RegisteredSchema | None]:
        """The schema of a subject that a configuration says is to be used, if it says so."""
        client = self.client
        if schema_id is not None:
            schema = yield partial(client.get_schema, schema_id, subject, format)
            cache = getattr(client, "_cache", None)
            known = None if cache is None else cache.get_registered_by_subject_id(subject, schema_id)
            if isinstance(known, RegisteredSchema):
                return known
            return (yield from self.look_up(subject, schema, deleted=True))
        if metadata is not None:
            return (
                yield partial(client.get_latest_with_metadata, subject, metadata, deleted=True, fmt=format)
            )
        if is_latest:
            return (yield partial(client.get_latest_version, subject, format))
        return None
