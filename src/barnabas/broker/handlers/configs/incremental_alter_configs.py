"""IncrementalAlterConfigs, versions 0 and 1 (KIP-339): sets, removes, appends to, subtracts from settings."""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs import config_resources
from barnabas.broker.settings import Setting, SettingType, lookup
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
Asked = IncrementalAlterConfigsRequest.AlterableConfig
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


async def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_alter(call, asked, request.validate_only) for asked in request.resources]
    )


def _alter(
    call: Call, asked: IncrementalAlterConfigsRequest.AlterConfigsResource, validate_only: bool
) -> Result:
    result = Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None)
    try:
        names = [config.name for config in asked.configs]
        if len(set(names)) < len(names):
            raise InvalidRequestError("a setting is in the request more than once")
        config_resources.require(call, asked.resource_type, asked.resource_name, alters=True)
        resource = config_resources.find(call.parts.cluster, asked.resource_type, asked.resource_name)
        settings = resource.own()
        for config in asked.configs:
            _apply(settings, config, lookup(config.name, resource.table), resource.value(config.name).value)
        settings = config_resources.check(resource, settings)
        if not validate_only:
            resource.change(settings)
    except BrokerError as error:
        result.error_code, result.error_message = error.code, error.context
    return result


def _apply(settings: dict[str, str], config: Asked, setting: Setting, current: str) -> None:
    if config.config_operation == DELETE:
        settings.pop(config.name, None)
        return
    if config.value is None:
        raise InvalidConfigError(f"setting {config.name} needs a value")
    if config.config_operation == SET:
        settings[config.name] = config.value
        return
    if setting.type is not SettingType.LIST or config.config_operation not in (APPEND, SUBTRACT):
        raise InvalidConfigError(
            f"operation {config.config_operation} does not go with setting {config.name}, which is no list"
        )
    words = [word.strip() for word in current.split(",") if word.strip()]
    given = [word.strip() for word in config.value.split(",")]
    if config.config_operation == APPEND:
        words += [word for word in given if word not in words]
    else:
        words = [word for word in words if word not in given]
    settings[config.name] = ",".join(words)


HANDLER = Handler(IncrementalAlterConfigsRequest, 0, 1, handle)
