"""The classes of `kafka.errors`, made from the table of the chosen generation.

Names of other generations are there too: where this one only calls the class by another name, they mean that
class. Which of the core's errors becomes which of these is in `failures`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from barnabas.compat.kafka_engine.generations import GENERATIONS, generation
from barnabas.compat.kafka_engine.generations.errors import SAME_ERRORS, ErrorClass, Kind

__all__ = [
    "CLASSES",
    "PUBLIC_NAMES",
    "RETRY_BACKOFF_ERROR_TYPES",
    "RETRY_ERROR_TYPES",
    "RETRY_REFRESH_ERROR_TYPES",
    "KafkaError",
    "check_error",
    "for_code",
    "kafka_errors",
]

_HOME = "barnabas.compat.kafka.errors"

_own_rows = {row.name: row for row in generation().errors}
if TYPE_CHECKING:
    _Root = Exception
else:
    _Root = getattr(builtins, _own_rows["KafkaError"].parent)


class KafkaError(_Root):
    """Base of all errors of this package."""

    __module__ = _HOME
    retriable = False
    """Whether the same call may succeed when it is made again."""
    invalid_metadata = False
    """Whether the metadata should be refreshed first."""

    def __str__(self) -> str:
        chosen = generation()
        template = chosen.error_text_with_arguments if self.args else chosen.error_text
        return template.format(name=type(self).__name__, arguments=super().__str__())

    def __eq__(self, other: object) -> bool:
        if not generation().errors_are_equal_by_arguments:
            return self is other
        return self.__class__ == other.__class__ and self.args == getattr(other, "args", None)

    def __hash__(self) -> int:
        # Arguments may be lists.
        return hash(self.__class__)


class BrokerResponseError(KafkaError):
    """A broker answered with an error code."""

    __module__ = _HOME
    errno: int | None = None
    """Kafka's error code."""
    message: str | None = None
    """Kafka's name for the code."""
    description: str | None = None

    def __str__(self) -> str:
        return generation().broker_error_text.format(
            name=type(self).__name__, errno=self.errno, description=self.description, text=super().__str__()
        )


class CommitFailedError(KafkaError):
    """Offsets were not committed, since other members have the partitions by now."""

    __module__ = _HOME

    def __init__(self, *args: Any) -> None:
        text = generation().commit_failed_text
        super().__init__(*(args or (() if text is None else (text,))))


class FailedPayloadsError(KafkaError):
    """Of a SimpleClient's requests, `payload` did not get through."""

    __module__ = _HOME

    def __init__(self, payload: Any, *args: Any) -> None:
        super().__init__(*args)
        self.payload = payload


class AsyncProducerQueueFull(KafkaError):
    """The queue of an asynchronous SimpleProducer had no room for `failed_msgs`."""

    __module__ = _HOME

    def __init__(self, failed_msgs: Any, *args: Any) -> None:
        super().__init__(*args)
        self.failed_msgs = failed_msgs


class LogTruncationError(KafkaError):
    """A partition's log was cut off below the position that the consumer had reached: what it read from there
    on is not in it any more (KIP-320). `divergent_offsets` has the OffsetAndMetadata to seek to by its
    TopicPartition, or None where no broker knows one."""

    __module__ = _HOME

    def __init__(self, divergent_offsets: Any, *args: Any) -> None:
        super().__init__(*(args or (f"Detected truncated partitions: {divergent_offsets}",)))
        self.divergent_offsets = divergent_offsets


CLASSES: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(KafkaError, BrokerResponseError, CommitFailedError, FailedPayloadsError, AsyncProducerQueueFull),
        LogTruncationError,
    )
}
"""By each of their names, in this generation and in others."""

_BASES_OF_KINDS = {
    Kind.RETRIABLE: "RetriableError",
    Kind.STALE: "InvalidMetadataError",
    Kind.UNAUTHORIZED: "AuthorizationError",
}
_FLAGS_OF_KINDS = {
    Kind.RETRIABLE: {"retriable": True},
    Kind.STALE: {"retriable": True, "invalid_metadata": True},
    Kind.OUTDATED: {"invalid_metadata": True},
}


