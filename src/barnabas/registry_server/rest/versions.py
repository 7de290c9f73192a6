"""/subjects/{subject}/versions"""

from __future__ import annotations

from barnabas.registry_server import subjects
from barnabas.registry_server.operations import deleting, lookups, parsing, registering, tags
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
from barnabas.registry_server.service import RegistryService


async def list_versions(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    which = "deleted" if call.flag("deletedOnly") else "all" if call.flag("deleted") else "active"
    if call.flag("deletedAsNegative"):
        which = "negative"
    found = lookups.versions_of(service.state, str(subjects.parse(subject)), which)
    return json_answer(call.page(found))


def _found(service: RegistryService, call: RestCall, subject: str, version: str) -> StoredSchema:
    number = lookups.version_number(version)
    name = str(subjects.parse(subject))
    return lookups.version_of(service.state, name, number, deleted=call.flag("deleted"))


async def get(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    found = _found(service, call, subject, version)
    answer = schema(found, parsing.formatted(service.state, found, call.text("format")))
    if call.text("referenceFormat") == "qualified":
        answer = qualified_references(answer, found.subject)
    wanted = call.values("findTags")
    if wanted:
        listed = tags.found(found.content)
        answer["schemaTags"] = [each for each in listed if "*" in wanted or {*wanted} & {*each["tags"]}]
    return json_answer(answer)


async def get_text(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    found = _found(service, call, subject, version)
    return RestAnswer(200, parsing.formatted(service.state, found, call.text("format")).encode())


async def referenced_by(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    number = lookups.version_number(version)
    found = lookups.version_of(service.state, str(subjects.parse(subject)), number, deleted=True)
    ids = [each for _, each in lookups.referrers(service.state, found.key, deleted=call.flag("deleted"))]
    return json_answer(call.page(ids, lookups.MOST_SCHEMAS))


async def register(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    draft = Draft.from_json(call.entity(REGISTER))
    name = str(subjects.parse(subject))
    normalize, force = call.flag("normalize"), call.flag("force")
    found = registering.is_there(service.state, name, draft, normalize=normalize)
    if found is None:
        found = await service.write(
            lambda state: registering.register(state, name, draft, normalize=normalize, force=force)
        )
    form = call.text("format")
    return json_answer(registered(found, parsing.formatted(service.state, found, form)))


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
