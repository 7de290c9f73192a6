"""What each error of the core is to programs for kafka-python.

No class of `barnabas.errors` leaves the facade: whoever lets an error out, or puts it into a future, asks
`failure_of`. The classes are in `errors`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from barnabas import errors as own
from barnabas.broker_errors import (
    BY_CODE,
    IllegalGenerationError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES, kafka_errors
from barnabas.compat.kafka_engine.values.structs import STRUCTS

__all__ = ["as_programs_know", "class_of_code", "commit_failure_of", "failure_of", "no_brokers", "no_offset"]

P = ParamSpec("P")
T = TypeVar("T")

_NO_MEMBER_ANY_MORE = {
    each.code
    for each in (
        *(IllegalGenerationError, RebalanceInProgressError, StaleMemberEpochError),
        UnknownMemberIdError,
    )
}
COMMIT_FAILED_OF_1 = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to "
    "another member. This means that the time between subsequent calls to poll() was longer than the "
    "configured session.timeout.ms, which typically implies that the poll loop is spending too much time "
    "message processing. You can address this either by increasing the session timeout or by reducing the "
    "maximum size of batches returned in poll() with max.poll.records."
)
"""What kafka-python 1.2 says of it, word for word."""

_NAMES: dict[type[own.BarnabasError], str] = {
    own.ConfigError: "KafkaConfigurationError",
    own.ClosedError: "IllegalStateError",
    own.RecordTooLargeError: "MessageSizeTooLargeError",
    own.TransactionStateError: "KafkaError",
    own.TransactionFailedError: "KafkaError",
    own.MisuseError: "IllegalStateError",
    own.TransactionAbortedError: "TransactionAbortedError",
    own.KafkaConnectionError: "KafkaConnectionError",
    own.SaslAuthenticationError: "SaslAuthenticationFailedError",
    own.SaslMechanismError: "UnsupportedSaslMechanismError",
    own.AuthenticationError: "KafkaConnectionError",
    own.KafkaTimeoutError: "KafkaTimeoutError",
    own.CorruptBatchError: "CorruptRecordError",
    own.NoCommonVersionError: "IncompatibleBrokerVersion",
    own.BrokenProtocolError: "KafkaProtocolError",
    own.BarnabasError: "KafkaError",
}
"""The class that takes the place of each; where there is none, that of the nearest base."""


def failure_of(error: BaseException, *args: Any) -> Any:
    """The exception that a program is to see for an error: one of this generation's where it is the core's,
    and otherwise the error itself, which some function of the program raised.

    `args`: the new exception's arguments in place of the core's text, where the original says something else
    that programs would look for.
    """
    if not isinstance(error, own.BarnabasError):
        return error
    match error:
        case own.BrokerError():
            reason = f"({error.reason})" if error.reason else ""
            text = " ".join(filter(None, (error.context, reason)))
            return class_of_code(error.code)(*(args or ((text,) if text else ())))
        case own.BootstrapError():
            return no_brokers(*args) if args else CLASSES[generation().no_brokers[0]](str(error))
        case own.NoSuchPartitionError():
            return AssertionError(*(args or ("Unrecognized partition",)))
        case own.UnusableRecordError():
            return ValueError(*(args or (str(error),)))
        case own.MissingExtraError():
            return ImportError(*(args or (str(error),)))
        case own.LogTruncationError():
            return _log_truncation(error)
        case _:
            name = next(_NAMES[each] for each in type(error).__mro__ if each in _NAMES)
            return CLASSES[name](*(args or (str(error),)))


def commit_failure_of(error: BaseException) -> Any:
    """`failure_of`, for what a commit raised: who is no member any more is told so by a CommitFailedError."""
    match error:
        case own.BrokerError() if error.code in _NO_MEMBER_ANY_MORE:
            commit_failed = CLASSES["CommitFailedError"]
            if generation().commit_failures_tell_why:
                return commit_failed(class_of_code(error.code)())
            return commit_failed(COMMIT_FAILED_OF_1)
        case _:
            return failure_of(error)


def as_programs_know(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose errors of the core are those of the chosen generation."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except own.BarnabasError as error:
            raise failure_of(error) from error

    return call


def no_offset(partition: Any) -> Any:
    """What is raised for a TopicPartition without a committed offset, when there is no reset either."""
    tells_a_set = generation().missing_offsets_are_a_set
    return CLASSES["NoOffsetForPartitionError"]({partition} if tells_a_set else partition)


def no_brokers(bootstrap_servers: Any) -> Any:
    """What is raised when none of `bootstrap_servers` answers, which are told as the program gave them."""
    name, *texts = generation().no_brokers
    return CLASSES[name](*(text.format(servers=bootstrap_servers) for text in texts))


@cache
def class_of_code(code: int) -> Any:
    """The class of the error that a broker answers by that code. A code that this generation does not know is
    an UnknownError with that code and what there is to say of it."""
    known = kafka_errors.get(code)
    if known is not None:
        return known
    unknown = CLASSES["UnknownError"]
    attributes = {
        "__module__": unknown.__module__,
        "errno": code,
        "message": BY_CODE[code].name if code in BY_CODE else unknown.message,
        "description": BY_CODE.get(code, own.BrokerError).explanation or unknown.description,
    }
    for later in CLASSES.values():
        if getattr(later, "errno", None) == code:
            attributes |= {"message": later.message, "description": later.description}
    return type("UnrecognizedBrokerError", (unknown,), attributes)


def _log_truncation(error: own.LogTruncationError) -> Any:
    partition = STRUCTS["TopicPartition"](error.topic, error.partition)
    if not generation().truncated_logs_are_told:
        return CLASSES["OffsetOutOfRangeError"]({partition: error.offset})
    offset = error.diverging_offset
    divergence = None if offset is None else STRUCTS["OffsetAndMetadata"](offset, "", -1)
    return CLASSES["LogTruncationError"]({partition: divergence})
