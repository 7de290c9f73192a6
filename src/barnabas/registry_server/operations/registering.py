"""Registering schemas and changing the tags in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.content import Content, merged_rule_sets, with_confluent_version
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.operations import compatibility, lookups, parsing, settings, tags
from barnabas.registry_server.operations.requests import Draft
from barnabas.registry_server.operations.rule_sets import checked_rule_set
from barnabas.registry_server.records import ContextKey, StoredSchema
from barnabas.registry_server.state import RegistryState

RULE_KINDS = ("migrationRules", "domainRules", "encodingRules")


async def is_there(
    state: RegistryState, subject: str, draft: Draft, *, normalize: bool
) -> StoredSchema | None:
    """The version that registering would answer without changing anything. Any registry may tell, not only
    the one that writes. Raises: ApiError."""
    config = settings.config_in_scope(state, subject)
    if (
        draft.tags_to_add
        or draft.tags_to_remove
        or draft.propagates_tags
        or any(name.startswith(("default", "override")) for name in config)
    ):
        return None
    normalize = normalize or bool(config.get("normalize"))
    is_latest = draft.version == lookups.LATEST
    found = await lookups.find(state, subject, draft, normalize=normalize, only_latest=is_latest)
    if found is None:
        return None
    if draft.version == 0 or is_latest:
        return found if draft.id in (found.id, -1) else None
    if draft.id != found.id:
        return None
    if draft.version == found.version:
        return found
    # The same schema may have been imported as more than one version.
    other = lookups.get(state, subject, draft.version)
    return other if other is not None and (other.id, other.digest) == (found.id, found.digest) else None


async def register(
    state: RegistryState,
    subject: str,
    draft: Draft,
    *,
    normalize: bool = False,
    force: bool = False,
    beside: Sequence[StoredSchema] = (),
) -> tuple[list[Record], StoredSchema]:
    """`force`: without asking whether it is compatible. `beside`: what is registered at once, in other
    subjects."""
    checked_rule_set(draft.content.rule_set)
    if not subjects.is_valid(subject):
        raise api_errors.invalid_subject(subject)
    settings.refuse_registering(state, subject, draft.id)
    if draft.tags_to_add or draft.tags_to_remove:
        draft = await _with_tags(state, subject, draft)
    config = settings.config_in_scope(state, subject)
    normalize = normalize or bool(config.get("normalize"))
    is_importing = settings.is_importing(state, subject)
    known = state.versions(subject, deleted=True)
    active = [each for each in known if not each.is_deleted]
    next_version = known[-1].version + 1 if known else 1
    if not is_importing:
        draft = await _completed(state, subject, draft, active[-1] if active else None, next_version)
    if not draft.content.text.strip():
        raise api_errors.invalid_schema("Empty schema")
    if draft.id >= 0 and settings.mode_in_scope(state, subject) != "IMPORT":
        draft = replace(draft, id=-1)
    content = await parsing.canonical(
        state,
        subject,
        draft.content,
        normalize=normalize and not is_importing,
        deleted=draft.id >= 0 or not config.get("validateNewSchemas", True),
    )
    schema_id = draft.id
    context = subjects.context_of(subject)
    beside = [each for each in beside if subjects.context_of(each.subject) == context]
    known_id = state.id_of(content.digest, context)
    if known_id is None:
        known_id = next((each.id for each in beside if each.digest == content.digest), None)
    if known_id is not None and schema_id in (-1, known_id):
        version = state.places_of(known_id, context).get(subject)
        there = None if version is None else lookups.get(state, subject, version)
        if draft.version == 0 and there is not None:
            return [], there
        schema_id = known_id
    if draft.version == 0:
        wanted = [each for each in reversed(active) if schema_id in (-1, each.id)]
        there = await parsing.found_among(state, subject, content, wanted)
        if there is not None:
            return [], there
    if not is_importing and not force:
        why = await compatibility.messages(state, subject, config, content, active)
        if why:
            raise api_errors.incompatible(subject, why)
    if schema_id < 0:
        schema_id = 1 + max([state.highest_id(context), *(each.id for each in beside)])
    return _written(state, subject, draft, content, schema_id, next_version, is_importing=is_importing)


async def _completed(
    state: RegistryState, subject: str, draft: Draft, previous: StoredSchema | None, next_version: int
) -> Draft:
    """With what it takes over of the version before."""
    if not draft.content.text.strip():
        if previous is None:
            raise api_errors.invalid_schema("Empty schema")
        kept, own = previous.content, draft.content
        content = replace(kept, metadata=own.metadata, rule_set=own.rule_set)
        draft = draft.with_content(content)
    if draft.propagates_tags and previous is not None:
        found = await tags.found(previous.content)
        if found:
            draft = draft.with_content(await tags.changed(state, subject, draft.content, found, ()))
    return lookups.with_settings(state, subject, draft, previous, next_version)


async def _with_tags(state: RegistryState, subject: str, draft: Draft) -> Draft:
    content = await tags.changed(state, subject, draft.content, draft.tags_to_add, draft.tags_to_remove)
    # Without a version the metadata would not tell it from the one before.
    return replace(draft, content=content, version=draft.version or lookups.LATEST)


def _written(
    state: RegistryState,
    subject: str,
    draft: Draft,
    content: Content,
    schema_id: int,
    next_version: int,
    *,
    is_importing: bool,
) -> tuple[list[Record], StoredSchema]:
    written: list[Record] = []
    context = subjects.context_of(subject)
    if context != subjects.DEFAULT_CONTEXT and context not in state.contexts:
        key = ContextKey(context)
        written.append((bytes(key), key.value))
    version = draft.version if draft.version > 0 else next_version
    if version != next_version and not is_importing:
        raise api_errors.invalid_schema("Version is not one more than previous version")
    _refuse_other_content(state, subject, schema_id, content)
    schema = StoredSchema(subject, version, schema_id, content)
    for each in state.versions(subject, deleted=True):
        is_same = each.is_deleted and each.id == schema_id and each.version < version
        # It goes for good, as it is registered again, unless another schema refers to it by its number.
        if is_same and not state.referenced_by(each.key):
            written.append((bytes(each.key), None))
    written.append((bytes(schema.key), bytes(schema)))
    return written, schema


def _refuse_other_content(state: RegistryState, subject: str, schema_id: int, content: Content) -> None:
    prefix = subjects.parse(subject).prefix
    key = state.key_of(schema_id, prefix)
    other = None if key is None else state.get(key)
    if other is not None and other.content != content:
        raise api_errors.not_permitted(
            f"Overwrite new schema with id {schema_id} in context {prefix} is not permitted."
        )


async def change_tags(
    state: RegistryState, subject: str, version: int, request: JsonObject
) -> tuple[list[Record], StoredSchema]:
    """Registers a version with other tags, metadata or rules as the next one. `request`: as TAG reads it."""
    if not subjects.is_valid(subject):
        raise api_errors.invalid_subject(subject)
    schema = lookups.version_of(state, subject, version)
    merges, removes = request.get("rulesToMerge"), request.get("rulesToRemove")
    rule_set: JsonObject | None = request.get("ruleSet")
    if rule_set is not None and not (merges is None and removes is None):
        raise api_errors.invalid_rule_set(
            "ruleSet should be omitted if specifying rulesToMerge or rulesToRemove"
        )
    checked_rule_set(merges)
    checked_rule_set(rule_set)
    new_version: int = request.get("newVersion", 0)
    if merges is not None or removes is not None:
        before = lookups.get(state, subject, new_version - 1 if new_version > 1 else lookups.LATEST)
        rule_set = merged_rule_sets(None if before is None else before.content.rule_set, merges)
        rule_set = None if rule_set is None else _without(rule_set, removes or ())
    content = await tags.changed(
        state,
        subject,
        schema.content,
        tuple(request.get("tagsToAdd", ())),
        tuple(request.get("tagsToRemove", ())),
    )
    metadata = request.get("metadata", content.metadata)
    content = content.with_settings(with_confluent_version(metadata, new_version), rule_set)
    return await register(state, subject, Draft(content, new_version))


def _without(rule_set: JsonObject, names: list[str] | tuple[str, ...]) -> JsonObject:
    kept = {
        kind: [rule for rule in rule_set[kind] if rule.get("name") not in names]
        for kind in RULE_KINDS
        if kind in rule_set
    }
    parts = {**rule_set, **kept}
    return {name: part for name, part in parts.items() if part}
