"""The errors that batches fail with where no broker says why."""

from __future__ import annotations

from barnabas.client.cluster.counted import records_were
from barnabas.client.produce.partition_queue import PartitionQueue, PendingBatch
from barnabas.errors import BarnabasError, KafkaConnectionError, KafkaTimeoutError, RecordTooLargeError


def expired_error(
    queue: PartitionQueue, pending: PendingBatch, delivery_timeout_ms: int, *, has_leader: bool
) -> KafkaTimeoutError:
    """For a batch that was not delivered within its time."""
    reason = f"; the last error was: {pending.last_error}" if pending.last_error else ""
    if not reason and not has_leader:
        reason = "; the partition has no leader"
    error = KafkaTimeoutError(
        f"{queue.partition}: {records_were(pending.record_count)} not delivered within "
        f"delivery_timeout_ms={delivery_timeout_ms}{reason}"
    )
    error.__cause__ = pending.last_error
    return error


def too_large_error(
    queue: PartitionQueue, pending: PendingBatch, error: BarnabasError
) -> RecordTooLargeError:
    """For a batch of one record that the broker refused with `error`."""
    too_large = RecordTooLargeError(
        f"{queue.partition}: a record of {pending.size} bytes is larger than the topic takes: "
        "raise its max.message.bytes (or the broker's message.max.bytes), or send less"
    )
    too_large.__cause__ = error
    return too_large


def unended_error() -> BarnabasError:
    """For what is in doubt."""
    return KafkaConnectionError(
        "an exception, as the handler of a signal raises it, ended a step of the producer, which has closed "
        "its connections: the record may be stored"
    )
