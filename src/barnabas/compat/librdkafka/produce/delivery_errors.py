"""What a delivery report says of a message that was not delivered. Knows only errors."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.errors import ClosedError, KafkaTimeoutError, PurgedError, TransactionAbortedError


def delivery_error(cause: BaseException | int) -> KafkaError:
    """The error of a report, with librdkafka's own text. `cause` is what the batch failed with, or a code."""
    return KafkaError(cause if isinstance(cause, int) else _code_of(cause))


def _code_of(cause: BaseException) -> int:
    match cause:
        case PurgedError():
            return KafkaError._PURGE_INFLIGHT if cause.was_in_flight else KafkaError._PURGE_QUEUE
        case TransactionAbortedError() | ClosedError():
            return KafkaError._PURGE_QUEUE
        case KafkaTimeoutError():
            return KafkaError._MSG_TIMED_OUT
        case _:
            return kafka_error_of(cause).code()
