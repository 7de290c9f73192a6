# pyright: basic
"""`DekRegistryClient`: key encryption keys and data keys, as a DEK registry has them."""

from __future__ import annotations

import base64
import time
import weakref
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry._client.exchange import RestExchange, quoted
from barnabas.compat.confluent_kafka.schema_registry._client.transport import transport_config
from barnabas.compat.confluent_kafka.schema_registry.common._json_parts import (
    JsonPart,
    JsonParts,
    json_parts,
    part_of,
    present,
)
from barnabas.compat.confluent_kafka.schema_registry.error import SchemaRegistryError
from barnabas.registry.cache import Cache
from barnabas.registry.exchange import Steps
from barnabas.registry.rules.encryption.keys import DekAlgorithm
from barnabas.registry.transport import Transport
from barnabas.values import frozen

ROOT = "dek-registry/v1/keks"
LATEST = -1
METHOD_NOT_ALLOWED = 405


@dataclass(slots=True)
class KekKmsProps:
    """What a KMS's driver is told of a key."""

    properties: dict[str, str] = field(init=False, default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.properties)

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> Self:
        made = cls()
        made.properties = src_dict.copy()
        return made


_PROPS = JsonPart(part_of(KekKmsProps).read, lambda props: None if props is None else props.to_dict())
_ALGORITHM = JsonPart(lambda found: None if found is None else DekAlgorithm(found))


@dataclass(slots=True)
class Kek(JsonParts):
    """A key encryption key of a KMS."""

    name: str | None
    kms_type: str | None
    kms_key_id: str | None
    kms_props: KekKmsProps | None
    doc: str | None
    shared: bool | None
    ts: int | None = None
    deleted: bool | None = None

    _json_parts = json_parts(kms_props=_PROPS)


@dataclass(slots=True)
class CreateKekRequest(JsonParts):
    """A key encryption key that is to be known."""

    name: str | None
    kms_type: str | None
    kms_key_id: str | None
    kms_props: KekKmsProps | None
    doc: str | None
    shared: bool | None

    _json_parts = json_parts(kms_props=_PROPS)


@dataclass(slots=True)
class Dek(JsonParts):
    """A data key of a subject, encrypted; in the clear where its KEK is shared, or once it was decrypted."""

    kek_name: str | None
    subject: str | None
    version: int | None
    algorithm: DekAlgorithm | None
    encrypted_key_material: str | None
    key_material: str | None = field(default=None, repr=False)
    ts: int | None = None
    deleted: bool | None = None

    _json_parts = json_parts(
        algorithm=_ALGORITHM,
    )

    def get_encrypted_key_material_bytes(self) -> bytes | None:
        return None if self.encrypted_key_material is None else base64.b64decode(self.encrypted_key_material)

    def get_key_material_bytes(self) -> bytes | None:
        return None if self.key_material is None else base64.b64decode(self.key_material)

    def set_key_material(self, key_material_bytes: bytes | None) -> None:
        self.key_material = (
            None if key_material_bytes is None else base64.b64encode(key_material_bytes).decode()
        )


@dataclass(slots=True)
class CreateDekRequest(JsonParts):
    """A data key that is to be known."""

    subject: str | None
    version: int | None
    algorithm: DekAlgorithm | None
    encrypted_key_material: str | None

    _json_parts = json_parts(
        algorithm=_ALGORITHM,
    )


@frozen
class KekId:
    """What a KEK is asked for by."""

    name: str
    deleted: bool
    context: str | None = None


@frozen
class DekId:
    """What a data key is asked for by."""

    kek_name: str
    subject: str
    version: int
    algorithm: DekAlgorithm
    deleted: bool


