"""All KEKs and DEKs, made from the records of their topic in the order of offsets. Pure."""

from __future__ import annotations

import logging
from typing import TypeVar

from barnabas.registry_server import subjects
from barnabas.registry_server.deks.keys import (
    DEFAULT_ALGORITHM,
    DekId,
    KekId,
    StoredDek,
    StoredKek,
    read_dek,
    read_id,
    read_kek,
)

Id = TypeVar("Id", KekId, DekId)
Stored = TypeVar("Stored", StoredKek, StoredDek)

logger = logging.getLogger("barnabas.registry_server")


class DekState:
    def __init__(self) -> None:
        self._keks: dict[KekId, StoredKek] = {}
        self._deks: dict[DekId, StoredDek] = {}
        self._written_as: dict[KekId | DekId, bytes] = {}

    def apply(self, key: bytes, value: bytes | None, offset: int, timestamp_ms: int) -> None:
        found = read_id(key)
        if isinstance(found, KekId):
            stored = None if value is None else read_kek(value, timestamp_ms)
            self._put(self._keks, found, stored, key)
        elif isinstance(found, DekId):
            dek = None if value is None else read_dek(found, value, timestamp_ms)
            self._put(self._deks, found, dek, key)
        else:
            logger.warning("the record at offset %d of the topic of keys is not one", offset)

    def _put(self, keys: dict[Id, Stored], found: Id, stored: Stored | None, key: bytes) -> None:
        if stored is None:
            keys.pop(found, None)
            self._written_as.pop(found, None)
        else:
            keys[found] = stored
            self._written_as[found] = key

    def key_of(self, found: KekId | DekId) -> bytes:
        """The key of its records, byte for byte as it was written before, by which compaction goes."""
        return self._written_as.get(found) or bytes(found)

    def kek(self, name: str, *, deleted: bool = False) -> StoredKek | None:
        found = self._keks.get(KekId(name))
        return None if found is None or (found.deleted and not deleted) else found

    def keks(self, *, deleted: bool = False) -> list[StoredKek]:
        """By name."""
        found = [kek for kek in self._keks.values() if deleted or not kek.deleted]
        return sorted(found, key=lambda kek: kek.name)

    def dek(
        self, kek_name: str, subject: str, algorithm: str | None, version: int, *, deleted: bool = False
    ) -> StoredDek | None:
        found = self._deks.get(DekId(kek_name, subject, algorithm or DEFAULT_ALGORITHM, version))
        return None if found is None or (found.deleted and not deleted) else found

    def deks(self, kek_name: str | None = None, *, deleted: bool = False) -> list[StoredDek]:
        """In the order of the original: by KEK, context, subject, algorithm, version."""
        found = [
            dek
            for dek in self._deks.values()
            if (kek_name is None or dek.kek_name == kek_name) and (deleted or not dek.deleted)
        ]
        return sorted(
            found,
            key=lambda dek: (
                dek.kek_name,
                subjects.context_of(dek.subject),
                dek.subject,
                dek.algorithm,
                dek.version,
            ),
        )

    def versions(
        self, kek_name: str, subject: str, algorithm: str | None, *, deleted: bool = False
    ) -> list[StoredDek]:
        """Of one subject, the oldest first."""
        wanted = algorithm or DEFAULT_ALGORITHM
        return [
            dek
            for dek in self.deks(kek_name, deleted=deleted)
            if dek.subject == subject and dek.algorithm == wanted
        ]
