"""What the kernel's RecordTeller is given: classes of futures and metadata, and which error a record has.

Knows no producer.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from barnabas._kernel import RecordTeller
from barnabas.broker_errors import MessageTooLargeError
from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka.producer.future import RecordMetadata
from barnabas.compat.kafka.structs import TopicPartition
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.failures import class_of_code, failure_of
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    ClosedError,
    RecordTooLargeError,
    TransactionAbortedError,
)

__all__ = ["record_teller"]

log = logging.getLogger("kafka.future")

_FORCED = "Producer is closed forcefully."


def record_teller() -> RecordTeller:
    return RecordTeller(
        record_metadata=RecordMetadata,
        topic_partition=TopicPartition,
        has_sizes=generation().record_metadata_has_sizes,
        error_of=_error_of,
        is_retriable=_is_retriable,
        timed_out=_timed_out,
        log_failure=_log_failure,
        partial=partial,
        awaited=Future.__await__,
        has_attributes=generation().futures_have_attributes,
    )


def _error_of(error: BaseException) -> Any:
    if isinstance(error, ClosedError):
        return Errors.IllegalStateError(_FORCED)
    if isinstance(error, TransactionAbortedError):
        if isinstance(error.__cause__, BarnabasError):
            return _error_of(error.__cause__)
        name, *texts = generation().aborted_record
        return getattr(Errors, name)(*texts)
    if isinstance(error, BrokerError | RecordTooLargeError):
        code = error.code if isinstance(error, BrokerError) else MessageTooLargeError.code
        return class_of_code(code)(*generation().batch_error_arguments)
    return failure_of(error)


def _is_retriable(error: BaseException) -> bool:
    return Future().failure(error).retriable()


def _timed_out(timeout: float) -> Exception:
    return Errors.KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.")


def _log_failure(kind: str, error: BaseException) -> None:
    log.error("Error processing %s", kind, exc_info=error)
