"""The errors that batches fail with where no broker says why."""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.errors import BarnabasError, KafkaConnectionError, KafkaTimeoutError, RecordTooLargeError
from barnabas.wording import records_were

# A broker that closes the connection upon a smaller request has most likely other reasons, the first time.
SUSPECT_REQUEST_BYTES = 65_536


def expired_error(
    queue: PartitionQueue, pending: PendingBatch, delivery_timeout_ms: int, client: KafkaClient
) -> KafkaTimeoutError:
    """For a batch that was not delivered within its time."""
    leader_id = client.metadata.leader(queue.partition)
    leader = client.node(leader_id) or f"node {leader_id}"
    # While the leader cannot be reached, that is later than what came back of the batch itself.
    connect_error = client.connect_error(leader_id)
    if connect_error is not None:
        reason = f"; the last error was: cannot connect to the leader, {leader}: {connect_error}"
    elif pending.last_error is not None:
        reason = f"; the last error was: {pending.last_error}"
    elif leader_id < 0:
        reason = "; the partition has no leader"
    else:
        reason = "" if pending.attempts else f"; nothing was sent to the leader, {leader}"
    error = KafkaTimeoutError(
        f"{queue.partition}: {records_were(pending.record_count)} not delivered within "
        f"delivery_timeout_ms={delivery_timeout_ms}{reason}"
    )
    error.__cause__ = connect_error or pending.last_error
    return error


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
