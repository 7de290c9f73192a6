"""OpenTelemetry's protobuf encoding of metrics, as much of it as KIP-714 needs: sums and gauges.

Pure functions over `Metric`. The numbers of fields are those of opentelemetry/proto/metrics/v1/metrics.proto.
Knows nothing of Kafka.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal

from barnabas.values import frozen

_VARINT, _FIXED_64, _LENGTH = 0, 1, 2
_DELTA, _CUMULATIVE = 1, 2


@frozen
class Metric:
    """One figure. A `counter` only ever grows."""

    name: str
    kind: Literal["counter", "gauge"]
    value: float
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


def encode_metrics(
    metrics: Iterable[Metric],
    *,
    resource: Mapping[str, str],
    start_ns: int,
    now_ns: int,
    is_delta: bool,
) -> bytes:
    """A MetricsData message. Times are nanoseconds since 1970; `start_ns` is when counters began to count: at
    the last report with `is_delta`, else at the start of the client."""
    encoded = b"".join(
        _field(2, _metric(metric, start_ns=start_ns, now_ns=now_ns, is_delta=is_delta)) for metric in metrics
    )
    described = _field(1, b"".join(_field(1, _key_value(key, text)) for key, text in resource.items()))
    return _field(1, described + _field(2, encoded))


def _metric(metric: Metric, *, start_ns: int, now_ns: int, is_delta: bool) -> bytes:
    point = _field(1, _data_point(metric, start_ns, now_ns))
    name = _field(1, metric.name.encode())
    if metric.kind == "gauge":
        return name + _field(5, point)
    temporality = _tag(2, _VARINT) + _varint(_DELTA if is_delta else _CUMULATIVE)
    is_monotonic = _tag(3, _VARINT) + b"\x01"
    return name + _field(7, point + temporality + is_monotonic)


def _data_point(metric: Metric, start_ns: int, now_ns: int) -> bytes:
    times = _tag(2, _FIXED_64) + start_ns.to_bytes(8, "little")
    times += _tag(3, _FIXED_64) + now_ns.to_bytes(8, "little")
    if isinstance(metric.value, int):
        value = _tag(6, _FIXED_64) + struct.pack("<q", metric.value)
    else:
        value = _tag(4, _FIXED_64) + struct.pack("<d", metric.value)
    return times + value + b"".join(_field(7, _key_value(*pair)) for pair in metric.attributes.items())


def _key_value(key: str, text: str) -> bytes:
    return _field(1, key.encode()) + _field(2, _field(1, text.encode()))


def _field(number: int, content: bytes) -> bytes:
    return _tag(number, _LENGTH) + _varint(len(content)) + content


def _tag(number: int, wire_type: int) -> bytes:
    return bytes((number << 3 | wire_type,))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
