"""A client of DEK registries, which are part of schema registries (`/dek-registry/v1`).

`DekCalls` are the calls as steps; `DekRegistry` waits for them, `AsyncDekRegistry` has them awaited. What was
answered is remembered: keys do not change, but for which data key is the latest.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack
from urllib.parse import quote

from barnabas.registry.cache import Cache
from barnabas.registry.calls import described_as
from barnabas.registry.config import RegistryConfig, RegistryKeywords, load_registry_config
from barnabas.registry.errors import RegistryError
from barnabas.registry.exchange import Exchange, Steps
from barnabas.registry.requests import Method, RegistryRequest
from barnabas.registry.rules.encryption.keys import Dek, DekAlgorithm, Kek
from barnabas.registry.schemas import BadAnswerError
from barnabas.registry.transport import AsyncTransport, Transport

T = TypeVar("T")
P = ParamSpec("P")

ROOT = "/dek-registry/v1/keks"
LATEST = -1
"""In a version's place."""
METHOD_NOT_ALLOWED = 405


class DekCalls:
    """`context`: of the schema registry, that a KEK belongs to; None is the default one."""

    def __init__(self, config: RegistryConfig) -> None:
        self.config = config
        self._exchange = Exchange(config)
        self._keks: Cache[tuple[str, bool, str | None], Kek] = Cache(config.cache_capacity)
        self._deks: Cache[tuple[str, str, int, str, bool], Dek] = Cache(config.cache_capacity)

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        self._keks.clear()
        self._deks.clear()

    def keks(self, *, deleted: bool = False) -> Steps[list[str]]:
        """The names of all. Raises: RegistryError."""
        return self._exchange.ask(_request("GET", "", _texts, deleted=deleted))

    def get_kek(self, name: str, *, deleted: bool = False, context: str | None = None) -> Steps[Kek]:
        """Raises: RegistryError, whose status is 404 where there is none."""
        key = (name, deleted, context)
        known = self._keks.get(key)
        if known is None:
            path = _path(name)
            known = yield from self._exchange.ask(
                _request("GET", path, Kek.from_json, deleted=deleted, context=context)
            )
            self._keks.put(key, known)
        return known

    def register_kek(
        self,
        name: str,
        kms_type: str,
        kms_key_id: str,
        *,
        shared: bool = False,
        kms_props: Mapping[str, str] | None = None,
        doc: str | None = None,
        context: str | None = None,
    ) -> Steps[Kek]:
        """Raises: RegistryError, whose status is 409 where there is another one of this name."""
        key = (name, False, context)
        known = self._keks.get(key)
        if known is None:
            body = {
                "name": name,
                "kmsType": kms_type,
                "kmsKeyId": kms_key_id,
                "kmsProps": kms_props,
                "doc": doc,
                "shared": shared,
            }
            known = yield from self._exchange.ask(_request("POST", "", Kek.from_json, body, context=context))
            self._keks.put(key, known)
        return known

    def delete_kek(self, name: str, *, permanent: bool = False) -> Steps[None]:
        """`permanent`: for good, which takes one that was deleted before. Raises: RegistryError."""
        yield from self._exchange.ask(_request("DELETE", _path(name), _nothing, permanent=permanent))
        self._keks.drop(lambda key, _: key[0] == name)
        self._deks.drop(lambda key, _: key[0] == name)

    def undelete_kek(self, name: str) -> Steps[None]:
        """Raises: RegistryError."""
        yield from self._exchange.ask(_request("POST", _path(name, "undelete"), _nothing))
        self._keks.drop(lambda key, _: key[0] == name)

    def dek_subjects(self, kek_name: str, *, deleted: bool = False) -> Steps[list[str]]:
        """Those that have data keys of this KEK. Raises: RegistryError."""
        return self._exchange.ask(_request("GET", _path(kek_name, "deks"), _texts, deleted=deleted))

    def dek_versions(
        self,
        kek_name: str,
        subject: str,
        *,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        deleted: bool = False,
    ) -> Steps[list[int]]:
        """Raises: RegistryError."""
        path = _path(kek_name, "deks", subject, "versions")
        return self._exchange.ask(_request("GET", path, _numbers, algorithm=str(algorithm), deleted=deleted))

    def get_dek(
        self,
        kek_name: str,
        subject: str,
        *,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
        deleted: bool = False,
    ) -> Steps[Dek]:
        """`version`: LATEST is the latest. Raises: RegistryError, whose status is 404 where there is none."""
        key = (kek_name, subject, version, str(algorithm), deleted)
        known = self._deks.get(key)
        if known is None:
            path = _path(kek_name, "deks", subject, "versions", str(version))
            known = yield from self._exchange.ask(
                _request("GET", path, Dek.from_json, algorithm=str(algorithm), deleted=deleted)
            )
            self._deks.put(key, known)
        return known

    def register_dek(
        self,
        kek_name: str,
        subject: str,
        encrypted_key_material: str | None,
        *,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
    ) -> Steps[Dek]:
        """`encrypted_key_material`: None has the registry make a key, where the KEK is shared.

        Raises: RegistryError, whose status is 409 where there is another one of this version.
        """
        key = (kek_name, subject, version, str(algorithm), False)
        known = self._deks.get(key)
        if known is None:
            body = {
                "subject": subject,
                "version": version,
                "algorithm": str(algorithm),
                "encryptedKeyMaterial": encrypted_key_material,
            }
            # Whether or not it succeeds, what was the latest may not be it any more.
            self._deks.drop(lambda key, _: key[:2] == (kek_name, subject) and key[2] == LATEST)
            try:
                known = yield from self._exchange.ask(
                    _request("POST", _path(kek_name, "deks", subject), Dek.from_json, body)
                )
            except RegistryError as error:
                if error.status != METHOD_NOT_ALLOWED:
                    raise
                # A registry that does not have the subject in the path yet.
                known = yield from self._exchange.ask(
                    _request("POST", _path(kek_name, "deks"), Dek.from_json, body)
                )
            self._deks.put(key, known)
        return known

    def delete_dek(
        self,
        kek_name: str,
        subject: str,
        *,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int | None = None,
        permanent: bool = False,
    ) -> Steps[None]:
        """`version`: None is all. `permanent`: for good, which takes what was deleted before. Raises:
        RegistryError."""
        path = _path(kek_name, "deks", subject, *_version(version))
        yield from self._exchange.ask(
            _request("DELETE", path, _nothing, algorithm=str(algorithm), permanent=permanent)
        )
        self._deks.drop(lambda key, _: key[:2] == (kek_name, subject))

    def undelete_dek(
        self,
        kek_name: str,
        subject: str,
        *,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int | None = None,
    ) -> Steps[None]:
        """`version`: None is all. Raises: RegistryError."""
        path = _path(kek_name, "deks", subject, *_version(version), "undelete")
        yield from self._exchange.ask(_request("POST", path, _nothing, algorithm=str(algorithm)))
        self._deks.drop(lambda key, _: key[:2] == (kek_name, subject))


