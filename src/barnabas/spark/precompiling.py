"""PySpark's archives with compiled modules in them, for workers that would compile them each time.

Spark has its Python processes import PySpark out of `python/lib/*.zip`, where modules lie as source only, and
Python keeps nothing that it compiles out of an archive. The compiled modules are appended, beside a new table
of contents: what was there stays byte for byte, and is all that is left when they are taken away again. Must
not know Spark, nor import it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from marshal import dumps
from pathlib import Path

from barnabas.errors import BarnabasError
from barnabas.values import frozen

LIBRARIES = Path("python", "lib")
# Those of Python's hash-based compiled modules that are not held against their source (PEP 552). Times in an
# archive are local ones, so that a worker in another time zone would take modules for older than they are.
FLAGS = (1).to_bytes(4, "little")
TESTS = "/tests/"
"""PySpark's own are in its archive too, and are half of it."""
MARK = re.compile(rb"barnabas: (\d+) bytes and compiled modules for ([^ ]+)")


class NoArchiveError(BarnabasError):
    """There is nothing that could be compiled where Spark was looked for."""


@frozen
class Archive:
    """One of PySpark's archives. `compiled_for` is None while it is as PySpark comes."""

    path: Path
    compiled_for: str | None
    modules: int
    """Of them that are compiled."""


def this_python() -> str:
    """What compiled modules are for: they are of use to no other Python."""
    return sys.implementation.cache_tag


def archives(spark_home: Path) -> list[Archive]:
    """Raises: NoArchiveError."""
    found = sorted(path for path in (spark_home / LIBRARIES).glob("*.zip") if path.is_file())
    if not found:
        raise NoArchiveError(f"{spark_home / LIBRARIES} has no archive of PySpark: is this Spark's home?")
    return [_archive(path) for path in found]


def compile_archive(archive: Archive) -> Archive:
    """For this Python; what was compiled for another one is replaced. Raises: OSError."""
    plain_bytes = _plain_bytes(archive.path)
    with _replacing(archive.path) as copy:
        with copy.open("r+b") as file:
            file.truncate(plain_bytes)
        with zipfile.ZipFile(copy, "a", zipfile.ZIP_DEFLATED) as opened:
            sources = [name for name in opened.namelist() if name.endswith(".py") and TESTS not in name]
            # Behind the table of contents that is there, not in its place.
            opened.start_dir = plain_bytes
            for name in sources:
                source = opened.read(name)
                opened.writestr(name + "c", _compiled(source, os.path.join(archive.path, name)))
            opened.comment = b"barnabas: %d bytes and compiled modules for %s" % (
                plain_bytes,
                this_python().encode(),
            )
    return _archive(archive.path)


def restore_archive(archive: Archive) -> Archive:
    """As PySpark comes, byte for byte. Raises: OSError."""
    plain_bytes = _plain_bytes(archive.path)
    with _replacing(archive.path) as copy, copy.open("r+b") as file:
        file.truncate(plain_bytes)
    return _archive(archive.path)


def _compiled(source: bytes, path: str) -> bytes:
    with warnings.catch_warnings():
        # Of what PySpark wrote its users need not hear.
        warnings.simplefilter("ignore")
        code = compile(source, path, "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + FLAGS + importlib.util.source_hash(source) + dumps(code)


def _archive(path: Path) -> Archive:
    with zipfile.ZipFile(path) as opened:
        found = MARK.fullmatch(opened.comment)
        modules = sum(name.endswith(".pyc") for name in opened.namelist())
    return Archive(path, found[2].decode() if found else None, modules if found else 0)


def _plain_bytes(path: Path) -> int:
    """The size of what PySpark comes with."""
    with zipfile.ZipFile(path) as opened:
        found = MARK.fullmatch(opened.comment)
    return int(found[1]) if found else path.stat().st_size


@contextmanager
def _replacing(path: Path) -> Generator[Path]:
    """A copy that takes the place of the archive at once, when it is ready: a Spark that starts meanwhile
    finds one or the other, whole."""
    path = path.resolve()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(descriptor)
    copy = Path(name)
    try:
        shutil.copyfile(path, copy)
        yield copy
        shutil.copystat(path, copy)
        copy.replace(path)
    finally:
        copy.unlink(missing_ok=True)
