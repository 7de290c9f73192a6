"""RdKafkaSimpleConsumer: a SimpleConsumer that has librdkafka's defaults."""

from __future__ import annotations

from typing import Any

from barnabas.compat.pykafka.simpleconsumer import SimpleConsumer
from barnabas.compat.pykafka.utils.error_handlers import valid_int

__all__ = ["RdKafkaSimpleConsumer"]


class RdKafkaSimpleConsumer(SimpleConsumer):
    """A SimpleConsumer as `use_rdkafka` makes one."""

    def __init__(self, topic: Any, cluster: Any, consumer_group: Any = None, **arguments: Any) -> None:
        self._fetch_error_backoff_ms = valid_int(arguments.get("fetch_error_backoff_ms", 500))
        arguments.setdefault("queued_max_messages", 10**5)
        super().__init__(topic, cluster, consumer_group=consumer_group, **arguments)
