"""Configurations and modes: what is set, where it holds, and setting it."""

from __future__ import annotations

from barnabas.registry_server import api_errors, records, subjects
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import CONFIG_FIELDS, LEVELS, MODES, POLICIES, JsonObject
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.operations.rule_sets import checked_rule_set
from barnabas.registry_server.records import SubjectKey
from barnabas.registry_server.state import RegistryState

DEFAULT_MODE = "READWRITE"
IMPORTING = ("IMPORT", "FORWARD")
READ_ONLY = ("READONLY", "READONLY_OVERRIDE")
GLOBAL_KEY = f":{subjects.GLOBAL_CONTEXT}:"
# What a subject that has some settings takes of the registry's, where it does not say.
TAKEN_OVER = (
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    "compatibilityPolicy",
    "compatibilityGroup",
)


def config(state: RegistryState, subject: str | None) -> JsonObject | None:
    """What is set for exactly this; of the registry, the default where nothing is."""
    found = state.configs.get(subject)
    if found is not None:
        return _with_level(state, found)
    return _with_level(state, {}) if _is_top(subject) else None


def config_in_scope(state: RegistryState, subject: str | None) -> JsonObject:
    """What holds."""
    found = None if subject is None else config(state, subject)
    if found is None:
        for around in (_scope(subject), GLOBAL_KEY):
            if around in state.configs:
                return _with_level(state, state.configs[around])
        return _with_level(state, {})
    of_all = config(state, None) or {}
    taken_over = {name: of_all[name] for name in TAKEN_OVER if name in of_all}
    merged = {**taken_over, **found}
    return {name: merged[name] for name in CONFIG_FIELDS if name in merged}


def mode(state: RegistryState, subject: str | None) -> str | None:
    found = state.modes.get(subject)
    return DEFAULT_MODE if found is None and _is_top(subject) else found


def mode_in_scope(state: RegistryState, subject: str | None) -> str:
    for where in (subject, _scope(subject), GLOBAL_KEY):
        if where in state.modes:
            return state.modes[where]
    return DEFAULT_MODE


def is_importing(state: RegistryState, subject: str | None) -> bool:
    return mode_in_scope(state, subject) in IMPORTING


def refuse_read_only(state: RegistryState, subject: str | None) -> None:
    """Raises: ApiError."""
    if mode_in_scope(state, subject) in READ_ONLY:
        raise api_errors.not_permitted(f"Subject {_where(subject)} is in read-only mode")


def refuse_registering(state: RegistryState, subject: str, schema_id: int) -> None:
    """Where the mode does not allow it, with an id of its own (0 and more) or without. Raises: ApiError."""
    refuse_read_only(state, subject)
    if schema_id >= 0 and not is_importing(state, subject):
        raise api_errors.not_permitted(f"Subject {_where(subject)} is not in import mode")
    if schema_id < 0 and mode_in_scope(state, subject) != DEFAULT_MODE:
        raise api_errors.not_permitted(f"Subject {_where(subject)} is not in read-write mode")


async def update_config(
    state: RegistryState, subject: str | None, update: JsonObject
) -> tuple[list[Record], JsonObject]:
    """`update`: what is to be changed; None takes a setting away. Answers what is set then."""
    for name, valid, error in (
        ("compatibilityLevel", LEVELS, api_errors.invalid_compatibility()),
        ("compatibilityPolicy", POLICIES, None),
    ):
        value = update.get(name)
        if value is not None:
            update = {**update, name: value.upper()}
            if value.upper() not in valid:
                raise error or api_errors.unprocessable(
                    f"Invalid compatibility policy. Valid values are {' and '.join(POLICIES)}"
                )
    for name in ("defaultRuleSet", "overrideRuleSet"):
        checked_rule_set(update.get(name))
    if subject is not None and not subjects.is_valid(subject, for_settings=True):
        raise api_errors.invalid_subject(subject)
    refuse_read_only(state, subject)
    merged = {**state.configs.get(subject, {}), **update}
    found = {name: merged[name] for name in CONFIG_FIELDS if merged.get(name) not in (None, "")}
    key = SubjectKey("CONFIG", subject)
    return [(bytes(key), records.config_value(subject, found))], found


