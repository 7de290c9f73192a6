"""DescribeConfigs, versions 1 to 4: settings of topics, of the broker and its loggers, of groups, of
subscriptions to clients' metrics, with synonyms and documentation if asked.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.configs.setting_kinds import SettingSource, Value
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs import config_resources, rights
from barnabas.broker.handlers.configs.config_resources import ConfiguredResource
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

Result = DescribeConfigsResponse.DescribeConfigsResult


async def handle(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_describe(call, asked, request) for asked in request.resources])


def _describe(
    call: Call, asked: DescribeConfigsRequest.DescribeConfigsResource, request: DescribeConfigsRequest
) -> Result:
    result = Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message="")
    try:
        rights.require(call, Operation.DESCRIBE_CONFIGS, asked.resource_type, asked.resource_name)
        resource = config_resources.find(
            call.parts.cluster, asked.resource_type, asked.resource_name, to_change=False
        )
    except BrokerError as error:
        result.error_code, result.error_message = error.code, error.context
        return result
    wanted = asked.configuration_keys
    result.configs = [
        _entry(resource, resource.value(name), request, call.version)
        for name in resource.names()
        if wanted is None or name in wanted
    ]
    return result


def _entry(
    resource: ConfiguredResource, value: Value, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    setting = value.setting
    entry = DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=setting.name,
        value=resource.told(value),
        is_sensitive=resource.is_secret(setting),
        read_only=resource.is_read_only(setting),
        config_source=value.source,
        is_default=version == 0 and value.source == SettingSource.DEFAULT,
        config_type=setting.type,
        documentation=resource.documentation(setting) if request.include_documentation else None,
    )
    if request.include_synonyms:
        entry.synonyms = [
            DescribeConfigsResponse.DescribeConfigsSynonym(*synonym) for synonym in resource.synonyms(value)
        ]
    return entry


HANDLER = Handler(DescribeConfigsRequest, 1, 4, handle)
