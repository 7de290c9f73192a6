"""Changes that are made to dead letters before they are sent: by options, or in a file of JSON lines.

Owns what such a file looks like. A line says by which schema its key or value was read: it is written by that
again if it was changed. Knows no broker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Protocol, cast

from barnabas.cli.dlq.schemas import LetterSchemas, SeenLetter, place_of_letter
from barnabas.cli.options import UsageError
from barnabas.cli.producing.json_records import json_record
from barnabas.errors import SerializationError
from barnabas.records.dead_letters.conventions import BY_KEY, Origin
from barnabas.records.dead_letters.spool import LetterSpool, Spooled
from barnabas.records.fields import FieldPath
from barnabas.records.json_lines import as_json
from barnabas.records.texts import SIDES, Side
from barnabas.values import frozen

MOST_SHOWN = 20
"""Changes that are shown: there may be many."""
_LETTERS_TOGETHER = 5_000
MOST_EDITED = 10_000
"""So many letters are edited in a file: more are for --set."""
_PARTS = ("key", "value", "headers")
_SCHEMAS: Mapping[Side, str] = {"key": "key_schema", "value": "value_schema"}
# They say which letter a line is, or are not the producer's to choose.
_IDS = ("topic", "partition", "offset")


@frozen
class LetterEdit:
    """One letter as it was and as it is now."""

    before: SeenLetter
    after: SeenLetter


class LetterChange(Protocol):
    """Raises: UsageError (names the letter), RegistryError."""

    def __call__(self, seen: SeenLetter, schemas: LetterSchemas) -> Spooled: ...


def sets_of(given: Sequence[str], computed: Sequence[str]) -> list[LetterChange]:
    """What --set (PATH=JSON, or text) and --set-cel (PATH=CEL) ask for. Raises: UsageError,
    MissingExtraError."""
    found: list[LetterChange] = []
    for text in given:
        path, value = _split(text, "--set")

        found.append(_setter(path, _constant(_json_or_text(value)), "--set"))
    for text in computed:
        path, expression = _split(text, "--set-cel")
        found.append(_setter(path, _computed(expression), "--set-cel"))
    return found


def change_all(
    spool: LetterSpool, changes: Sequence[LetterChange], schemas: LetterSchemas
) -> tuple[list[LetterEdit], int]:
    """The first changes, and how many there were. Raises: UsageError, RegistryError; nothing is to be sent
    then."""
    first: list[LetterEdit] = []
    count = 0
    after: Origin | None = None
    while changes and (letters := [*islice(spool.letters(after), _LETTERS_TOGETHER)]):
        before = schemas.seen(letters)
        now = before
        for change in changes:
            # A change reads what the one before it has written.
            after_change = [change(each, schemas) for each in now]
            now = schemas.seen(after_change)
        for was, changed in zip(before, now, strict=True):
            if changed.letter != was.letter:
                spool.replace(changed.letter)
                count += 1
                if len(first) < MOST_SHOWN:
                    first.append(LetterEdit(was, changed))
        after = letters[-1].origin
    return first, count


def digest_of(*parts: object) -> str:
    """The same for the same edits."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def lines_of(spool: LetterSpool, schemas: LetterSchemas) -> bytes:
    """Raises: UsageError for too many, RegistryError."""
    count = spool.count()
    if count > MOST_EDITED:
        raise UsageError(
            f"{count:,} letters are too many to edit in a file: choose at most {MOST_EDITED:,}, by --error "
            "and its like, or give --set"
        )
    return b"".join(_line(_document(seen)) for seen in schemas.seen([*spool.letters()]))


