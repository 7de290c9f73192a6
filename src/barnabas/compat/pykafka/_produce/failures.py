"""What an error of the core is to programs for pykafka that produce or consume.

No class of `barnabas.errors` leaves the facade: whoever lets an error out, or reports it, asks `failure_of`.
"""

from __future__ import annotations

from typing import Any

from barnabas import errors as own
from barnabas.compat.pykafka import exceptions

__all__ = ["failure_of", "is_of_connection"]


def failure_of(error: BaseException, info: str = "") -> Any:
    """The exception for `error`, with `info` for its text where the error is a broker's answer."""
    match error:
        case own.RecordTooLargeError():
            return exceptions.MessageSizeTooLarge(str(error))
        case own.BrokerError():
            text = f"{info} failed with error code {error.code}." if info else str(error)
            return exceptions.ERROR_CODES.get(error.code, exceptions.UnknownError)(text)
        case own.BootstrapError():
            return exceptions.NoBrokersAvailableError(
                "Unable to connect to a broker to fetch metadata. See logs."
            )
        case own.ClosedError():
            return exceptions.ProducerStoppedException(str(error))
        case own.KafkaConnectionError() | own.AuthenticationError() | own.KafkaTimeoutError():
            return exceptions.SocketDisconnectedError(str(error))
        case own.NoSuchPartitionError():
            return exceptions.UnknownTopicOrPartition(str(error))
        case own.BarnabasError():
            return exceptions.KafkaException(str(error))
        case _:
            return error


def is_of_connection(error: BaseException) -> bool:
    """Whether no broker was reached, or none answered in time."""
    kinds = (own.BootstrapError, own.KafkaConnectionError, own.AuthenticationError, own.KafkaTimeoutError)
    return isinstance(error, kinds)
