"""What is decided when keys are created, changed, deleted and brought back: the records to write, and the key
that the answer tells of.

Pure; with the rules of Confluent's registry of keys, and its errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.deks.keys import DEFAULT_ALGORITHM, DekId, KekId, StoredDek, StoredKek
from barnabas.registry_server.deks.state import DekState
from barnabas.registry_server.journal.journal import Record

Written = Sequence[Record]
FIRST_VERSION = 1
LATEST = -1
NOTHING: Written = ()
KMS_TYPES = {"aws": "aws-kms", "azure": "azure-kms", "gcp": "gcp-kms"}
KEY_ID_BEGINS = {
    "aws-kms": ("arn:aws:kms:",),
    "azure-kms": ("https://",),
    "gcp-kms": ("projects/",),
    "hcvault": ("https://", "http://"),
}


def key_not_found(name: str) -> ApiError:
    return ApiError(404, 40470, f"Key '{name}' not found")


def key_not_soft_deleted(name: str) -> ApiError:
    return ApiError(404, 40471, f"Key '{name}' was not deleted first before being permanently deleted")


def key_soft_deleted(name: str) -> ApiError:
    return ApiError(404, 40472, f"Key '{name}' must be undeleted first")


def already_exists(name: str) -> ApiError:
    return ApiError(409, 40971, f"Key '{name}' already exists; use a different value")


def invalid_key(field: str) -> ApiError:
    return ApiError(422, 42271, f"Invalid or missing value for field '{field}' of key")


def reference_exists(name: str) -> ApiError:
    return ApiError(422, 42272, f"One or more references exist to the key '{name}'")


def generation_failed(message: str) -> ApiError:
    return ApiError(500, 50070, message)


def new_kek(request: Mapping[str, Any]) -> StoredKek:
    """Of a request to create one. Raises: ApiError."""
    kms_key_id, kms_type = request.get("kmsKeyId"), request.get("kmsType")
    if not kms_key_id:
        raise invalid_key("kmsKeyId")
    if kms_type is None:
        raise invalid_key("kmsType")
    if not kms_key_id.startswith(KEY_ID_BEGINS.get(kms_type, ("",))):
        raise invalid_key("kmsKeyId")
    beginning = next((each for each in KMS_TYPES if kms_type.lower().startswith(each)), None)
    return StoredKek(
        request["name"],
        kms_type if beginning is None else KMS_TYPES[beginning],
        kms_key_id,
        request.get("kmsProps") or {},
        request.get("doc"),
        bool(request.get("shared")),
        bool(request.get("deleted")),
    )


def create_kek(state: DekState, kek: StoredKek) -> tuple[Written, KekId]:
    """A KEK that was deleted is brought back by creating it again. Raises: ApiError."""
    old = state.kek(kek.name, deleted=True)
    if old is not None and (old.deleted == kek.deleted or not old.is_equivalent(kek)):
        raise already_exists(kek.name)
    return _put(state, kek), kek.id


def update_kek(state: DekState, name: str, request: Mapping[str, Any]) -> tuple[Written, KekId]:
    """What the request does not name stays. Raises: ApiError."""
    old = state.kek(name)
    if old is None:
        raise key_not_found(name)
    new = replace(
        old,
        kms_properties=(request["kmsProps"] or {}) if "kmsProps" in request else old.kms_properties,
        doc=request.get("doc", old.doc),
        shared=bool(request["shared"]) if "shared" in request else old.shared,
    )
    return NOTHING if new.is_equivalent(old) else _put(state, new), old.id


def delete_kek(state: DekState, name: str, *, permanent: bool) -> tuple[Written, None]:
    """Raises: ApiError."""
    old = state.kek(name, deleted=True)
    if old is None:
        raise key_not_found(name)
    if state.deks(name, deleted=permanent):
        raise reference_exists(name)
    return _deleted(state, [old], permanent=permanent), None


def undelete_kek(state: DekState, name: str) -> tuple[Written, None]:
    """Raises: ApiError."""
    old = state.kek(name, deleted=True)
    if old is None:
        raise key_not_found(name)
    return _put(state, replace(old, deleted=False)) if old.deleted else NOTHING, None


def create_dek(
    state: DekState, dek: StoredDek, wrapped: str | None, *, rewrap: bool = False
) -> tuple[Written, DekId]:
    """`wrapped`: for a KEK that is shared, the key that its KMS has encrypted, where the request has none.
    Raises: ApiError."""
    kek = state.kek(dek.kek_name, deleted=dek.deleted)
    if kek is None:
        raise key_not_found(dek.kek_name)
    old = state.dek(dek.kek_name, dek.subject, dek.algorithm, dek.version, deleted=True)
    if old is not None and not rewrap and (old.deleted == dek.deleted or (old.encrypted != dek.encrypted)):
        raise already_exists(dek.subject)
    if dek.encrypted is not None:
        if kek.shared and old is not None:
            raise already_exists(dek.subject)
    elif not kek.shared or wrapped is None:
        raise invalid_key("encryptedKeyMaterial")
    else:
        dek = replace(dek, encrypted=wrapped)
    return _put(state, dek), dek.id


def new_dek(kek_name: str, subject: str, request: Mapping[str, Any]) -> StoredDek:
    version = request.get("version")
    return StoredDek(
        kek_name,
        subject,
        request.get("algorithm") or DEFAULT_ALGORITHM,
        FIRST_VERSION if version is None else version,
        request.get("encryptedKeyMaterial"),
        bool(request.get("deleted")),
    )


def found_deks(
    state: DekState, kek_name: str, subject: str, algorithm: str | None, version: int | None
) -> list[StoredDek]:
    """What is to be deleted or brought back: a version, or with None all of them. Raises: ApiError."""
    if state.kek(kek_name, deleted=True) is None:
        raise key_not_found(kek_name)
    versions = state.versions(kek_name, subject, algorithm, deleted=True)
    if version == LATEST:
        versions = versions[-1:]
    elif version is not None:
        versions = [dek for dek in versions if dek.version == version]
    if not versions:
        raise key_not_found(subject)
    return versions


def delete_deks(state: DekState, deks: Sequence[StoredDek], *, permanent: bool) -> tuple[Written, None]:
    """Raises: ApiError."""
    return _deleted(state, deks, permanent=permanent), None


def undelete_deks(state: DekState, deks: Sequence[StoredDek]) -> tuple[Written, None]:
    """Raises: ApiError."""
    for dek in deks:
        if state.kek(dek.kek_name) is None:
            raise key_soft_deleted(dek.kek_name)
    return [
        record for dek in deks if dek.deleted for record in _put(state, replace(dek, deleted=False))
    ], None


def _deleted(state: DekState, keys: Sequence[StoredKek] | Sequence[StoredDek], *, permanent: bool) -> Written:
    if not permanent:
        return [
            record for key in keys if not key.deleted for record in _put(state, replace(key, deleted=True))
        ]
    for key in keys:
        if not key.deleted:
            raise key_not_soft_deleted(key.name if isinstance(key, StoredKek) else key.subject)
    return [(state.key_of(key.id), None) for key in keys]


def _put(state: DekState, key: StoredKek | StoredDek) -> Written:
    return [(state.key_of(key.id), key.value)]