def take_lines(
    spool: LetterSpool, text: bytes, name: str, schemas: LetterSchemas, *, is_rest_dropped: bool
) -> tuple[list[LetterEdit], bytes]:
    """Makes the letters in `spool` what the lines say, and drops those that say so. `is_rest_dropped`: those
    that no line is about, too; else there must be none. What was changed, and the lines with those that say
    of the rest that it is dropped. Raises: UsageError (names file and line), RegistryError."""
    letters = {seen.letter.origin: seen for seen in schemas.seen([*spool.letters()])}
    seen: set[Origin] = set()
    changed: list[tuple[SeenLetter, Spooled]] = []
    dropped: list[Origin] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        document = _parsed(line, where)
        origin = _origin(document)
        letter = letters.get(origin)
        if letter is None:
            raise UsageError(f"{where}: no letter that was chosen came from {place_of_letter(origin)}")
        if origin in seen:
            raise UsageError(f"{where}: there is a line of {place_of_letter(origin)} already")
        seen.add(origin)
        if document.pop("drop", False):
            dropped.append(origin)
            continue
        after = _edited(letter, document, name, number, schemas)
        if after != letter.letter:
            changed.append((letter, after))
    rest = [origin for origin in letters if origin not in seen]
    if rest and not is_rest_dropped:
        raise UsageError(
            f"{name} has no line of {place_of_letter(rest[0])}, nor of {len(rest) - 1:,} others that were "
            'chosen: leave out those that came later by --until, and drop others by lines with "drop": true'
        )
    for _, after in changed:
        spool.replace(after)
    shown_after = schemas.seen([after for _, after in changed])
    changes = [LetterEdit(before, after) for (before, _), after in zip(changed, shown_after, strict=True)]
    for origin in (*dropped, *rest):
        spool.remove(origin)
    added = b"".join(_line({**_ids(origin), "drop": True}) for origin in rest)
    if text and not text.endswith(b"\n"):
        text += b"\n"
    return changes, text + added


def shown(change: LetterEdit) -> dict[str, Any]:
    """For people and scripts: which letter it is, and what is different."""
    before, after = _document(change.before), _document(change.after)
    names = [name for name in (*_PARTS, "timestamp") if before[name] != after[name]]
    return {
        **_ids(change.before.letter.origin),
        "before": {name: before[name] for name in names},
        "after": {name: after[name] for name in names},
    }


def _split(text: str, option: str) -> tuple[FieldPath, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text!r} is not PATH=VALUE, as value.amount=3")
    path = FieldPath(name.strip(), option)
    if path.parts[0] not in _PARTS or (path.parts[0] == "headers" and len(path.parts) != 2):
        raise UsageError(
            f"{option} {text!r}: a letter's key, value, fields of these, and headers.NAME can be set; --to "
            "says where it goes"
        )
    return path, value


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _constant(value: Any) -> Callable[[SeenLetter], Any]:
    return lambda _: value


def _computed(expression: str) -> Callable[[SeenLetter], Any]:
    # Here and not above: nobody else waits for the import.
    from barnabas.records.conditions import CelFailure, computation, plain_of
    from barnabas.records.fields import fields_of

    evaluate = computation(expression, "--set-cel")

    def compute(seen: SeenLetter) -> Any:
        try:
            return plain_of(evaluate(fields_of(seen.record())))
        except (CelFailure, ValueError) as error:
            place = place_of_letter(seen.letter.origin)
            raise UsageError(f"--set-cel {expression!r} of {place}: {error}") from None

    return compute


def _setter(path: FieldPath, value_of: Callable[[SeenLetter], Any], option: str) -> LetterChange:
    part, *names = path.parts

    def set_in(seen: SeenLetter, schemas: LetterSchemas) -> Spooled:
        letter = seen.letter
        value = value_of(seen)
        if part == "headers":
            (name,) = names
            headers = [each for each in letter.headers if each[0] != name]
            return replace(letter, headers=[*headers, (name, _bytes_of(value))])
        side: Side = "key" if part == "key" else "value"
        has_schema = seen.schema(side) is not None
        if not names:
            is_written = has_schema and value is not None
            data = schemas.written(letter, side, value) if is_written else _bytes_of(value)
            return _with_part(letter, part, data)
        data = seen.key if part == "key" else seen.value
        try:
            document = json.loads(data or b"")
            _set(document, names, value)
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UsageError(
                f"{option} {path.text}: the {part} of {place_of_letter(letter.origin)} has no place for it: "
                f"{(data or b'')[:100].decode(errors='backslashreplace')}"
            ) from None
        if has_schema:
            return _with_part(letter, part, schemas.written(letter, side, document))
        return _with_part(letter, part, _dumped(document, data or b""))

    return set_in


def _with_part(letter: Spooled, part: str, data: bytes | None) -> Spooled:
    return replace(letter, key=data) if part == "key" else replace(letter, value=data)


def _set(document: Any, names: Sequence[str], value: Any) -> None:
    """Raises: LookupError, TypeError, ValueError where the value has no such field."""
    inner: Any = document
    for name in names[:-1]:
        inner = inner[int(name) if isinstance(inner, list) else name]
    inner[int(names[-1]) if isinstance(inner, list) else names[-1]] = value


