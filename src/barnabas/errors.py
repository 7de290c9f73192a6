"""The error tree of Barnabas. Every error that a caller can meet descends from `BarnabasError`.

    BarnabasError
    ├── MisuseError                  the caller did something that can never work
    │   ├── ConfigError              (also a ValueError)
    │   │   ├── UnknownSettingError
    │   │   └── InvalidSettingError
    │   ├── ClosedError              the client is closed, or belongs to the process before a fork
    │   ├── MissingExtraError        (also an ImportError) an optional dependency is not installed
    │   ├── RecordTooLargeError
    │   ├── UnusableRecordError       (also a ValueError) no topic takes such a record
    │   │   └── NoSuchPartitionError     the topic has no partition of that number
    │   └── TransactionStateError    the transaction is not in a state that allows the call
    ├── TransactionFailedError       something in the transaction failed: abort it, then begin another one
    ├── SerializationError           a value does not fit its schema, or bytes are not of it
    ├── PurgedError                  a record was thrown away by Producer.purge
    ├── TransactionAbortedError      a record was not sent, since its transaction was aborted
    ├── KafkaConnectionError         (also a ConnectionError) a broker cannot be reached or hung up
    │   └── BootstrapError           none of bootstrap_servers answered
    ├── AuthenticationError          client and broker cannot prove to each other who they are
    │   ├── SaslAuthenticationError  wrong user, password or token
    │   ├── SaslMechanismError       the broker does not offer sasl_mechanism, or no SASL at all
    │   ├── CredentialsError         there is no token or key to show: nothing was sent
    │   ├── SecurityProtocolError    one side speaks TLS and the other does not
    │   └── TlsError                 the TLS handshake failed
    │       ├── CertificateExpiredError
    │       ├── CertificateNotTrustedError
    │       ├── HostNameError        the broker's certificate is for other names
    │       └── ClientCertificateError   the broker wants a client certificate, or another one
    ├── KafkaTimeoutError            (also a TimeoutError) a deadline passed
    │   └── BufferFullError          buffer_memory stayed full for max_block_ms
    ├── LogTruncationError           a partition lost records that were read; names topic, partition, offset
    ├── BrokenProtocolError          the other side sent what the protocol does not allow
    │   ├── CorruptBatchError        names topic, partition and offset
    │   └── NoCommonVersionError     no version that can carry the request is spoken by both sides
    └── BrokerError                  an error code in a broker's answer; one subclass a code,
        │                            generated from Kafka's table in `barnabas.broker_errors`
        └── GroupRebalancedError     the group went on without the member: five codes descend from it

This module knows nothing of the rest of the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from barnabas.values import frozen


@frozen
class Outcome:
    """The outcome of each item of a call that took several: what the call would have given, and errors. Every
    item is in one of the two, under the key that the call's result has for it."""

    results: Mapping[Any, Any]
    errors: Mapping[Any, BarnabasError]


class BarnabasError(Exception):
    """Base of every error raised by Barnabas."""

    retriable: ClassVar[bool] = False
    """Whether the same call may succeed when it is simply made again."""

    outcome: Outcome | None = None
    """On an error of a call of Admin that took several items: the outcome of each of them."""


class MisuseError(BarnabasError):
    """The caller did something that cannot work in the present state."""


class ConfigError(MisuseError, ValueError):
    """A setting is unknown, malformed or contradicts another one."""


class UnknownSettingError(ConfigError):
    """A setting of this name does not exist; the message names the nearest one that does."""


class InvalidSettingError(ConfigError):
    """A setting has a value outside its type or range."""


class ClosedError(MisuseError):
    """The client was closed before, or was made in the parent of a forked process."""


class MissingExtraError(MisuseError, ImportError):
    """An optional dependency is missing; the message gives the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra that is not installed: pip install 'barnabas[{extra}]'")
        self.extra = extra


class RecordTooLargeError(MisuseError):
    """A record alone is larger than max_request_size or than the broker's limit."""


class UnusableRecordError(MisuseError, ValueError):
    """No topic takes such a record: its timestamp is before 1970, for instance, or Arrow columns are not
    those of records."""


class NoSuchPartitionError(UnusableRecordError):
    """The topic has no partition of the number that the record names, nor was one added of late."""


class SerializationError(BarnabasError):
    """A value does not fit the schema that it is to be written with, or bytes are not of the schema that they
    are to be read with. The message names the field."""


class CompressionError(BarnabasError):
    """A batch could not be compressed. Its records are not sent; the error is this library's."""


class TransactionStateError(MisuseError):
    """A call of the producer does not fit the state of its transaction: to begin one within another, to send
    outside of one. The message says what to call first. Nothing has changed."""


class TransactionFailedError(BarnabasError):
    """Something in the open transaction failed, `__cause__` says what: it can only be aborted. After
    `abort_transaction` the producer is as good as before, and another transaction may begin."""


class PurgedError(BarnabasError):
    """The record was thrown away by `Producer.purge`. One that was on its way (`was_in_flight`) may have been
    stored."""

    def __init__(self, message: str = "", *, was_in_flight: bool = False) -> None:
        super().__init__(message)
        self.was_in_flight = was_in_flight


class TransactionAbortedError(BarnabasError):
    """The record was not sent, as its transaction was aborted first."""


class KafkaConnectionError(BarnabasError, ConnectionError):
    """A broker cannot be reached, or hung up while a request was under way."""

    retriable = True
    request_bytes: int | None = None
    """The size in bytes of the request that the broker was to answer next when it closed the connection, as
    socket.request.max.bytes counts it. None where no request was under way, or the broker closed nothing."""


