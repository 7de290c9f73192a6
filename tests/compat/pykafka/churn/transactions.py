"""ZooKeeper's own log of transactions: when each ephemeral node came and went, by the server's clock.

Owns the format of the log's files, which ZooKeeper has had since 3.4. Knows nothing of what the nodes mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FILE_HEADER = struct.Struct("!4siq")
_ENTRY = struct.Struct("!qi")
_TRANSACTION = struct.Struct("!qiqqi")
_LENGTH = struct.Struct("!i")
_CREATES = (1, 15)
_DELETE = 2
_CLOSE_SESSION = -11


@dataclass(frozen=True)
class NodeChange:
    """`data` of a node that was made; None where it has gone."""

    at: float
    path: str
    data: bytes | None


def node_changes(folder: Path) -> Iterator[NodeChange]:
    """All that a server's `dataDir` tells, in order; nodes that end with their session go when it does."""
    of_sessions: dict[int, set[str]] = {}
    for session, at, kind, body in _transactions(folder):
        if kind in _CREATES:
            path, data, is_ephemeral = _created(body)
            if is_ephemeral:
                of_sessions.setdefault(session, set()).add(path)
                yield NodeChange(at, path, data)
        elif kind == _DELETE:
            path = _string(body, 0)[0].decode()
            for nodes in of_sessions.values():
                nodes.discard(path)
            yield NodeChange(at, path, None)
        elif kind == _CLOSE_SESSION:
            for path in sorted(of_sessions.pop(session, ())):
                yield NodeChange(at, path, None)


def _transactions(folder: Path) -> Iterator[tuple[int, float, int, bytes]]:
    """Session, time, kind and body of each."""
    files = sorted(folder.glob("version-2/log.*"), key=lambda file: int(file.suffix[1:], 16))
    for file in files:
        data = file.read_bytes()
        at = _FILE_HEADER.size
        while at + _ENTRY.size <= len(data):
            _, size = _ENTRY.unpack_from(data, at)
            # Files are longer than what was written to them; a server that was killed left half an entry.
            if size <= 0 or at + _ENTRY.size + size >= len(data):
                break
            entry = data[at + _ENTRY.size : at + _ENTRY.size + size]
            session, _, _, time_ms, kind = _TRANSACTION.unpack_from(entry)
            yield session, time_ms / 1000, kind, entry[_TRANSACTION.size :]
            at += _ENTRY.size + size + 1


def _created(body: bytes) -> tuple[str, bytes, bool]:
    path, at = _string(body, 0)
    data, at = _string(body, at)
    (entries,) = _LENGTH.unpack_from(body, at)
    at += _LENGTH.size
    for _ in range(entries):
        at += _LENGTH.size
        _, at = _string(body, at)
        _, at = _string(body, at)
    return path.decode(), data, body[at] != 0


def _string(body: bytes, at: int) -> tuple[bytes, int]:
    """What is there, and where the next begins; a length of -1 is nothing."""
    (size,) = _LENGTH.unpack_from(body, at)
    begin = at + _LENGTH.size
    end = begin + max(size, 0)
    return body[begin:end], end
