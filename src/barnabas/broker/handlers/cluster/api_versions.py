"""ApiVersions, versions 0 to 4 (KIP-35, KIP-511, KIP-584).

Lists the APIs that are implemented, and the features with the levels that hold. A lowest level of 0 is told
from version 4 on only, which older clients would choke on. From version 3 on a client says what software it
is, in a few characters only (KIP-511). A request in an unknown version is answered by `net.server`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from barnabas.broker.features import FEATURES
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

LOWEST, HIGHEST = 0, 4
FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_LEVEL_0 = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def make_handler(others: Mapping[int, Handler[Any]]) -> Handler[ApiVersionsRequest]:
    keys = [(api_key, handler.lowest, handler.highest) for api_key, handler in others.items()]
    keys.append((ApiVersionsRequest.API_KEY, LOWEST, HIGHEST))
    answer = [ApiVersionsResponse.ApiVersion(*key) for key in sorted(keys)]

    async def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if call.version >= FIRST_VERSION_WITH_SOFTWARE:
            software = (request.client_software_name, request.client_software_version)
            if not all(map(_SOFTWARE.fullmatch, software)):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
            call.connection.software_name, call.connection.software_version = software
        cluster = call.parts.cluster
        return ApiVersionsResponse(
            api_keys=answer,
            supported_features=[
                ApiVersionsResponse.SupportedFeatureKey(name, feature.lowest, feature.highest)
                for name, feature in FEATURES.items()
                if feature.lowest > 0 or call.version >= FIRST_VERSION_WITH_LEVEL_0
            ],
            finalized_features_epoch=cluster.features_epoch,
            finalized_features=[
                ApiVersionsResponse.FinalizedFeatureKey(name, level, level)
                for name, level in cluster.feature_levels().items()
                if level > 0
            ],
        )

    return Handler(ApiVersionsRequest, LOWEST, HIGHEST, handle)
