"""/associations"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry_server import subjects
from barnabas.registry_server.api_errors import invalid_association
from barnabas.registry_server.associations import AssociationFilter
from barnabas.registry_server.entities import LIFECYCLES, JsonObject
from barnabas.registry_server.operations import associations, lookups
from barnabas.registry_server.operations.associations import ASSOCIATE, TOPIC
from barnabas.registry_server.records import StoredAssociation, StoredSchema
from barnabas.registry_server.rest.answers import RestAnswer, association, filled, json_answer, schema
from barnabas.registry_server.rest.call import RestCall, not_found
from barnabas.registry_server.service import RegistryService


async def of_subject(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    name = str(subjects.parse(subject))
    return _list(call, service.state.associations.of_subject(name, _filter(call)))


async def of_resource(service: RegistryService, call: RestCall, resource_id: str) -> RestAnswer:
    return _list(call, service.state.associations.of_resource(resource_id, _filter(call)))


async def of_name(service: RegistryService, call: RestCall, namespace: str, name: str) -> RestAnswer:
    return _list(call, service.state.associations.of_name(namespace, name, _filter(call)))


async def create(service: RegistryService, call: RestCall) -> RestAnswer:
    return await _associate(service, call, call.entity(ASSOCIATE), must_be_new=True)


async def update(service: RegistryService, call: RestCall, resource_id: str) -> RestAnswer:
    request = {"resourceId": resource_id, **call.entity(ASSOCIATE)}
    if request["resourceId"] != resource_id:
        raise invalid_association(
            "resourceId",
            "Resource ID in the path parameter does not match the resource ID in the request body",
        )
    return await _associate(service, call, request, must_be_new=False)


async def delete(service: RegistryService, call: RestCall, resource_id: str) -> RestAnswer:
    wanted = AssociationFilter(call.text("resourceType") or TOPIC, call.values("associationType"))
    await service.write(
        lambda state: associations.dissociate(
            state,
            resource_id,
            wanted,
            cascades=call.flag("cascadeLifecycle"),
            only_checks=call.flag("dryRun"),
        )
    )
    return RestAnswer(204, b"")


async def _associate(
    service: RegistryService, call: RestCall, request: JsonObject, *, must_be_new: bool
) -> RestAnswer:
    found = await service.write(
        lambda state: associations.associate(
            state,
            request,
            context=call.text("context"),
            must_be_new=must_be_new,
            only_checks=call.flag("dryRun"),
        )
    )
    resource = found.resource
    return json_answer(
        associated(resource.name, resource.namespace, resource.id, resource.type, found.changed)
    )


def associated(
    name: str | None,
    namespace: str | None,
    resource_id: str | None,
    resource_type: str,
    found: Sequence[tuple[StoredAssociation, StoredSchema | None]],
) -> JsonObject:
    """What a resource has; with schemas that are to be told."""
    return filled(
        {
            "resourceName": name,
            "resourceNamespace": namespace,
            "resourceId": resource_id,
            "resourceType": resource_type,
            "associations": [
                filled(
                    {
                        "subject": each.key.subject,
                        "associationType": each.key.association_type,
                        "lifecycle": each.lifecycle,
                        "frozen": each.is_frozen,
                        "schema": None if told is None else schema(told),
                    }
                )
                for each, told in found
            ],
        }
    )


def _filter(call: RestCall) -> AssociationFilter:
    """Raises: ApiError."""
    lifecycle = next(iter(call.values("lifecycle")), None)
    if lifecycle is not None and lifecycle not in LIFECYCLES:
        raise not_found()
    return AssociationFilter(call.text("resourceType") or TOPIC, call.values("associationType"), lifecycle)


def _list(call: RestCall, found: Sequence[StoredAssociation]) -> RestAnswer:
    return json_answer([association(each) for each in call.page(found, lookups.MOST_SCHEMAS)])
