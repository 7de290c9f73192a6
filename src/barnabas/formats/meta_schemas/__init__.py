"""The meta-schemas of JSON Schema, from draft 4 on, with their vocabularies: texts of json-schema.org, beside
this module, under AFL 3.0 or BSD's licence with three clauses."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FILES = Path(__file__).parent
HOST = "json-schema.org/"


def meta_schema(address: str) -> str | None:
    """The text of the one at an address without a fragment; None if there is none."""
    _, separator, place = address.partition("://")
    return _texts().get(place) if separator else None


def addresses() -> list[str]:
    """Of all, in the ways that they are written in."""
    return [f"{scheme}://{place}" for place in _texts() for scheme in ("http", "https")]


@cache
def _texts() -> dict[str, str]:
    return {
        HOST + path.relative_to(FILES).with_suffix("").as_posix(): path.read_text()
        for path in FILES.rglob("*.json")
    }