class DekRegistry:
    """A client of a DEK registry (extra: registry), for plain calls. All threads may share one; it may be
    pickled, and then begins without connections. `url` and `settings`: as `barnabas.Registry` has them.

    Every call raises: RegistryUnreachableError, RegistryAuthError, BrokenRegistryError, ClosedError, and the
    RegistryError that the registry answered.
    """

    def __init__(self, url: str | Sequence[str], **settings: Unpack[RegistryKeywords]) -> None:
        self._begin(load_registry_config(url, settings))

    @classmethod
    def of(cls, config: RegistryConfig) -> Self:
        """With the settings of a Registry."""
        made = cls.__new__(cls)
        made._begin(config)
        return made

    def _begin(self, config: RegistryConfig) -> None:
        self.config = config
        self._calls = DekCalls(config)
        self._transport = Transport(config)
        # Who has one for as long as the process runs need not close it.
        weakref.finalize(self, self._transport.close)

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

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        self._calls.clear_caches()

    @staticmethod
    def _waited(
        call: Callable[Concatenate[DekCalls, P], Steps[T]],
    ) -> Callable[Concatenate[DekRegistry, P], T]:
        @described_as(call)
        def waited(self: DekRegistry, *arguments: P.args, **settings: P.kwargs) -> T:
            return self._transport.run(call(self._calls, *arguments, **settings))

        return waited

    keks = _waited(DekCalls.keks)
    get_kek = _waited(DekCalls.get_kek)
    register_kek = _waited(DekCalls.register_kek)
    delete_kek = _waited(DekCalls.delete_kek)
    undelete_kek = _waited(DekCalls.undelete_kek)
    dek_subjects = _waited(DekCalls.dek_subjects)
    dek_versions = _waited(DekCalls.dek_versions)
    get_dek = _waited(DekCalls.get_dek)
    register_dek = _waited(DekCalls.register_dek)
    delete_dek = _waited(DekCalls.delete_dek)
    undelete_dek = _waited(DekCalls.undelete_dek)


