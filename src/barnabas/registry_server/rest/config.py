"""/config"""

from __future__ import annotations

from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.entities import CONFIG_FIELDS, EntityError, JsonObject, fields
from barnabas.registry_server.operations import settings
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService

UPDATE = fields({"compatibility": lambda value, _: value, **CONFIG_FIELDS})
GIVEN = {name: name for name in CONFIG_FIELDS} | {"compatibilityLevel": "compatibility"}
"""Each setting by the name that it has where it is to be changed."""


async def get(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    name = setting_subject(subject)
    if call.flag("defaultToGlobal"):
        return json_answer(settings.config_in_scope(service.state, name))
    found = settings.config(service.state, name)
    if found is None:
        raise api_errors.no_subject_compatibility(subject)
    return json_answer(found)


async def update(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    name, changes = setting_subject(subject), _changes(call)
    found = await service.write(lambda state: settings.update_config(state, name, changes))
    return json_answer({GIVEN[each]: value for each, value in found.items()})


def _changes(call: RestCall) -> JsonObject:
    """What is null is to be taken away."""
    given = call.entity(lambda value, is_strict: value if UPDATE(value, is_strict) is not None else None)
    changes: JsonObject = {}
    for name, own in GIVEN.items():
        key = own if own in given else name
        if key in given:
            try:
                changes[name] = CONFIG_FIELDS[name](given[key], False)
            except EntityError as error:
                raise api_errors.unprocessable(str(error)) from None
    return changes


async def delete(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    name = setting_subject(subject)
    return json_answer(await service.write(lambda state: settings.delete_config(state, name)))


def setting_subject(subject: str) -> str | None:
    """None for the whole registry."""
    found = subjects.parse(subject)
    return None if found.is_default_context else str(found)
