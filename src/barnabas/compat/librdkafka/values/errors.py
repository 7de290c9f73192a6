"""librdkafka's errors as Python programs see them: `KafkaError`, and the exceptions that carry one.

`kafka_error_of` says what each of Barnabas' own errors is in these terms. The constants are in `error_codes`.
Knows nothing of clients.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import builtins
import operator
from typing import Any, Self

from barnabas import errors as own
from barnabas.broker_errors import InvalidProducerEpochError, ProducerFencedError
from barnabas.compat.librdkafka.values.arguments import c_arguments
from barnabas.compat.librdkafka.values.error_codes import NAMES, TEXTS, ErrorCodes, name_of, text_of


class KafkaError(ErrorCodes):
    # The documentation is below: it lists the constants.

    __slots__ = ("_code", "_fatal", "_retriable", "_text", "_txn_requires_abort")
    __module__ = "barnabas.compat.confluent_kafka.cimpl"

    _code: int
    _text: builtins.str
    _fatal: bool
    _retriable: bool
    _txn_requires_abort: bool

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # What there is where __init__ did not run, as in the original, where it is the bits of fresh memory.
        made = super().__new__(cls)
        made._code, made._text = 0, text_of(0)
        made._fatal = made._retriable = made._txn_requires_abort = False
        return made

    @c_arguments("iziii")
    def __init__(
        self,
        error: int,
        reason: builtins.str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        self._code = error
        self._text = text_of(error) if reason is None else reason
        self._fatal = bool(fatal)
        self._retriable = bool(retriable)
        self._txn_requires_abort = bool(txn_requires_abort)

    def code(self) -> int:
        """The number of the error, one of the constants of this class."""
        return self._code

    def name(self) -> builtins.str:
        """The name of the constant, as text."""
        return name_of(self._code)

    def fatal(self) -> bool:
        """Whether the client is of no more use."""
        return self._fatal

    def retriable(self) -> bool:
        """Whether the call that failed may simply be made again."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Whether the open transaction can only be aborted. Only transactional calls say so."""
        return self._txn_requires_abort

    def __repr__(self) -> builtins.str:
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self._text}"}}'

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        # The original gives an answer here too, but leaves an exception pending that surfaces anywhere later.
        return _has_code(other) and self._code == _code_of(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._code < _code_of(other)

    def __le__(self, other: object) -> bool:
        return self._code <= _code_of(other)

    def __gt__(self, other: object) -> bool:
        return self._code > _code_of(other)

    def __ge__(self, other: object) -> bool:
        return self._code >= _code_of(other)

    def __reduce__(self) -> tuple[type[KafkaError], tuple[Any, ...]]:
        """What pickle and copy need to make another one."""
        flags = (int(self._fatal), int(self._retriable), int(self._txn_requires_abort))
        return KafkaError, (self._code, self._text, *flags)

    # Last, as it hides the built-in name from the annotations above it.
    def str(self) -> builtins.str:
        """What the error says, for people."""
        return self._text


KafkaError.__doc__ = """An error, or an event such as the end of a partition: a code, and a text for people.

It compares with codes and with other errors by its code. An exception carries it as `exception.args[0]`.

    error               one of the constants below
    reason              a text in place of the code's own
    fatal               the client is of no more use
    retriable           the call that failed may simply be made again
    txn_requires_abort  the open transaction can only be aborted

""" + "\n".join(f"{name:<40} {TEXTS[code]}" for code, name in NAMES.items())

# Programs that look for the constants look at the class itself, not at its bases.
for _value, _name in NAMES.items():
    setattr(KafkaError, _name, _value)


def _has_code(other: object) -> bool:
    return isinstance(other, KafkaError) or hasattr(other, "__index__")


def _code_of(other: Any) -> int:
    """The code that an error is compared with. Raises TypeError for what is neither an error nor a code."""
    return other._code if isinstance(other, KafkaError) else operator.index(other)


class KafkaException(Exception):
    """Carries a `KafkaError`, which is `exception.args[0]`."""

    # What the original has here, so what tracebacks show.
    __module__ = "cimpl"


class IllegalStateException(RuntimeError):
    """A ShareConsumer is not in a state that allows the call: it was closed, for instance."""

    __module__ = "cimpl"


class ConcurrentModificationException(RuntimeError):
    """A ShareConsumer was used by two threads at once."""

    __module__ = "cimpl"


# The first one that fits is taken, so subclasses stand before their bases.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (own.MissingExtraError, KafkaError._UNSUPPORTED_FEATURE),
    (own.RecordTooLargeError, KafkaError.MSG_SIZE_TOO_LARGE),
    (own.ConfigError, KafkaError._INVALID_ARG),
    (own.ClosedError, KafkaError._STATE),
    (own.TransactionStateError, KafkaError._STATE),
    (own.MisuseError, KafkaError._INVALID_ARG),
    (own.PurgedError, KafkaError._PURGE_INFLIGHT),
    (own.TransactionAbortedError, KafkaError._PURGE_QUEUE),
    (own.BootstrapError, KafkaError._ALL_BROKERS_DOWN),
    (own.KafkaConnectionError, KafkaError._TRANSPORT),
    (own.TlsError, KafkaError._SSL),
    (own.SecurityProtocolError, KafkaError._SSL),
    (own.AuthenticationError, KafkaError._AUTHENTICATION),
    (own.BufferFullError, KafkaError._QUEUE_FULL),
    (own.LogTruncationError, KafkaError._LOG_TRUNCATION),
    (own.NoCommonVersionError, KafkaError._UNSUPPORTED_FEATURE),
    (own.BrokenProtocolError, KafkaError._BAD_MSG),
    (own.CompressionError, KafkaError._BAD_COMPRESSION),
    (own.SerializationError, KafkaError._VALUE_SERIALIZATION),
    (own.ImpossibleOffsetError, KafkaError._INCONSISTENT),
    (TimeoutError, KafkaError._TIMED_OUT),
    (ConnectionError, KafkaError._TRANSPORT),
    (KeyboardInterrupt, KafkaError._INTR),
    (ValueError, KafkaError._INVALID_ARG),
    (TypeError, KafkaError._INVALID_ARG),
)