class AsyncDekRegistry:
    """`DekRegistry` for one event loop, used with `async with` or closed by `close`."""

    def __init__(self, url: str | Sequence[str], **settings: Unpack[RegistryKeywords]) -> None:
        self._begin(load_registry_config(url, settings))

    def _begin(self, config: RegistryConfig) -> None:
        self.config = config
        self._calls = DekCalls(config)
        self._transport = AsyncTransport(config)

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

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        self._calls.clear_caches()

    @staticmethod
    def _awaited(
        call: Callable[Concatenate[DekCalls, P], Steps[T]],
    ) -> Callable[Concatenate[AsyncDekRegistry, P], Coroutine[Any, Any, T]]:
        @described_as(call)
        async def awaited(self: AsyncDekRegistry, *arguments: P.args, **settings: P.kwargs) -> T:
            return await self._transport.run(call(self._calls, *arguments, **settings))

        return awaited

    keks = _awaited(DekCalls.keks)
    get_kek = _awaited(DekCalls.get_kek)
    register_kek = _awaited(DekCalls.register_kek)
    delete_kek = _awaited(DekCalls.delete_kek)
    undelete_kek = _awaited(DekCalls.undelete_kek)
    dek_subjects = _awaited(DekCalls.dek_subjects)
    dek_versions = _awaited(DekCalls.dek_versions)
    get_dek = _awaited(DekCalls.get_dek)
    register_dek = _awaited(DekCalls.register_dek)
    delete_dek = _awaited(DekCalls.delete_dek)
    undelete_dek = _awaited(DekCalls.undelete_dek)


def _request(
    method: Method, path: str, read: Callable[[Any], T], body: Mapping[str, Any] | None = None, **query: Any
) -> RegistryRequest[T]:
    """Without what is None, and in the query without what is False."""
    pairs = [
        (name, "true" if value is True else str(value))
        for name, value in query.items()
        if value is not None and value is not False
    ]
    given = None if body is None else {name: value for name, value in body.items() if value is not None}
    return RegistryRequest(method, ROOT + path, read, pairs, given)


def _path(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def _version(version: int | None) -> tuple[str, ...]:
    return () if version is None else ("versions", str(version))


def _nothing(_found: Any) -> None:
    pass


def _list_of(found: Any, kind: type[T]) -> list[T]:
    if not isinstance(found, list) or not all(isinstance(part, kind) for part in found):  # pyright: ignore
        raise BadAnswerError(f"a list of {kind.__name__} was to be expected, not {found!r:.100}")
    return found  # pyright: ignore


def _texts(found: Any) -> list[str]:
    return _list_of(found, str)


def _numbers(found: Any) -> list[int]:
    return _list_of(found, int)
