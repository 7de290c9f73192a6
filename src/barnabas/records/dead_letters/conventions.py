"""What dead letters tell of where they came from and why: by the headers of those who write any, or by what
the command line names. Must not know clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from barnabas import Record
from barnabas.client.dead_letters import HEADER_PREFIX
from barnabas.records.asked import UsageError
from barnabas.records.fields import FieldPath, fields_of
from barnabas.records.texts import ReadRecord
from barnabas.types import Headers
from barnabas.values import frozen

BY_KEY = -1
"""In place of the partition of a letter that does not tell it."""
# The place of a letter in its own topic, where it does not tell that of the record: below its partition.
_PARTITION_BITS = 20
_OF_NUMBERS = (4, 8)


class Origin(NamedTuple):
    """Where a dead letter was read when it was none yet. Replays go in the order of these."""

    topic: str
    partition: int
    offset: int


@frozen
class DeadLetter:
    """What a letter tells; empty where it does not. `read_at` and `timestamp`, that of the record if the
    letter has another one, are in milliseconds since 1970. `added`: names of headers that the record did not
    have, or how they begin, with a star behind."""

    origin: Origin
    stage: str
    field: str
    error: str
    query: str
    read_at: int
    timestamp: int | None = None
    added: tuple[str, ...] = (f"{HEADER_PREFIX}*",)


class Convention(Protocol):
    def letter(self, record: Record) -> DeadLetter | None:
        """None where the record is none."""
        ...


@frozen
class HeaderNames:
    """A convention by the names of headers. Of several of one name the last counts: those before may be of
    the record itself. Partitions and offsets are text, or numbers as Java writes them."""

    topic: str
    partition: str
    offset: str
    error: str
    added: tuple[str, ...]
    stage: str = ""
    field: str = ""
    query: str = ""
    read_at: str = ""
    timestamp: str = ""

    def letter(self, record: Record | ReadRecord) -> DeadLetter | None:
        told = {name: value for name, value in record.headers if value is not None}
        try:
            origin = Origin(
                told[self.topic].decode(), number_of(told[self.partition]), number_of(told[self.offset])
            )
            read_at = number_of(told[self.read_at]) if self.read_at in told else record.timestamp
            timestamp = number_of(told[self.timestamp]) if self.timestamp in told else None
        except (KeyError, ValueError):
            return None
        stage, field, error, query = (
            told.get(name, b"").decode(errors="replace")
            for name in (self.stage, self.field, self.error, self.query)
        )
        return DeadLetter(origin, stage, field, error, query, read_at, timestamp, self.added)


def _of_spring(prefix: str) -> HeaderNames:
    return HeaderNames(
        f"{prefix}original-topic",
        f"{prefix}original-partition",
        f"{prefix}original-offset",
        "kafka_dlt-exception-message",
        (
            "kafka_dlt-*",
            "kafka_original-*",
            "kafka_exception-*",
            "retry_topic-*",
            "springDeserializerException*",
        ),
        timestamp=f"{prefix}original-timestamp",
    )


CONNECT = HeaderNames(
    f"{HEADER_PREFIX}topic",
    f"{HEADER_PREFIX}partition",
    f"{HEADER_PREFIX}offset",
    f"{HEADER_PREFIX}exception.message",
    (f"{HEADER_PREFIX}*",),
    f"{HEADER_PREFIX}stage",
    f"{HEADER_PREFIX}field",
    f"{HEADER_PREFIX}query",
    f"{HEADER_PREFIX}read.at",
)
"""Kafka Connect's (KIP-298), which `dead_letter` and the Spark source write as well."""
STREAMS = HeaderNames(
    "__streams.errors.topic",
    "__streams.errors.partition",
    "__streams.errors.offset",
    "__streams.errors.message",
    ("__streams.errors.*",),
)
"""Kafka Streams' (KIP-1034)."""
SPRING = _of_spring("kafka_dlt-")
SPRING_RETRY = _of_spring("kafka_")
"""Spring's topics to try again: its topic of dead letters names the last of them, these the first topic."""

_BY_TOPIC = {each.topic: each for each in (CONNECT, STREAMS, SPRING)}


