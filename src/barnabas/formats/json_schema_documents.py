"""A JSON Schema with the documents that it refers to: reading them, and finding what a `$ref` means.

Asks no network: a document is one of the references that were given, by the name in `$ref`, or a meta-schema
of json-schema.org. Knows nothing of what schemas mean beyond ids, anchors and drafts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote, urljoin

from barnabas.formats.errors import SchemaError
from barnabas.formats.meta_schemas import meta_schema
from barnabas.values import frozen

DRAFTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}
DRAFT_UNTOLD = 7
"""What registries take a schema for that tells no draft."""
# What is data in a schema, and no schema.
DATA = frozenset({"enum", "const", "default", "examples"})
ROOT = ""


@frozen
class Place:
    """A schema within a document."""

    document: str
    """The name that the document was given by; empty: the one that refers to the others."""
    path: tuple[str, ...]
    schema: Any
    base: str
    """The URI that references are relative to."""

    @property
    def pointer(self) -> str:
        steps = [step.replace("~", "~0").replace("/", "~1") for step in self.path]
        return "/".join([f"{self.document}#", *steps])


class Documents:
    """`references`: texts by the names in `$ref`. They are read when something refers to them.

    Raises: SchemaError.
    """

    def __init__(self, text: str, references: Mapping[str, str] | None = None) -> None:
        self._texts = dict(references or {})
        self._roots: dict[str, Place] = {}
        self._ids: dict[str, Place] = {}
        self._names: Mapping[str, str] | None = None
        schema = parsed(text)
        self.draft = draft_told(schema) or DRAFT_UNTOLD
        self.root = self._add(ROOT, schema, _id(schema, self.draft))

    def draft_of(self, document: str) -> int:
        return draft_told(self._roots[document].schema) or self.draft

    def child(self, place: Place, *steps: str) -> Place:
        """What is below a schema, a few steps down, of which only the last leads to a schema."""
        schema: Any = place.schema
        for step in steps:
            if isinstance(schema, list):
                schema = cast(list[Any], schema)[int(step)]
            else:
                schema = cast(dict[str, Any], schema)[step]
        own = _id(schema, self.draft)
        base = urljoin(place.base, own).partition("#")[0] if own else place.base
        return Place(place.document, (*place.path, *steps), schema, base)

    def resolve(self, reference: str, place: Place) -> Place:
        """What `$ref` means within `place`.

        Raises: SchemaError.
        """
        target, _, fragment = reference.partition("#")
        document = self._document(target, place) if target else self._of_base(place)
        found = self._in(document, unquote(fragment))
        if found is None and not target:
            found = self._in(self._roots[place.document], unquote(fragment))
        if found is None:
            raise SchemaError(
                f"{place.pointer} of the JSON Schema refers to {reference!r}, which is not there"
            )
        return found

    def names(self) -> Mapping[str, str]:
        """The names of the references by the URIs that they may be asked for: as they are, and relative to
        the id or the name of any document."""
        ids = [_id(parsed(text), self.draft) for text in self._texts.values()]
        bases = {urljoin(each, ".") for each in (self.root.base, *ids, *self._texts)}
        found = {urljoin(base, name): name for base in sorted(bases) for name in self._texts}
        return {**found, **{name: name for name in self._texts}}

    def _document(self, target: str, place: Place) -> Place:
        address = urljoin(place.base, target)
        for name in (target, target.removeprefix("./"), address):
            if name in self._texts:
                return self._of_name(name)
        if address not in self._ids:
            if self._names is None:
                self._names = self.names()
                for name in self._texts:
                    self._of_name(name)
            if address in self._names:
                return self._of_name(self._names[address])
        bundled = meta_schema(address)
        if address not in self._ids and bundled is not None:
            return self._of_meta_schema(address, bundled)
        if address not in self._ids:
            raise SchemaError(
                f"{place.pointer} of the JSON Schema refers to {target!r}, which is none of its references "
                f"({', '.join(self._texts) or 'it has none'})"
            )
        return self._ids[address]

    def _of_name(self, name: str) -> Place:
        known = self._roots.get(name)
        if known is None:
            schema = parsed(self._texts[name])
            address = urljoin(self.root.base, name)
            known = self._add(name, schema, urljoin(address, _id(schema, self.draft)))
        return known

    def _of_meta_schema(self, address: str, text: str) -> Place:
        known = self._roots.get(address)
        if known is None:
            schema = parsed(text)
            # Draft 4 has another keyword for it than the rest.
            known = self._add(address, schema, _id(schema, 4) or _id(schema, DRAFT_UNTOLD))
        return known

    def _add(self, name: str, schema: Any, base: str) -> Place:
        place = Place(name, (), schema, base.partition("#")[0])
        self._roots[name] = place
        for address, found in _identified(place, self.draft):
            self._ids.setdefault(address, found)
        return place

    def _of_base(self, place: Place) -> Place:
        root = self._roots[place.document]
        if place.base == root.base:
            return root
        return self._ids.get(place.base, root)

    def _in(self, document: Place, fragment: str) -> Place | None:
        if fragment and not fragment.startswith("/"):
            return self._ids.get(f"{document.base}#{fragment}")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in fragment.split("/")[1:]]
        found = self._down(document, steps)
        if found is None and steps[:1] == ["$defs"]:
            # Registries take the older name for it as well.
            found = self._down(document, ["definitions", *steps[1:]])
        return found

    def _down(self, place: Place, steps: list[str]) -> Place | None:
        for step in steps:
            container = place.schema
            if isinstance(container, list):
                items = cast(list[Any], container)
                if not step.isdecimal() or int(step) >= len(items):
                    return None
            elif not isinstance(container, dict) or step not in container:
                return None
            place = self.child(place, step)
        return place


def parsed(text: str) -> Any:
    """A schema's JSON: an object, or true or false.

    Raises: SchemaError.
    """
    try:
        schema = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise SchemaError("the JSON Schema is nested too deeply") from None
    except ValueError as error:
        raise SchemaError(f"the JSON Schema is not JSON: {error}") from None
    if not isinstance(schema, dict | bool):
        raise SchemaError("a JSON Schema is an object, true or false")
    return cast(Any, schema)


def draft_told(schema: Any) -> int | None:
    """The draft that a document's `$schema` names; None for one that is not known."""
    address = cast(dict[str, Any], schema).get("$schema") if isinstance(schema, dict) else None
    if not isinstance(address, str):
        return None
    return DRAFTS.get(address.removesuffix("#").partition("://")[2])


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _id(schema: Any, draft: int) -> str:
    if not isinstance(schema, dict):
        return ""
    own = cast(dict[str, Any], schema).get("id" if draft == 4 else "$id")
    return own if isinstance(own, str) else ""


def _identified(root: Place, draft: int) -> Iterator[tuple[str, Place]]:
    """All below a document's root that have ids or anchors."""
    waiting: list[tuple[Any, tuple[str, ...], str]] = [(root.schema, (), root.base)]
    while waiting:
        schema, path, base = waiting.pop()
        if isinstance(schema, list):
            items = enumerate(cast(list[Any], schema))
            waiting += [(each, (*path, str(number)), base) for number, each in items]
        elif isinstance(schema, dict):
            fields = cast(dict[str, Any], schema)
            own = _id(fields, draft)
            address = urljoin(base, own)
            base = address.partition("#")[0]
            place = Place(root.document, path, fields, base)
            if own or not path:
                yield address, place
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(fields.get(keyword), str):
                    yield f"{base}#{fields[keyword]}", place
            for name, each in fields.items():
                if name not in DATA:
                    waiting.append((each, (*path, name), base))
