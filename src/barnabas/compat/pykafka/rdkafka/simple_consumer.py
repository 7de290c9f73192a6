"""RdKafkaSimpleConsumer: a SimpleConsumer that has librdkafka's defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.simpleconsumer import SimpleConsumer
from barnabas.compat.pykafka.utils.error_handlers import valid_int

__all__ = ["RdKafkaSimpleConsumer"]


class RdKafkaSimpleConsumer(SimpleConsumer):
    """A SimpleConsumer as `use_rdkafka` makes one."""

    def __init__(
        self,
        topic: Any,
        cluster: Any,
        consumer_group: Any = None,
        partitions: Iterable[Any] | None = None,
        fetch_message_max_bytes: int = 1024 * 1024,
        num_consumer_fetchers: int = 1,
        auto_commit_enable: bool = False,
        auto_commit_interval_ms: int = 60 * 1000,
        queued_max_messages: int = 10**5,
        fetch_min_bytes: int = 1,
        fetch_error_backoff_ms: int = 500,
        fetch_wait_max_ms: int = 100,
        offsets_channel_backoff_ms: int = 1000,
        offsets_commit_max_retries: int = 5,
        auto_offset_reset: int = OffsetType.EARLIEST,
        consumer_timeout_ms: int = -1,
        auto_start: bool = True,
        reset_offset_on_start: bool = False,
        compacted_topic: bool = False,
        generation_id: int = -1,
        consumer_id: bytes = b"",
        deserializer: Callable[[Any, Any], Any] | None = None,
        reset_offset_on_fetch: bool = True,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._fetch_error_backoff_ms = valid_int(fetch_error_backoff_ms)
        super().__init__(**given)
