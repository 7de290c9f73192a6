"""What a registry needs of the place where its records are kept. Knows nothing of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from barnabas.errors import BarnabasError

Record = tuple[bytes, bytes | None]
"""Key and value; a value of None takes away what the key had."""


class Apply(Protocol):
    """Takes one record that is durable. It is called on the event loop, in the order of the offsets, never
    twice for one of them, and never raises."""

    def __call__(self, key: bytes, value: bytes | None, offset: int, timestamp_ms: int) -> None: ...


class JournalError(BarnabasError):
    """Records could not be written or read; it is not known whether they were written."""


class JournalTimeoutError(JournalError):
    """The same, and only because it took too long."""


class NotLeaderError(JournalError):
    """Another registry writes at present; nothing was written. Or nobody does: then `leader_url()` of the
    journal is None as well as here."""

    def __init__(self, message: str, leader_url: str | None = None) -> None:
        super().__init__(message)
        self.leader_url = leader_url


class Journal(Protocol):
    """Used on one event loop."""

    async def start(self, apply: Apply) -> None:
        """Returns when all that was in the journal has been applied. Raises: JournalError."""
        ...

    async def caught_up(self) -> None:
        """Returns when this registry leads and all that is in the journal has been applied: what is decided
        now, before anything else is awaited, may be appended.

        Raises: NotLeaderError, JournalError.
        """
        ...

    async def append(self, records: Sequence[Record]) -> None:
        """Returns when the records are durable and applied. Called with one lock held, after `caught_up`.

        Raises: NotLeaderError, JournalError; `barnabas.errors.RecordTooLargeError` where nothing was written
        because a record is larger than the place takes.
        """
        ...

    def leader_url(self) -> str | None:
        """Where writes go; None where this registry leads, or nobody is known to."""
        ...

    async def close(self) -> None: ...
