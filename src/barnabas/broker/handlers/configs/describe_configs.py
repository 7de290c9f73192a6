"""DescribeConfigs, versions 1 to 4: settings of topics and of the broker, with synonyms and documentation if
asked.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs import config_resources
from barnabas.broker.settings import SettingSource, Value
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse

Result = DescribeConfigsResponse.DescribeConfigsResult
OVERRIDES = (SettingSource.TOPIC, SettingSource.DYNAMIC_BROKER)


async def handle(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_describe(call, asked, request) for asked in request.resources])


def _describe(
    call: Call, asked: DescribeConfigsRequest.DescribeConfigsResource, request: DescribeConfigsRequest
) -> Result:
    result = Result(resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None)
    try:
        config_resources.require(call, asked.resource_type, asked.resource_name, alters=False)
        resource = config_resources.find(call.parts.cluster, asked.resource_type, asked.resource_name)
    except BrokerError as error:
        result.error_code, result.error_message = error.code, error.context
        return result
    wanted = asked.configuration_keys
    values = (resource.value(name) for name in resource.table if wanted is None or name in wanted)
    is_broker = isinstance(resource, config_resources.BrokerResource)
    # By the empty name the cluster-wide values alone are meant: those set while brokers run.
    if is_broker and not asked.resource_name:
        values = (value for value in values if value.source is SettingSource.DYNAMIC_BROKER)
    result.configs = [_entry(value, request, is_broker and not value.setting.dynamic) for value in values]
    return result


def _entry(
    value: Value, request: DescribeConfigsRequest, read_only: bool
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    setting = value.setting
    entry = DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=setting.name,
        value=value.value,
        read_only=read_only,
        config_source=value.source,
        config_type=setting.type,
        documentation=setting.doc if request.include_documentation else None,
    )
    if request.include_synonyms:
        default = DescribeConfigsResponse.DescribeConfigsSynonym(
            setting.broker_name or setting.name, setting.default, SettingSource.DEFAULT
        )
        name = setting.name if value.source in OVERRIDES else setting.broker_name or setting.name
        given = DescribeConfigsResponse.DescribeConfigsSynonym(name, value.value, value.source)
        entry.synonyms = [default] if value.source is SettingSource.DEFAULT else [given, default]
    return entry


HANDLER = Handler(DescribeConfigsRequest, 1, 4, handle)
