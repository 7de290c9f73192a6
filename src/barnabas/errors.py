"""The error tree of Barnabas. Every error that a caller can meet descends from `BarnabasError`.

    BarnabasError
    ├── MisuseError                  the caller did something that can never work
    │   ├── ConfigError              (also a ValueError)
    │   │   ├── UnknownSettingError
    │   │   └── InvalidSettingError
    │   ├── ClosedError              the client is closed, or belongs to the process before a fork
    │   ├── MissingExtraError        (also an ImportError) an optional dependency is not installed
    │   └── RecordTooLargeError
    ├── KafkaConnectionError         (also a ConnectionError) a broker cannot be reached or hung up
    │   └── BootstrapError           none of bootstrap_servers answered
    ├── KafkaTimeoutError            (also a TimeoutError) a deadline passed
    │   └── BufferFullError          buffer_memory stayed full for max_block_ms
    ├── BrokenProtocolError          the other side sent what the protocol does not allow
    │   ├── CorruptBatchError        names topic, partition and offset
    │   └── NoCommonVersionError     no version of a request is spoken by both sides
    └── BrokerError                  an error code in a broker's answer; one subclass a code,
                                     generated from Kafka's table in `barnabas.broker_errors`

This module knows nothing of the rest of the package.
"""

from __future__ import annotations

from typing import ClassVar


class BarnabasError(Exception):
    """Base of every error raised by Barnabas."""

    retriable: ClassVar[bool] = False
    """Whether the same call may succeed when it is simply made again."""


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


class KafkaConnectionError(BarnabasError, ConnectionError):
    """A broker cannot be reached, or hung up while a request was under way."""

    retriable = True


class BootstrapError(KafkaConnectionError):
    """No server in bootstrap_servers answered."""


class KafkaTimeoutError(BarnabasError, TimeoutError):
    """A deadline passed before the work was done."""

    retriable = True


class BufferFullError(KafkaTimeoutError):
    """buffer_memory stayed full for max_block_ms."""


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


class NoCommonVersionError(BrokenProtocolError):
    """The broker and this client share no version of a request."""


class BrokerError(BarnabasError):
    """A broker answered with an error code. Subclasses: `barnabas.broker_errors`.

    `code` is Kafka's number, `name` Kafka's name (`UNKNOWN_TOPIC_OR_PARTITION`).
    """

    code: ClassVar[int] = -1
    name: ClassVar[str] = "UNKNOWN_SERVER_ERROR"
    invalid_metadata: ClassVar[bool] = False
    """Whether the client should refresh its metadata before it tries again."""
    explanation: ClassVar[str] = ""
    """What the code means and what to do, where there is more to say than its name."""

    def __init__(self, context: str = "") -> None:
        self.context = context
        text = f"{self.name} ({self.explanation})" if self.explanation else self.name
        super().__init__(f"{context}: {text}" if context else text)
