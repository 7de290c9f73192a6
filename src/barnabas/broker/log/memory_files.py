"""Files that are in memory alone: paths as `pathlib` has them, and descriptors as the operating system has.

Owns the tree of names. What a log writes is in files without a name (`memfd_create`; where there is none, in
temporary files that are gone from their folder), so that descriptors do all that they do on a disk. Knows
nothing of logs.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, ClassVar
from weakref import WeakValueDictionary


class MemoryFile:
    """Bytes, or an open file of the operating system, once somebody has wanted a descriptor."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.descriptor: int | None = None

    def open(self) -> int:
        """The descriptor, which is closed with the last reference to this object."""
        if self.descriptor is None:
            self.descriptor = _anonymous_file()
            if self.content:
                os.pwrite(self.descriptor, self.content, 0)
                self.content = b""
        return self.descriptor

    def read(self) -> bytes:
        if self.descriptor is None:
            return self.content
        return os.pread(self.descriptor, os.fstat(self.descriptor).st_size, 0)

    def __del__(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("barnabas", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


_Tree = dict[str, "MemoryFile | _Tree"]


class MemoryFolder:
    """A folder whose content is gone when this object is."""

    _all: ClassVar[WeakValueDictionary[str, MemoryFolder]] = WeakValueDictionary()

    def __init__(self) -> None:
        name = f"memory-{uuid.uuid4().hex[:12]}"
        self.tree: _Tree = {}
        self.path = MemoryPath(f"/{name}")
        self._all[name] = self

    @classmethod
    def named(cls, name: str) -> MemoryFolder:
        return cls._all[name]


class MemoryPath(PurePosixPath):
    """A path in a `MemoryFolder`. It has those of `pathlib.Path`'s methods that logs need."""

    __slots__ = ()

    def _parent_tree(self) -> _Tree:
        """Raises: FileNotFoundError."""
        tree = MemoryFolder.named(self.parts[1]).tree
        for name in self.parts[2:-1]:
            below = tree.get(name)
            if not isinstance(below, dict):
                raise FileNotFoundError(2, os.strerror(2), str(self))
            tree = below
        return tree

    def _found(self) -> MemoryFile | _Tree | None:
        if len(self.parts) == 2:
            return MemoryFolder.named(self.parts[1]).tree
        try:
            return self._parent_tree().get(self.name)
        except FileNotFoundError:
            return None

    def _file(self) -> MemoryFile:
        """Raises: FileNotFoundError."""
        found = self._found()
        if not isinstance(found, MemoryFile):
            raise FileNotFoundError(2, os.strerror(2), str(self))
        return found

    def exists(self) -> bool:
        return self._found() is not None

    def is_dir(self) -> bool:
        return isinstance(self._found(), dict)

    def iterdir(self) -> list[MemoryPath]:
        found = self._found()
        if not isinstance(found, dict):
            raise FileNotFoundError(2, os.strerror(2), str(self))
        return [self / name for name in found]

    def glob(self, pattern: str) -> list[MemoryPath]:
        """`pattern` is of names in this folder."""
        return [path for path in self.iterdir() if fnmatchcase(path.name, pattern)]

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        if len(self.parts) == 2:
            return
        if parents:
            MemoryPath(self.parent).mkdir(parents=True, exist_ok=True)
        tree = self._parent_tree()
        if self.name in tree and not exist_ok:
            raise FileExistsError(17, os.strerror(17), str(self))
        tree.setdefault(self.name, {})

    def touch(self) -> None:
        self._parent_tree().setdefault(self.name, MemoryFile())

    def unlink(self, *, missing_ok: bool = False) -> None:
        if not missing_ok:
            self._file()
        if self.exists():
            del self._parent_tree()[self.name]

    def remove_tree(self) -> None:
        self._parent_tree().pop(self.name, None)

    def replace(self, target: Path | MemoryPath) -> None:
        """Gives a file or a folder another name in the same `MemoryFolder`."""
        moved = self._found()
        if moved is None:
            raise FileNotFoundError(2, os.strerror(2), str(self))
        MemoryPath(target)._parent_tree()[target.name] = moved
        del self._parent_tree()[self.name]

    rename = replace

    def read_bytes(self) -> bytes:
        return self._file().read()

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def write_bytes(self, content: bytes) -> None:
        self._parent_tree()[self.name] = MemoryFile(content)

    def found_or_made(self) -> MemoryFile:
        """The file, which is made where there is none."""
        found = self._parent_tree().setdefault(self.name, MemoryFile())
        if isinstance(found, dict):
            raise IsADirectoryError(21, os.strerror(21), str(self))
        return found

    def open_new(self) -> BinaryIO:
        """To write; what was there is gone."""
        file = self._parent_tree()[self.name] = MemoryFile()
        return os.fdopen(os.dup(file.open()), "wb")


AnyPath = Path | MemoryPath


def memory_room() -> tuple[int, int]:
    """Bytes of memory, and those of them that are free."""
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return page_bytes * os.sysconf("SC_PHYS_PAGES"), page_bytes * os.sysconf("SC_AVPHYS_PAGES")
