"""Requests of clients under quotas: what they cost, and how long their connection then stays mute (KIP-219).

Owns the order of measuring. Only used while there are quotas. A fetch is measured by its handler, since what
is too much is not told; so are mutations, which may be refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, NoReturn

from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.handlers.api import Call
from barnabas.broker.quotas.busy_time import BusyTime
from barnabas.broker.quotas.client_quotas import PRODUCER_BYTE_RATE
from barnabas.broker.quotas.client_throttle import QuotaUsedUpError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.schema import Request


async def answer(call: Call, request: Request[Any], answering: Awaitable[Any]) -> Any:
    """The answer, told how long the client has to wait; the connection makes sure that it does."""
    throttle, connection = call.parts.throttle, call.connection
    connection.throttle_ms = 0
    busy = BusyTime(answering)
    response = await busy
    delay_ms = max(connection.throttle_ms, throttle.charge_time(call, busy.nanoseconds))
    if isinstance(request, ProduceRequest):
        delay_ms = max(delay_ms, throttle.charge(PRODUCER_BYTE_RATE, call, connection.request_bytes))
    connection.throttle_ms = delay_ms
    if delay_ms and hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = delay_ms
    return response


async def refuse(connection: ClientConnection) -> NoReturn:
    """Holds a connection for its time, and ends it. Raises: DisconnectError."""
    await asyncio.sleep(connection.refused_for_ms / 1000)
    raise DisconnectError("its address makes more connections than its quota allows")


def charge_mutations(call: Call, count: int, *, strict_from: int) -> None:
    """For partitions to be created or deleted. Raises: ThrottlingQuotaExceededError, from a version on."""
    connection = call.connection
    try:
        delay_ms = call.parts.throttle.charge_mutations(call, count, is_strict=call.version >= strict_from)
    except QuotaUsedUpError as error:
        connection.throttle_ms = max(connection.throttle_ms, error.delay_ms)
        raise
    connection.throttle_ms = max(connection.throttle_ms, delay_ms)
