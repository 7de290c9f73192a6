"""Files on a disk or in memory; small ones that are either old or new, never half: checkpoints and snapshots.
Knows nothing of logs.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from typing import BinaryIO

from barnabas.broker.log.memory_files import AnyPath, MemoryPath, memory_room

CHECKPOINT_VERSION = 0

_ADVICE = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there",
    errno.EFBIG: "free space there",
    errno.ENOENT: "the data directory was moved or removed: put it back, or stop the broker",
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
    errno.EROFS: "let this user write there",
    errno.EMFILE: "allow the process more open files (ulimit -n)",
}


def described(error: OSError) -> str:
    """What is wrong, with which file, and what to do."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    where = f" ({error.filename})" if error.filename else ""
    return f"{reason}{where}; {_ADVICE.get(error.errno or 0, 'check the disk')}"


class FullDisk:
    """What a test has a disk say: while `is_full`, nothing that this process writes has room."""

    def __init__(self) -> None:
        self.is_full = False

    def check(self, path: AnyPath) -> None:
        """Raises: OSError."""
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


DISK = FullDisk()


class OpenFile:
    """A file to read and write by its descriptor; it is made where there is none.

    A file in memory has one descriptor of its own, which lasts as long as this object holds the file. A
    second one for each log would halve how many logs a process can have.
    """

    __slots__ = ("_in_memory", "descriptor")

    def __init__(self, path: AnyPath) -> None:
        self._in_memory = path.found_or_made() if isinstance(path, MemoryPath) else None
        if self._in_memory is None:
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        else:
            self.descriptor = self._in_memory.open()

    def close(self) -> None:
        """May be called twice: another file may have the number of the descriptor by then."""
        if self._in_memory is None and self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
        self._in_memory = None


def open_new(path: AnyPath) -> BinaryIO:
    """To write; what was there is gone."""
    return path.open_new() if isinstance(path, MemoryPath) else path.open("wb")


def remove_tree(path: AnyPath, *, ignore_errors: bool = False) -> None:
    """Deletes a folder with all that is in it."""
    if isinstance(path, MemoryPath):
        path.remove_tree()
    else:
        shutil.rmtree(path, ignore_errors=ignore_errors)


def room_at(path: AnyPath) -> tuple[int, int]:
    """Bytes that the disk of a folder has, or the memory, and those of them that are free."""
    if isinstance(path, MemoryPath):
        return memory_room()
    usage = shutil.disk_usage(path)
    return usage.total, usage.free


def replace_file(path: AnyPath, content: bytes, *, sync: bool = True) -> None:
    """Writes `content` to `path` such that a crash at any moment leaves the old or the new content.

    Without `sync` that holds for a crash of the process, not for a power cut.
    """
    if isinstance(path, MemoryPath):
        DISK.check(path)
        path.write_bytes(content)
        return
    temporary = path.with_name(path.name + ".tmp")
    try:
        DISK.check(path)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # What fails on a descriptor does not say which file that is.
        error.filename = error.filename or str(path)
        raise
    if sync:
        sync_directory(path.parent)


def sync_directory(path: AnyPath) -> None:
    """Makes names created, renamed or removed in a directory survive a power cut."""
    if isinstance(path, MemoryPath):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_checkpoint(path: AnyPath, rows: Iterable[tuple[object, ...]], *, sync: bool = True) -> None:
    """Kafka's checkpoint format: the version, the number of rows, then a line for each, cut by spaces."""
    lines = [" ".join(str(field) for field in row) for row in rows]
    text = "\n".join([str(CHECKPOINT_VERSION), str(len(lines)), *lines]) + "\n"
    replace_file(path, text.encode(), sync=sync)


def read_checkpoint(path: AnyPath) -> list[list[str]] | None:
    """The rows of a checkpoint; None if there is none, or none that is whole."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return None
    if len(lines) < 2 or lines[0] != str(CHECKPOINT_VERSION) or lines[1] != str(len(lines) - 2):
        return None
    return [line.split(" ") for line in lines[2:]]
