"""AlterConfigs, versions 0 to 2: puts the given settings in the place of all that a resource had."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs import config_resources, rights
from barnabas.broker_errors import InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from barnabas.turns import in_turns

Result = AlterConfigsResponse.AlterConfigsResourceResponse


async def handle(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            await _alter(call, asked, request.validate_only) async for asked in in_turns(request.resources, 1)
        ]
    )


async def _alter(call: Call, asked: AlterConfigsRequest.AlterConfigsResource, validate_only: bool) -> Result:
    result = Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None)
    try:
        if asked.resource_type == config_resources.BROKER_LOGGER:
            raise InvalidRequestError(f"Unknown resource type {asked.resource_type}")
        rights.require(call, Operation.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
        resource = config_resources.find(
            call.parts.cluster, asked.resource_type, asked.resource_name, to_change=True
        )
        given = {config.name: config.value for config in asked.configs}
        without = [name for name, value in given.items() if value is None]
        if without:
            raise InvalidRequestError(f"Null value not supported for : {', '.join(without)}")
        settings = resource.checked({name: value or "" for name, value in given.items()}, given)
        if not validate_only:
            await resource.change(settings)
    except BrokerError as error:
        result.error_code, result.error_message = error.code, error.context
    return result


HANDLER = Handler(AlterConfigsRequest, 0, 2, handle)
