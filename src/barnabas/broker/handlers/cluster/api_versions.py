"""ApiVersions, versions 0 to 4 (KIP-35, KIP-511, KIP-584).

Lists the APIs that are implemented. There are no features to finalize. A request in an unknown version is
answered by `net.server`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.handlers.api import Call, Handler
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

LOWEST, HIGHEST = 0, 4


def make_handler(others: Mapping[int, Handler[Any]]) -> Handler[ApiVersionsRequest]:
    keys = [(api_key, handler.lowest, handler.highest) for api_key, handler in others.items()]
    keys.append((ApiVersionsRequest.API_KEY, LOWEST, HIGHEST))
    answer = [ApiVersionsResponse.ApiVersion(*key) for key in sorted(keys)]

    async def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
        return ApiVersionsResponse(api_keys=answer)

    return Handler(ApiVersionsRequest, LOWEST, HIGHEST, handle)
