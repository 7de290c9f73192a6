# Made by codegen/plain_calls.py, of
# barnabas/registry/registry.py
"""`Registry` for plain calls: a schema registry's client. Owns nothing but the waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

from barnabas.registry.calls import RegistryCalls, described_as
from barnabas.registry.config import RegistryConfig, RegistryKeywords, load_registry_config
from barnabas.registry.exchange import Steps
from barnabas.registry.transport import Transport

T = TypeVar("T")
P = ParamSpec("P")


class Registry:
    """A client of a schema registry that speaks Confluent's REST API (extra: registry). For all threads; it
    may be pickled, and then begins without connections. Used with `with`, or closed by `close`.

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
        self._transport = Transport(config)

    def __repr__(self) -> str:
        return f"<Registry {', '.join(self.config.url)}>"

    def __getstate__(self) -> RegistryConfig:
        return self.config

    def __setstate__(self, config: RegistryConfig) -> None:
        self._begin(config)

    def close(self) -> None:
        """Closes its connections. A second time does nothing."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, steps: Steps[T]) -> T:
        """Takes steps that end with a result, as serializers do. Raises: what they raise, ClosedError."""
        return self._transport.run(steps)

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        self.calls.clear_caches()

    @staticmethod
    def _waited(
        call: Callable[Concatenate[RegistryCalls, P], Steps[T]],
    ) -> Callable[Concatenate[Registry, P], T]:
        """The same call for those who wait for its result."""

        @described_as(call)
        def waited(self: Registry, *arguments: P.args, **settings: P.kwargs) -> T:
            return self.run(call(self.calls, *arguments, **settings))

        return waited

    register = _waited(RegistryCalls.register)
    look_up = _waited(RegistryCalls.look_up)
    schema = _waited(RegistryCalls.schema)
    schema_by_guid = _waited(RegistryCalls.schema_by_guid)
    subjects_of = _waited(RegistryCalls.subjects_of)
    versions_of = _waited(RegistryCalls.versions_of)
    schemas = _waited(RegistryCalls.schemas)
    schema_types = _waited(RegistryCalls.schema_types)
    subjects = _waited(RegistryCalls.subjects)
    versions = _waited(RegistryCalls.versions)
    version = _waited(RegistryCalls.version)
    latest = _waited(RegistryCalls.latest)
    delete_subject = _waited(RegistryCalls.delete_subject)
    delete_version = _waited(RegistryCalls.delete_version)
    referenced_by = _waited(RegistryCalls.referenced_by)
    check = _waited(RegistryCalls.check)
    settings = _waited(RegistryCalls.settings)
    set_settings = _waited(RegistryCalls.set_settings)
    delete_settings = _waited(RegistryCalls.delete_settings)
    mode = _waited(RegistryCalls.mode)
    set_mode = _waited(RegistryCalls.set_mode)
    delete_mode = _waited(RegistryCalls.delete_mode)
    contexts = _waited(RegistryCalls.contexts)
    associations = _waited(RegistryCalls.associations)
    associate = _waited(RegistryCalls.associate)
    dissociate = _waited(RegistryCalls.dissociate)
    server_version = _waited(RegistryCalls.server_version)
    cluster_id = _waited(RegistryCalls.cluster_id)
