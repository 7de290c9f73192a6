"""RdKafkaProducer: a Producer that has librdkafka's defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.compat.pykafka.common import CompressionType
from barnabas.compat.pykafka.producer import Producer

__all__ = ["RdKafkaProducer"]


class RdKafkaProducer(Producer):
    """A Producer as `use_rdkafka` makes one: it blocks while its queue is full, and lingers for less."""

    def __init__(
        self,
        cluster: Any,
        topic: Any,
        partitioner: Any = None,
        compression: int = CompressionType.NONE,
        max_retries: int = 3,
        retry_backoff_ms: int = 100,
        required_acks: int = 1,
        ack_timeout_ms: int = 10 * 1000,
        max_queued_messages: int = 100000,
        min_queued_messages: int = 2000,
        linger_ms: int = 5 * 1000,
        max_request_size: int = 1000012,
        sync: bool = False,
        delivery_reports: bool = False,
        auto_start: bool = True,
        serializer: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)
