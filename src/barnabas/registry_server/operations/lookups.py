"""Finding what is registered."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.content import merged_metadata, merged_rule_sets
from barnabas.registry_server.entities import JsonObject, utf16
from barnabas.registry_server.operations import parsing, settings
from barnabas.registry_server.operations.requests import Draft
from barnabas.registry_server.records import SchemaKey, StoredSchema
from barnabas.registry_server.state import RegistryState

LATEST = parsing.LATEST
MOST_SCHEMAS = 1000
"""What GET /schemas lists at a time, and where no limit is given."""


def version_number(version: str) -> int:
    """LATEST of `latest`. Raises: ApiError."""
    found = version.strip()
    if found.lower() == "latest":
        return LATEST
    if not found.lstrip("+-").isascii() or not found.lstrip("+-").isdigit() or len(found) > 11:
        raise api_errors.invalid_version(version)
    number = int(found)
    if (number <= 0 and number != LATEST) or number >= 1 << 31:
        raise api_errors.invalid_version(str(number))
    return number


def get(state: RegistryState, subject: str, version: int, *, deleted: bool = False) -> StoredSchema | None:
    if version == LATEST:
        return state.latest(subject)
    found = state.get(SchemaKey(subject, version))
    return found if found is not None and (deleted or not found.is_deleted) else None


def version_of(state: RegistryState, subject: str, version: int, *, deleted: bool = False) -> StoredSchema:
    """Of a subject, in whichever context it is where it names none. Raises: ApiError."""
    for name in _in_contexts(state, subject):
        found = get(state, name, version, deleted=deleted)
        if found is not None:
            return found
    if not state.has(subject, deleted=deleted):
        raise api_errors.subject_not_found(subject)
    raise api_errors.version_not_found(version)


def versions_of(state: RegistryState, subject: str, which: str) -> list[int]:
    """`which`: active, all, deleted, or negative: all, those that are deleted as negative numbers.

    Raises: ApiError.
    """
    if not state.has(subject, deleted=which in ("all", "deleted")):
        raise api_errors.subject_not_found(subject)
    found = state.versions(subject, deleted=which != "active")
    if which == "deleted":
        found = [each for each in found if each.is_deleted]
    numbers = sorted(found, key=lambda each: each.version)
    return [-each.version if which == "negative" and each.is_deleted else each.version for each in numbers]


def subjects_with(state: RegistryState, prefix: str, which: str) -> list[str]:
    """Subjects whose names begin so; `:*:` means any context. `which`: active, all, or deleted."""
    found: list[str] = []
    for name in _beginning_with(state, prefix):
        is_deleted = not state.versions(name)
        if which == "all" or is_deleted == (which == "deleted"):
            found.append(name)
    return sorted(found, key=utf16)


def _beginning_with(state: RegistryState, prefix: str) -> list[str]:
    return [name for name in state.subjects if _begins(name, prefix)]


def schemas_with(
    state: RegistryState, prefix: str, *, deleted: bool, latest_only: bool, rule_type: str, aliases: bool
) -> list[tuple[StoredSchema, list[str]]]:
    """Versions of the subjects whose names begin so, each with the other names that its subject has."""
    named: dict[str, list[str]] = {}
    names = set(_beginning_with(state, prefix))
    if aliases:
        for subject, config in state.configs.items():
            if subject is not None and "alias" in config and _begins(subject, prefix):
                named.setdefault(subjects.within(subject, config["alias"]), []).append(subject)
        names |= set(named)
    found: list[tuple[StoredSchema, list[str]]] = []
    for name in sorted(names, key=utf16):
        versions = state.versions(name, deleted=deleted)
        found += [
            (each, named.get(name, []))
            for each in (versions[-1:] if latest_only else versions)
            if not rule_type or _has_rule(each, rule_type)
        ]
    return found


def _begins(subject: str, prefix: str) -> bool:
    """Without a context, a prefix is one of names in the default context."""
    if prefix.startswith(":.") and prefix.count(":") == 1:
        return subject.startswith(prefix)
    found, wanted = subjects.parse(subject), subjects.parse(prefix)
    return wanted.context in ("*", found.context) and found.name.startswith(wanted.name)


def _has_rule(schema: StoredSchema, rule_type: str) -> bool:
    rule_set = schema.content.rule_set or {}
    kinds = ("migrationRules", "domainRules", "encodingRules")
    return any(rule.get("type") == rule_type for kind in kinds for rule in rule_set.get(kind, ()))


def by_id(state: RegistryState, schema_id: int, subject: str | None) -> StoredSchema | None:
    """In the context of `subject`; where that is in the default one, in any."""
    key = _key_of(state, schema_id, subject)
    return None if key is None else state.get(key)


def _key_of(state: RegistryState, schema_id: int, subject: str | None) -> SchemaKey | None:
    found = state.key_of(schema_id, subject)
    parsed = subjects.parse(subject or "")
    if found is not None or not parsed.name or parsed.context != subjects.DEFAULT_CONTEXT:
        return found
    for context in state.contexts:
        found = state.key_of(schema_id, str(subjects.Subject(context, parsed.name)))
        if found is not None:
            return found
    return state.key_of(schema_id, "")


def places_of(
    state: RegistryState, schema_id: int, subject: str | None, *, deleted: bool = False
) -> list[tuple[str, int]]:
    """Subjects and versions with the schema of this id. Raises: ApiError."""
    key = _key_of(state, schema_id, subject)
    if key is None:
        raise api_errors.schema_not_found()
    return _places(state, schema_id, subjects.context_of(key.subject), deleted=deleted)


def _places(state: RegistryState, schema_id: int, context: str, *, deleted: bool) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for place in state.places_of(schema_id, context).items():
        schema = state.get(SchemaKey(*place))
        if schema is not None and (deleted or not schema.is_deleted):
            found.append(place)
    return found


def by_guid(state: RegistryState, guid: str) -> StoredSchema | None:
    for context, schema_id in ids_of(state, guid):
        return by_id(state, schema_id, str(subjects.Subject(context, "")))
    return None


def ids_of(state: RegistryState, guid: str) -> list[tuple[str, int]]:
    """Contexts and the id in them, of a schema that is the same everywhere."""
    digits = guid.replace("-", "")
    if len(digits) != 32 or not all(each in "0123456789abcdefABCDEF" for each in digits):
        return []
    digest = bytes.fromhex(digits)
    found: list[tuple[str, int]] = []
    for context in (subjects.DEFAULT_CONTEXT, *state.contexts):
        schema_id = state.id_of(digest, context)
        if schema_id is not None:
            found.append((context, schema_id))
    return found


def referrers(state: RegistryState, key: SchemaKey, *, deleted: bool) -> list[tuple[str, int]]:
    """Contexts and ids of the schemas that refer to a version; `deleted`: also those that were deleted."""
    found = state.referenced_by(key)
    if not deleted:
        found = [each for each in found if _places(state, each[1], each[0], deleted=False)]
    return sorted(found, key=lambda each: (utf16(each[0]), each[1]))


def referring_subjects(state: RegistryState, key: SchemaKey, *, deleted: bool) -> set[str]:
    return {
        subject
        for context, schema_id in state.referenced_by(key)
        for subject, _ in _places(state, schema_id, context, deleted=deleted)
    }


def with_metadata(
    state: RegistryState, subject: str, properties: JsonObject, *, deleted: bool
) -> StoredSchema:
    """The latest version with these properties. Raises: ApiError."""
    for each in reversed(state.versions(subject, deleted=deleted)):
        if each.content.metadata is not None and properties.items() <= each.content.properties.items():
            return each
    if not state.has(subject, deleted=deleted):
        raise api_errors.subject_not_found(subject)
    raise api_errors.schema_not_found()


async def look_up(
    state: RegistryState, subject: str, draft: Draft, *, normalize: bool, deleted: bool
) -> StoredSchema:
    """The version of a subject that a schema is. Raises: ApiError."""
    normalize = normalize or bool(settings.config_in_scope(state, subject).get("normalize"))
    for name in _in_contexts(state, subject):
        try:
            found = await _look_up_with_previous(state, name, draft, normalize=normalize, deleted=deleted)
        except api_errors.ApiError:
            if name == subject:
                raise
            # What it refers to is not in that context.
            continue
        if found is not None:
            return found
    if not state.has(subject, deleted=deleted):
        raise api_errors.subject_not_found(subject)
    raise api_errors.schema_not_found()


async def _look_up_with_previous(
    state: RegistryState, subject: str, draft: Draft, *, normalize: bool, deleted: bool
) -> StoredSchema | None:
    found = await find(state, subject, draft, normalize=normalize, deleted=deleted)
    latest = state.latest(subject)
    if found is not None or latest is None:
        return found
    # Registering would have taken over metadata and rules of the version before.
    completed = with_settings(state, subject, draft, latest, None)
    if completed == draft:
        return None
    return await find(state, subject, completed, normalize=normalize, deleted=deleted)


async def find(
    state: RegistryState,
    subject: str,
    draft: Draft,
    *,
    normalize: bool,
    deleted: bool = False,
    only_latest: bool = False,
) -> StoredSchema | None:
    """Raises: ApiError."""
    if not draft.content.text.strip():
        return None
    is_importing = settings.is_importing(state, subject)
    content = await parsing.canonical(state, subject, draft.content, normalize=normalize and not is_importing)
    if only_latest:
        latest = state.latest(subject)
        return None if latest is None else await parsing.found_among(state, subject, content, [latest])
    context = subjects.context_of(subject)
    schema_id = state.id_of(content.digest, context)
    if schema_id is not None:
        version = state.places_of(schema_id, context).get(subject)
        if version is not None:
            found = get(state, subject, version, deleted=deleted)
            if found is not None:
                return found
    return await parsing.found_among(state, subject, content, state.versions(subject, deleted=deleted)[::-1])


def with_settings(
    state: RegistryState, subject: str, draft: Draft, previous: StoredSchema | None, version: int | None
) -> Draft:
    """With metadata and rules that the schema does not say but the version before has, and those that the
    settings have for all. `version`: which one it becomes."""
    config, content = settings.config_in_scope(state, subject), draft.content
    metadata, rule_set = content.metadata, content.rule_set
    if previous is not None:
        metadata = previous.content.metadata if metadata is None else metadata
        rule_set = previous.content.rule_set if rule_set is None else rule_set
    metadata = merged_metadata(
        merged_metadata(config.get("defaultMetadata"), metadata), config.get("overrideMetadata")
    )
    rule_set = merged_rule_sets(
        merged_rule_sets(config.get("defaultRuleSet"), rule_set), config.get("overrideRuleSet")
    )
    merged = content.with_settings(metadata, rule_set)
    if version is not None and (draft.version != 0 or merged.says_version):
        merged = merged.with_version(version)
    return draft.with_content(merged)


def _in_contexts(state: RegistryState, subject: str) -> Sequence[str]:
    """Where to look for a subject: one that names no context may be in any."""
    parsed = subjects.parse(subject)
    if parsed.context != subjects.DEFAULT_CONTEXT:
        return [subject]
    return [subject, *(str(subjects.Subject(context, parsed.name)) for context in state.contexts)]
