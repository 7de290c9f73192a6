"""/schemas"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.registry.compatibility.formats import FORMATS
from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.associations import AssociationFilter
from barnabas.registry_server.entities import LIFECYCLES, JsonObject
from barnabas.registry_server.operations import associations, lookups, parsing, tags
from barnabas.registry_server.records import StoredAssociation, StoredSchema
from barnabas.registry_server.rest.answers import (
    RestAnswer,
    association,
    filled,
    json_answer,
    qualified_references,
    schema,
    schema_by_id,
)
from barnabas.registry_server.rest.call import RestCall, not_found, path_number
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.state import RegistryState


async def list_schemas(service: RegistryService, call: RestCall) -> RestAnswer:
    found = lookups.schemas_with(
        service.state,
        call.text("subjectPrefix"),
        deleted=call.flag("deleted"),
        latest_only=call.flag("latestOnly"),
        rule_type=call.text("ruleType"),
        aliases=call.flag("aliases"),
    )
    associated_with = _associated_with(service, call)
    listed = [
        (each, filled({"aliases": aliases, "associations": [association(one) for one in associated]}))
        for each, aliases in found
        if (associated := associated_with(each.subject)) is not None
    ]
    return json_answer([schema(each) | others for each, others in call.page(listed, lookups.MOST_SCHEMAS)])


def _associated_with(
    service: RegistryService, call: RestCall
) -> Callable[[str], list[StoredAssociation] | None]:
    """Gives what is to be told of a schema's subject; None where it is not to be listed. Raises: ApiError."""
    resource_type = next(iter(call.values("resourceType")), None)
    types, lifecycles = call.values("associationType"), call.values("lifecycle")
    if not {*lifecycles} <= {*LIFECYCLES, associations.UNASSOCIATED}:
        raise not_found()
    if resource_type is None and not types and not lifecycles:
        return lambda subject: []
    wanted = AssociationFilter(resource_type, types)
    return lambda subject: associations.wanted_of_subject(service.state, subject, wanted, lifecycles)


async def types(service: RegistryService, call: RestCall) -> RestAnswer:
    # In the original's order.
    return json_answer(list(reversed(FORMATS)))


def _by_id(state: RegistryState, call: RestCall, number: str) -> tuple[StoredSchema, str | None]:
    schema_id = path_number(number)
    subject = call.text("subject") if call.values("subject") else None
    found = lookups.by_id(state, schema_id, subject)
    if found is None:
        raise api_errors.schema_not_found(schema_id)
    return found, subject


async def by_id(service: RegistryService, call: RestCall, number: str) -> RestAnswer:
    async def look(state: RegistryState) -> JsonObject:
        found, subject = _by_id(state, call, number)
        highest = None
        if call.flag("fetchMaxId"):
            highest = max(state.highest_id(subjects.context_of(found.subject)), 1)
        answer = schema_by_id(
            found,
            await parsing.formatted(state, found, call.text("format")),
            with_subject=subject is not None,
            highest_id=highest,
        )
        if call.text("referenceFormat") == "qualified":
            answer = qualified_references(answer, found.subject)
        return answer | await tagged(call, found)

    return json_answer(await service.read(look))


async def tagged(call: RestCall, found: StoredSchema) -> JsonObject:
    """Those of its tags that are asked for. Raises: ApiError."""
    wanted = call.values("findTags")
    if not wanted:
        return {}
    listed = await tags.found(found.content)
    return {"schemaTags": [each for each in listed if "*" in wanted or {*wanted} & {*each["tags"]}]}


async def text_by_id(service: RegistryService, call: RestCall, number: str) -> RestAnswer:
    async def look(state: RegistryState) -> str:
        found, _ = _by_id(state, call, number)
        return await parsing.formatted(state, found, call.text("format"))

    return RestAnswer(200, (await service.read(look)).encode())


def _places(service: RegistryService, call: RestCall, number: str) -> list[tuple[str, int]]:
    subject = call.text("subject") if call.values("subject") else None
    return lookups.places_of(service.state, path_number(number), subject, deleted=call.flag("deleted"))


async def subjects_of(service: RegistryService, call: RestCall, number: str) -> RestAnswer:
    return json_answer(call.page([subject for subject, _ in _places(service, call, number)]))


async def versions_of(service: RegistryService, call: RestCall, number: str) -> RestAnswer:
    found = _places(service, call, number)
    return json_answer(call.page([{"subject": subject, "version": version} for subject, version in found]))


async def by_guid(service: RegistryService, call: RestCall, guid: str) -> RestAnswer:
    async def look(state: RegistryState) -> JsonObject:
        found = lookups.by_guid(state, guid)
        if found is None:
            raise api_errors.schema_not_found(guid)
        text = await parsing.formatted(state, found, call.text("format"))
        return schema_by_id(found, text, with_subject=False)

    return json_answer(await service.read(look))


async def ids_of(service: RegistryService, call: RestCall, guid: str) -> RestAnswer:
    found = lookups.ids_of(service.state, guid)
    return json_answer([{"context": context, "id": schema_id} for context, schema_id in found])
