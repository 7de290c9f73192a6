"""Associating subjects with resources, and ending that, by the rules of Confluent's registry."""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from barnabas.registry_server import api_errors, entities, subjects
from barnabas.registry_server.api_errors import invalid_association
from barnabas.registry_server.associations import AssociationFilter
from barnabas.registry_server.entities import JsonObject, Kind, fields
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.operations import deleting, lookups, registering, settings
from barnabas.registry_server.operations.requests import REGISTER, Draft
from barnabas.registry_server.records import AssociationKey, StoredAssociation, StoredSchema
from barnabas.registry_server.state import RegistryState
from barnabas.values import frozen

LONGEST_NAME = 256
TOPIC = "topic"
ASSOCIATION_TYPES = ("key", "value")
UNASSOCIATED = "NONE"


def _subject(value: Any, is_strict: bool) -> str | None:
    found = entities.text(value)
    if found is not None and (not found or any(unicodedata.category(each) == "Cc" for each in found)):
        raise invalid_association("subject", "must not be empty")
    return found


LIFECYCLE = entities.one_of(*entities.LIFECYCLES)
ASSOCIATION: Mapping[str, Kind] = {
    "subject": _subject,
    "associationType": entities.text,
    "lifecycle": LIFECYCLE,
    "frozen": entities.boolean,
    "schema": REGISTER,
    "normalize": entities.boolean,
}
RESOURCE: Mapping[str, Kind] = {
    "resourceName": entities.text,
    "resourceNamespace": entities.text,
    "resourceId": entities.text,
    "resourceType": entities.text,
}
ASSOCIATE = entities.lenient(fields({**RESOURCE, "associations": entities.list_of(fields(ASSOCIATION))}))


@frozen
class NamedResource:
    """`id`: None where it is only asked whether it may have associations."""

    name: str
    namespace: str
    id: str | None
    type: str

    def default_subject(self, association_type: str) -> str:
        """Of an association that goes with the resource."""
        return f":.{self.namespace}:{self.name}-{association_type}"

    @classmethod
    def from_json(cls, found: JsonObject, *, needs_id: bool) -> NamedResource:
        """`found`: as ASSOCIATE reads it. Raises: ApiError."""
        name = _checked_name("resourceName", found.get("resourceName"))
        namespace = _checked_name("resourceNamespace", found.get("resourceNamespace"))
        if needs_id and "resourceId" not in found:
            raise invalid_association("resourceId", "cannot be null or empty")
        resource_type = found.get("resourceType", TOPIC)
        if resource_type != TOPIC:
            raise invalid_association("resourceType", f"must be '{TOPIC}'")
        return cls(name, namespace, found.get("resourceId"), resource_type)


@frozen
class WantedAssociation:
    """None: as it is, or as it begins."""

    type: str
    subject: str | None
    lifecycle: str | None
    is_frozen: bool | None
    draft: Draft | None
    normalize: bool

    @classmethod
    def from_json(cls, found: JsonObject) -> WantedAssociation:
        """`found`: as ASSOCIATION reads it. Raises: ApiError."""
        association_type = found.get("associationType", "value")
        if association_type not in ASSOCIATION_TYPES:
            raise invalid_association("associationType", "must be either 'key' or 'value'")
        schema = found.get("schema")
        return cls(
            association_type,
            found.get("subject"),
            found.get("lifecycle"),
            found.get("frozen"),
            None if schema is None else Draft.from_json(schema),
            bool(found.get("normalize")),
        )

    def begun(self, *, must_be_new: bool) -> WantedAssociation:
        """With what holds for one that is not there yet where the request does not say. Raises: ApiError."""
        if self.draft is None:
            return replace(self, lifecycle=self.lifecycle or "WEAK", is_frozen=bool(self.is_frozen))
        if self.lifecycle == "WEAK":
            raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
        if self.is_frozen is not None and self.is_frozen != must_be_new:
            raise invalid_association(
                "frozen",
                "cannot be false when schema is provided for create"
                if must_be_new
                else "cannot be true when creating via upsert; use create instead",
            )
        return replace(self, lifecycle="STRONG", is_frozen=must_be_new)

    def is_equivalent(self, old: StoredAssociation) -> bool:
        return (
            self.subject == old.key.subject
            and self.lifecycle in (None, old.lifecycle)
            and self.is_frozen in (None, old.is_frozen)
        )


@frozen
class _Settled:
    """What is to be there, and what is there."""

    wanted: WantedAssociation
    subject: str
    lifecycle: str
    old: StoredAssociation | None

    @property
    def is_there(self) -> bool:
        return self.old is not None and self.wanted.is_equivalent(self.old)

    def stored(self, resource: NamedResource, resource_id: str) -> StoredAssociation:
        old, is_frozen = self.old, self.wanted.is_frozen
        if old is not None:
            is_frozen = old.is_frozen if is_frozen is None else is_frozen
            return replace(old, lifecycle=self.lifecycle, is_frozen=is_frozen)
        key = AssociationKey(resource.name, resource.namespace, resource.type, self.wanted.type, self.subject)
        return StoredAssociation(key, str(uuid.uuid4()), resource_id, self.lifecycle, bool(is_frozen))


