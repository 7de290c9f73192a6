"""/dek-registry/v1: KEKs and DEKs."""

from __future__ import annotations

import asyncio
import unicodedata

from barnabas.registry_server import api_errors, entities
from barnabas.registry_server.deks import changes
from barnabas.registry_server.deks.changes import FIRST_VERSION, LATEST
from barnabas.registry_server.deks.keys import ALGORITHMS, StoredDek, StoredKek
from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.entities import fields
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall, loaded, not_found
from barnabas.registry_server.service import RegistryService

LONGEST_NAME = 256
TEST_SUBJECT = "test"
ALGORITHM = entities.one_of(*ALGORITHMS)
KMS_PROPERTIES = entities.sorted_map(entities.text)
CREATE_KEK = fields(
    {
        "name": entities.text,
        "kmsType": entities.text,
        "kmsKeyId": entities.text,
        "kmsProps": KMS_PROPERTIES,
        "doc": entities.text,
        "shared": entities.boolean,
        "deleted": entities.boolean,
    }
)
UPDATE_KEK = fields({"kmsProps": KMS_PROPERTIES, "doc": entities.text, "shared": entities.boolean})
CREATE_DEK = fields(
    {
        "subject": entities.text,
        "version": entities.number,
        "algorithm": ALGORITHM,
        "encryptedKeyMaterial": entities.text,
        "deleted": entities.boolean,
    }
)
NO_CONTENT = RestAnswer(204, b"")


async def list_keks(service: RegistryService, call: RestCall) -> RestAnswer:
    state, deleted, prefixes = _deks(service).state, call.flag("deleted"), call.values("subjectPrefix")
    if any(prefixes):
        deks = state.deks(deleted=deleted)
        names = {dek.kek_name for dek in deks if dek.subject.startswith(tuple(prefixes))}
    else:
        names = {kek.name for kek in state.keks(deleted=deleted)}
    return json_answer(call.page(sorted(names)))


