"""Input in pieces, one for each record: lines, what other delimiters divide, or whole files.

Knows nothing of records.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from barnabas.cli.options import UsageError
from barnabas.cli.output import stderr

if TYPE_CHECKING:
    from rich.progress import Progress

# The bar is only for what takes a while: some seconds' worth of lines.
_BYTES_WORTH_A_BAR = 4_000_000
_CHUNK_BYTES = 1 << 16
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def delimiter_of(text: str, option: str) -> bytes:
    r"""Bytes of a text in which `\n`, `\t`, `\r`, `\0`, `\\` and `\xHH` may stand. Raises: UsageError."""
    if not text:
        raise UsageError(f"{option} is empty")
    found, end = b"", 0
    for match in _ESCAPE.finditer(text):
        found += text[end : match.start()].encode()
        code, sign = match.groups()
        found += bytes([int(code, 16)]) if code else _ESCAPES.get(sign, match[0].encode())
        end = match.end()
    return found + text[end:].encode()


@contextmanager
def pieces_of(files: Sequence[Path], delimiter: bytes, *, is_whole: bool) -> Generator[Iterable[bytes]]:
    """The pieces of the files, or of stdin if there are none, with a bar on stderr where that takes a while.
    `is_whole`: each file is one."""
    if not files:
        stream = sys.stdin.buffer
        yield [stream.read()] if is_whole else _divided(stream, delimiter)
        return
    size = sum(file.stat().st_size for file in files)
    pieces = _of_files(files, delimiter, is_whole)
    if size < _BYTES_WORTH_A_BAR or not stderr().is_terminal:
        yield pieces
        return
    from barnabas.cli.printing.bars import bar

    name = files[0].name if len(files) == 1 else f"{len(files)} files"
    with bar(name, size, stderr(), is_of_bytes=True) as progress:
        yield _watched(pieces, len(delimiter), progress)


def _of_files(files: Sequence[Path], delimiter: bytes, is_whole: bool) -> Iterator[bytes]:
    for file in files:
        with file.open("rb") as stream:
            if is_whole:
                yield stream.read()
            else:
                yield from _divided(stream, delimiter)


def _divided(stream: BinaryIO, delimiter: bytes) -> Iterator[bytes]:
    if delimiter == b"\n":
        for line in stream:
            yield line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")
        return
    # What has come is sent, though more may come later.
    read = getattr(stream, "read1", stream.read)
    rest = b""
    while chunk := read(_CHUNK_BYTES):
        *complete, rest = (rest + chunk).split(delimiter)
        yield from complete
    if rest:
        yield rest


def _watched(pieces: Iterable[bytes], delimiter_bytes: int, progress: Progress) -> Iterator[bytes]:
    (task,) = progress.task_ids
    done = reported = 0
    for piece in pieces:
        done += len(piece) + delimiter_bytes
        if done - reported > 100_000:
            progress.update(task, completed=done)
            reported = done
        yield piece
