"""JSON, one value at a time: bytes to Python objects and back in the kernel, validated against a JSON Schema.

Owns how a schema is compiled, once, by jsonschema-rs. Knows nothing of where a schema comes from.
"""

# jsonschema-rs has types of its own making.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

from barnabas._kernel import check_json_depth, read_json, write_json
from barnabas.errors import MissingExtraError, SerializationError
from barnabas.formats.errors import SchemaError
from barnabas.formats.json_schema_documents import DATA, Documents, draft_told, parsed
from barnabas.formats.meta_schemas import addresses, meta_schema

NO_REFERENCES: Mapping[str, str] = MappingProxyType({})
# What the library takes relative references for that have no other base.
NO_BASE = "json-schema:///"
LONGEST_MESSAGE = 500
PYTHON_PATTERN = "x-barnabas-pattern"


class JsonValues:
    """Values in JSON. All threads may share one, and it may be pickled.

    `schema`: a JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12, which is the one that a schema without
    `$schema` has; None: any value is right. `references`: the texts of the schemas that it refers to, by the
    names in `$ref`; no network is asked. `validates=False`: no value is held against it.

    Values are dicts with strings for names, lists, tuples, strings, numbers of any length, booleans and None.
    As in Python's own `json`, NaN and infinities are written by their names, which is not JSON to everyone.
    A `format` is a remark, as to the `jsonschema` package.

    Raises: SchemaError, MissingExtraError.
    """

    def __init__(
        self,
        schema: str | None,
        *,
        references: Mapping[str, str] = NO_REFERENCES,
        validates: bool = True,
    ) -> None:
        self._made_of = (schema, dict(references), validates)
        self._validate: Callable[[Any], None] | None = None
        if schema is not None and validates:
            self._validate = _validator(schema, references)

    def encode(self, value: object, header: bytes = b"") -> bytes:
        """The JSON of a value, behind `header`. Raises: SerializationError, which names the field."""
        # Written first: a value that contains itself would be validated without end.
        data = write_json(value, header)
        if self._validate is not None:
            try:
                self._validate(value)
            except ValueError as error:
                _raise_verdict(error)
                # It knows no classes under `str` and `int`, but what was written of them.
                self.decode(data, len(header))
        return data

    def decode(self, data: bytes | bytearray | memoryview, offset: int = 0) -> Any:
        """The value of the bytes behind `offset`. Raises: SerializationError, which names the field."""
        value = read_json(data, offset)
        if self._validate is not None:
            try:
                self._validate(value)
            except ValueError as error:
                _raise_verdict(error)
                raise SerializationError(f"the value cannot be validated: {error}") from None
        return value

    def check(self, value: object) -> None:
        """Holds a value against the schema, as `decode` does. Raises: SerializationError, which names the
        field."""
        if self._validate is not None:
            check_json_depth(value)
            try:
                self._validate(value)
            except ValueError as error:
                _raise_verdict(error)
                self.decode(write_json(value))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._made_of


def _again(schema: str | None, references: Mapping[str, str], validates: bool) -> JsonValues:
    return JsonValues(schema, references=references, validates=validates)


def _validator(text: str, references: Mapping[str, str]) -> Callable[[Any], None]:
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("validation against a JSON Schema", "json-schema") from None
    drafts = {
        4: (jsonschema_rs.Draft4Validator, jsonschema_rs.Draft4),
        6: (jsonschema_rs.Draft6Validator, jsonschema_rs.Draft6),
        7: (jsonschema_rs.Draft7Validator, jsonschema_rs.Draft7),
        2019: (jsonschema_rs.Draft201909Validator, jsonschema_rs.Draft201909),
        2020: (jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft202012),
    }
    documents = Documents(text, references)
    schema = documents.root.schema
    validator, draft = drafts[draft_told(schema) or 2020]
    resources = [
        (urljoin(NO_BASE, address), parsed(references[name])) for address, name in documents.names().items()
    ]

    if any(_refers_to_meta_schema(each) for each in (schema, *(each for _, each in resources))):
        # Its own are not there beside other resources.
        resources += [(address, parsed(meta_schema(address) or "")) for address in addresses()]

    def compiled(rewritten: Callable[[Any], Any]) -> Callable[[Any], None]:
        written = [(address, rewritten(each)) for address, each in resources]
        registry = jsonschema_rs.Registry(written, draft=draft)
        return validator(
            rewritten(schema),
            validate_formats=False,
            registry=registry,
            offline=True,
            keywords={PYTHON_PATTERN: _PythonPattern},
        ).validate

    try:
        try:
            return compiled(lambda each: each)
        except jsonschema_rs.ValidationError as error:
            if "pattern" not in error.instance_path[-1:]:
                raise
            # No expression of ECMA's, as a schema's should be, but perhaps of Python's or Java's.
            return compiled(_with_python_patterns)
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"/{step}" for step in error.instance_path)
        at = f" at #{place}" if place else ""
        raise SchemaError(f"the JSON Schema is broken{at}: {_shortened(error.message)}") from None
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the JSON Schema is broken: {_shortened(str(error))}") from None


def _refers_to_meta_schema(schema: Any) -> bool:
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            reference = each.get("$ref")
            if isinstance(reference, str) and meta_schema(reference.partition("#")[0]) is not None:
                return True
            waiting += each.values()
    return False


class _PythonPattern:
    """A keyword of our own, in place of `pattern`."""

    def __init__(self, parent_schema: dict[str, Any], value: str, schema_path: list[str | int]) -> None:
        self._pattern = re.compile(value)

    def validate(self, instance: Any) -> None:
        if isinstance(instance, str) and self._pattern.search(instance) is None:
            raise ValueError(f'"{instance}" does not match "{self._pattern.pattern}"')


def _with_python_patterns(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_python_patterns(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: each if name in DATA else _with_python_patterns(each) for name, each in schema.items()}
    pattern = found.get("pattern")
    if isinstance(pattern, str) and _is_of_python_alone(pattern):
        found[PYTHON_PATTERN] = found.pop("pattern")
    return found


def _is_of_python_alone(pattern: str) -> bool:
    import jsonschema_rs

    try:
        jsonschema_rs.Draft7Validator({"pattern": pattern})
    except ValueError:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError):
            return False
        return True
    return False


def _raise_verdict(error: ValueError) -> None:
    """Of jsonschema-rs, if it is one."""
    steps: list[str | int] | None = getattr(error, "instance_path", None)
    if steps is None:
        return
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    place = f"{path}: " if path else ""
    raise SerializationError(place + _shortened(str(getattr(error, "message", error)))) from None


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."
