"""The errors that batches fail with where no broker says why."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.errors import BarnabasError, KafkaConnectionError, KafkaTimeoutError, RecordTooLargeError
from barnabas.wording import counted, records_were

# A broker that closes the connection upon a smaller request has most likely other reasons, the first time.
SUSPECT_REQUEST_BYTES = 65_536


def expired_error(
    queue: PartitionQueue, pending: PendingBatch, delivery_timeout_ms: int, client: KafkaClient
) -> KafkaTimeoutError:
    """For a batch that was not delivered within its time."""
    reason, cause = _delay(queue, pending, client)
    error = KafkaTimeoutError(
        f"{queue.partition}: {records_were(pending.record_count)} not delivered within "
        f"delivery_timeout_ms={delivery_timeout_ms}{reason and f'; {reason}'}"
    )
    error.__cause__ = cause
    return error


def delay(queues: Iterable[PartitionQueue], client: KafkaClient) -> str:
    """Why records are not delivered yet, as the end of a sentence; empty where nothing is known but that it
    takes time."""
    delayed: list[tuple[PartitionQueue, str]] = []
    for queue in queues:
        oldest = min([*queue.waiting, *queue.in_flight], default=None)
        if oldest is not None and (reason := _delay(queue, oldest, client)[0]):
            delayed.append((queue, reason))
    if not delayed:
        return ""
    [(queue, reason), *others] = delayed
    more = f" ({counted(len(others), 'partition')} more wait)" if others else ""
    return f"; {queue.partition}: {reason}{more}"


def _delay(
    queue: PartitionQueue, pending: PendingBatch, client: KafkaClient
) -> tuple[str, BarnabasError | None]:
    """Why a batch is not delivered yet, empty where it is only under way, and the error behind that."""
    leader_id = client.metadata.leader(queue.partition)
    leader = client.node(leader_id) or f"node {leader_id}"
    # While the leader cannot be reached, that is later than what came back of the batch itself.
    connect_error = client.connect_error(leader_id)
    if connect_error is not None:
        return f"the last error was: cannot connect to the leader, {leader}: {connect_error}", connect_error
    if pending.last_error is not None:
        return f"the last error was: {pending.last_error}", pending.last_error
    if leader_id < 0:
        return "the partition has no leader", None
    return "" if pending.attempts else f"nothing was sent to the leader, {leader}", None


def unanswered_error(pending: PendingBatch, error: BarnabasError) -> BarnabasError:
    """For a batch whose request was not answered because of `error`. Where the broker closed the connection,
    this says upon which request: that is how a broker refuses one that is larger than it takes."""
    size = error.request_bytes if isinstance(error, KafkaConnectionError) else None
    if size is None:
        return error
    advice = ""
    if size >= SUSPECT_REQUEST_BYTES or pending.hang_ups:
        advice = (
            f"; a broker does so if its socket.request.max.bytes is less than {size}: raise that, or lower "
            "max_request_size and batch_size of the producer"
        )
    pending.hang_ups += 1
    told = KafkaConnectionError(f"{error}, when it was to answer a request of {size} bytes{advice}")
    told.request_bytes = size
    told.__cause__ = error
    return told


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
