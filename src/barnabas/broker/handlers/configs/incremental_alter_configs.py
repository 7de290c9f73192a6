"""IncrementalAlterConfigs, versions 0 and 1 (KIP-339): sets, removes, appends to, subtracts from settings."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs import config_resources, rights
from barnabas.broker.handlers.configs.config_resources import ConfiguredResource
from barnabas.broker_errors import InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.turns import in_turns

Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
Asked = IncrementalAlterConfigsRequest.AlterableConfig
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS_ON_LISTS = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


async def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            await _alter(call, asked, request.validate_only) async for asked in in_turns(request.resources, 1)
        ]
    )


async def _alter(
    call: Call, asked: IncrementalAlterConfigsRequest.AlterConfigsResource, validate_only: bool
) -> Result:
    result = Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None)
    try:
        names = [config.name for config in asked.configs]
        if len(set(names)) < len(names):
            raise InvalidRequestError("Error due to duplicate config keys")
        without = [c.name for c in asked.configs if c.value is None and c.config_operation != DELETE]
        if without:
            raise InvalidRequestError(f"Null value not supported for : {', '.join(without)}")
        rights.require(call, Operation.ALTER_CONFIGS, asked.resource_type, asked.resource_name)
        resource = config_resources.find(
            call.parts.cluster, asked.resource_type, asked.resource_name, to_change=True
        )
        settings = resource.own()
        for config in asked.configs:
            _apply(settings, config, resource)
        settings = resource.checked(settings, names)
        if not validate_only:
            await resource.change(settings)
    except BrokerError as error:
        result.error_code, result.error_message = error.code, error.context
    return result


def _apply(settings: dict[str, str], config: Asked, resource: ConfiguredResource) -> None:
    setting = resource.lookup(config.name)
    if config.config_operation == DELETE:
        settings.pop(config.name, None)
        return
    given_value = config.value or ""
    if config.config_operation == SET:
        settings[config.name] = given_value
        return
    if config.config_operation not in OPERATIONS_ON_LISTS:
        raise InvalidRequestError(f"Unknown operations type {config.config_operation}")
    resource.check_is_list(setting, OPERATIONS_ON_LISTS[config.config_operation])
    current = resource.words(config.name)
    words = [word.strip() for word in current.split(",") if word.strip()]
    given = [word.strip() for word in given_value.split(",")]
    if config.config_operation == APPEND:
        words += [word for word in given if word not in words]
    else:
        words = [word for word in words if word not in given]
    settings[config.name] = ",".join(words)


HANDLER = Handler(IncrementalAlterConfigsRequest, 0, 1, handle)
