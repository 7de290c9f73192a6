"""ApiVersions, versions 0 to 4 (KIP-35, KIP-511, KIP-584).

Lists the APIs that are implemented, and the features with the levels that hold. A lowest level of 0 is told
from version 4 on only, which older clients would choke on. From version 3 on a client says what software it
is, in a few characters only (KIP-511). A request in an unknown version is answered by `net.server`. A broker
that passes for an older release lists what that had. Telemetry is listed only while there is a subscription
to it: until then the broker is like a Kafka without a plugin for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.broker.features import FEATURES
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

# KAFKA-18659: an older librdkafka compresses nothing for brokers that do not say so. None is to be sent.
LOWEST_TOLD: Mapping[int, int] = {ApiKey.PRODUCE: 0}
TELEMETRY = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_LEVEL_0 = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if call.version >= FIRST_VERSION_WITH_SOFTWARE:
        software = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, software)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.connection.software_name, call.connection.software_version = software
    has_subscriptions = bool(list(call.parts.cluster.metadata.client_metrics))
    answer = ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key, LOWEST_TOLD.get(api_key, lowest), highest)
            for api_key, (lowest, highest) in sorted(call.parts.offered.items())
            if api_key not in TELEMETRY or has_subscriptions
        ]
    )
    if call.parts.tells_features:
        _tell_features(call, answer)
    return answer


def _tell_features(call: Call, answer: ApiVersionsResponse) -> None:
    cluster = call.parts.cluster
    answer.supported_features = [
        ApiVersionsResponse.SupportedFeatureKey(name, feature.lowest, feature.highest)
        for name, feature in FEATURES.items()
        if feature.lowest > 0 or call.version >= FIRST_VERSION_WITH_LEVEL_0
    ]
    answer.finalized_features_epoch = cluster.features.epoch
    answer.finalized_features = [
        ApiVersionsResponse.FinalizedFeatureKey(name, level, level)
        for name, level in cluster.features.levels().items()
        if level > 0
    ]


HANDLER = Handler(ApiVersionsRequest, 0, 4, handle)