def _dumped(document: Any, like: bytes) -> bytes:
    """As dense as it was."""
    separators = (", ", ": ") if b'": ' in like else (",", ":")
    return json.dumps(document, ensure_ascii=False, separators=separators).encode()


def _bytes_of(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else _dumped(value, b"")


def _document(seen: SeenLetter) -> dict[str, Any]:
    schemas = {_SCHEMAS[side]: key for side in SIDES if (key := seen.schema(side)) is not None}
    return json.loads(as_json(seen.record())) | _ids(seen.letter.origin) | schemas


def _ids(origin: Origin) -> dict[str, Any]:
    topic, partition, offset = origin
    return {"topic": topic, "partition": None if partition == BY_KEY else partition, "offset": offset}


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict) or not all(name in found for name in _IDS):
        raise UsageError(
            f"{where} is not an object of JSON with {', '.join(_IDS)}, which say what letter it is"
        )
    return cast("dict[str, Any]", found)


def _origin(document: Mapping[str, Any]) -> Origin:
    partition = document["partition"]
    return Origin(document["topic"], BY_KEY if partition is None else partition, document["offset"])


def _edited(
    seen: SeenLetter, document: dict[str, Any], name: str, number: int, schemas: LetterSchemas
) -> Spooled:
    """Only what is different is made anew: the rest stays as it is, byte for byte."""
    letter = seen.letter
    where = f"{name}, line {number}"
    for side in SIDES:
        given = document.pop(_SCHEMAS[side], None)
        if given is None:
            # What names no schema stands as it is, as where no registry was asked.
            seen = _without_schema(seen, side, schemas)
        elif given != seen.schema(side):
            raise UsageError(_other_schema(seen, side, given, where, schemas))
    before = _document(seen)
    if document.get("timestamp") == before["timestamp"]:
        # Also where it has none, which stands as -1.
        document = {**document, "timestamp": None}
    lacking = [part for part in (*_PARTS, "timestamp") if part not in document]
    if lacking:
        raise UsageError(f"{where} has no {lacking[0]}: null stands for a key or value that is none")
    try:
        found = json_record(
            json.dumps({part: value for part, value in document.items() if part not in _IDS}).encode(),
            number,
            is_key_json=seen.key_schema is not None,
            is_value_json=seen.value_schema is not None,
        )
    except SerializationError as error:
        raise UsageError(f"{name}, {error}") from None

    def data_of(side: Side, was: bytes | None, plain: bytes | None) -> bytes | None:
        said = document[side]
        if _is_same(said, before[side]):
            return was
        if said is None or seen.schema(side) is None:
            return _dense(plain, said, was)
        try:
            return schemas.written(letter, side, said)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None

    return Spooled(
        letter.origin,
        data_of("key", letter.key, found.key),
        data_of("value", letter.value, found.value),
        letter.headers if document["headers"] == before["headers"] else found.headers,
        letter.timestamp if found.timestamp is None else found.timestamp,
    )


def _without_schema(seen: SeenLetter, side: Side, schemas: LetterSchemas) -> SeenLetter:
    if seen.schema(side) is None:
        return seen
    plain = schemas.unread(seen.letter)
    if side == "key":
        return replace(seen, key=plain.key, key_schema=None)
    return replace(seen, value=plain.value, value_schema=None)


def _other_schema(seen: SeenLetter, side: Side, given: Any, where: str, schemas: LetterSchemas) -> str:
    place = place_of_letter(seen.letter.origin)
    if not schemas.has_registry:
        return (
            f"{where}: the {side} of {place} was read by schema {given}: name its registry by --registry-url"
        )
    known = seen.schema(side)
    if known is None:
        return f"{where}: the {side} of {place} cannot be read by schema {given}, which the line names"
    return f"{where}: {_SCHEMAS[side]} of {place} is {known}, and cannot be changed to {given}"


def _is_same(one: Any, other: Any) -> bool:
    """As JSON, where 1, 1.0 and true are different."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _dense(data: bytes | None, document: Any, like: bytes | None) -> bytes | None:
    """Objects and lists, which may stand for bytes, as dense as they were."""
    if (
        data is None
        or not isinstance(document, dict | list)
        or data != json.dumps(document, ensure_ascii=False).encode()
    ):
        return data
    return _dumped(document, like or b"")
