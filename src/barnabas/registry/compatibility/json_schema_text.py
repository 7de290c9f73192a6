"""JSON Schemas as texts: as Confluent's registry keeps them, and normalized.

Owns that spelling, and what is refused as no schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from barnabas.registry.compatibility.json_schema_model import SchemaNode, read
from barnabas.registry.errors import InvalidSchemaError


def canonical(text: str, references: Mapping[str, str]) -> str:
    """Without spaces, in the order that it was given in.

    Raises: InvalidSchemaError.
    """
    return written(_loaded(text, references))


def normalized(text: str, references: Mapping[str, str]) -> str:
    """With the names within each object in order. Raises: InvalidSchemaError."""
    return written(_loaded(text, references), is_sorted=True)


def _loaded(text: str, references: Mapping[str, str]) -> Any:
    _check_patterns(read(text, references))
    return loaded(text)


def loaded(text: str) -> Any:
    """Numbers keep their digits."""
    return json.loads(text, parse_float=Decimal)


def written(value: Any, *, is_sorted: bool = False) -> str:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        names = sorted(fields, key=_of_java) if is_sorted else list(fields)
        parts = [f"{_json(name)}:{written(fields[name], is_sorted=is_sorted)}" for name in names]
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        items = cast(list[Any], value)
        return "[" + ",".join(written(item, is_sorted=is_sorted) for item in items) + "]"
    return str(value) if isinstance(value, Decimal) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _of_java(name: str) -> bytes:
    """Java's order of texts is that of UTF-16."""
    return name.encode("utf-16-be", "surrogatepass")


def _check_patterns(root: SchemaNode) -> None:
    seen, waiting = {root}, [root]
    patterns: dict[str, None] = {}
    while waiting:
        node = waiting.pop()
        patterns |= dict.fromkeys(node.patterns)
        if "pattern" in node.limits:
            patterns[node.limits["pattern"]] = None
        for each in node.all_below():
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    for pattern in patterns:
        if not _is_expression(pattern):
            raise InvalidSchemaError(f"the pattern {pattern!r:.100} of the JSON Schema is broken")


def _is_expression(pattern: str) -> bool:
    """Of Java, of ECMA or of Python: which of them a schema means, it does not say."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        pass
    else:
        return True
    try:
        import jsonschema_rs

        jsonschema_rs.Draft7Validator({"pattern": pattern})
    except (ImportError, ValueError):
        return False
    return True