class BootstrapError(KafkaConnectionError):
    """No server in bootstrap_servers answered."""


class AuthenticationError(BarnabasError):
    """Client and broker cannot prove to each other who they are. The same try would fail again."""


class SaslAuthenticationError(AuthenticationError):
    """The broker refused the user, password or token, or could not prove that it knows the password.

    reason  the broker's own words, if it had any
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class SaslMechanismError(AuthenticationError):
    """The broker does not offer the sasl_mechanism. `offered` has those that it does offer."""

    def __init__(self, message: str, offered: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.offered = tuple(offered)


class CredentialsError(AuthenticationError):
    """There is nothing to authenticate with: no token, no key, or whoever issues them refused."""


class SecurityProtocolError(AuthenticationError):
    """One side speaks TLS and the other one does not: check security_protocol and the port."""


class TlsError(AuthenticationError):
    """The TLS handshake failed."""


class CertificateExpiredError(TlsError):
    """The broker's certificate has expired, or is not valid yet."""


class CertificateNotTrustedError(TlsError):
    """No authority in the trust store vouches for the broker's certificate."""


class HostNameError(TlsError):
    """The broker's certificate is for other host names. `names` has them, if they could be read."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class ClientCertificateError(TlsError):
    """The broker wants a certificate of the client, or refused the one it got."""


class KafkaTimeoutError(BarnabasError, TimeoutError):
    """A deadline passed before the work was done."""

    retriable = True


class BufferFullError(KafkaTimeoutError):
    """buffer_memory stayed full for max_block_ms."""


class LogTruncationError(BarnabasError):
    """A partition's log was cut off behind our back, by an unclean leader election for instance: records that
    were read are not in it any more, and others may stand at their offsets (KIP-320). Raised only with
    auto_offset_reset='none'; otherwise reading goes on where the logs part.

    `offset` is the position that was reached. `diverging_offset` is the first offset from which on what was
    read may not be what the log holds, or None where no broker knows.
    """

    def __init__(self, topic: str, partition: int, offset: int, diverging_offset: int | None) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.diverging_offset = diverging_offset
        where = "somewhere before" if diverging_offset is None else f"at offset {diverging_offset}, before"
        target = "a position of your choice" if diverging_offset is None else f"offset {diverging_offset}"
        super().__init__(
            f"{topic}-{partition}: the log was truncated {where} the position {offset}, and "
            f"auto_offset_reset is 'none': undo what was read from there on if need be, and seek to {target}"
        )


class BrokenProtocolError(BarnabasError):
    """The other side sent bytes or an answer that the protocol does not allow."""


class CorruptBatchError(BrokenProtocolError):
    """A record batch cannot be read: bad checksum, impossible length, unknown codec, decompression bomb.

    `topic` and `partition` are None where the batch did not come from a partition.
    `offset` is the base offset that the batch claims, or the offset where it should have begun.
    """

    def __init__(self, reason: str, topic: str | None = None, partition: int | None = None, offset: int = -1):
        self.reason = reason
        self.topic = topic
        self.partition = partition
        self.offset = offset
        where = "" if topic is None else f"{topic}-{partition} at offset {offset}: "
        super().__init__(where + reason)


class ImpossibleOffsetError(BarnabasError):
    """An offset was to be stored as read that cannot be: of a partition that is not assigned, before what was
    read already, or behind the end of the partition. It is not stored. A fault of Barnabas itself."""


class NoCommonVersionError(BrokenProtocolError):
    """The broker and this client share no version of a request, or none that can carry what was asked for."""


class BrokerError(BarnabasError):
    """A broker answered with an error code. Subclasses: `barnabas.broker_errors`.

    `code` is Kafka's number, `name` Kafka's name (`UNKNOWN_TOPIC_OR_PARTITION`), `context` what was tried,
    and `reason` the broker's own words, None where it had none. In the text these stand in place of what the
    explanation says the code means, unless they only say its name; advice stays, if `advice` is not given.
    """

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    invalid_metadata: ClassVar[bool] = False
    """Whether the client should refresh its metadata before it tries again."""
    explanation: ClassVar[str] = ""
    """What the code means and, behind a semicolon, what to do, where there is more to say than its name."""

    def __init__(self, context: str = "", reason: str | None = None, *, advice: str | None = None) -> None:
        self.context = context
        self.reason = reason or None
        meaning, _, usual = self.explanation.partition("; ")
        if reason and not _is_name(reason, self.name):
            meaning = reason
        advice = usual if advice is None else advice
        told = f"{meaning.rstrip('. ')}; {advice}" if meaning and advice else meaning or advice
        text = f"{self.name} ({told})" if told else self.name
        super().__init__(f"{context}: {text}" if context else text)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made anew of their text otherwise, which would be told twice.
        return _unpickled, (type(self), self.args), self.__dict__


class GroupRebalancedError(BrokerError):
    """The group has rebalanced: this member may no longer belong to it, and its partitions may be assigned to
    another member. Base of the five codes that say so: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH and FENCED_MEMBER_EPOCH.

    A commit raises it, and `send_offsets_to_transaction` has it as the `__cause__` of its error. The offsets
    are not stored: whoever has the partitions now reads the records again. Poll to join again.
    """


def _unpickled(kind: type[BrokerError], arguments: tuple[Any, ...]) -> BrokerError:
    error = kind()
    error.args = arguments
    return error


def _is_name(reason: str, name: str) -> bool:
    """Whether it is no more than the name in words, as "Topic authorization failed."."""
    return reason.rstrip(".").replace(" ", "_").upper() == name
