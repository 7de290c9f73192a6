"""Tags in schemas of Protocol Buffers: `tags` of Confluent's options of messages and fields.

Knows nothing of what they are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from barnabas.formats.errors import SchemaError
from barnabas.formats.proto.elements import FieldElement, MessageElement, OptionElement, OptionPart, Value
from barnabas.formats.proto.normal_form import merged
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.registry.compatibility.tags import FIELD, RECORD, Entity
from barnabas.registry.errors import InvalidSchemaError

OPTIONS = {RECORD: "confluent.message_meta", FIELD: "confluent.field_meta"}
TaggedElement = MessageElement | FieldElement


def found(text: str) -> dict[Entity, list[str]]:
    """By the name of the message, without the package, with the field's behind it."""
    entities = _entities(ProtobufSchema(text).file.messages, "")
    tags = {entity: _tags(_meta(element.options, entity[1])) for entity, element in entities}
    return {entity: each for entity, each in tags.items() if each}


def changed(
    text: str, to_add: Mapping[Entity, Sequence[str]], to_remove: Mapping[Entity, Sequence[str]]
) -> str:
    """With some tags and without others; what is in both is taken away. Raises: InvalidSchemaError."""
    try:
        schema = ProtobufSchema(text)
    except SchemaError as error:
        raise InvalidSchemaError(str(error)) from None
    entities = dict(_entities(schema.file.messages, ""))
    for entity in dict.fromkeys([*to_add, *to_remove]):
        path, kind = entity[0].lstrip("."), entity[1]
        element = entities.get((path, kind))
        if element is None:
            what = "Message" if kind == RECORD else "Field"
            name = path.rpartition(".")[2]
            raise InvalidSchemaError(f"No matching {what} with name '{name}' found in the schema")
        meta = _meta(element.options, kind)
        tags = list(dict.fromkeys([*_tags(meta), *to_add.get(entity, ())]))
        meta["tags"] = [tag for tag in tags if tag not in to_remove.get(entity, ())]
        if not meta["tags"]:
            del meta["tags"]
        _set_meta(element, kind, meta)
    return schema.canonical_text


def _entities(messages: Sequence[MessageElement], scope: str) -> Iterator[tuple[Entity, TaggedElement]]:
    for message in messages:
        path = f"{scope}{message.name}"
        yield (path, RECORD), message
        for field in (*message.fields, *(field for oneof in message.oneofs for field in oneof.fields)):
            yield (f"{path}.{field.name}", FIELD), field
        yield from _entities(message.messages, f"{path}.")


def _is_meta(option: OptionElement, kind: str) -> bool:
    return option.is_custom and option.name.lstrip(".") == OPTIONS[kind]


def _meta(options: Sequence[OptionElement], kind: str) -> dict[str, Value]:
    """The message that an option's parts make up."""
    made: Value = {}
    for option in options:
        if _is_meta(option, kind):
            made = merged(made, _within([part.name for part in option.path[1:]], option.value))
    return made if isinstance(made, dict) else {}


def _within(path: Sequence[str], value: Value) -> Value:
    return {path[0]: _within(path[1:], value)} if path else value


def _tags(meta: Mapping[str, Value]) -> list[str]:
    tags = meta.get("tags", [])
    return [tag for tag in (tags if isinstance(tags, list) else [tags]) if isinstance(tag, str)]


def _set_meta(element: TaggedElement, kind: str, meta: dict[str, Value]) -> None:
    others = [each for each in element.options if not _is_meta(each, kind)]
    place = next((number for number, each in enumerate(element.options) if _is_meta(each, kind)), len(others))
    if meta:
        others.insert(place, OptionElement((OptionPart(OPTIONS[kind], is_extension=True),), meta))
    element.options = others
