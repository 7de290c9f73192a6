"""/mode"""

from __future__ import annotations

from barnabas.registry_server import api_errors
from barnabas.registry_server.operations import settings
from barnabas.registry_server.operations.requests import UPDATE_MODE
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.rest.config import setting_subject
from barnabas.registry_server.service import RegistryService


async def get(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    name = setting_subject(subject)
    found = (settings.mode_in_scope if call.flag("defaultToGlobal") else settings.mode)(service.state, name)
    if found is None:
        raise api_errors.no_subject_mode(subject)
    return json_answer({"mode": found})


async def update(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    _refuse_unless_changing(service)
    name, force = setting_subject(subject), call.flag("force")
    mode = call.entity(UPDATE_MODE).get("mode")
    return json_answer(
        await service.write(lambda state: settings.update_mode(state, name, mode, force=force))
    )


async def delete(service: RegistryService, call: RestCall, subject: str = "") -> RestAnswer:
    _refuse_unless_changing(service)
    name, recursive = setting_subject(subject), call.flag("recursive")
    return json_answer(
        await service.write(lambda state: settings.delete_mode(state, name, recursive=recursive))
    )


def _refuse_unless_changing(service: RegistryService) -> None:
    """Raises: ApiError."""
    if not service.modes_change:
        raise api_errors.not_permitted("Mode changes are not allowed")
