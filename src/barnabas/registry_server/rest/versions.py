"""/subjects/{subject}/versions"""

from __future__ import annotations

from barnabas.registry_server import subjects
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import deleting, lookups, parsing, registering
from barnabas.registry_server.operations.requests import REGISTER, TAG, Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.rest.answers import (
    RestAnswer,
    json_answer,
    qualified_references,
    registered,
    schema,
)
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.rest.schemas import tagged
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.state import RegistryState


async def list_versions(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    which = "deleted" if call.flag("deletedOnly") else "all" if call.flag("deleted") else "active"
    if call.flag("deletedAsNegative"):
        which = "negative"
    found = lookups.versions_of(service.state, str(subjects.parse(subject)), which)
    return json_answer(call.page(found))


def _found(state: RegistryState, call: RestCall, subject: str, version: str) -> StoredSchema:
    number = lookups.version_number(version)
    name = str(subjects.parse(subject))
    return lookups.version_of(state, name, number, deleted=call.flag("deleted"))


async def get(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    async def look(state: RegistryState) -> JsonObject:
        found = _found(state, call, subject, version)
        answer = schema(found, await parsing.formatted(state, found, call.text("format")))
        if call.text("referenceFormat") == "qualified":
            answer = qualified_references(answer, found.subject)
        return answer | await tagged(call, found)

    return json_answer(await service.read(look))


async def get_text(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    async def look(state: RegistryState) -> str:
        return await parsing.formatted(state, _found(state, call, subject, version), call.text("format"))

    return RestAnswer(200, (await service.read(look)).encode())


async def referenced_by(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    number = lookups.version_number(version)
    found = lookups.version_of(service.state, str(subjects.parse(subject)), number, deleted=True)
    ids = [each for _, each in lookups.referrers(service.state, found.key, deleted=call.flag("deleted"))]
    return json_answer(call.page(ids, lookups.MOST_SCHEMAS))


async def register(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    draft = Draft.from_json(call.entity(REGISTER))
    name = str(subjects.parse(subject))
    normalize, force = call.flag("normalize"), call.flag("force")
    found = await service.write(
        lambda state: registering.register(state, name, draft, normalize=normalize, force=force),
        unless=lambda state: registering.is_there(state, name, draft, normalize=normalize),
    )
    form = call.text("format")
    text = await service.read(lambda state: parsing.formatted(state, found, form))
    return json_answer(registered(found, text))


async def change_tags(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    request = call.entity(TAG)
    name, number = str(subjects.parse(subject)), lookups.version_number(version)
    found = await service.write(lambda state: registering.change_tags(state, name, number, request))
    return json_answer(registered(found))


async def delete(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    name, number = str(subjects.parse(subject)), lookups.version_number(version)
    permanent = call.flag("permanent")
    return json_answer(
        await service.write(lambda state: deleting.delete_version(state, name, number, permanent=permanent))
    )
