"""The audit log: one line of JSON for each change, whether it was done, failed or was refused.

Owns the file, and which fields of a form are written. Knows nothing of HTTP.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from barnabas.errors import InvalidSettingError

Outcome = Literal["done", "failed", "refused"]

_logger = logging.getLogger("barnabas.ui.audit")

RECORD_FIELDS = frozenset({"key", "value", "headers"})
"""What is in records is in topics, and not in logs as well."""
HIDDEN = "[hidden]"
LONGEST_FIELD = 1_000
LONGEST_UNWRITTEN_BYTES = 1 << 20
# A shorter text may be a part of other words.
SHORTEST_IN_TEXT = 4
_SECRET = re.compile(
    r"csrf|passw|passphrase|secret|token|jaas|credential|private|assertion|keystore|(^|[._-])key$|"
    r"user[._]info",
    re.IGNORECASE,
)


class AuditLog:
    """Goes to the logger `barnabas.ui.audit`, and to the file `path` if there is one, which is opened once
    and only appended to. A line that cannot be written is kept, and no change is made until it is written.
    Raises: InvalidSettingError."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: int | None = None
        self._unwritten = b""
        self._lost = 0
        if path is not None:
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise InvalidSettingError(f"the audit log {str(path)!r} cannot be written: {error}") from None

    def problem(self) -> str | None:
        """Why nothing may be changed now: there are lines that the file does not take."""
        try:
            self._flush()
        except OSError as error:
            log = f"the audit log {str(self._path)!r}"
            return f"nothing is changed as long as {log} cannot be written: {error}"
        return None

    def add(self, entry: Mapping[str, Any]) -> None:
        """Never fails: see `problem`."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
        _logger.info("%s", line)
        if self._file is None:
            return
        # Changes wait for the file; what is refused goes on, and must not fill the memory.
        if len(self._unwritten) > LONGEST_UNWRITTEN_BYTES:
            self._lost += 1
            return
        self._unwritten += f"{line}\n".encode()
        try:
            self._flush()
        except OSError as error:
            _logger.error("the audit log %s cannot be written: %s", self._path, error)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _flush(self) -> None:
        """Raises: OSError."""
        if self._file is None:
            return
        self._write_all()
        if self._lost:
            said = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "lost_lines": self._lost}
            self._lost = 0
            self._unwritten += f"{json.dumps(said)}\n".encode()
            self._write_all()

    def _write_all(self) -> None:
        assert self._file is not None
        while self._unwritten:
            self._unwritten = self._unwritten[os.write(self._file, self._unwritten) :]


def shown_fields(form: Mapping[str, str], shows: Iterable[str] = ()) -> dict[str, Any]:
    """What the log has of a form: nothing of passwords, and of records only how long they are. `shows`:
    fields that are named as a record's, and are something else."""
    shown: dict[str, Any] = {}
    hidden = _hidden_names(form)
    sized = RECORD_FIELDS - set(shows)
    for name, text in form.items():
        if name == "csrf":
            continue
        if name in hidden:
            shown[name] = HIDDEN
        elif name in sized:
            shown[name] = {"bytes": len(text.encode())}
        else:
            cut = len(text) > LONGEST_FIELD
            shown[name] = f"{text[:LONGEST_FIELD]}… of {len(text)} characters" if cut else text
    return shown


def without_hidden(text: str, form: Mapping[str, str], shows: Iterable[str] = ()) -> str:
    """A message that may quote what was sent, without what `shown_fields` leaves out."""
    hidden = _hidden_names(form)
    sized = RECORD_FIELDS - set(shows)
    for name, said in form.items():
        if said and (name in hidden or (name in sized and len(said) >= SHORTEST_IN_TEXT)):
            text = text.replace(said, HIDDEN)
    return text


def _hidden_names(form: Mapping[str, str]) -> set[str]:
    """A setting's value is secret where its name says so."""
    hidden = {name for name in form if name not in RECORD_FIELDS and _SECRET.search(name)}
    if _SECRET.search(form.get("name", "")):
        hidden.add("value")
    return hidden