@frozen
class Associated:
    """`changed`: what was made or changed; with the schema, where one was registered."""

    resource: NamedResource
    changed: Sequence[tuple[StoredAssociation, StoredSchema | None]] = ()


async def associate(
    state: RegistryState, request: JsonObject, *, context: str, must_be_new: bool, only_checks: bool
) -> tuple[list[Record], Associated]:
    """Makes associations of a resource, or unless they must be new, changes them; registers the schemas in
    them. `request`: as ASSOCIATE reads it; `context`: of subjects that do not say. Raises: ApiError."""
    resource = NamedResource.from_json(request, needs_id=not only_checks)
    wanted = [WantedAssociation.from_json(each) for each in request.get("associations", ())]
    if not wanted:
        raise invalid_association("associations", "cannot be null or empty")
    types = [each.type for each in wanted]
    for each in types:
        if types.count(each) > 1:
            raise invalid_association("associationType", f"Duplicate association type: {each}")
    there = _there(state, resource, types)
    settled = [
        await _settled(state, resource, each, there.get(each.type), context=context, must_be_new=must_be_new)
        for each in wanted
    ]
    for each in settled:
        _refuse_shared(state, each, settled)
    written: list[Record] = []
    registered: dict[str, StoredSchema] = {}
    for each in settled:
        if each.wanted.draft is not None:
            records, schema = await registering.register(
                state,
                each.subject,
                each.wanted.draft,
                normalize=each.wanted.normalize,
                beside=tuple(registered.values()),
            )
            written += records
            registered[each.wanted.type] = schema
    if only_checks or resource.id is None:
        return [], Associated(resource)
    changed = [each.stored(resource, resource.id) for each in settled if not each.is_there]
    written += [(bytes(each.key), bytes(each)) for each in changed]
    return written, Associated(
        resource, [(each, registered.get(each.key.association_type)) for each in changed]
    )


def _there(
    state: RegistryState, resource: NamedResource, types: Sequence[str]
) -> dict[str, StoredAssociation]:
    """What the resource has, by type."""
    wanted = AssociationFilter(resource.type, types)
    if resource.id is not None:
        found = state.associations.of_resource(resource.id, wanted)
    else:
        # Of several resources that had the name one after the other, the last one.
        found = state.associations.of_name(resource.namespace, resource.name, wanted)
        found.sort(key=lambda each: each.updated_ms or 0)
    return {each.key.association_type: each for each in found}


async def _settled(
    state: RegistryState,
    resource: NamedResource,
    wanted: WantedAssociation,
    old: StoredAssociation | None,
    *,
    context: str,
    must_be_new: bool,
) -> _Settled:
    """Raises: ApiError."""
    if must_be_new or old is None:
        wanted = wanted.begun(must_be_new=must_be_new)
    lifecycle = wanted.lifecycle or (old.lifecycle if old is not None else "WEAK")
    default = resource.default_subject(wanted.type)
    if wanted.subject is not None:
        subject = _qualified(state, context, wanted.subject)
    elif old is not None and not must_be_new:
        subject = old.key.subject
    elif lifecycle == "STRONG":
        subject = default
    else:
        raise invalid_association("subject", "must be provided for WEAK associations")
    wanted = replace(wanted, subject=subject)
    settings.refuse_read_only(state, subject)
    if lifecycle == "WEAK":
        if wanted.draft is not None:
            raise invalid_association("lifecycle", "cannot be WEAK when schema is provided")
        if wanted.is_frozen:
            raise invalid_association("frozen", "association with lifecycle of WEAK cannot be frozen")
        if subject == default:
            raise invalid_association("subject", f"WEAK associations cannot use subject '{default}'")
    is_frozen = bool(wanted.is_frozen) if old is None else old.is_frozen
    if is_frozen and subject != default:
        raise invalid_association("subject", f"frozen associations must use subject '{default}'")
    if wanted.draft is not None and settings.is_importing(state, subject):
        raise invalid_association("schema", f"cannot be provided while subject '{subject}' is in IMPORT mode")
    settled = _Settled(wanted, subject, lifecycle, old)
    if old is None:
        if is_frozen and not settings.is_importing(state, subject):
            await _refuse_frozen(state, settled, must_be_new=must_be_new)
    elif settled.is_there:
        if must_be_new and wanted.draft is not None and not await _has(state, settled):
            raise api_errors.resource_has_association(wanted.type, old.key.resource_name)
    elif must_be_new:
        raise api_errors.resource_has_association(wanted.type, old.key.resource_name)
    else:
        _refuse_change(old, settled)
    return settled


