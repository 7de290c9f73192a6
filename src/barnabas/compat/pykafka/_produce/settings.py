"""The arguments of a Producer as settings of the core's.

Knows no messages. What reaches brokers, and how, is the cluster's.
"""

from __future__ import annotations

from typing import Any

from barnabas.compat.pykafka.common import CompressionType

__all__ = ["producer_settings"]

_CODECS = {
    CompressionType.NONE: "none",
    CompressionType.GZIP: "gzip",
    CompressionType.SNAPPY: "snappy",
    CompressionType.LZ4: "lz4",
}
_BATCH_BYTES = 1 << 20
# The original bounds messages alone.
_BUFFER_BYTES = 1 << 29
# What a record takes beside what a message counts as its own.
_RECORD_OVERHEAD_BYTES = 128


def producer_settings(producer: Any) -> dict[str, Any]:
    """Raises: TypeError for a codec that there is not."""
    codec = _CODECS.get(producer._compression)
    if codec is None:
        raise TypeError(f"Unknown compression: {producer._compression}")
    acks = producer._required_acks
    largest = producer._max_request_size + _RECORD_OVERHEAD_BYTES
    linger_ms = 0 if producer._min_queued_messages <= 1 else producer._linger_ms
    request_timeout_ms = max(producer._ack_timeout_ms, 1)
    tries_ms = (producer._max_retries + 1) * (request_timeout_ms + producer._retry_backoff_ms)
    return {
        **producer._cluster._core.settings(),
        "acks": "all" if acks < 0 or acks > 1 else acks,
        "enable_idempotence": False,
        "max_in_flight_requests_per_connection": 1,
        "compression": codec,
        "batch_size": min(_BATCH_BYTES, largest),
        "max_request_size": largest,
        "buffer_memory": _BUFFER_BYTES,
        "linger_ms": linger_ms,
        "retries": producer._max_retries,
        "retry_backoff_ms": producer._retry_backoff_ms,
        "request_timeout_ms": request_timeout_ms,
        "delivery_timeout_ms": int(linger_ms + tries_ms),
        "allow_auto_create_topics": False,
    }
