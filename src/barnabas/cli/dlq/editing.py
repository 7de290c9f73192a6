"""The edit step of a replay: what changes letters, an editor that is opened on them, and the file that is
kept until they are sent."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import typer

from barnabas import Registry
from barnabas.cli.dlq import edits
from barnabas.cli.dlq.schemas import LetterSchemas
from barnabas.cli.options import UsageError
from barnabas.cli.output import note
from barnabas.records.dead_letters.spool import LetterSpool

_DEFAULT_EDITOR = "vi"
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


class Editing:
    """A context manager. At its end the file is deleted if the letters were sent, and else named in a note.
    `told_from`: the options by which letters are read, which have to be the same to go on with a replay.
    `registry_url` and what follows it: the registry by whose schemas letters are read, if one is named.
    Raises: UsageError, MissingExtraError."""

    def __init__(
        self,
        sets: Sequence[str],
        computed: Sequence[str],
        told_from: Sequence[object],
        *,
        opens_editor: bool,
        edited: Path | None,
        registry_url: str | None = None,
        registry_settings: Mapping[str, Any] = NO_SETTINGS,
    ) -> None:
        if sum((bool(sets or computed), opens_editor, edited is not None)) > 1:
            raise UsageError("--set and --set-cel, --edit, and --edited exclude each other")
        self._given = (*sets, *computed, *told_from)
        self._registry_url = registry_url
        self._registry_settings = registry_settings
        self._changes = edits.sets_of(sets, computed)
        # What is set means something else in bytes that are read by a schema.
        by_schema = ("by schema",) if self._changes and registry_url is not None else ()
        self._arguments = (tuple(sets), tuple(computed), tuple(told_from), *by_schema)
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
        """Raises: UsageError, RegistryError; nothing is to be sent then."""
        before = spool.count()
        is_read = before and (self.opens_editor or self._text is not None or self._changes)
        with ExitStack() as stack:
            registry = None
            if is_read and self._registry_url is not None:
                registry = stack.enter_context(Registry(self._registry_url, **self._registry_settings))
            schemas = LetterSchemas(registry)
            if self.opens_editor and before:
                self._keep(self._in_editor(spool, schemas))
            elif self._text is not None:
                name = f"--edited {str(self._edited)!r}"
                self._keep(edits.take_lines(spool, self._text, name, schemas, is_rest_dropped=False)[0])
            else:
                self.changes, self.count = edits.change_all(spool, self._changes, schemas)
        self.dropped = before - spool.count()

    def _keep(self, changes: Sequence[edits.LetterEdit]) -> None:
        self.changes, self.count = changes[: edits.MOST_SHOWN], len(changes)

    def sent(self) -> None:
        self._is_sent = True

    def _in_editor(self, spool: LetterSpool, schemas: LetterSchemas) -> list[edits.LetterEdit]:
        text = edits.lines_of(spool, schemas)
        descriptor, name = tempfile.mkstemp(prefix="barnabas-dlq-", suffix=".jsonl")
        self._file = Path(name)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
        while True:
            self._run_editor(self._file)
            edited = self._file.read_bytes()
            if not edited.strip():
                self._delete()
                raise UsageError("no line is left: nothing was sent")
            try:
                changed, self._text = edits.take_lines(spool, edited, name, schemas, is_rest_dropped=True)
            except UsageError as error:
                if not sys.stdin.isatty():
                    raise
                note(f"error: {error}")
                if not typer.confirm("edit again?", default=True, err=True):
                    raise UsageError("nothing was sent") from None
            else:
                self._file.write_bytes(self._text)
                return changed

    def _run_editor(self, file: Path) -> None:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _DEFAULT_EDITOR
        try:
            status = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
        except OSError as error:
            self._delete()
            raise UsageError(
                f"the editor {editor!r} cannot be run: {error.strerror}; EDITOR names another one"
            ) from None
        if status != 0:
            raise UsageError(f"the editor {editor!r} ended with status {status}: nothing was sent")

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
