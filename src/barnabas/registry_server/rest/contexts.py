"""/contexts"""

from __future__ import annotations

from barnabas.registry_server import subjects
from barnabas.registry_server.operations import deleting
from barnabas.registry_server.rest.answers import RestAnswer, json_answer
from barnabas.registry_server.rest.call import RestCall
from barnabas.registry_server.service import RegistryService


async def list_contexts(service: RegistryService, call: RestCall) -> RestAnswer:
    prefix = call.text("contextPrefix")
    known = [subjects.DEFAULT_CONTEXT, *service.state.contexts]
    return json_answer(call.page([each for each in known if each.startswith(prefix)]))


async def delete(service: RegistryService, call: RestCall, context: str) -> RestAnswer:
    name = str(subjects.parse(context))
    await service.write(lambda state: deleting.delete_context(state, name))
    return RestAnswer(204, b"")
