"""A record in a form: what of it can be edited there, and the record that comes of the form.

What was not edited stays as it is, byte for byte. Knows nothing of HTTP. It asks a registry in the thread
that calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, Self

from barnabas import Registry
from barnabas.errors import BarnabasError
from barnabas.records.asked import UsageError
from barnabas.records.auto_side import AutoSide, by_looking
from barnabas.records.texts import SIDES, JsonText, Side, Unread
from barnabas.types import Headers
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Record

Kind = Literal["null", "text", "JSON by its schema", "hex", "kept"]
MOST_EDITED_BYTES = 256 << 10
HEX_IN_A_GROUP = 2


@frozen
class EditablePart:
    """A key or value. `text`: what the form has; of `kept` it has none, and `why` says why."""

    kind: Kind
    text: str = ""
    why: str = ""


@frozen
class EditableRecord:
    """`headers`: a line for each, NAME=VALUE; None where they are no text, and stay as they are."""

    key: EditablePart
    value: EditablePart
    headers: str | None


@frozen
class EditedRecord:
    key: bytes | None
    value: bytes | None
    headers: Headers


class RecordEditor:
    """A context manager. `open_registry` gives one that is closed at the end; None where there is none."""

    def __init__(self, record: Record, open_registry: Callable[[], Registry] | None) -> None:
        self._record = record
        self._open_registry = open_registry
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        registry = None if self._open_registry is None else self._stack.enter_context(self._open_registry())
        self._sides: dict[Side, AutoSide] = {side: AutoSide(registry, side) for side in SIDES}
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def editable(self) -> EditableRecord:
        """Never raises for what is in the record, or for a registry that does not answer."""
        return EditableRecord(
            self._editable("key", self._record.key),
            self._editable("value", self._record.value),
            _lines(self._record),
        )

    def _editable(self, side: Side, data: bytes | None) -> EditablePart:
        if data is None:
            return EditablePart("null")
        if len(data) > MOST_EDITED_BYTES:
            return EditablePart("kept", why=f"it is longer than {MOST_EDITED_BYTES >> 10} KiB")
        try:
            (part,) = self._sides[side].read([self._record], [data])
        except (BarnabasError, ImportError) as error:
            return EditablePart("kept", why=str(error))
        if isinstance(part, JsonText) and bytes(part) != data:
            text = json.dumps(json.loads(part), indent=2, ensure_ascii=False)
            # JSON has half characters, which UTF-8 has not.
            return EditablePart("JSON by its schema", text.encode(errors="backslashreplace").decode())
        if isinstance(part, Unread):
            part = by_looking(data)
        if part == data and _survives_a_form(data.decode()):
            return EditablePart("text", data.decode())
        return EditablePart("hex", data.hex(" ", HEX_IN_A_GROUP))

    def edited(self, form: Mapping[str, str]) -> EditedRecord:
        """Of the fields `key`, `key_null`, `value`, `value_null` and `headers`; a field that the form does
        not have leaves that part as it is. Raises: UsageError, SerializationError, RegistryError."""
        before = self.editable()
        headers: Headers = self._record.headers
        said = form.get("headers")
        if before.headers is not None and said is not None and _plain_lines(said) != before.headers:
            headers = _headers(_plain_lines(said))
        return EditedRecord(
            self._part("key", before.key, self._record.key, form),
            self._part("value", before.value, self._record.value, form),
            headers,
        )

    def _part(
        self, side: Side, before: EditablePart, data: bytes | None, form: Mapping[str, str]
    ) -> bytes | None:
        said = form.get(side)
        if form.get(f"{side}_null"):
            return None
        if before.kind == "kept" or said is None:
            return data
        text = _plain_lines(said)
        if data is None:
            return text.encode()
        if text == _plain_lines(before.text):
            return data
        if before.kind == "hex":
            try:
                return bytes.fromhex(text)
            except ValueError:
                raise UsageError(f"the {side} is not in hexadecimal digits") from None
        if before.kind == "text":
            # Browsers end lines with two characters, whatever the record has.
            return (text.replace("\n", "\r\n") if b"\r\n" in data else text).encode()
        try:
            return self._sides[side].write_like(self._record, data, _dense(text, side))
        except ImportError as error:
            raise UsageError(f"the {side} cannot be written by its schema: {error}") from None


def _dense(text: str, side: Side) -> bytes:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the {side} is not JSON: {error}") from None


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _survives_a_form(text: str) -> bool:
    """Browsers end all lines alike."""
    return "\r" not in text or text == _plain_lines(text).replace("\n", "\r\n")


def _lines(record: Record) -> str | None:
    lines: list[str] = []
    for name, value in record.headers:
        try:
            line = f"{name}={(value or b'').decode()}"
        except UnicodeDecodeError:
            return None
        if value is None or not line.isprintable() or "=" in name or line != line.strip():
            return None
        lines.append(line)
    return "\n".join(lines)


def _headers(text: str) -> list[tuple[str, bytes | None]]:
    found: list[tuple[str, bytes | None]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"the header {line[:100]!r} is not NAME=VALUE")
        found.append((name.strip(), value.encode()))
    return found
