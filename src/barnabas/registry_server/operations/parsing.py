"""What schemas mean, as far as a registry has to know: whether they are valid, which texts are the same, and
how they are written in another form.

Owns finding what they refer to. What is in them, `registry.compatibility` knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from barnabas.registry.compatibility.formats import FORMATS, SchemaKind
from barnabas.registry.errors import InvalidSchemaError
from barnabas.registry_server import api_errors, subjects, work
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import JsonObject
from barnabas.registry_server.records import SchemaKey, StoredSchema
from barnabas.registry_server.state import RegistryState

References = tuple[tuple[str, str], ...]
"""The texts of all that a schema refers to, by their names, each after what it needs itself."""
LATEST = -1
MOST_REFERENCES = 1000


def format_of(content: Content) -> SchemaKind:
    """Raises: ApiError."""
    found = FORMATS.get(content.type)
    if found is None:
        raise api_errors.invalid_schema(f"Invalid schema type {content.type}")
    return found


def invalid(content: Content, why: object) -> api_errors.ApiError:
    return api_errors.invalid_schema(f"Invalid schema of type {content.type}, details: {why}")


def with_versions(state: RegistryState, subject: str, content: Content) -> Content:
    """With references to a latest version as references to that version. Raises: ApiError."""
    if all(reference.get("version") != LATEST for reference in content.references):
        return content
    named: list[JsonObject] = []
    for reference in content.references:
        found = _referred(state, subject, content, reference, deleted=False)
        named.append({**reference, "version": found.version})
    return replace(content, references=tuple(named))


def references(state: RegistryState, subject: str, content: Content, *, deleted: bool = True) -> References:
    """`deleted`: whether versions that were deleted count. Raises: ApiError."""
    found: dict[str, str] = {}
    _gather(state, subject, content, found, set(), deleted=deleted)
    return tuple(found.items())


def _gather(
    state: RegistryState,
    subject: str,
    content: Content,
    found: dict[str, str],
    seen: set[str],
    *,
    deleted: bool,
) -> None:
    for reference in content.references:
        schema = _referred(state, subject, content, reference, deleted=deleted)
        name = reference["name"]
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > MOST_REFERENCES:
            raise invalid(content, f"it refers to more than {MOST_REFERENCES} other schemas")
        _gather(state, schema.subject, schema.content, found, seen, deleted=deleted)
        found[name] = schema.content.text


def _referred(
    state: RegistryState, subject: str, content: Content, reference: JsonObject, *, deleted: bool
) -> StoredSchema:
    if any(part not in reference for part in ("name", "subject", "version")):
        name, where = reference.get("name"), reference.get("subject")
        raise invalid(
            content,
            f"Invalid reference: {{name='{name}', subject='{where}', version={reference.get('version')}}}",
        )
    where, version = subjects.within(subject, reference["subject"]), reference["version"]
    found = state.latest(where) if version == LATEST else state.get(SchemaKey(where, version))
    if found is None or (found.is_deleted and not deleted):
        raise invalid(content, f'No schema reference found for subject "{where}" and version {version}')
    return found


async def canonical(
    state: RegistryState, subject: str, content: Content, *, normalize: bool = False, deleted: bool = True
) -> Content:
    """As it is kept. Raises: ApiError."""
    format_of(content)
    needed = references(state, subject, content, deleted=deleted)
    try:
        text = await work.done(
            rewritten, content.type, "normalized" if normalize else "canonical", content.text, needed
        )
    except InvalidSchemaError as error:
        raise invalid(content, error) from None
    kept = content.references
    if normalize:
        by_place = sorted(kept, key=lambda each: (each["subject"], each["version"]))
        kept = tuple(each for number, each in enumerate(by_place) if each not in by_place[:number])
    return with_versions(state, subject, replace(content, text=text, references=kept))


async def formatted(state: RegistryState, schema: StoredSchema, form: str) -> str:
    """The text in another form: `resolved`, `serialized`, ...; one that the type does not have is as it is
    kept. Raises: ApiError."""
    content = schema.content
    if not form.strip() or form == "default":
        return content.text
    if form not in format_of(content).forms:
        return content.text
    needed = references(state, schema.subject, content)
    try:
        return await work.done(rewritten, content.type, form, content.text, needed)
    except InvalidSchemaError as error:
        raise invalid(content, error) from None


def rewritten(kind: str, form: str, text: str, needed: References) -> str:
    """`form`: canonical, normalized, or one that the type has. Takes long. Raises: InvalidSchemaError."""
    row = FORMATS[kind]
    forms = {"canonical": row.canonical, "normalized": row.normalized, **row.forms}
    return forms[form](text, dict(needed))


async def found_among(
    state: RegistryState, subject: str, content: Content, others: Sequence[StoredSchema]
) -> StoredSchema | None:
    """The first of `others` that who asks for `content` means: the same text, or the same with what it refers
    to inside, were it without the version in its metadata. Raises: ApiError."""
    alike: list[StoredSchema] = []
    exact: StoredSchema | None = None
    for each in others:
        is_same = _is_same(state, subject, content, each)
        if is_same:
            exact = each
            break
        if is_same is None:
            alike.append(each)
    if alike:
        kept = tuple((each.content.text, references(state, each.subject, each.content)) for each in alike)
        number = await work.done(_first_resolved, content.type, content.text, kept)
        if number is not None:
            return alike[number]
    return exact


def _is_same(state: RegistryState, subject: str, content: Content, other: StoredSchema) -> bool | None:
    """None where that depends on what is in the schemas that they refer to. Raises: ApiError."""
    if content.type != other.content.type:
        return False
    asked, kept = content, other.content
    if asked.confluent_version is None and kept.confluent_version is not None:
        asked = asked if asked.metadata is not None else replace(asked, metadata={})
        kept = kept.without_version()
    elif asked.confluent_version is not None and kept.confluent_version is None:
        if asked.confluent_version != other.version:
            return False
        kept = kept if kept.metadata is not None else replace(kept, metadata={})
        asked = asked.without_version()
    if (asked.metadata, asked.rule_set) != (kept.metadata, kept.rule_set):
        return False
    own = with_versions(state, subject, asked).references
    if own == with_versions(state, other.subject, kept).references:
        return asked.text == kept.text
    if own or not kept.references:
        return False
    return None if "resolved" in format_of(kept).forms else asked.text == kept.text


def _first_resolved(kind: str, text: str, kept: tuple[tuple[str, References], ...]) -> int | None:
    """Which one of `kept` is `text` with what it refers to inside. Takes long."""
    try:
        wanted = rewritten(kind, "resolved", text, ())
    except InvalidSchemaError:
        return None
    for number, (other, needed) in enumerate(kept):
        try:
            if rewritten(kind, "resolved", other, needed) == wanted:
                return number
        except InvalidSchemaError:
            # What is kept may be from a registry that was less strict.
            continue
    return None
