"""The checkpoint of a streaming query, as files: how far it is in Kafka, and what one connector keeps in it
that the other does not.

Both connectors log the end of each batch as the same JSON. They differ in the first batch alone: where it
began, Spark's own connector writes into `sources/N/0`, and Barnabas into the log of offsets itself, as a
second entry of a partition with a zero put before its number (see `barnabas.spark.planning.offsets`). It
matters until that batch is done. Knows no Spark and no broker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from barnabas.errors import BarnabasError
from barnabas.values import frozen

Offsets = dict[str, dict[str, int]]
"""By topic and partition, as Spark's connector writes them."""

SUPPORTED_VERSION = "v1"
# Before it stands a zero byte, for Spark 2.1.
INITIAL_OFFSETS_HEADER = b"\x00v1\n"
_LINES_BEFORE_SOURCES = 2


class CheckpointError(BarnabasError):
    """A folder is no checkpoint of a streaming query, or is of a kind that is not known here."""


@frozen
class Source:
    """One Kafka source of the query. `number` is its place among all sources.

    `position`: where its next batch begins. `first_batch_began`: the same, if that is the query's first one.
    """

    number: int
    position: Offsets
    first_batch_began: Offsets | None


class Checkpoint:
    """Reads when it is made.

    Raises: CheckpointError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "offsets").is_dir() or not (folder / "metadata").is_file():
            raise CheckpointError(
                f"{folder} is not the checkpoint of a streaming query: it has no offsets and metadata"
            )
        batches, committed = _numbers(folder / "offsets"), _numbers(folder / "commits")
        if not batches:
            raise CheckpointError(f"{folder} holds no batch yet: the query can be started anew")
        self.last_batch = batches[-1]
        self.is_committed = self.last_batch in committed
        self.is_in_first_batch = self.last_batch == 0 and not self.is_committed
        self._lines = _lines(folder / "offsets" / str(self.last_batch))
        # A batch that was planned and not finished is read again, so that the query stands at its beginning.
        shown = self._lines
        if not self.is_committed and not self.is_in_first_batch:
            shown = _lines(folder / "offsets" / str(self.last_batch - 1))
        self.sources = [
            self._source(number, offsets)
            for number, line in enumerate(shown[_LINES_BEFORE_SOURCES:])
            if (offsets := _kafka_offsets(line)) is not None
        ]
        if not self.sources:
            raise CheckpointError(f"{folder} is of a query that has no Kafka source")

    def changes(self) -> list[str]:
        """What `carry_over` would do, in words."""
        return [text for source in self.sources for text, _, _ in self._changes_of(source)]

    def carry_over(self) -> None:
        """Makes the checkpoint one that both connectors can go on from. Raises: OSError."""
        for source in self.sources:
            for _, path, content in self._changes_of(source):
                _replace(path, content)
                self._lines = _lines(self.folder / "offsets" / str(self.last_batch))

    def _source(self, number: int, offsets: Offsets) -> Source:
        if not self.is_in_first_batch:
            return Source(number, _ends(offsets), None)
        path = self._initial_path(number)
        began = _starts(offsets) or _initial_offsets(path)
        if began is None:
            raise CheckpointError(
                f"the first batch of {self.folder} is not finished, and {path}, which would tell where it "
                "began, is not there: start the query anew, with another checkpoint"
            )
        return Source(number, began, began)

    def _changes_of(self, source: Source) -> list[tuple[str, Path, bytes]]:
        began = source.first_batch_began
        if began is None:
            return []
        changes: list[tuple[str, Path, bytes]] = []
        initial = self._initial_path(source.number)
        if not initial.exists():
            text = f"write into {initial} where the first batch began, for Spark's own connector"
            changes.append((text, initial, INITIAL_OFFSETS_HEADER + _compact(began).encode()))
        log, line = self.folder / "offsets" / "0", _LINES_BEFORE_SOURCES + source.number
        offsets = cast(Offsets, _kafka_offsets(self._lines[line]))
        if not _starts(offsets):
            text = f"write into {log} where the first batch began, for Barnabas"
            lines = [*self._lines]
            lines[line] = json.dumps(_with_starts(offsets, began))
            changes.append((text, log, "\n".join(lines).encode()))
        return changes

    def _initial_path(self, number: int) -> Path:
        return self.folder / "sources" / str(number) / "0"


def _numbers(folder: Path) -> list[int]:
    """The batches that a log holds, in order."""
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())


def _lines(path: Path) -> list[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    if len(lines) < _LINES_BEFORE_SOURCES + 1 or lines[0] != SUPPORTED_VERSION:
        version = lines[0] if lines else "nothing"
        raise CheckpointError(f"{path} cannot be read: it is of version {version}, not {SUPPORTED_VERSION}")
    return lines


def _kafka_offsets(line: str) -> Offsets | None:
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


def _starts(offsets: Offsets) -> Offsets:
    found = {
        topic: {str(int(key)): offset for key, offset in entries.items() if _is_start(key)}
        for topic, entries in offsets.items()
    }
    return {topic: entries for topic, entries in found.items() if entries}


def _with_starts(ends: Offsets, began: Offsets) -> Offsets:
    document: Offsets = {}
    for topic, entries in ends.items():
        document[topic] = {}
        for key, offset in entries.items():
            if key in began.get(topic, {}):
                document[topic][f"0{key}"] = began[topic][key]
            document[topic][key] = offset
    return document


def _initial_offsets(path: Path) -> Offsets | None:
    if not path.exists():
        return None
    content = path.read_bytes()
    offsets = _kafka_offsets(content.removeprefix(INITIAL_OFFSETS_HEADER).decode(errors="replace"))
    if offsets is None:
        raise CheckpointError(
            f"{path} cannot be read: it does not hold offsets as Spark's connector writes them"
        )
    return offsets


def _compact(offsets: Offsets) -> str:
    return json.dumps(offsets, separators=(",", ":"))


def _replace(path: Path, content: bytes) -> None:
    """At once, and without the checksum that Spark keeps beside a file: it takes one that has none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.carried-over")
    new.write_bytes(content)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    new.replace(path)