class DekRegistryClient:
    """A client of a DEK registry, which remembers keys. `conf`: as SchemaRegistryClient has it. Every call
    raises SchemaRegistryError. Raises: ValueError, TypeError."""

    def __init__(self, conf: dict[str, Any]) -> None:
        self._conf = conf
        config = RestConfig(conf)
        self._exchange = RestExchange(config)
        self._transport = Transport(transport_config(config))
        weakref.finalize(self, self._transport.close)
        self._keks: Cache[KekId, Kek] = Cache(config.cache_capacity)
        self._deks: Cache[DekId, Dek] = Cache(config.cache_capacity)

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

    def register_kek(
        self,
        name: str,
        kms_type: str,
        kms_key_id: str,
        shared: bool = False,
        kms_props: dict[str, str] | None = None,
        doc: str | None = None,
        context: str | None = None,
    ) -> Kek:
        """Makes a key of a KMS known. Raises: SchemaRegistryError, whose status is 409 where there is another
        one of this name."""
        key = KekId(name, False, context)
        known = self._keks.get(key)
        if known is None:
            props = None if kms_props is None else KekKmsProps.from_dict(kms_props)
            request = CreateKekRequest(name, kms_type, kms_key_id, props, doc, shared)
            path = ROOT if context is None else f"{ROOT}?context={quoted(context)}"
            answer = self._transport.run(self._exchange.ask("POST", path, body=request.to_dict()))
            known = Kek.from_dict(answer)
            self._keks.put(key, known)
        return known

    def get_kek(self, name: str, deleted: bool = False, context: str | None = None) -> Kek:
        """Raises: SchemaRegistryError, whose status is 404 where there is none."""
        key = KekId(name, deleted, context)
        known = self._keks.get(key)
        if known is None:
            query = {"deleted": deleted, **present(context=context)}
            answer = self._transport.run(self._exchange.ask("GET", f"{ROOT}/{quoted(name)}", query=query))
            known = Kek.from_dict(answer)
            self._keks.put(key, known)
        return known

    def register_dek(
        self,
        kek_name: str,
        subject: str,
        encrypted_key_material: str,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
    ) -> Dek:
        """Makes a data key known. Raises: SchemaRegistryError, whose status is 409 where there is one."""
        key = DekId(kek_name, subject, version, algorithm, False)
        known = self._deks.get(key)
        if known is None:
            request = CreateDekRequest(subject, version, algorithm, encrypted_key_material)
            known = Dek.from_dict(self._transport.run(self._register(kek_name, subject, request.to_dict())))
            self._deks.put(key, known)
            # Another one is the latest now.
            latest = (kek_name, subject, LATEST, algorithm)
            self._deks.drop(lambda key, _: (key.kek_name, key.subject, key.version, key.algorithm) == latest)
        return known

    def _register(self, kek_name: str, subject: str, body: dict[str, Any]) -> Steps[Any]:
        path = f"{ROOT}/{quote(kek_name)}/deks"
        try:
            return (yield from self._exchange.ask("POST", f"{path}/{quoted(subject)}", body=body))
        except SchemaRegistryError as error:
            # Older ones have no subject in the path.
            if error.http_status_code != METHOD_NOT_ALLOWED:
                raise
        return (yield from self._exchange.ask("POST", path, body=body))

    def get_dek(
        self,
        kek_name: str,
        subject: str,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
        deleted: bool = False,
    ) -> Dek:
        """`version`: -1 is the latest. Raises: SchemaRegistryError, of status 404 where there is none."""
        key = DekId(kek_name, subject, version, algorithm, deleted)
        known = self._deks.get(key)
        if known is None:
            path = f"{ROOT}/{quote(kek_name)}/deks/{quoted(subject)}/versions/{version}"
            query = {"algorithm": algorithm, "deleted": deleted}
            known = Dek.from_dict(self._transport.run(self._exchange.ask("GET", path, query=query)))
            self._deks.put(key, known)
        return known

    @staticmethod
    def new_client(conf: dict[str, Any]) -> DekRegistryClient:
        """A client, or without a URL, or where that begins with `mock://`, one with keys of its own."""
        url = conf.get("url")
        if url is None:
            return MockDekRegistryClient({"url": "mock://"})
        return MockDekRegistryClient(conf) if url.startswith("mock://") else DekRegistryClient(conf)


class MockDekRegistryClient(DekRegistryClient):
    """A client with keys of its own, in memory: for tests."""

    def register_kek(
        self,
        name: str,
        kms_type: str,
        kms_key_id: str,
        shared: bool = False,
        kms_props: dict[str, str] | None = None,
        doc: str | None = None,
        context: str | None = None,
    ) -> Kek:
        key = KekId(name, False, context)
        known = self._keks.get(key)
        if known is None:
            props = None if kms_props is None else KekKmsProps.from_dict(kms_props)
            known = Kek(name, kms_type, kms_key_id, props, doc, shared)
            self._keks.put(key, known)
        return known

    def get_kek(self, name: str, deleted: bool = False, context: str | None = None) -> Kek:
        return _found(self._keks.get(KekId(name, deleted, context)))

    def register_dek(
        self,
        kek_name: str,
        subject: str,
        encrypted_key_material: str,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
    ) -> Dek:
        key = DekId(kek_name, subject, version, algorithm, False)
        known = self._deks.get(key)
        if known is None:
            now_ms = round(time.time() * 1000)
            known = Dek(kek_name, subject, version, algorithm, encrypted_key_material, ts=now_ms)
            self._deks.put(key, known)
        return known

    def get_dek(
        self,
        kek_name: str,
        subject: str,
        algorithm: DekAlgorithm = DekAlgorithm.AES256_GCM,
        version: int = 1,
        deleted: bool = False,
    ) -> Dek:
        if version == LATEST:
            version = 0
            while self._deks.get(DekId(kek_name, subject, version + 1, algorithm, False)) is not None:
                version += 1
        return _found(self._deks.get(DekId(kek_name, subject, version, algorithm, False)))


def _found(known: Any) -> Any:
    if known is None:
        raise SchemaRegistryError(404, 40470, "Key Not Found")
    return known