def _bases_of(row: ErrorClass) -> tuple[str, ...]:
    chosen = generation()
    unauthorized = row.kind is Kind.UNAUTHORIZED
    has_base = (
        chosen.authorization_errors_have_a_base if unauthorized else chosen.errors_of_a_kind_have_a_base
    )
    base = _BASES_OF_KINDS.get(row.kind) if has_base else None
    if base is None or base == row.name:
        return (row.parent,)
    # The bases of kinds are KafkaErrors already, and AuthorizationError what brokers answer as well.
    return (base,) if unauthorized or row.parent == "KafkaError" else (base, row.parent)


def _attributes_of(row: ErrorClass) -> dict[str, Any]:
    texts = {"errno": row.errno, "message": row.message, "description": row.description}
    return _FLAGS_OF_KINDS.get(row.kind, {}) | {
        name: text for name, text in texts.items() if text is not None
    }


def _make_all() -> None:
    # What an older generation has is like the newest one that has it.
    rows = {row.name: row for each in GENERATIONS.values() for row in each.errors} | _own_rows
    aliases = {row.alias: row.name for row in _own_rows.values() if row.alias is not None}
    for names in SAME_ERRORS:
        here = [name for name in names if name in _own_rows]
        aliases |= {name: here[0] for name in names if name not in _own_rows}

    def named(name: str) -> Any:
        name = aliases.get(name, name)
        if name not in CLASSES:
            row = rows[name]
            bases = tuple(map(named, _bases_of(row)))
            CLASSES[name] = type(name, bases, {"__module__": _HOME, **_attributes_of(row)})
        return CLASSES[name]

    for name in (*rows, *aliases):
        CLASSES[name] = named(name)


_make_all()

PUBLIC_NAMES = [
    *("for_code", "kafka_errors", *generation().more_names_of_errors),
    *(name for row in _own_rows.values() for name in (row.name, row.alias) if name is not None),
]
"""What `from kafka.errors import *` gives."""

kafka_errors: dict[int | None, Any] = {
    CLASSES[name].errno: CLASSES[name]
    for name in sorted(_own_rows)
    if issubclass(CLASSES[name], BrokerResponseError) and CLASSES[name] is not BrokerResponseError
}
"""The classes of errors that brokers answer, by their codes."""


def for_code(error_code: int) -> Any:
    """The class of the error that brokers answer by that code."""
    if error_code in kafka_errors or not generation().unknown_codes_have_a_class:
        return kafka_errors.get(error_code, CLASSES["UnknownError"])
    # Brokers may be newer than the table. Whoever handles errors by their number can still tell.
    return type(
        "UnrecognizedBrokerError", (CLASSES["UnknownError"],), {"__module__": _HOME, "errno": error_code}
    )


def check_error(response: Any) -> None:
    """Raises a response that is an exception itself, and one that has an error code as that error."""
    if isinstance(response, Exception):
        raise response
    if response.error:
        raise kafka_errors.get(response.error, CLASSES["UnknownError"])(response)


RETRY_BACKOFF_ERROR_TYPES = tuple(
    CLASSES[name]
    for name in (
        *("KafkaUnavailableError", "LeaderNotAvailableError", "ConnectionError", "FailedPayloadsError"),
    )
)
"""What a SimpleProducer sends again after a pause."""
RETRY_REFRESH_ERROR_TYPES = tuple(
    CLASSES[name]
    for name in (
        *("NotLeaderForPartitionError", "UnknownTopicOrPartitionError", "LeaderNotAvailableError"),
        "ConnectionError",
    )
)
"""What a SimpleProducer asks for metadata after."""
RETRY_ERROR_TYPES = RETRY_BACKOFF_ERROR_TYPES + RETRY_REFRESH_ERROR_TYPES
