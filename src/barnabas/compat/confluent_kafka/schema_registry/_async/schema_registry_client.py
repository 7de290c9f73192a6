# pyright: basic
"""`AsyncSchemaRegistryClient`, for asyncio. Owns nothing but the waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._client.calls import SchemaRegistryCalls
from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry._client.mock_calls import MockCalls
from barnabas.compat.confluent_kafka.schema_registry._client.transport import transport_config
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.errors import ClosedError
from barnabas.registry.calls import described_as
from barnabas.registry.exchange import Steps
from barnabas.registry.transport import AsyncTransport

__all__ = ["AsyncSchemaRegistryClient"]

T = TypeVar("T")
P = ParamSpec("P")

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry._async.schema_registry_client")


class AsyncSchemaRegistryClient:
    """A client of a schema registry. For one event loop; it may be pickled, and then begins anew.

    `conf`, by the original's names: `url` (several with commas between them are asked in turn),
    `ssl.ca.location`, `ssl.certificate.location`, `ssl.key.location`, `ssl.key.password`,
    `basic.auth.user.info` (or in the URL), `bearer.auth.credentials.source` (STATIC_TOKEN, OAUTHBEARER,
    OAUTHBEARER_AZURE_IMDS, CUSTOM) with what belongs to it, `proxy`, `timeout` (seconds; none by default),
    `cache.capacity` (1,000), `cache.latest.ttl.sec`, `max.retries` (3), `retries.wait.ms` (1,000),
    `retries.max.wait.ms` (20,000).

    Every call raises SchemaRegistryError for what a registry refuses, OAuthTokenError where there is no
    token, and httpx's errors where nobody answers. Raises: ValueError, TypeError, MissingExtraError."""

    _calls_class = SchemaRegistryCalls

    def __init__(self, conf: dict[str, Any]) -> None:
        self._conf = conf
        self._begin()

    def _begin(self) -> None:
        self._rest_client = RestConfig(self._conf)
        self._calls = self._calls_class(self._rest_client)
        self._cache = self._calls.cache
        self._transport = AsyncTransport(transport_config(self._rest_client))

    def __getstate__(self) -> dict[str, Any]:
        begun = {"_rest_client", "_calls", "_cache", "_transport"}
        return {name: value for name, value in vars(self).items() if name not in begun}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections. A second time does nothing."""
        await self._transport.close()

    def config(self) -> dict[str, Any]:
        """What it was made with."""
        return self._conf

    async def _run(self, steps: Steps[T]) -> T:
        try:
            return await self._transport.run(steps)
        except ClosedError:
            # httpx's words, which the original lets through.
            raise RuntimeError("Cannot send a request, as the client has been closed.") from None

    @staticmethod
    def _awaited(
        call: Callable[Concatenate[SchemaRegistryCalls, P], Steps[T]],
    ) -> Callable[Concatenate[AsyncSchemaRegistryClient, P], Coroutine[Any, Any, T]]:
        """The same call for those who await its result."""
        name = call.__name__

        @described_as(call)
        async def awaited(self: AsyncSchemaRegistryClient, *arguments: P.args, **settings: P.kwargs) -> T:
            return await self._run(getattr(self._calls, name)(*arguments, **settings))

        return awaited

    async def register_schema(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> int:
        """Makes `schema` a version of a subject, unless it is one, and gives its id. Raises:
        SchemaRegistryError."""
        registered = await self.register_schema_full_response(
            subject_name, schema, normalize_schemas=normalize_schemas
        )
        return registered.schema_id  # pyright: ignore[reportReturnType]

    register_schema_full_response = _awaited(SchemaRegistryCalls.register_schema_full_response)
    get_schema = _awaited(SchemaRegistryCalls.get_schema)
    get_schema_by_guid = _awaited(SchemaRegistryCalls.get_schema_by_guid)
    get_schema_types = _awaited(SchemaRegistryCalls.get_schema_types)
    get_subjects_by_schema_id = _awaited(SchemaRegistryCalls.get_subjects_by_schema_id)
    get_schema_versions = _awaited(SchemaRegistryCalls.get_schema_versions)
    lookup_schema = _awaited(SchemaRegistryCalls.lookup_schema)
    get_subjects = _awaited(SchemaRegistryCalls.get_subjects)
    delete_subject = _awaited(SchemaRegistryCalls.delete_subject)
    get_latest_version = _awaited(SchemaRegistryCalls.get_latest_version)
    get_latest_with_metadata = _awaited(SchemaRegistryCalls.get_latest_with_metadata)
    get_version = _awaited(SchemaRegistryCalls.get_version)
    get_referenced_by = _awaited(SchemaRegistryCalls.get_referenced_by)
    get_versions = _awaited(SchemaRegistryCalls.get_versions)
    delete_version = _awaited(SchemaRegistryCalls.delete_version)
    set_compatibility = _awaited(SchemaRegistryCalls.set_compatibility)
    get_compatibility = _awaited(SchemaRegistryCalls.get_compatibility)
    test_compatibility = _awaited(SchemaRegistryCalls.test_compatibility)
    test_compatibility_all_versions = _awaited(SchemaRegistryCalls.test_compatibility_all_versions)
    set_config = _awaited(SchemaRegistryCalls.set_config)
    delete_config = _awaited(SchemaRegistryCalls.delete_config)
    get_config = _awaited(SchemaRegistryCalls.get_config)
    get_mode = _awaited(SchemaRegistryCalls.get_mode)
    update_mode = _awaited(SchemaRegistryCalls.update_mode)
    delete_mode = _awaited(SchemaRegistryCalls.delete_mode)
    get_global_mode = _awaited(SchemaRegistryCalls.get_global_mode)
    update_global_mode = _awaited(SchemaRegistryCalls.update_global_mode)
    get_contexts = _awaited(SchemaRegistryCalls.get_contexts)
    get_associations_by_resource_name = _awaited(SchemaRegistryCalls.get_associations_by_resource_name)
    create_association = _awaited(SchemaRegistryCalls.create_association)
    delete_associations = _awaited(SchemaRegistryCalls.delete_associations)

    async def clear_latest_caches(self) -> None:
        """Forgets which versions are the latest."""
        self._calls.clear_latest_caches()

    async def clear_caches(self) -> None:
        """Forgets all that a registry answered."""
        self._calls.clear_caches()

    @staticmethod
    def new_client(conf: dict[str, Any]) -> AsyncSchemaRegistryClient:
        """A client, or where the URL begins with `mock://` one with a registry of its own, in memory."""
        url = conf.get("url")
        if isinstance(url, str) and url.startswith("mock://"):
            return AsyncMockSchemaRegistryClient(conf)
        return AsyncSchemaRegistryClient(conf)


class AsyncMockSchemaRegistryClient(AsyncSchemaRegistryClient):
    """A client with a registry of its own, in memory, which checks nothing: for tests."""

    _calls_class = MockCalls
