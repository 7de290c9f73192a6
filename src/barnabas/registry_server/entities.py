"""What the API and the journal have in JSON, as Confluent's registry reads and writes it: the fields of each
kind of object, in its order, with what is empty left out.

Owns turning JSON into that form, coercions of the original's parser included. Knows nothing of requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from json import JSONEncoder
from typing import Any, cast

JsonObject = dict[str, Any]
Kind = Callable[[Any, bool], Any]
"""`kind(value, is_strict)`: the value in its proper form, None for None. Strict: unknown fields are refused,
otherwise they are left out. Raises: EntityError."""


class EntityError(Exception):
    """JSON that is not what is to be there."""


class UnknownFieldError(EntityError):
    def __init__(self, name: str) -> None:
        super().__init__(f"Unrecognized field: {name}")


def text(value: Any, is_strict: bool = True) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise EntityError(f"a text was to be expected, not {value!r:.100}")


def number(value: Any, is_strict: bool = True) -> int | None:
    return _whole_number(value, 32)


def long_number(value: Any, is_strict: bool = True) -> int | None:
    return _whole_number(value, 64)


def _whole_number(value: Any, bits: int) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        found = value
    elif (isinstance(value, float) and value == value and abs(value) < 1 << 31) or (
        isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,10}\s*", value, re.ASCII)
    ):
        found = int(value)
    else:
        raise EntityError(f"a whole number was to be expected, not {value!r:.100}")
    if found is not None and not -(1 << bits - 1) <= found < 1 << bits - 1:
        raise EntityError(f"the number {found!s:.40} does not fit into {bits} bits")
    return found


def boolean(value: Any, is_strict: bool = True) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value != 0
    if value in ("true", "True", "TRUE"):
        return True
    if value in ("false", "False", "FALSE"):
        return False
    raise EntityError(f"true or false was to be expected, not {value!r:.100}")


def flag(value: Any, is_strict: bool = True) -> bool:
    """A boolean that is false where it is not given."""
    return bool(boolean(value))


def one_of(*names: str) -> Kind:
    def kind(value: Any, is_strict: bool) -> str | None:
        if value is None or value in names:
            return value
        raise EntityError(f"{value!r:.100} is none of {', '.join(names)}")

    return kind


def sorted_texts(value: Any, is_strict: bool = True) -> list[str] | None:
    """A set, in the order of its texts."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise EntityError(f"a list of texts was to be expected, not {value!r:.100}")
    return sorted({_some(text(each)) for each in cast(list[Any], value)}, key=utf16)


def list_of(kind: Kind) -> Kind:
    def kind_of_list(value: Any, is_strict: bool) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise EntityError(f"a list was to be expected, not {value!r:.100}")
        return [kind(each, is_strict) for each in cast(list[Any], value) if each is not None]

    return kind_of_list


def sorted_map(kind: Kind) -> Kind:
    def kind_of_map(value: Any, is_strict: bool) -> JsonObject | None:
        if value is None:
            return None
        found = _object(value)
        return {name: kind(found[name], is_strict) for name in sorted(found, key=utf16)} or None

    return kind_of_map


def fields(kinds: Mapping[str, Kind]) -> Kind:
    """An object with these fields, in their order."""

    def kind_of_object(value: Any, is_strict: bool) -> JsonObject | None:
        if value is None:
            return None
        found = _object(value)
        if is_strict:
            for name in found:
                if name not in kinds:
                    raise UnknownFieldError(name)
        parts = {name: kind(found.get(name), is_strict) for name, kind in kinds.items()}
        # An object without any field is not nothing, as an empty text, list or map is.
        return {name: part for name, part in parts.items() if part is not None and part not in ("", [])}

    return kind_of_object


def lenient(kind: Kind) -> Kind:
    """Of which unknown fields are left out always."""
    return lambda value, is_strict: kind(value, False)


REFERENCE = fields({"name": text, "subject": text, "version": number})
REFERENCES = list_of(REFERENCE)
METADATA = fields(
    {"tags": sorted_map(sorted_texts), "properties": sorted_map(text), "sensitive": sorted_texts}
)
RULE = fields(
    {
        "name": text,
        "doc": text,
        "kind": one_of("TRANSFORM", "CONDITION"),
        "mode": one_of("UPGRADE", "DOWNGRADE", "UPDOWN", "WRITE", "READ", "WRITEREAD"),
        "type": text,
        "tags": sorted_texts,
        "params": sorted_map(text),
        "expr": text,
        "onSuccess": text,
        "onFailure": text,
        "disabled": flag,
    }
)
RULE_SET = fields(
    {
        "migrationRules": list_of(RULE),
        "domainRules": list_of(RULE),
        "encodingRules": list_of(RULE),
        "enableAt": text,
    }
)
LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
POLICIES = ("STRICT", "LENIENT")
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
LIFECYCLES = ("STRONG", "WEAK")
CONFIG_FIELDS: Mapping[str, Kind] = {
    "alias": text,
    "aliasForDeks": text,
    "normalize": boolean,
    "validateFields": boolean,
    "validateNewSchemas": boolean,
    "validateRules": boolean,
    "compatibilityLevel": text,
    "compatibilityPolicy": text,
    "compatibilityGroup": text,
    "defaultMetadata": METADATA,
    "overrideMetadata": METADATA,
    "defaultRuleSet": RULE_SET,
    "overrideRuleSet": RULE_SET,
}
"""Of a global, a context's or a subject's configuration."""


def utf16(value: str) -> bytes:
    """By which Java sorts texts."""
    return value.encode("utf-16-be", "surrogatepass")


def json_bytes(value: Any) -> bytes:
    """As Jackson writes it. Raises: EntityError."""
    try:
        return _ESCAPE.sub(_escaped, _ENCODER.encode(value)).encode()
    except UnicodeEncodeError:
        raise EntityError("a text has half of a surrogate pair") from None


def _escaped(found: re.Match[str]) -> str:
    return found[0][:2] + found[0][2:].upper()


_ENCODER = JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPE = re.compile(r"\\(?:u00[01][0-9a-f]|.)")


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise EntityError(f"an object was to be expected, not {value!r:.100}")
    return cast(JsonObject, value)


def _some(value: str | None) -> str:
    if value is None:
        raise EntityError("a text was to be expected, not null")
    return value