async def _refuse_frozen(state: RegistryState, settled: _Settled, *, must_be_new: bool) -> None:
    """A frozen one begins with its subject. Raises: ApiError."""
    if must_be_new and settled.wanted.draft is None:
        raise invalid_association("schema", "schema must be provided when creating a frozen association")
    latest = state.latest(settled.subject)
    if latest is not None and (latest.version != 1 or not await _has(state, settled)):
        raise invalid_association(
            "frozen", "cannot create a frozen association when schemas already exist in the subject"
        )


def _refuse_change(old: StoredAssociation, settled: _Settled) -> None:
    """Raises: ApiError."""
    wanted = settled.wanted
    if wanted.lifecycle is None and wanted.draft is None:
        raise invalid_association("lifecycle", "at least lifecycle or schema must be provided for update")
    if settled.subject != old.key.subject:
        raise invalid_association(
            "subject",
            f"subject of association cannot be changed from '{old.key.subject}' to '{settled.subject}'",
        )
    if wanted.is_frozen is not None and wanted.is_frozen != old.is_frozen:
        raise invalid_association("frozen", "frozen attribute of association cannot be changed")
    if old.is_frozen:
        raise api_errors.association_frozen(old.key.association_type, old.key.subject)


async def _has(state: RegistryState, settled: _Settled) -> bool:
    """Whether the schema is in the subject. Raises: ApiError."""
    draft = settled.wanted.draft
    normalize = settled.wanted.normalize or bool(
        settings.config_in_scope(state, settled.subject).get("normalize")
    )
    if draft is None:
        return False
    return await lookups.find(state, settled.subject, draft, normalize=normalize) is not None


def _refuse_shared(state: RegistryState, settled: _Settled, others: Sequence[_Settled]) -> None:
    """Who has a subject strongly has it alone, and it has a schema. Raises: ApiError."""
    subject, old = settled.subject, settled.old
    if settled.wanted.draft is None and state.latest(subject) is None:
        raise api_errors.no_active_version(subject)
    lifecycles = [
        each.lifecycle
        for each in state.associations.of_subject(subject)
        if old is None
        or (each.resource_id, each.key.resource_type, each.key.association_type)
        != (old.resource_id, old.key.resource_type, old.key.association_type)
    ]
    lifecycles += [each.lifecycle for each in others if each is not settled and each.subject == subject]
    if settled.lifecycle == "STRONG" and lifecycles:
        raise api_errors.subject_has_association(subject)
    if "STRONG" in lifecycles:
        raise api_errors.subject_has_strong_association(subject)


def wanted_of_subject(
    state: RegistryState, subject: str, wanted: AssociationFilter, lifecycles: Collection[str]
) -> list[StoredAssociation] | None:
    """Those of a subject that is one of the wanted; None for another one. `lifecycles`: without any all pass;
    `NONE` is that there are no associations."""
    found = state.associations.of_subject(subject, wanted)
    if not found:
        return [] if UNASSOCIATED in lifecycles else None
    return [each for each in found if not lifecycles or each.lifecycle in lifecycles] or None


async def dissociate(
    state: RegistryState,
    resource_id: str,
    wanted: AssociationFilter,
    *,
    cascades: bool,
    only_checks: bool,
) -> tuple[list[Record], None]:
    """Ends associations. `cascades`: subjects of strong ones are deleted for good. Raises: ApiError."""
    found = state.associations.of_resource(resource_id, wanted)
    if not found:
        raise api_errors.association_not_found(resource_id)
    for each in found:
        settings.refuse_read_only(state, each.key.subject)
        if each.is_frozen and not cascades:
            raise api_errors.association_frozen(each.key.association_type, each.key.subject)
    written: list[Record] = [(bytes(each.key), None) for each in found]
    gone = [
        each.key.subject
        for each in found
        if cascades and each.lifecycle == "STRONG" and not settings.is_importing(state, each.key.subject)
    ]
    for subject in gone:
        written += deleting.erased(state, subject, beside=gone)
    return ([] if only_checks else written), None


def _qualified(state: RegistryState, context: str, subject: str) -> str:
    """With the context of the request, and by its alias."""
    if not subject.startswith((":.", subjects.ANY_CONTEXT)):
        subject = subjects.parse(context).prefix + subject
    subject = str(subjects.parse(subject))
    alias = state.configs.get(subject, {}).get("alias")
    subject = subjects.within(subject, alias) if alias else subject
    if not subjects.is_valid(subject) or subjects.parse(subject).context == "*":
        raise api_errors.invalid_subject(subject)
    return subject


def _checked_name(field: str, name: str | None) -> str:
    if name is None:
        raise invalid_association(field, "cannot be null or empty")
    if len(name) > LONGEST_NAME:
        raise invalid_association(field, f"exceeds max length of {LONGEST_NAME}")
    for each in name:
        if each not in "_-" and unicodedata.category(each) not in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"):
            raise invalid_association(field, f"illegal character '{each}'")
    return name
