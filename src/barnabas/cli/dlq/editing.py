"""The edit step of a replay: what changes letters, an editor that is opened on them, and the file that is
kept until they are sent."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.cli.dlq import edits
from barnabas.cli.options import UsageError
from barnabas.cli.output import note
from barnabas.records.dead_letters.spool import LetterSpool

_DEFAULT_EDITOR = "vi"


class Editing:
    """A context manager. At its end the file is deleted if the letters were sent, and else named in a note.
    `told_from`: the options by which letters are read, which have to be the same to go on with a replay.
    Raises: UsageError, MissingExtraError."""

    def __init__(
        self,
        sets: Sequence[str],
        computed: Sequence[str],
        told_from: Sequence[object],
        *,
        opens_editor: bool,
        edited: Path | None,
    ) -> None:
        if sum((bool(sets or computed), opens_editor, edited is not None)) > 1:
            raise UsageError("--set and --set-cel, --edit, and --edited exclude each other")
        self._given = (*sets, *computed, *told_from)
        self._changes = edits.sets_of(sets, computed)
        self._arguments = (tuple(sets), tuple(computed), tuple(told_from))
        self.opens_editor = opens_editor
        self._edited = edited
        self._file: Path | None = None
        self._text = None if edited is None else _read(edited)
        self._is_sent = False
        self.changes: Sequence[edits.LetterEdit] = ()
        """The first of them."""
        self.count = self.dropped = 0
        """How many letters are changed, and how many not sent."""

    @property
    def digest(self) -> str | None:
        """The same for the same options and file; None where letters stay as they are. It is not known before
        an editor has ended."""
        if self._text is None and not any(self._given):
            return None
        return edits.digest_of(self._arguments, self._text)

    def apply(self, spool: LetterSpool) -> None:
        """Raises: UsageError; nothing is to be sent then."""
        before = spool.count()
        if self.opens_editor and before:
            self._keep(self._in_editor(spool))
        elif self._text is not None:
            name = f"--edited {str(self._edited)!r}"
            self._keep(edits.take_lines(spool, self._text, name, is_rest_dropped=False)[0])
        else:
            self.changes, self.count = edits.change_all(spool, self._changes)
        self.dropped = before - spool.count()

    def _keep(self, changes: Sequence[edits.LetterEdit]) -> None:
        self.changes, self.count = changes[: edits.MOST_SHOWN], len(changes)

    def sent(self) -> None:
        self._is_sent = True

    def _in_editor(self, spool: LetterSpool) -> list[edits.LetterEdit]:
        text = edits.lines_of(spool)
        descriptor, name = tempfile.mkstemp(prefix="barnabas-dlq-", suffix=".jsonl")
        self._file = Path(name)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _DEFAULT_EDITOR
        try:
            status = subprocess.run([*shlex.split(editor), name], check=False).returncode
        except OSError as error:
            self._delete()
            raise UsageError(
                f"the editor {editor!r} cannot be run: {error.strerror}; EDITOR names another one"
            ) from None
        if status != 0:
            raise UsageError(f"the editor {editor!r} ended with status {status}: nothing was sent")
        edited = self._file.read_bytes()
        if not edited.strip():
            self._delete()
            raise UsageError("no line is left: nothing was sent")
        changed, self._text = edits.take_lines(spool, edited, name, is_rest_dropped=True)
        self._file.write_bytes(self._text)
        return changed

    def _delete(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_sent:
            self._delete()
        elif self._file is not None:
            note(f"the letters as they were edited are in {self._file}: --edited takes them from there")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"--edited {str(path)!r} cannot be read: {error.strerror}") from None
