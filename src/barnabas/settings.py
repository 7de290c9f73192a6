"""The settings as keyword arguments, for type checkers and editors. `barnabas.config` is the table itself,
with units, defaults and meanings; a test keeps the two in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from barnabas.config import Acks, Assignor, Codec, IsolationLevel, OffsetReset, Partitioner, SecurityProtocol


class CommonSettings(TypedDict, total=False):
    """What every client takes."""

    client_id: str
    request_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    connections_max_idle_ms: int
    metadata_max_age_ms: int
    security_protocol: SecurityProtocol
    send_buffer_bytes: int
    receive_buffer_bytes: int


class ProducerSettings(CommonSettings, total=False):
    """What a Producer takes."""

    acks: Acks | int
    enable_idempotence: bool
    compression: Codec
    compression_level: int | None
    batch_size: int
    linger_ms: float
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    max_in_flight_requests_per_connection: int
    delivery_timeout_ms: int
    retries: int
    partitioner: Partitioner
    compression_type: Codec


class ConsumerSettings(CommonSettings, total=False):
    """What a Consumer takes."""

    group_instance_id: str | None
    auto_offset_reset: OffsetReset
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    partition_assignment_strategy: Sequence[Assignor] | str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    max_poll_records: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    max_partition_fetch_bytes: int
    queued_max_bytes: int
    isolation_level: IsolationLevel
    check_crcs: bool
    allow_auto_create_topics: bool
    client_rack: str | None


class AdminSettings(CommonSettings, total=False):
    """What an Admin takes."""
