"""The checkpoint of a streaming query, as files: how far it is in Kafka, and what it has planned.

Both connectors log the end of each batch as the same JSON. They differ in the first batch alone: where it
began, Spark's own connector writes into `sources/N/0`, and Barnabas into the log of offsets itself, as a
second entry of a partition with a zero put before its number (see `barnabas.spark.planning.offsets`). It
matters until that batch is done. Knows no Spark and no broker.
"""

from __future__ import annotations

import json
from typing import Any, cast

from barnabas.checkpoints.folders import CheckpointError, Folder
from barnabas.values import frozen

Offsets = dict[str, dict[str, int]]
"""By topic and partition, as Spark's connector writes them."""

SUPPORTED_VERSION = "v1"
# Before it stands a zero byte, for Spark 2.1.
INITIAL_OFFSETS_HEADER = b"\x00v1\n"
LINES_BEFORE_SOURCES = 2


@frozen
class Source:
    """One Kafka source of the query. `number` is its place among all sources.

    `position`: where its next batch begins, which is where the last committed one ends. `planned`: where the
    last planned batch ends. `first_batch_began`: `position`, if the next batch is the query's first one.
    """

    number: int
    position: Offsets
    planned: Offsets
    first_batch_began: Offsets | None


class Checkpoint:
    """Reads when it is made.

    Raises: CheckpointError, OSError.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        if not (folder / "offsets").is_dir() or not (folder / "metadata").is_file():
            raise CheckpointError(
                f"{folder} is not the checkpoint of a streaming query: it has no offsets and metadata"
            )
        batches, committed = _numbers(folder / "offsets"), _numbers(folder / "commits")
        if not batches:
            raise CheckpointError(f"{folder} holds no batch yet: the query has not planned one")
        self.query_id = _query_id(folder / "metadata")
        self.last_batch = batches[-1]
        """The last one that was planned."""
        self.last_committed = committed[-1] if committed else None
        self.unfinished = [batch for batch in batches if not committed or batch > committed[-1]]
        """Batches that were planned and not committed: under way, or when the query went down."""
        self.is_committed = self.last_batch in committed
        self.is_in_first_batch = self.last_batch == 0 and not self.is_committed
        self.lines = lines_of(folder / "offsets" / str(self.last_batch))
        """What is written of the last batch."""
        self.planned_at_ms = _planned_at_ms(self.lines[1])
        """When the last batch was planned, since 1970; None where that is not written."""
        # A batch that was planned and not finished is read again, so that the query stands at its beginning.
        shown = self.lines
        if not self.is_committed and not self.is_in_first_batch:
            shown = lines_of(folder / "offsets" / str(self.last_batch - 1))
        self.sources = [
            self._source(number, offsets)
            for number, line in enumerate(shown[LINES_BEFORE_SOURCES:])
            if (offsets := kafka_offsets(line)) is not None
        ]
        if not self.sources:
            raise CheckpointError(f"{folder} is of a query that has no Kafka source")

    def _source(self, number: int, offsets: Offsets) -> Source:
        planned = _ends(kafka_offsets(self.lines[LINES_BEFORE_SOURCES + number]) or {})
        if not self.is_in_first_batch:
            return Source(number, _ends(offsets), planned, None)
        path = self.folder / "sources" / str(number) / "0"
        began = starts(offsets) or _initial_offsets(path)
        if began is None:
            raise CheckpointError(
                f"the first batch of {self.folder} is not finished, and {path}, which would tell where it "
                "began, is not there: start the query with a new checkpoint"
            )
        return Source(number, began, planned, began)


def _query_id(path: Folder) -> str:
    try:
        return json.loads(path.read_text())["id"]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{path} does not hold the id of a query") from None


def _planned_at_ms(line: str) -> int | None:
    """Of the line that says what was in force when the batch was planned."""
    try:
        planned_at: Any = json.loads(line)["batchTimestampMs"]
    except (ValueError, KeyError, TypeError):
        return None
    return planned_at if isinstance(planned_at, int) and planned_at > 0 else None


def _numbers(folder: Folder) -> list[int]:
    """The batches that a log holds, in order."""
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def lines_of(path: Folder) -> list[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    if len(lines) < LINES_BEFORE_SOURCES + 1 or lines[0] != SUPPORTED_VERSION:
        version = lines[0] if lines else "nothing"
        raise CheckpointError(f"{path} cannot be read: it is of version {version}, not {SUPPORTED_VERSION}")
    return lines


def kafka_offsets(line: str) -> Offsets | None:
    """The offsets of a source, None where they are not of Kafka."""
    try:
        document: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    offsets: Offsets = {}
    for topic, entries in cast(dict[str, Any], document).items():
        if not isinstance(entries, dict):
            return None
        numbers = cast(dict[str, Any], entries)
        if not all(key.isdecimal() and isinstance(offset, int) for key, offset in numbers.items()):
            return None
        offsets[topic] = numbers
    return offsets


def _is_start(key: str) -> bool:
    return len(key) > 1 and key.startswith("0")


def _ends(offsets: Offsets) -> Offsets:
    found = {
        topic: {key: offset for key, offset in entries.items() if not _is_start(key)}
        for topic, entries in offsets.items()
    }
    # What is left out has only the id of a topic in its name.
    return {topic: entries for topic, entries in found.items() if entries}


def starts(offsets: Offsets) -> Offsets:
    """Where the first batch began, as far as the log of offsets says so."""
    found = {
        topic: {str(int(key)): offset for key, offset in entries.items() if _is_start(key)}
        for topic, entries in offsets.items()
    }
    return {topic: entries for topic, entries in found.items() if entries}


def _initial_offsets(path: Folder) -> Offsets | None:
    if not path.exists():
        return None
    content = path.read_bytes()
    offsets = kafka_offsets(content.removeprefix(INITIAL_OFFSETS_HEADER).decode(errors="replace"))
    if offsets is None:
        raise CheckpointError(
            f"{path} cannot be read: it does not hold offsets as Spark's connector writes them"
        )
    return offsets