def kafka_error_of(exception: BaseException, *, transactional: bool = False) -> KafkaError:
    """What `exception` is to a program written for librdkafka.

    A broker's error keeps its code and has librdkafka's text; any other has the code that comes closest, and
    its own text. The flags retriable, fatal and txn_requires_abort are set only for the calls of a
    transactional producer, `transactional`: elsewhere librdkafka leaves them.
    """
    if isinstance(exception, KafkaException) and isinstance(exception.args[0], KafkaError):
        return exception.args[0]
    if not transactional:
        return KafkaError(*_code_and_text(exception))
    if isinstance(exception, own.TransactionFailedError):
        code, text = _code_and_text(exception)
        return KafkaError(code, text, txn_requires_abort=True)
    if isinstance(exception, ProducerFencedError | InvalidProducerEpochError):
        return KafkaError(KafkaError._FENCED, text_of(exception.code), fatal=True)
    code, text = _code_and_text(exception)
    return KafkaError(code, text, retriable=getattr(exception, "retriable", False))


def _code_and_text(exception: BaseException) -> tuple[int, str | None]:
    if isinstance(exception, own.TransactionFailedError):
        if exception.__cause__ is None:
            return KafkaError._FAIL, str(exception)
        code, text = _code_and_text(exception.__cause__)
        return code, text or str(exception)
    if isinstance(exception, own.BrokerError):
        # A release of Kafka newer than this table may know better.
        return exception.code, None if exception.code in TEXTS else str(exception)
    text = str(exception) or type(exception).__name__
    for kind, code in _CODES:
        if isinstance(exception, kind):
            return code, text
    return KafkaError._FAIL, text
