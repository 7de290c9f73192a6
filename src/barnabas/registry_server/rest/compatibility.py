"""/compatibility"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.operations import compatibility, lookups
from barnabas.registry_server.operations.requests import REGISTER, Draft
from barnabas.registry_server.records import StoredSchema
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService
from barnabas.registry_server.state import RegistryState

INVALID_SCHEMA = api_errors.invalid_schema("").error_code


async def check_all(service: RegistryService, call: RestCall, subject: str) -> RestAnswer:
    name = str(subjects.parse(subject))
    return await _answer(service, call, name, lambda state: state.versions(name))


async def check_one(service: RegistryService, call: RestCall, subject: str, version: str) -> RestAnswer:
    name, number = str(subjects.parse(subject)), lookups.version_number(version)

    def earlier(state: RegistryState) -> list[StoredSchema]:
        found = lookups.get(state, name, number)
        if found is None and number != lookups.LATEST:
            raise api_errors.version_not_found(number)
        return [] if found is None else [found]

    return await _answer(service, call, name, earlier)


async def _answer(
    service: RegistryService,
    call: RestCall,
    subject: str,
    earlier: Callable[[RegistryState], Sequence[StoredSchema]],
) -> RestAnswer:
    draft = Draft.from_json(call.entity(REGISTER))
    is_verbose, normalize = call.flag("verbose"), call.flag("normalize")
    try:
        messages = await service.read(
            lambda state: compatibility.check(state, subject, draft, earlier(state), normalize=normalize)
        )
    except ApiError as error:
        if not is_verbose or error.error_code != INVALID_SCHEMA:
            raise
        messages = [str(error)]
    answer: dict[str, object] = {"is_compatible": not messages}
    return json_answer(answer | ({"messages": messages} if is_verbose else {}))
