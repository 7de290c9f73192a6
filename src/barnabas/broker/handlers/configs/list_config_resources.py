"""ListConfigResources, versions 0 and 1 (KIP-714, KIP-1142): what DescribeConfigs can be asked about.

Version 0 asks for the subscriptions of client metrics, of which there are none; version 1 for any types, none
named for all.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs.config_resources import BROKER, TOPIC
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

BROKER_LOGGER, CLIENT_METRICS, GROUP = 8, 16, 32
TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
FIRST_VERSION_WITH_TYPES = 1
ConfigResource = ListConfigResourcesResponse.ConfigResource


async def handle(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    types = set(request.resource_types or TYPES)
    if call.version < FIRST_VERSION_WITH_TYPES:
        types = {CLIENT_METRICS}
    if not types <= set(TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found: list[ConfigResource] = []
    if TOPIC in types:
        found.extend(ConfigResource(name, TOPIC) for name in call.parts.cluster.topics)
    if BROKER in types:
        found.extend(ConfigResource(str(node_id), BROKER) for node_id in sorted(call.parts.cluster.alive))
    return ListConfigResourcesResponse(config_resources=found)


HANDLER = Handler(ListConfigResourcesRequest, 0, 1, handle)
