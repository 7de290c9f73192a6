# Made by codegen/plain_calls.py, of
# barnabas/compat/confluent_kafka/schema_registry/_async/schema_registry_client.py
# pyright: basic
"""`SchemaRegistryClient`, for plain calls. Owns nothing but the waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._client.calls import SchemaRegistryCalls
from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry._client.mock_calls import MockCalls
from barnabas.compat.confluent_kafka.schema_registry._client.transport import transport_config
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.errors import ClosedError
from barnabas.registry.calls import described_as
from barnabas.registry.exchange import Steps
from barnabas.registry.transport import Transport

__all__ = ["SchemaRegistryClient"]

T = TypeVar("T")
P = ParamSpec("P")

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.schema_registry._sync.schema_registry_client")


class SchemaRegistryClient:
    """A client of a schema registry. For all threads; it may be pickled, and then begins anew.

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
        self._transport = Transport(transport_config(self._rest_client))

    def __getstate__(self) -> dict[str, Any]:
        begun = {"_rest_client", "_calls", "_cache", "_transport"}
        return {name: value for name, value in vars(self).items() if name not in begun}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections. A second time does nothing."""
        self._transport.close()

    def config(self) -> dict[str, Any]:
        """What it was made with."""
        return self._conf

    def _run(self, steps: Steps[T]) -> T:
        try:
            return self._transport.run(steps)
        except ClosedError:
            # httpx's words, which the original lets through.
            raise RuntimeError("Cannot send a request, as the client has been closed.") from None

    @staticmethod
    def _waited(
        call: Callable[Concatenate[SchemaRegistryCalls, P], Steps[T]],
    ) -> Callable[Concatenate[SchemaRegistryClient, P], T]:
        """The same call for those who wait for its result."""
        name = call.__name__

        @described_as(call)
        def waited(self: SchemaRegistryClient, *arguments: P.args, **settings: P.kwargs) -> T:
            return self._run(getattr(self._calls, name)(*arguments, **settings))

        return waited

    def register_schema(self, subject_name: str, schema: Schema, normalize_schemas: bool = False) -> int:
        """Makes `schema` a version of a subject, unless it is one, and gives its id. Raises:
        SchemaRegistryError."""
        registered = self.register_schema_full_response(
            subject_name, schema, normalize_schemas=normalize_schemas
        )
        return registered.schema_id  # pyright: ignore[reportReturnType]

    register_schema_full_response = _waited(SchemaRegistryCalls.register_schema_full_response)
    get_schema = _waited(SchemaRegistryCalls.get_schema)
    get_schema_by_guid = _waited(SchemaRegistryCalls.get_schema_by_guid)
    get_schema_types = _waited(SchemaRegistryCalls.get_schema_types)
    get_subjects_by_schema_id = _waited(SchemaRegistryCalls.get_subjects_by_schema_id)
    get_schema_versions = _waited(SchemaRegistryCalls.get_schema_versions)
    lookup_schema = _waited(SchemaRegistryCalls.lookup_schema)
    get_subjects = _waited(SchemaRegistryCalls.get_subjects)
    delete_subject = _waited(SchemaRegistryCalls.delete_subject)
    get_latest_version = _waited(SchemaRegistryCalls.get_latest_version)
    get_latest_with_metadata = _waited(SchemaRegistryCalls.get_latest_with_metadata)
    get_version = _waited(SchemaRegistryCalls.get_version)
    get_referenced_by = _waited(SchemaRegistryCalls.get_referenced_by)
    get_versions = _waited(SchemaRegistryCalls.get_versions)
    delete_version = _waited(SchemaRegistryCalls.delete_version)
    set_compatibility = _waited(SchemaRegistryCalls.set_compatibility)
    get_compatibility = _waited(SchemaRegistryCalls.get_compatibility)
    test_compatibility = _waited(SchemaRegistryCalls.test_compatibility)
    test_compatibility_all_versions = _waited(SchemaRegistryCalls.test_compatibility_all_versions)
    set_config = _waited(SchemaRegistryCalls.set_config)
    delete_config = _waited(SchemaRegistryCalls.delete_config)
    get_config = _waited(SchemaRegistryCalls.get_config)
    get_mode = _waited(SchemaRegistryCalls.get_mode)
    update_mode = _waited(SchemaRegistryCalls.update_mode)
    delete_mode = _waited(SchemaRegistryCalls.delete_mode)
    get_global_mode = _waited(SchemaRegistryCalls.get_global_mode)
    update_global_mode = _waited(SchemaRegistryCalls.update_global_mode)
    get_contexts = _waited(SchemaRegistryCalls.get_contexts)
    get_associations_by_resource_name = _waited(SchemaRegistryCalls.get_associations_by_resource_name)
    create_association = _waited(SchemaRegistryCalls.create_association)
    delete_associations = _waited(SchemaRegistryCalls.delete_associations)

    def clear_latest_caches(self) -> None:
        """Forgets which versions are the latest."""
        self._calls.clear_latest_caches()

    def clear_caches(self) -> None:
        """Forgets all that a registry answered."""
        self._calls.clear_caches()

    @staticmethod
    def new_client(conf: dict[str, Any]) -> SchemaRegistryClient:
        """A client, or where the URL begins with `mock://` one with a registry of its own, in memory."""
        url = conf.get("url")
        if isinstance(url, str) and url.startswith("mock://"):
            return MockSchemaRegistryClient(conf)
        return SchemaRegistryClient(conf)


class MockSchemaRegistryClient(SchemaRegistryClient):
    """A client with a registry of its own, in memory, which checks nothing: for tests."""

    _calls_class = MockCalls
