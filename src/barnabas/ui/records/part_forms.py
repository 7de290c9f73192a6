"""How somebody wants keys and values to be read. Knows no record."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.records.asked import UsageError
from barnabas.records.plain import PLAIN_FORMATS
from barnabas.records.texts import SIDES
from barnabas.values import frozen

AUTOMATIC = ""
BY_SCHEMA = "schema"
FORMS: Mapping[str, str] = {
    AUTOMATIC: "automatic",
    "text": "text",
    "json": "JSON",
    **dict.fromkeys(PLAIN_FORMATS, ""),
    "hex": "hex",
    "base64": "base64",
    "short": "short, 2 bytes",
    "int": "int, 4 bytes",
    "long": "long, 8 bytes",
    "float": "float, 4 bytes",
    "double": "double, 8 bytes",
    BY_SCHEMA: "by a schema",
}
"""What they are called on the page."""


@frozen
class PartForm:
    """`schema`: of BY_SCHEMA, as somebody typed it: an id, SUBJECT or SUBJECT:VERSION."""

    form: str = AUTOMATIC
    schema: str = ""


@frozen
class RecordForms:
    key: PartForm = PartForm()
    value: PartForm = PartForm()


AS_IT_IS = RecordForms()


def record_forms(query: Mapping[str, str]) -> RecordForms:
    """Of the fields `key_as`, `key_schema` and the same of values. Raises: UsageError."""
    found: list[PartForm] = []
    for side in SIDES:
        form, schema = query.get(f"{side}_as", AUTOMATIC), query.get(f"{side}_schema", "").strip()
        if form not in FORMS:
            raise UsageError(f"{side}s as {form!r}: choose one of {', '.join(filter(None, FORMS))}")
        if form == BY_SCHEMA and not schema:
            raise UsageError(f"{side}s by a schema: name it, by its id or as SUBJECT or SUBJECT:VERSION")
        found.append(PartForm(form, schema if form == BY_SCHEMA else ""))
    return RecordForms(*found)
