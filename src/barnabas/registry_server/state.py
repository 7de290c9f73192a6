"""What the records of a journal make together: subjects with their versions, ids, references, settings,
modes, contexts and associations.

Owns the tables; nothing changes them but `apply`. Knows nothing of requests, nor of what a schema means.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from barnabas.registry_server import records, subjects
from barnabas.registry_server.associations import Associations
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject, utf16
from barnabas.registry_server.records import (
    AssociationKey,
    ContextKey,
    OtherKey,
    RecordError,
    SchemaKey,
    StoredSchema,
    SubjectKey,
)

log = logging.getLogger("barnabas.registry_server")

ContextId = tuple[str, int]
"""A context and an id in it."""


DEFAULT_LEVEL = "BACKWARD"


class RegistryState:
    """`default_level`: of compatibility, where nothing is set."""

    def __init__(self, default_level: str = DEFAULT_LEVEL) -> None:
        self.default_level = default_level
        self.applied = 0
        """How many records. What was looked up stays true as long as this does not change."""
        self.configs: dict[str | None, JsonObject] = {}
        """Of subjects, contexts (`:.context:`) and, by None, of all."""
        self.modes: dict[str | None, str] = {}
        self.associations = Associations()
        self._contexts: set[str] = set()
        self._subjects: dict[str, dict[int, StoredSchema]] = {}
        self._ids: dict[str, dict[int, dict[str, int]]] = {}
        """By context and id: the subjects with that schema, each with the version that came last."""
        self._digests: dict[str, dict[bytes, int]] = {}
        self._referenced_by: dict[SchemaKey, dict[ContextId, None]] = {}
        self._highest_ids: dict[str, int] = {}

    # What is in it.

    @property
    def contexts(self) -> list[str]:
        """All but the default one, sorted."""
        return sorted(self._contexts, key=utf16)

    @property
    def subjects(self) -> Iterable[str]:
        """With at least one version, were it a deleted one; in no order."""
        return self._subjects

    def get(self, key: SchemaKey) -> StoredSchema | None:
        return self._subjects.get(key.subject, {}).get(key.version)

    def versions(self, subject: str, *, deleted: bool = False) -> list[StoredSchema]:
        """Of a subject, or with `:*:subject`, of that name in every context; the oldest first."""
        return [
            each
            for name in self._named(subject)
            for _, each in sorted(self._subjects.get(name, {}).items())
            if deleted or not each.is_deleted
        ]

    def _named(self, subject: str) -> list[str]:
        parsed = subjects.parse(subject)
        if parsed.context != "*":
            return [subject]
        if not parsed.name:
            return sorted(self._subjects, key=utf16)
        return [parsed.name, *(str(subjects.Subject(context, parsed.name)) for context in self.contexts)]

    def latest(self, subject: str) -> StoredSchema | None:
        found = self.versions(subject)
        return found[-1] if found else None

    def has(self, subject: str | None, *, deleted: bool = False) -> bool:
        """Whether a subject, any of a context, or any at all has versions."""
        if subject is not None and subjects.parse(subject).name:
            return bool(self.versions(subject, deleted=deleted))
        return any(True for _ in self.matching(subject, deleted=deleted))

    def matching(self, subject: str | None, *, deleted: bool = False) -> Iterator[str]:
        """The subject, those of a context, or all."""
        wanted = None if subject is None else subjects.parse(subject)
        for name, versions in self._subjects.items():
            if (wanted is None or wanted.includes(name)) and (
                deleted or any(not each.is_deleted for each in versions.values())
            ):
                yield name

    def key_of(self, schema_id: int, subject: str | None) -> SchemaKey | None:
        """Where the schema with this id is: in the subject, or if that is a context, anywhere in it."""
        parsed = subjects.parse(subject or "")
        found = self._ids.get(parsed.context, {}).get(schema_id, {})
        if not parsed.name:
            return next((SchemaKey(name, version) for name, version in found.items()), None)
        version = found.get(str(parsed))
        return None if version is None else SchemaKey(str(parsed), version)

    def places_of(self, schema_id: int, context: str) -> dict[str, int]:
        """The subjects of a context that have a schema, and the version."""
        return self._ids.get(context, {}).get(schema_id, {})

    def id_of(self, digest: bytes, context: str) -> int | None:
        """Of a content."""
        return self._digests.get(context, {}).get(digest)

    def referenced_by(self, key: SchemaKey) -> list[ContextId]:
        return list(self._referenced_by.get(key, ()))

    def highest_id(self, context: str) -> int:
        """0 where there never was one."""
        return self._highest_ids.get(context, 0)

    # What changes it.

    def apply(self, key: bytes, value: bytes | None, offset: int, timestamp_ms: int) -> None:
        """Takes the next record. One that no registry writes is left out, and told in the log."""
        self.applied += 1
        try:
            self._apply(key, value, timestamp_ms)
        except RecordError as error:
            log.warning("record %d of the journal is left out: %s", offset, error)

    def _apply(self, key: bytes, value: bytes | None, timestamp_ms: int) -> None:
        parsed = records.parse_key(key)
        if isinstance(parsed, SchemaKey):
            if value is None:
                self._remove(parsed)
            else:
                self._put(parsed, records.parse_schema(value, timestamp_ms))
        elif isinstance(parsed, ContextKey):
            (self._contexts.discard if value is None else self._contexts.add)(parsed.context)
        elif isinstance(parsed, AssociationKey):
            if value is None:
                self.associations.remove(parsed)
            else:
                self.associations.put(records.parse_association(parsed, value, timestamp_ms))
        elif not isinstance(parsed, OtherKey):
            self._apply_of_subject(parsed, value)

    def _apply_of_subject(self, key: SubjectKey, value: bytes | None) -> None:
        if key.keytype == "CONFIG":
            if value is None:
                self.configs.pop(key.subject, None)
            else:
                self.configs[key.subject] = records.parse_config(value)
        elif key.keytype == "MODE":
            if value is None:
                self.modes.pop(key.subject, None)
            else:
                self.modes[key.subject] = records.parse_mode(value)
        elif value is None:
            # Of a deletion: it is done, whether its record is still there or not.
            return
        elif key.keytype == "DELETE_SUBJECT":
            subject, last = records.parse_delete_subject(value)
            for version, each in self._subjects.get(subject, {}).items():
                if version <= last and not each.is_deleted:
                    self._subjects[subject][version] = each.deleted()
        else:
            self._clear(key.subject)

    def _put(self, key: SchemaKey, schema: StoredSchema) -> None:
        context = subjects.context_of(key.subject)
        used = next(iter(self.places_of(schema.id, context).items()), None)
        if used is not None:
            other = self.get(SchemaKey(*used))
            if other is not None and other.content.text != schema.content.text:
                raise RecordError(f"another schema of the context has the id {schema.id} of {key}")
        self._subjects.setdefault(key.subject, {})[key.version] = schema
        self._ids.setdefault(context, {}).setdefault(schema.id, {})[key.subject] = key.version
        self._digests.setdefault(context, {})[schema.digest] = schema.id
        self._highest_ids[context] = max(self.highest_id(context), schema.id)
        if not schema.is_deleted:
            for target in targets(schema):
                self._referenced_by.setdefault(target, {})[context, schema.id] = None

    def _remove(self, key: SchemaKey) -> None:
        versions = self._subjects.get(key.subject, {})
        schema = versions.pop(key.version, None)
        if schema is None:
            return
        if not versions:
            del self._subjects[key.subject]
        context = subjects.context_of(key.subject)
        places = self._ids[context].get(schema.id, {})
        if places.get(key.subject) == key.version:
            others = [version for version, each in versions.items() if each.id == schema.id]
            if others:
                # Imported more than once.
                places[key.subject] = max(others)
            else:
                del places[key.subject]
        if places:
            return
        self._ids[context].pop(schema.id, None)
        self._digests[context].pop(schema.digest, None)
        for target in targets(schema):
            ids = self._referenced_by.get(target, {})
            ids.pop((context, schema.id), None)
            if not ids:
                self._referenced_by.pop(target, None)

    def _clear(self, subject: str | None) -> None:
        """Takes away what is deleted softly."""
        for name in list(self.matching(subject, deleted=True)):
            for version, each in list(self._subjects[name].items()):
                if each.is_deleted:
                    self._remove(SchemaKey(name, version))


def targets(schema: StoredSchema) -> list[SchemaKey]:
    """The versions that a schema refers to."""
    return target_keys(schema.subject, schema.content)


def target_keys(subject: str, content: Content) -> list[SchemaKey]:
    return [
        SchemaKey(subjects.within(subject, reference["subject"]), reference["version"])
        for reference in content.references
        if "subject" in reference and "version" in reference
    ]
