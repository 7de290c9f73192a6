"""Dead letters: records that could not be processed, with headers that say where they come from and why.

The headers are those of Kafka Connect (KIP-298), which other tools know, and `read.at`. Must not know
clients.
"""

from __future__ import annotations

import traceback
from typing import Protocol, TypedDict

from barnabas._kernel import Record
from barnabas.clock import CLOCK
from barnabas.types import Headers

HEADER_PREFIX = "__connect.errors."


class WithBytes(Protocol):
    """A Record or a ShareRecord, of a consumer with deserializers or without."""

    @property
    def raw(self) -> Record: ...


class DeadLetterArguments(TypedDict):
    """The arguments for `send` of a producer."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: Headers
    timestamp: int | None


def dead_letter(record: WithBytes, error: BaseException | str, *, topic: str) -> DeadLetterArguments:
    """Makes a dead letter of a record that could not be processed. It is sent by
    `producer.send(**dead_letter(record, error, topic="orders-dead"))`, with `await` in asyncio.

    It has the record's key, value, headers and timestamp, and behind the headers those of Kafka Connect
    (KIP-298), `__connect.errors.` with `topic`, `partition`, `offset`, `exception.class.name`,
    `exception.message` and `exception.stacktrace`, and `read.at`, the time of this call in milliseconds since
    1970. `barnabas dlq replay` reads them. `error` is an exception, or the reason as text.
    """
    raw = record.raw
    details: dict[str, object] = {
        "topic": raw.topic,
        "partition": raw.partition,
        "offset": raw.offset,
        "exception.message": error,
    }
    if isinstance(error, BaseException):
        kind = type(error)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        details["exception.class.name"] = f"{module}{kind.__qualname__}"
        details["exception.stacktrace"] = "".join(traceback.format_exception(error))
    details["read.at"] = CLOCK.now_ms()
    added = [(HEADER_PREFIX + name, str(each).encode(errors="replace")) for name, each in details.items()]
    return DeadLetterArguments(
        topic=topic,
        value=raw.value,
        key=raw.key,
        headers=[*raw.headers, *added],
        # None where the record has no timestamp, as those of Kafka before 0.10.
        timestamp=raw.timestamp if raw.timestamp >= 0 else None,
    )
