"""Dead letters on their way, in the order of where they came from, each once, on disk. Knows no broker.

Tasks of one batch write their dead letters side by side, and a task that is repeated writes its own again, so
that the order of a topic of dead letters is not that of keys.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from barnabas import Record
from barnabas.records.dead_letters.conventions import DeadLetter, Origin, own_headers
from barnabas.values import frozen

_TABLE = """
CREATE TABLE letters (
    topic TEXT, part INTEGER, place INTEGER, stage TEXT, field TEXT, error TEXT, query TEXT,
    at INTEGER, key BLOB, value BLOB, headers TEXT, PRIMARY KEY (topic, part, place)
)
"""


@frozen
class Spooled:
    """A record as it was before it became a dead letter. `timestamp` is in milliseconds since 1970."""

    origin: Origin
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int

    def partition_among(self, count: int) -> int | None:
        """Where it goes back to in a topic of so many partitions; None where keys choose. The topic may have
        been made anew with fewer than it had."""
        return self.origin.partition if 0 <= self.origin.partition < count else None


@frozen
class LetterKind:
    """Letters of one reason."""

    topic: str
    stage: str
    field: str
    error: str
    query: str
    letters: int


class LetterSpool:
    """Used with `with`: at its end nothing is left on disk."""

    def __init__(self) -> None:
        # Without a name SQLite keeps a file of its own, which is gone with the connection.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(_TABLE)

    def add(self, letters: Iterable[tuple[DeadLetter, Record]]) -> None:
        """Letters that are there already are left out: they are of a task that was repeated."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR IGNORE INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *letter.origin, letter.stage, letter.field, letter.error, letter.query,
                    record.timestamp if letter.timestamp is None else letter.timestamp,
                    record.key, record.value, _text_of(own_headers(record.headers, letter.added)),
                )
                for letter, record in letters
            ),
        )  # fmt: skip
        self._database.execute("COMMIT")

    def count(self, after: Origin | None = None) -> int:
        """How many there are behind `after`."""
        where, values = _behind(after)
        return self._database.execute(f"SELECT count(*) FROM letters {where}", values).fetchone()[0]

    def topics(self) -> dict[str, int]:
        """The topics that letters came from, with the greatest partition of each."""
        return dict(self._database.execute("SELECT topic, max(part) FROM letters GROUP BY topic"))

    def kinds(self, after: Origin | None = None) -> list[LetterKind]:
        """The most frequent first."""
        where, values = _behind(after)
        found = self._database.execute(
            f"SELECT topic, stage, field, error, query, count(*) FROM letters {where} "
            "GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4, 5",
            values,
        )
        return [LetterKind(*row) for row in found]

    def letters(self, after: Origin | None = None) -> Iterator[Spooled]:
        """In the order of their origins, behind `after`."""
        where, values = _behind(after)
        found = self._database.execute(
            f"SELECT topic, part, place, key, value, headers, at FROM letters {where} "
            "ORDER BY topic, part, place",
            values,
        )
        for topic, partition, offset, key, value, headers, timestamp in found:
            yield Spooled(Origin(topic, partition, offset), key, value, _headers_of(headers), timestamp)

    def replace(self, letter: Spooled) -> None:
        """Changes all but the origin."""
        self._database.execute(
            "UPDATE letters SET key = ?, value = ?, headers = ?, at = ? "
            "WHERE (topic, part, place) = (?, ?, ?)",
            (letter.key, letter.value, _text_of(letter.headers), letter.timestamp, *letter.origin),
        )

    def remove(self, origin: Origin) -> None:
        self._database.execute("DELETE FROM letters WHERE (topic, part, place) = (?, ?, ?)", tuple(origin))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()


def _behind(after: Origin | None) -> tuple[str, tuple[object, ...]]:
    return ("", ()) if after is None else ("WHERE (topic, part, place) > (?, ?, ?)", tuple(after))


def _text_of(headers: list[tuple[str, bytes | None]]) -> str:
    return json.dumps(
        [(name, None if value is None else bytes(value).decode("latin-1")) for name, value in headers]
    )


def _headers_of(text: str) -> list[tuple[str, bytes | None]]:
    return [(name, None if value is None else value.encode("latin-1")) for name, value in json.loads(text)]