async def get_kek(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    return json_answer(_kek(service, name, deleted=call.flag("deleted")).answer)


async def create_kek(service: RegistryService, call: RestCall) -> RestAnswer:
    request = call.entity(CREATE_KEK)
    _check_name(request.get("name"))
    kek = changes.new_kek(request)
    if kek.shared and call.flag("testSharing"):
        await _test(service, kek)
    deks = _deks(service)
    await deks.write(lambda state: changes.create_kek(state, kek))
    return json_answer(_kek(service, kek.name, deleted=True).answer)


async def update_kek(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    read, named = call.entity(UPDATE_KEK), loaded(call.body)
    # What is null is taken away, what is not named stays.
    request = {each: read.get(each) for each in named}
    old = _kek(service, name)
    if call.flag("testSharing") and request.get("shared", old.shared):
        await _test(service, old)
    await _deks(service).write(lambda state: changes.update_kek(state, name, request))
    return json_answer(_kek(service, name).answer)


async def test_kek(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    kek = _kek(service, name)
    if not kek.shared:
        raise changes.invalid_key("shared")
    await _test(service, kek)
    return json_answer(kek.answer)


async def delete_kek(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    _check_name(name)
    permanent = call.flag("permanent")
    await _deks(service).write(lambda state: changes.delete_kek(state, name, permanent=permanent))
    return NO_CONTENT


async def undelete_kek(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    _check_name(name)
    await _deks(service).write(lambda state: changes.undelete_kek(state, name))
    return NO_CONTENT


async def list_subjects(service: RegistryService, call: RestCall, name: str) -> RestAnswer:
    deleted = call.flag("deleted")
    _kek(service, name, deleted=deleted)
    return json_answer(
        call.page(sorted({dek.subject for dek in _deks(service).state.deks(name, deleted=deleted)}))
    )


async def list_versions(service: RegistryService, call: RestCall, name: str, subject: str) -> RestAnswer:
    deleted, algorithm = call.flag("deleted"), _algorithm(call)
    _kek(service, name, deleted=deleted)
    _check_subject(subject)
    found = _deks(service).state.versions(name, subject, algorithm, deleted=deleted)
    return json_answer(call.page([dek.version for dek in found]))


async def get_dek(
    service: RegistryService, call: RestCall, name: str, subject: str, version: str = str(FIRST_VERSION)
) -> RestAnswer:
    deleted, algorithm, number = call.flag("deleted"), _algorithm(call), _version(version)
    _check_subject(subject)
    kek = _kek(service, name, deleted=deleted)
    state = _deks(service).state
    if number == LATEST:
        found = next(reversed(state.versions(name, subject, algorithm, deleted=deleted)), None)
    else:
        found = state.dek(name, subject, algorithm, number, deleted=deleted)
    if found is None:
        raise changes.key_not_found(subject)
    return json_answer(found.answer(await _raw(service, kek, found) if kek.shared else None))


async def create_dek(service: RegistryService, call: RestCall, name: str, subject: str = "") -> RestAnswer:
    request = call.entity(CREATE_DEK)
    subject = subject or request.get("subject") or ""
    _check_name(name)
    _check_subject(subject)
    dek, rewrap, deks = changes.new_dek(name, subject, request), call.flag("rewrap"), _deks(service)
    if dek.version < FIRST_VERSION:
        raise api_errors.invalid_version(str(dek.version))
    kek = _kek(service, name, deleted=dek.deleted)
    wrapped = raw = None
    if kek.shared:
        # The KMS is asked before: nothing waits for it while others write.
        if dek.encrypted is None:
            old = deks.state.dek(name, subject, dek.algorithm, dek.version, deleted=True) if rewrap else None
            kept = None if old is None else await _raw(service, kek, old)
            wrapped = await _wrapped(service, kek, subject, dek.algorithm, kept)
        stored = StoredDek(name, subject, dek.algorithm, dek.version, dek.encrypted or wrapped)
        raw = await _raw(service, kek, stored)
    await deks.write(lambda state: changes.create_dek(state, dek, wrapped, rewrap=rewrap))
    found = deks.state.dek(name, subject, dek.algorithm, dek.version, deleted=True)
    if found is None:
        raise changes.key_not_found(subject)
    return json_answer(found.answer(raw))


async def delete_deks(
    service: RegistryService, call: RestCall, name: str, subject: str, version: str | None = None
) -> RestAnswer:
    algorithm, permanent = _algorithm(call), call.flag("permanent")
    number = None if version is None else _version(version)
    _check_name(name)
    _check_subject(subject)
    await _deks(service).write(
        lambda state: changes.delete_deks(
            state, changes.found_deks(state, name, subject, algorithm, number), permanent=permanent
        )
    )
    return NO_CONTENT


async def undelete_deks(
    service: RegistryService, call: RestCall, name: str, subject: str, version: str | None = None
) -> RestAnswer:
    algorithm = _algorithm(call)
    number = None if version is None else _version(version)
    _check_name(name)
    _check_subject(subject)
    await _deks(service).write(
        lambda state: changes.undelete_deks(
            state, changes.found_deks(state, name, subject, algorithm, number)
        )
    )
    return NO_CONTENT


# What the KMS does


async def _test(service: RegistryService, kek: StoredKek) -> None:
    await _wrapped(service, kek, TEST_SUBJECT, "AES256_GCM")


async def _wrapped(
    service: RegistryService, kek: StoredKek, subject: str, algorithm: str, raw: str | None = None
) -> str:
    from barnabas.registry_server.deks.wrapping import wrapped_key

    return await asyncio.to_thread(wrapped_key, kek, subject, algorithm, _deks(service).kms_hosts, raw)


async def _raw(service: RegistryService, kek: StoredKek, dek: StoredDek) -> str:
    from barnabas.registry_server.deks.wrapping import raw_key

    return await asyncio.to_thread(raw_key, kek, dek, _deks(service).kms_hosts)


# What a request names


def _deks(service: RegistryService) -> DekService:
    if service.deks is None:
        raise not_found()
    return service.deks


def _kek(service: RegistryService, name: str, *, deleted: bool = False) -> StoredKek:
    _check_name(name)
    found = _deks(service).state.kek(name, deleted=deleted)
    if found is None:
        raise changes.key_not_found(name)
    return found


def _algorithm(call: RestCall) -> str | None:
    found = call.text("algorithm")
    if found and found not in ALGORITHMS:
        raise not_found()
    return found or None


def _version(text: str) -> int:
    """Raises: ApiError."""
    if text in ("latest", "-1"):
        return LATEST
    if text.isascii() and text.isdigit() and FIRST_VERSION <= int(text[:12]) < 1 << 31:
        return int(text)
    raise api_errors.invalid_version(text)


def _check_name(name: str | None) -> None:
    if (
        not name
        or len(name) > LONGEST_NAME
        or not (name[0].isalpha() or name[0] == "_")
        or not all(each.isalnum() or each in "_-" for each in name[1:])
    ):
        raise changes.invalid_key("name")


def _check_subject(subject: str) -> None:
    if not subject or any(unicodedata.category(each) == "Cc" for each in subject):
        raise changes.invalid_key("subject")
