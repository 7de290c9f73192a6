"""Where checkpoints are: folders of this machine, and those that pyarrow's file systems read. Knows nothing
of what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from barnabas.errors import BarnabasError, MissingExtraError


class CheckpointError(BarnabasError):
    """A folder is no checkpoint of a streaming query, or is of a kind that is not known here."""


class StoredPath:
    """As much of a `Path` as reading takes, on a file system of pyarrow. `address` is how errors name it."""

    def __init__(self, files: Any, path: str, address: str) -> None:
        self._files = files
        self._path = path
        self._address = address

    def __str__(self) -> str:
        return self._address

    def __truediv__(self, name: str) -> StoredPath:
        return StoredPath(self._files, f"{self._path}/{name}", f"{self._address}/{name}")

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    def is_dir(self) -> bool:
        return self._type() == "Directory"

    def is_file(self) -> bool:
        return self._type() == "File"

    def exists(self) -> bool:
        return self._type() != "NotFound"

    def iterdir(self) -> Iterator[StoredPath]:
        for found in self._files.get_file_info(_file_systems().FileSelector(self._path)):
            yield self / found.base_name

    def read_bytes(self) -> bytes:
        with self._files.open_input_stream(self._path) as stream:
            return stream.read()

    def read_text(self) -> str:
        return self.read_bytes().decode()

    def written_at(self) -> datetime | None:
        """When its content was, None where the file system does not tell."""
        return self._files.get_file_info(self._path).mtime

    def _type(self) -> str:
        return self._files.get_file_info(self._path).type.name


Folder = Path | StoredPath


def folder_at(place: str) -> Folder:
    """`place`: a path, or an address such as `s3://bucket/checkpoints/delays`; Spark also says `s3a`.

    Raises: CheckpointError (pyarrow has no file system for it), MissingExtraError.
    """
    if "://" not in place:
        return Path(place)
    file_systems = _file_systems()
    place = place.rstrip("/")
    address = f"s3://{place.removeprefix('s3a://')}" if place.startswith("s3a://") else place
    try:
        files, path = file_systems.FileSystem.from_uri(address)
    except (ValueError, NotImplementedError, OSError) as error:
        raise CheckpointError(f"{place} is on no file system that pyarrow reads: {error}") from None
    return StoredPath(files, path, place)


def written_at(path: Folder) -> datetime | None:
    """When the content of a file was written, None where its file system does not tell."""
    if isinstance(path, StoredPath):
        return path.written_at()
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _file_systems() -> Any:
    try:
        return import_module("pyarrow.fs")
    except ImportError:
        raise MissingExtraError("a checkpoint that is not on this machine", "arrow") from None