async def delete_config(state: RegistryState, subject: str | None) -> tuple[list[Record], JsonObject]:
    """Answers what was set."""
    found = config(state, subject)
    if found is None:
        raise api_errors.subject_not_found(str(subject))
    refuse_read_only(state, subject)
    return [(bytes(SubjectKey("CONFIG", subject)), None)], found


async def update_mode(
    state: RegistryState, subject: str | None, new: str | None, *, force: bool
) -> tuple[list[Record], JsonObject]:
    """`new`: None takes it away. `force`: that schemas are there does not keep it from becoming IMPORT."""
    if subject is not None and not subjects.is_valid(subject, for_settings=True):
        raise api_errors.invalid_subject(subject)
    answer = {} if new is None else {"mode": new}
    if new is not None and new.upper() not in MODES:
        raise api_errors.invalid_mode()
    new = None if new is None else new.upper()
    if new == "FORWARD" and (subject is None or not subjects.parse(subject).is_global_context):
        raise api_errors.invalid_mode("Forward mode only supported on global level")
    written: list[Record] = []
    if new == "IMPORT" and mode_in_scope(state, subject) != "IMPORT" and not force:
        written += _cleared(state, subject)
    value = None if new is None else records.mode_value(subject, new)
    return [*written, (bytes(SubjectKey("MODE", subject)), value)], answer


def _cleared(state: RegistryState, subject: str | None) -> list[Record]:
    if state.has(subject):
        raise api_errors.not_permitted("Cannot import since found existing subjects")
    written: list[Record] = []
    for name in state.matching(subject, deleted=True):
        for each in state.versions(name, deleted=True):
            if state.referenced_by(each.key):
                raise api_errors.reference_exists(str(each.key))
            written.append((bytes(each.key), None))
    return [
        *written,
        (bytes(SubjectKey("CLEAR_SUBJECT", subject)), records.clear_subject_value(subject or "")),
    ]


async def delete_mode(
    state: RegistryState, subject: str | None, *, recursive: bool
) -> tuple[list[Record], JsonObject]:
    """`recursive`: those of a context's subjects too. Answers which it was."""
    found = mode(state, subject)
    if found is None and not recursive:
        raise api_errors.subject_not_found(str(subject))
    gone = [subject]
    if recursive and (subject is None or not subjects.parse(subject).name):
        within = subjects.parse(subject or "")
        gone += [
            each for each in state.modes if each is not None and each != subject and within.includes(each)
        ]
    answer = {} if found is None else {"mode": found}
    return [(bytes(SubjectKey("MODE", each)), None) for each in gone], answer


def forgotten(state: RegistryState, subject: str) -> list[Record]:
    """What is left of a subject without versions, its settings, goes as well."""
    written: list[Record] = []
    if subject in state.modes:
        written.append((bytes(SubjectKey("MODE", subject)), None))
    if subject in state.configs:
        written.append((bytes(SubjectKey("CONFIG", subject)), None))
    return written


def validates_fields(config: JsonObject) -> bool:
    return bool(config.get("validateFields"))


def group_of(config: JsonObject, content: Content) -> str | None:
    """Which of the compatibility groups a schema is in, if there are such."""
    return content.properties.get(config.get("compatibilityGroup", ""))


def _where(subject: str | None) -> str:
    context = "" if subject is None else subjects.parse(subject).prefix
    return f"{'null' if subject is None else subject} in context {context}"


def _is_top(subject: str | None) -> bool:
    return subject is None or subjects.context_of(subject) == subjects.GLOBAL_CONTEXT


def _scope(subject: str | None) -> str | None:
    if subject is None:
        return None
    return subjects.parse(subject).prefix or None


def _with_level(state: RegistryState, found: JsonObject) -> JsonObject:
    merged = {"compatibilityLevel": state.default_level, **found}
    return {name: merged[name] for name in CONFIG_FIELDS if name in merged}
