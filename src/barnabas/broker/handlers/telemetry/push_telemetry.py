"""PushTelemetry, version 0 (KIP-714): judged as Kafka does, and let go.

Who wants to see what clients push looks at the requests themselves, by a fault's hook.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse


async def handle(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    try:
        call.parts.telemetry[call.node].push(
            call.connection,
            call.client_id,
            request.client_instance_id,
            subscription_id=request.subscription_id,
            compression_type=request.compression_type,
            metrics=request.metrics,
            terminating=request.terminating,
            max_bytes=call.parts.cluster.settings.number("telemetry.max.bytes"),
            now_ms=now_ms(),
        )
    except BrokerError as error:
        return PushTelemetryResponse(error_code=error.code)
    return PushTelemetryResponse()


HANDLER = Handler(PushTelemetryRequest, 0, 0, handle)
