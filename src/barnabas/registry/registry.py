"""`Registry` for asyncio: a schema registry's client. Owns nothing but the waiting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from barnabas.registry.calls import RegistryCalls, described_as
from barnabas.registry.config import RegistryConfig, RegistryKeywords, load_registry_config
from barnabas.registry.exchange import Steps
from barnabas.registry.transport import AsyncTransport

T = TypeVar("T")
P = ParamSpec("P")


class Registry:
    """A client of a schema registry that speaks Confluent's REST API (extra: registry). For one event loop;
    it may be pickled, and then begins without connections. Used with `async with`, or closed by `close`.

    `url`: `http://host:8081`, several separated by commas or as a sequence: they are asked in turn, beginning
    with the one that answered last. `settings`: see `barnabas.registry.config.RegistryConfig`.

    Every call raises: RegistryUnreachableError, RegistryAuthError, BrokenRegistryError, ClosedError, and the
    RegistryError that the registry answered.

    Raises: UnknownSettingError, InvalidSettingError, MissingExtraError.
    """

    def __init__(self, url: str | Sequence[str], **settings: Unpack[RegistryKeywords]) -> None:
        self._begin(load_registry_config(url, settings))

    def _begin(self, config: RegistryConfig) -> None:
        self.config = config
        self.calls = RegistryCalls(config)
        """Its calls as steps, for `run`."""
        self._transport = AsyncTransport(config)

    def __repr__(self) -> str:
        return f"<Registry {', '.join(self.config.url)}>"

    def __getstate__(self) -> RegistryConfig:
        return self.config

    def __setstate__(self, config: RegistryConfig) -> None:
        self._begin(config)

    async def close(self) -> None:
        """Closes its connections. A second time does nothing."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def run(self, steps: Steps[T]) -> T:
        """Takes steps that end with a result, as serializers do. Raises: what they raise, ClosedError."""
        return await self._transport.run(steps)

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        self.calls.clear_caches()

    @staticmethod
    def _awaited(
        call: Callable[Concatenate[RegistryCalls, P], Steps[T]],
    ) -> Callable[Concatenate[Registry, P], Coroutine[Any, Any, T]]:
        """The same call for those who await its result."""

        @described_as(call)
        async def awaited(self: Registry, *arguments: P.args, **settings: P.kwargs) -> T:
            return await self.run(call(self.calls, *arguments, **settings))

        return awaited

    register = _awaited(RegistryCalls.register)
    look_up = _awaited(RegistryCalls.look_up)
    schema = _awaited(RegistryCalls.schema)
    schema_by_guid = _awaited(RegistryCalls.schema_by_guid)
    subjects_of = _awaited(RegistryCalls.subjects_of)
    versions_of = _awaited(RegistryCalls.versions_of)
    schemas = _awaited(RegistryCalls.schemas)
    schema_types = _awaited(RegistryCalls.schema_types)
    subjects = _awaited(RegistryCalls.subjects)
    versions = _awaited(RegistryCalls.versions)
    version = _awaited(RegistryCalls.version)
    latest = _awaited(RegistryCalls.latest)
    delete_subject = _awaited(RegistryCalls.delete_subject)
    delete_version = _awaited(RegistryCalls.delete_version)
    referenced_by = _awaited(RegistryCalls.referenced_by)
    check = _awaited(RegistryCalls.check)
    settings = _awaited(RegistryCalls.settings)
    set_settings = _awaited(RegistryCalls.set_settings)
    delete_settings = _awaited(RegistryCalls.delete_settings)
    mode = _awaited(RegistryCalls.mode)
    set_mode = _awaited(RegistryCalls.set_mode)
    delete_mode = _awaited(RegistryCalls.delete_mode)
    contexts = _awaited(RegistryCalls.contexts)
    associations = _awaited(RegistryCalls.associations)
    associate = _awaited(RegistryCalls.associate)
    dissociate = _awaited(RegistryCalls.dissociate)
    server_version = _awaited(RegistryCalls.server_version)
    cluster_id = _awaited(RegistryCalls.cluster_id)
