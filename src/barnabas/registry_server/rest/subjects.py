"""/subjects"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from barnabas.registry_server import subjects
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.operations import deleting, lookups, parsing
from barnabas.registry_server.operations.requests import REGISTER, Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.rest.answers import RestAnswer, json_answer, schema
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.state import RegistryState


async def list_subjects(service: RegistryService, call: RestCall) -> RestAnswer:
    which = "deleted" if call.flag("deletedOnly") else "all" if call.flag("deleted") else "active"
    prefix = call.text("subjectPrefix", subjects.ANY_CONTEXT)
    return json_answer(call.page(lookups.subjects_with(service.state, prefix, which)))


async def look_up(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    subject = str(subjects.parse(subject))
    draft = Draft.from_json(call.entity(REGISTER))
    normalize, deleted = call.flag("normalize"), call.flag("deleted")
    return await _answer(
        service,
        call,
        lambda state: lookups.look_up(state, subject, draft, normalize=normalize, deleted=deleted),
    )


async def latest_with_metadata(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    properties = dict(zip(call.values("key"), call.values("value"), strict=False))
    name, deleted = str(subjects.parse(subject)), call.flag("deleted")

    async def find(state: RegistryState) -> StoredSchema:
        return lookups.with_metadata(state, name, properties, deleted=deleted)

    return await _answer(service, call, find)


async def _answer(
    service: RegistryService, call: RestCall, find: Callable[[RegistryState], Awaitable[StoredSchema]]
) -> RestAnswer:
    async def look(state: RegistryState) -> JsonObject:
        found = await find(state)
        return schema(found, await parsing.formatted(state, found, call.text("format")))

    return json_answer(await service.read(look))


async def delete(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    name, permanent = str(subjects.parse(subject)), call.flag("permanent")
    return json_answer(
        await service.write(lambda state: deleting.delete_subject(state, name, permanent=permanent))
    )
