"""A checkpoint of this machine that is changed, so that both connectors go on from it: each then finds where
the first batch began in its own place. Knows no Spark and no broker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from barnabas.checkpoints.checkpoint import (
    INITIAL_OFFSETS_HEADER,
    LINES_BEFORE_SOURCES,
    Checkpoint,
    Offsets,
    Source,
    kafka_offsets,
    lines_of,
    starts,
)


class ChangeableCheckpoint(Checkpoint):
    """Raises: CheckpointError, OSError."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder

    def changes(self) -> list[str]:
        """What `carry_over` would do, in words."""
        return [text for source in self.sources for text, _, _ in self._changes_of(source)]

    def carry_over(self) -> None:
        """Makes the checkpoint one that both connectors can go on from. Raises: OSError."""
        for source in self.sources:
            for _, path, content in self._changes_of(source):
                _replace(path, content)
                self.lines = lines_of(self._path / "offsets" / str(self.last_batch))

    def _changes_of(self, source: Source) -> list[tuple[str, Path, bytes]]:
        began = source.first_batch_began
        if began is None:
            return []
        changes: list[tuple[str, Path, bytes]] = []
        initial = self._path / "sources" / str(source.number) / "0"
        if not initial.exists():
            text = f"write into {initial} where the first batch began, for Spark's own connector"
            changes.append((text, initial, INITIAL_OFFSETS_HEADER + _compact(began).encode()))
        log, line = self._path / "offsets" / "0", LINES_BEFORE_SOURCES + source.number
        offsets = cast(Offsets, kafka_offsets(self.lines[line]))
        if not starts(offsets):
            text = f"write into {log} where the first batch began, for Barnabas"
            lines = [*self.lines]
            lines[line] = json.dumps(_with_starts(offsets, began))
            changes.append((text, log, "\n".join(lines).encode()))
        return changes


def _with_starts(ends: Offsets, began: Offsets) -> Offsets:
    document: Offsets = {}
    for topic, entries in ends.items():
        document[topic] = {}
        for key, offset in entries.items():
            if key in began.get(topic, {}):
                document[topic][f"0{key}"] = began[topic][key]
            document[topic][key] = offset
    return document


def _compact(offsets: Offsets) -> str:
    return json.dumps(offsets, separators=(",", ":"))


def _replace(path: Path, content: bytes) -> None:
    """At once, and without the checksum that Spark keeps beside a file: it takes one that has none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.carried-over")
    new.write_bytes(content)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    new.replace(path)
