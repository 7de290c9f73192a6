"""/associations:batchGet and /associations:batchMutate: one answer or error for each request in them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from itertools import groupby
from typing import Any

from barnabas.registry_server import entities
from barnabas.registry_server.api_errors import ApiError, invalid_association
from barnabas.registry_server.associations import AssociationFilter
from barnabas.registry_server.entities import EntityError, JsonObject, fields
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.operations import associations
from barnabas.registry_server.operations.associations import (
    ASSOCIATION,
    LIFECYCLE,
    RESOURCE,
    TOPIC,
    NamedResource,
    WantedAssociation,
)
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.associations import associated
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.state import RegistryState

MULTI_STATUS = 207
OPERATIONS = ("CREATE", "UPSERT", "DELETE")


def _operation(value: Any, is_strict: bool) -> str:
    if value not in OPERATIONS:
        raise EntityError(f"opType {value!r:.100} is none of {', '.join(OPERATIONS)}")
    return value


def _batch(**others: entities.Kind) -> entities.Kind:
    requests = entities.list_of(fields({**RESOURCE, **others}))
    return entities.lenient(fields({"requests": requests}))


GET = _batch(associationTypes=entities.list_of(entities.text), lifecycle=LIFECYCLE)
MUTATE = _batch(
    associations=entities.list_of(
        fields({"opType": _operation, **ASSOCIATION, "cascadeLifecycle": entities.flag})
    )
)


async def get(service: RegistryService, call: RestCall) -> RestAnswer:
    requests, with_schemas = _requests(call, GET), call.flag("includeSchemas")
    return _answer([await _result(_found(service, each, with_schemas=with_schemas)) for each in requests])


async def mutate(service: RegistryService, call: RestCall) -> RestAnswer:
    return _answer([await _result(_mutated(service, call, each)) for each in _requests(call, MUTATE)])


async def _found(service: RegistryService, request: JsonObject, *, with_schemas: bool) -> JsonObject:
    name: str | None = request.get("resourceName")
    namespace: str | None = request.get("resourceNamespace")
    resource_id: str | None = request.get("resourceId")
    resource_type: str = request.get("resourceType", TOPIC)
    wanted = AssociationFilter(resource_type, request.get("associationTypes", ()), request.get("lifecycle"))
    table = service.state.associations
    if name is not None and namespace is None:
        raise invalid_association(
            "resourceNamespace", "resourceNamespace is required when resourceName is specified"
        )
    if resource_id is not None:
        found = table.of_resource(resource_id, wanted)
    elif name is not None and namespace is not None:
        found = table.of_name(namespace, name, wanted)
    else:
        raise invalid_association("resourceId", "either resourceId or resourceName must be specified")
    if found:
        first = found[0]
        name = name or first.key.resource_name
        namespace = namespace or first.key.resource_namespace
        resource_id = resource_id or first.resource_id
    latest = service.state.latest
    told = [(each, latest(each.key.subject) if with_schemas else None) for each in found]
    return associated(name, namespace, resource_id, resource_type, told)


async def _mutated(service: RegistryService, call: RestCall, request: JsonObject) -> JsonObject:
    """Operations of one kind that follow each other are done at once, all or none of them."""
    resource = NamedResource.from_json(request, needs_id=not call.flag("dryRun"))
    operations: list[JsonObject] = request.get("associations", [])
    if not operations:
        raise invalid_association("associations", "cannot be null or empty")
    for each in operations:
        WantedAssociation.from_json(each)
    registered: dict[str, StoredSchema] = {}
    for (kind, cascades), group in groupby(
        operations, key=lambda each: (each["opType"], each["cascadeLifecycle"])
    ):
        if kind == "DELETE":
            await _dissociate(service, call, resource, list(group), cascades=cascades)
        else:
            registered |= await _associate(service, call, request, list(group), must_be_new=kind == "CREATE")
    there = service.state.associations.of_resource(resource.id or "", AssociationFilter(resource.type))
    told = [] if call.flag("dryRun") else there
    return associated(
        resource.name,
        resource.namespace,
        resource.id,
        resource.type,
        [(each, registered.get(each.key.association_type)) for each in told],
    )


async def _associate(
    service: RegistryService,
    call: RestCall,
    request: JsonObject,
    operations: list[JsonObject],
    *,
    must_be_new: bool,
) -> dict[str, StoredSchema]:
    """The schemas that were registered, by the association's type."""
    made = await service.write(
        lambda state: associations.associate(
            state,
            {**request, "associations": operations},
            context=call.text("context"),
            must_be_new=must_be_new,
            only_checks=call.flag("dryRun"),
        )
    )
    return {each.key.association_type: schema for each, schema in made.changed if schema is not None}


async def _dissociate(
    service: RegistryService,
    call: RestCall,
    resource: NamedResource,
    operations: list[JsonObject],
    *,
    cascades: bool,
) -> None:
    """Those that are there."""
    resource_id = resource.id or ""
    wanted = AssociationFilter(resource.type, [each.get("associationType", "value") for each in operations])

    async def decide(state: RegistryState) -> tuple[list[Record], None]:
        if not state.associations.of_resource(resource_id, wanted):
            return [], None
        return await associations.dissociate(
            state, resource_id, wanted, cascades=cascades, only_checks=call.flag("dryRun")
        )

    await service.write(decide)


def _requests(call: RestCall, kind: entities.Kind) -> list[JsonObject]:
    found: list[JsonObject] = call.entity(kind).get("requests", [])
    if not found:
        raise invalid_association("requests", "cannot be null or empty")
    return found


async def _result(work: Awaitable[JsonObject]) -> JsonObject:
    try:
        return {"result": await work}
    except ApiError as error:
        return {"error": {"error_code": error.error_code, "message": str(error)}}


def _answer(results: Sequence[JsonObject]) -> RestAnswer:
    return json_answer({"results": list(results)}, MULTI_STATUS)
