"""GetTelemetrySubscriptions, version 0 (KIP-714): what a client is to push, by what subscriptions match it.

No metrics where none does. A client that asks again before its push interval is over is refused, unless
subscriptions have changed.
"""

from __future__ import annotations

from barnabas.broker.client_telemetry import CODECS
from barnabas.broker.handlers.api import Call, Handler
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


async def handle(call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    telemetry = call.parts.telemetry[call.node]
    try:
        instance = telemetry.subscribe(
            call.connection, call.client_id, request.client_instance_id, now_ms=now_ms()
        )
    except BrokerError as error:
        return GetTelemetrySubscriptionsResponse(error_code=error.code)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance.instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(CODECS),
        push_interval_ms=instance.push_interval_ms,
        telemetry_max_bytes=call.parts.cluster.settings.number("telemetry.max.bytes"),
        delta_temporality=True,
        requested_metrics=sorted(instance.metrics),
    )


HANDLER = Handler(GetTelemetrySubscriptionsRequest, 0, 0, handle)
