"""Which subjects have the keys and values of which resources: the table, by each of what it is asked by.

Knows nothing of requests, nor of what a subject has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from barnabas.registry_server.entities import utf16
from barnabas.registry_server.records import AssociationKey, StoredAssociation
from barnabas.values import frozen

ANY = "-"
"""As a namespace or a name: all of them."""

_Index = dict[str, dict[AssociationKey, StoredAssociation]]


@frozen
class AssociationFilter:
    """None and nothing let all pass."""

    resource_type: str | None = None
    association_types: Collection[str] = ()
    lifecycle: str | None = None

    def passes(self, each: StoredAssociation) -> bool:
        return (
            self.resource_type in (None, each.key.resource_type)
            and (not self.association_types or each.key.association_type in self.association_types)
            and self.lifecycle in (None, each.lifecycle)
        )


EVERY = AssociationFilter()


class Associations:
    """Lists are in the order of names, namespaces, resource types, association types and subjects."""

    def __init__(self) -> None:
        self._of_subject: _Index = {}
        self._of_resource: _Index = {}
        self._of_name: _Index = {}

    def of_subject(self, subject: str, wanted: AssociationFilter = EVERY) -> list[StoredAssociation]:
        return _sorted(self._of_subject.get(subject, {}).values(), wanted)

    def of_resource(self, resource_id: str, wanted: AssociationFilter = EVERY) -> list[StoredAssociation]:
        return _sorted(self._of_resource.get(resource_id, {}).values(), wanted)

    def of_name(
        self, namespace: str, name: str, wanted: AssociationFilter = EVERY
    ) -> list[StoredAssociation]:
        """Of the resources with that name; `-` is any namespace, and any name."""
        names: Iterable[str] = self._of_name if name == ANY else (name,)
        found = (each for given in names for each in self._of_name.get(given, {}).values())
        return _sorted((each for each in found if namespace in (ANY, each.key.resource_namespace)), wanted)

    def put(self, association: StoredAssociation) -> None:
        old = self.remove(association.key)
        if association.created_ms is None:
            created_ms = association.updated_ms if old is None else old.created_ms
            association = replace(association, created_ms=created_ms)
        for index, name in self._places(association):
            index.setdefault(name, {})[association.key] = association

    def remove(self, key: AssociationKey) -> StoredAssociation | None:
        found = self._of_subject.get(key.subject, {}).get(key)
        if found is not None:
            for index, name in self._places(found):
                of_name = index[name]
                del of_name[key]
                if not of_name:
                    del index[name]
        return found

    def _places(self, association: StoredAssociation) -> list[tuple[_Index, str]]:
        key = association.key
        return [
            (self._of_subject, key.subject),
            (self._of_resource, association.resource_id),
            (self._of_name, key.resource_name),
        ]


def _sorted(found: Iterable[StoredAssociation], wanted: AssociationFilter) -> list[StoredAssociation]:
    return sorted((each for each in found if wanted.passes(each)), key=_order)


def _order(each: StoredAssociation) -> list[bytes]:
    key = each.key
    parts = (key.resource_name, key.resource_namespace, key.resource_type, key.association_type, key.subject)
    return [utf16(part) for part in parts]
