"""APIs that are there while a feature is: an administrator may lower its level to 0 (KIP-584).

Owns the look at the level. What the refusal looks like is with each API.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from barnabas.broker.handlers.api import Call
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.schema import Request, Response

RequestT = TypeVar("RequestT", bound=Request[Any])
ResponseT = TypeVar("ResponseT", bound=Response)

UNSUPPORTED = "The version of API is not supported."


def behind_feature(
    feature: str,
    handle: Callable[[Call, RequestT], Awaitable[ResponseT]],
    refuse: Callable[[RequestT, int], ResponseT],
) -> Callable[[Call, RequestT], Awaitable[ResponseT]]:
    """`handle`, or a refusal with Kafka's code while the feature is not there."""

    @wraps(handle)
    async def handle_or_refuse(call: Call, request: RequestT) -> ResponseT:
        if call.parts.cluster.features.level(feature) > 0:
            return await handle(call, request)
        return refuse(request, ErrorCode.UNSUPPORTED_VERSION)

    return handle_or_refuse