class KnownConventions:
    """All of them: the one whose topic stands last in a letter's headers was written last."""

    def letter(self, record: Record | ReadRecord) -> DeadLetter | None:
        names = [name for name, _ in record.headers]
        last = next((_BY_TOPIC[name] for name in reversed(names) if name in _BY_TOPIC), None)
        if last is SPRING and SPRING_RETRY.topic in names:
            last = SPRING_RETRY
        return None if last is None else last.letter(record)


def own_headers(
    headers: Headers, added: tuple[str, ...] = (f"{HEADER_PREFIX}*",)
) -> list[tuple[str, bytes | None]]:
    """Those that the record had before it became a dead letter."""
    beginnings = tuple(name.removesuffix("*") for name in added if name.endswith("*"))
    return [(name, value) for name, value in headers if name not in added and not name.startswith(beginnings)]


class Told:
    """Where a letter tells something: `header:NAME`, or a field as `value.source.topic`. Raises:
    UsageError."""

    def __init__(self, text: str, option: str) -> None:
        kind, colon, name = text.partition(":")
        self.header = name if colon and kind == "header" else None
        if self.header == "":
            raise UsageError(f"{option} {text!r} names no header")
        self._path = None if self.header is not None else FieldPath(text, option)

    def of(self, record: Record) -> Any:
        """Bytes of a header, a value of JSON of a field; None where there is none."""
        if self._path is not None:
            return self._path.of(fields_of(record))
        return next((value for name, value in reversed(list(record.headers)) if name == self.header), None)


@frozen
class OwnConvention:
    """What the command line names. Without a partition keys choose it; without an offset the order is that of
    the letters."""

    topic: Told
    partition: Told | None
    offset: Told | None
    error: Told | None
    dropped: tuple[str, ...]
    """Headers that are left out as well, as `DeadLetter.added` has them."""

    def letter(self, record: Record) -> DeadLetter | None:
        topic = _text(self.topic.of(record))
        try:
            partition = BY_KEY if self.partition is None else number_of(self.partition.of(record))
            offset = self._place(record) if self.offset is None else number_of(self.offset.of(record))
        except ValueError:
            return None
        if not topic:
            return None
        error = "" if self.error is None else _text(self.error.of(record))
        added = [each.header for each in (self.topic, self.partition, self.offset, self.error) if each]
        names = tuple(name for name in added if name is not None)
        origin = Origin(topic, partition, offset)
        return DeadLetter(origin, "", "", error, "", record.timestamp, None, (*names, *self.dropped))

    @staticmethod
    def _place(record: Record) -> int:
        return (record.offset << _PARTITION_BITS) | record.partition


def own_convention(
    topic: str | None,
    partition: str | None,
    offset: str | None,
    error: str | None,
    dropped: Sequence[str],
) -> Convention:
    """What the options name, else all that are known. Raises: UsageError."""
    if topic is None:
        for name, value in (("partition", partition), ("offset", offset), ("error", error)):
            if value is not None:
                raise UsageError(f"--{name}-from means nothing without --topic-from")
        if dropped:
            raise UsageError("--drop-header means nothing without --topic-from")
        return KnownConventions()
    if offset is not None and partition is None:
        raise UsageError("--offset-from means nothing without --partition-from")
    return OwnConvention(
        Told(topic, "--topic-from"),
        None if partition is None else Told(partition, "--partition-from"),
        None if offset is None else Told(offset, "--offset-from"),
        None if error is None else Told(error, "--error-from"),
        tuple(dropped),
    )


def number_of(told: Any) -> int:
    """Of digits, of JSON, or of the four or eight bytes of Java's serializers. Raises: ValueError."""
    if isinstance(told, int) and not isinstance(told, bool):
        found = told
    elif isinstance(told, bytes) and len(told) in _OF_NUMBERS and not told.isdigit():
        found = int.from_bytes(told, signed=True)
    elif isinstance(told, str | bytes):
        found = int(told)
    else:
        raise ValueError(f"{told!r} is no number")
    if found < 0:
        raise ValueError(f"{found} is below 0")
    return found


def _text(told: Any) -> str:
    if told is None:
        return ""
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)
