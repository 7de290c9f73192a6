"""ListConfigResources, versions 0 and 1 (KIP-714, KIP-1142): what DescribeConfigs can be asked about.

Version 0 asks for the subscriptions to clients' metrics; version 1 for any types, none named for all.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.configs.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
)
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
FIRST_VERSION_WITH_TYPES = 1
ConfigResource = ListConfigResourcesResponse.ConfigResource


async def handle(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    try:
        call.parts.authorizer.require_cluster(call, Operation.DESCRIBE_CONFIGS)
    except BrokerError as error:
        return ListConfigResourcesResponse(error_code=error.code)
    types = set(request.resource_types or TYPES)
    if call.version < FIRST_VERSION_WITH_TYPES:
        types = {CLIENT_METRICS}
    if not types <= set(TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    cluster = call.parts.cluster
    nodes = [str(node_id) for node_id in sorted(cluster.alive)]
    names: dict[int, Iterable[str]] = {
        GROUP: cluster.metadata.group_settings,
        CLIENT_METRICS: cluster.metadata.client_metrics,
        BROKER_LOGGER: nodes,
        BROKER: nodes,
        TOPIC: cluster.topics,
    }
    found = [ConfigResource(name, kind) for kind in names if kind in types for name in names[kind]]
    return ListConfigResourcesResponse(config_resources=found)


HANDLER = Handler(ListConfigResourcesRequest, 0, 1, handle)
