"""Deleting: softly at first, so that data can still be read, then for good."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from barnabas.registry_server import api_errors, records, subjects
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.operations import lookups, settings
from barnabas.registry_server.records import ContextKey, StoredSchema, SubjectKey
from barnabas.registry_server.state import RegistryState


async def delete_version(
    state: RegistryState, subject: str, version: int, *, permanent: bool
) -> tuple[list[Record], int]:
    """Answers which version it was."""
    schema = lookups.get(state, subject, version, deleted=True)
    if schema is None:
        if not state.has(subject, deleted=True):
            raise api_errors.subject_not_found(subject)
        raise api_errors.version_not_found(version)
    if schema.is_deleted and not permanent:
        raise api_errors.version_soft_deleted(subject, version)
    settings.refuse_read_only(state, subject)
    if not permanent and state.associations.of_subject(subject) and len(state.versions(subject)) == 1:
        raise api_errors.no_active_version(subject)
    if lookups.referrers(state, schema.key, deleted=permanent):
        raise api_errors.reference_exists(str(schema.key))
    if not permanent:
        return [(bytes(schema.key), bytes(schema.deleted()))], schema.version
    if not schema.is_deleted:
        raise api_errors.version_not_soft_deleted(subject, schema.version)
    written: list[Record] = [(bytes(schema.key), None)]
    if len(state.versions(subject, deleted=True)) == 1:
        written += settings.forgotten(state, subject)
    return written, schema.version


async def delete_subject(
    state: RegistryState, subject: str, *, permanent: bool
) -> tuple[list[Record], list[int]]:
    """Answers which versions it had."""
    if not state.has(subject, deleted=True):
        raise api_errors.subject_not_found(subject)
    if not permanent and not state.has(subject):
        raise api_errors.subject_soft_deleted(subject)
    settings.refuse_read_only(state, subject)
    if state.associations.of_subject(subject):
        raise api_errors.subject_has_association(subject)
    versions = state.versions(subject, deleted=permanent)
    for each in versions:
        if lookups.referring_subjects(state, each.key, deleted=permanent) - {subject}:
            raise api_errors.reference_exists(str(each.key))
        if permanent and not each.is_deleted:
            raise api_errors.subject_not_soft_deleted(subject)
    numbers = [each.version for each in versions]
    if not permanent:
        value = records.delete_subject_value(subject, numbers[-1])
        return [(bytes(SubjectKey("DELETE_SUBJECT", subject)), value)], numbers
    return _gone(state, subject, versions), numbers


def erased(state: RegistryState, subject: str, *, beside: Collection[str]) -> list[Record]:
    """A subject, softly and then for good. `beside`: those that go at once, itself too. Raises: ApiError."""
    versions = state.versions(subject, deleted=True)
    for each in versions:
        if lookups.referring_subjects(state, each.key, deleted=True) - {*beside}:
            raise api_errors.reference_exists(str(each.key))
    if not versions:
        return []
    value = records.delete_subject_value(subject, versions[-1].version)
    softly: list[Record] = [(bytes(SubjectKey("DELETE_SUBJECT", subject)), value)]
    return softly + _gone(state, subject, versions)


def _gone(state: RegistryState, subject: str, versions: Sequence[StoredSchema]) -> list[Record]:
    # The last one first, which may refer to those before.
    written: list[Record] = [(bytes(each.key), None) for each in reversed(versions)]
    return written + settings.forgotten(state, subject)


async def delete_context(state: RegistryState, context: str) -> tuple[list[Record], None]:
    """`context`: `:.context:`."""
    if state.has(context, deleted=True):
        raise api_errors.context_not_empty(context)
    return [(bytes(ContextKey(subjects.context_of(context))), None)], None
