"""/subjects"""

from __future__ import annotations

from barnabas.registry_server import subjects
from barnabas.registry_server.operations import deleting, lookups, parsing
from barnabas.registry_server.operations.requests import REGISTER, Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.rest.answers import RestAnswer, json_answer, schema
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService


async def list_subjects(service: RegistryService, call: RestCall) -> RestAnswer:
    which = "deleted" if call.flag("deletedOnly") else "all" if call.flag("deleted") else "active"
    prefix = call.text("subjectPrefix", subjects.ANY_CONTEXT)
    return json_answer(call.page(lookups.subjects_with(service.state, prefix, which)))


async def look_up(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    subject = str(subjects.parse(subject))
    draft = Draft.from_json(call.entity(REGISTER))
    found = lookups.look_up(
        service.state, subject, draft, normalize=call.flag("normalize"), deleted=call.flag("deleted")
    )
    return _answer(service, call, found)


async def latest_with_metadata(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    properties = dict(zip(call.values("key"), call.values("value"), strict=False))
    found = lookups.with_metadata(
        service.state, str(subjects.parse(subject)), properties, deleted=call.flag("deleted")
    )
    return _answer(service, call, found)


def _answer(service: RegistryService, call: RestCall, found: StoredSchema) -> RestAnswer:
    return json_answer(schema(found, parsing.formatted(service.state, found, call.text("format"))))


async def delete(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    name, permanent = str(subjects.parse(subject)), call.flag("permanent")
    return json_answer(
        await service.write(lambda state: deleting.delete_subject(state, name, permanent=permanent))
    )
