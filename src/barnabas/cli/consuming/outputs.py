"""Where `consume` writes records that go into no file. Knows nothing of where they come from."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from barnabas.records.columns import Records
from barnabas.records.json_lines import RecordFormat


class ReaderGoneError(Exception):
    """Whoever reads our lines has gone. What could not be written is not committed."""


class Lines:
    """Lines on stdout, until whoever reads them has gone."""

    def __init__(self, stream: BinaryIO, line_of: RecordFormat) -> None:
        self._stream = stream
        self._line_of = line_of

    def write(self, records: Records) -> None:
        """Raises: ReaderGoneError when there is nobody to write to any more, as after `| head`."""
        try:
            left = memoryview(b"".join(map(self._line_of, records)))
            # With PYTHONUNBUFFERED, stdout takes only a part where a signal comes meanwhile.
            while left:
                left = left[self._stream.write(left) :]
            self._stream.flush()
        except BrokenPipeError:
            # Python would flush stdout once more at exit, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise ReaderGoneError from None

    def close(self) -> None:
        pass


class Nothing:
    """Records are only counted."""

    def write(self, records: Records) -> None:
        pass

    def close(self) -> None:
        pass
