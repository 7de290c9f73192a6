"""What changed from one schema of Protocol Buffers to another, as Confluent's registry counts it.

It compares messages by their names and fields by their numbers, and follows types into imported files. A
schema's own messages are compared once, whatever uses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from barnabas.formats.proto.elements import SCALARS, EnumElement, FieldElement, MessageElement, OneofElement
from barnabas.formats.proto.names import DeclaredType, joined
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.values import frozen

Change = tuple[str, str]
"""Its kind, and its path: the names of messages and oneofs, and the numbers of fields and constants."""

COMPATIBLE = frozenset(
    {
        "MESSAGE_ADDED",
        "MESSAGE_MOVED",
        "ENUM_ADDED",
        "ENUM_REMOVED",
        "ENUM_CONST_ADDED",
        "ENUM_CONST_CHANGED",
        "ENUM_CONST_REMOVED",
        "FIELD_ADDED",
        "FIELD_REMOVED",
        "FIELD_NAME_CHANGED",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED",
        "ONEOF_ADDED",
        "ONEOF_REMOVED",
        "ONEOF_FIELD_ADDED",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL",
    }
)
# Scalars of one kind are read as each other.
SCALAR_KINDS = {
    "int32": "number", "int64": "number", "uint32": "number", "uint64": "number", "bool": "number",
    "sint32": "signed number", "sint64": "signed number",
    "string": "string or bytes", "bytes": "string or bytes",
    "fixed32": "fixed32", "sfixed32": "fixed32", "fixed64": "fixed64", "sfixed64": "fixed64",
    "float": "float", "double": "double",
}  # fmt: skip
# Of what an imported message changed, each field of its type tells again, up to so many in all.
MOST_CHANGES = 1000


def changes(original: ProtobufSchema, update: ProtobufSchema) -> list[Change]:
    """Raises: SchemaError, RecursionError."""
    return _Comparison(original, update).whole()


@frozen
class _Place:
    original_package: str
    update_package: str
    path: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Those on the path that are of messages."""

    def at(self, *parts: str | int) -> _Place:
        return replace(self, path=(*self.path, *map(str, parts)))

    def within(self, name: str) -> _Place:
        return replace(self, path=(*self.path, name), names=(*self.names, name))

    def change(self, kind: str) -> Change:
        return kind, "#/" + "/".join(self.path)


@frozen
class _FieldType:
    kind: str
    """scalar, message or map."""
    name: str
    declared: DeclaredType | None = None
    parts: tuple[str, str] = ("", "")
    """Of a map: what keys and values are, as it is written."""


class _Fields:
    """A message's fields by number, those in oneofs among them."""

    def __init__(self, message: MessageElement) -> None:
        self.by_number: dict[int, FieldElement] = {field.number: field for field in message.fields}
        self.oneofs: dict[str, OneofElement] = {oneof.name: oneof for oneof in message.oneofs}
        self.oneof_of: dict[int, str] = {}
        for oneof in message.oneofs:
            for field in oneof.fields:
                self.by_number[field.number] = field
                self.oneof_of[field.number] = oneof.name


class _Comparison:
    def __init__(self, original: ProtobufSchema, update: ProtobufSchema) -> None:
        self._original = original
        self._update = update
        self._under_way: set[int] = set()
        self._known: dict[tuple[str, str], list[Change]] = {}

    def whole(self) -> list[Change]:
        original, update = self._original.file, self._update.file
        place = _Place(original.package, update.package)
        found: list[Change] = []
        if original.package != update.package:
            found.append(place.change("PACKAGE_CHANGED"))
        self._types(place, original.types, update.types, found)
        return found

    def _types(
        self,
        place: _Place,
        original: Sequence[MessageElement | EnumElement],
        update: Sequence[MessageElement | EnumElement],
        found: list[Change],
    ) -> None:
        before = {each.name: each for each in original if isinstance(each, MessageElement)}
        after = {each.name: each for each in update if isinstance(each, MessageElement)}
        indexes = {name: number for number, name in enumerate(before)}
        new_indexes = {name: number for number, name in enumerate(after)}
        for name in dict.fromkeys([*before, *after]):
            there = place.within(name)
            if name not in after:
                if not before[name].is_map_entry:
                    found.append(there.change("MESSAGE_REMOVED"))
            elif name not in before:
                if not after[name].is_map_entry:
                    found.append(there.change("MESSAGE_ADDED"))
            else:
                self._message(there, before[name], after[name], found)
                # Compatible: the indexes in a record are those of the schema that its id says.
                if indexes[name] != new_indexes[name]:
                    found.append(there.change("MESSAGE_MOVED"))
        self._enums(
            place,
            {each.name: each for each in original if isinstance(each, EnumElement)},
            {each.name: each for each in update if isinstance(each, EnumElement)},
            found,
        )

    def _enums(
        self,
        place: _Place,
        before: Mapping[str, EnumElement],
        after: Mapping[str, EnumElement],
        found: list[Change],
    ) -> None:
        for name in dict.fromkeys([*before, *after]):
            there = place.within(name)
            if name not in after:
                found.append(there.change("ENUM_REMOVED"))
            elif name not in before:
                found.append(there.change("ENUM_ADDED"))
            else:
                numbers = {each.number: each.name for each in before[name].constants}
                new_numbers = {each.number: each.name for each in after[name].constants}
                for number in sorted({*numbers, *new_numbers}):
                    if number not in new_numbers:
                        found.append(there.at(number).change("ENUM_CONST_REMOVED"))
                    elif number not in numbers:
                        found.append(there.at(number).change("ENUM_CONST_ADDED"))
                    elif numbers[number] != new_numbers[number]:
                        found.append(there.at(number).change("ENUM_CONST_CHANGED"))

    def _message(
        self, place: _Place, original: MessageElement, update: MessageElement, found: list[Change]
    ) -> None:
        if id(original) not in self._under_way:
            self._under_way.add(id(original))
            before, after = _Fields(original), _Fields(update)
            self._new_company(place, before, after, found)
            for name in sorted({*before.oneofs, *after.oneofs}):
                if name not in after.oneofs:
                    found.append(place.at(name).change("ONEOF_REMOVED"))
                elif name not in before.oneofs:
                    found.append(place.at(name).change("ONEOF_ADDED"))
            gone = self._oneofs_without_trace(before, after)
            for number in sorted({*before.by_number, *after.by_number}):
                self._number(place, number, before, after, gone, found)
            self._under_way.discard(id(original))
        self._types(place, original.types, update.types, found)

    def _new_company(self, place: _Place, before: _Fields, after: _Fields, found: list[Change]) -> None:
        """Fields that could be set together, and no longer can."""
        for name, oneof in after.oneofs.items():
            known = [field.number for field in oneof.fields if field.number in before.by_number]
            alone = [number for number in known if number not in before.oneof_of]
            groups = {before.oneof_of[number] for number in known if number in before.oneof_of}
            if len(groups) + len(alone) > 1:
                moved_together = len(alone) > 1
                kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if moved_together else "FIELD_MOVED_TO_EXISTING_ONEOF"
                found.append(place.at(name).change(kind))

    def _oneofs_without_trace(self, before: _Fields, after: _Fields) -> set[str]:
        return {
            name
            for name, oneof in before.oneofs.items()
            if name not in after.oneofs and not any(each.number in after.by_number for each in oneof.fields)
        }

    def _number(
        self,
        place: _Place,
        number: int,
        before: _Fields,
        after: _Fields,
        gone: set[str],
        found: list[Change],
    ) -> None:
        old, new = before.by_number.get(number), after.by_number.get(number)
        old_oneof, new_oneof = before.oneof_of.get(number), after.oneof_of.get(number)
        if old is not None and new is not None:
            if old_oneof is not None and new_oneof is None:
                found.append(place.at(number).change("ONEOF_FIELD_MOVED_TO_TOP_LEVEL"))
            there = place.at(number) if new_oneof is None else place.at(new_oneof, number)
            self._field(there, old, new, found)
        elif old is not None and old_oneof is not None:
            if old_oneof not in gone:
                found.append(place.at(old_oneof, number).change("ONEOF_FIELD_REMOVED"))
        elif old is not None:
            kind = "REQUIRED_FIELD_REMOVED" if old.label == "required" else "FIELD_REMOVED"
            found.append(place.at(number).change(kind))
        elif new is not None and new_oneof is not None:
            found.append(place.at(new_oneof, number).change("ONEOF_FIELD_ADDED"))
        elif new is not None:
            kind = "REQUIRED_FIELD_ADDED" if new.label == "required" else "FIELD_ADDED"
            found.append(place.at(number).change(kind))

    def _field(self, place: _Place, old: FieldElement, new: FieldElement, found: list[Change]) -> None:
        if old.name != new.name:
            found.append(place.change("FIELD_NAME_CHANGED"))
        self._type(place, (old.label, old.type), (new.label, new.type), found)

    def _type(
        self, place: _Place, old: tuple[str | None, str], new: tuple[str | None, str], found: list[Change]
    ) -> None:
        """`old` and `new`: label and type."""
        before = self._meaning(self._original, place.original_package, place.names, old[1])
        after = self._meaning(self._update, place.update_package, place.names, new[1])
        if before.kind != after.kind:
            found.append(place.change("FIELD_KIND_CHANGED"))
        elif before.kind == "scalar":
            self._scalar(place, (old[0], before.name), (new[0], after.name), found)
        elif before.kind == "map":
            for was, becomes in zip(before.parts, after.parts, strict=True):
                self._type(place, (None, was), (None, becomes), found)
        else:
            self._message_type(place, before, after, found)

    def _meaning(self, schema: ProtobufSchema, package: str, names: Sequence[str], type_: str) -> _FieldType:
        if type_ in SCALARS:
            return _FieldType("scalar", SCALAR_KINDS[type_])
        written = FieldElement(None, type_, "", 0).map_types
        if written is not None:
            return _FieldType("map", type_, None, written)
        declared = schema.names.type(type_, joined(package, ".".join(names)))
        if declared is None:
            return _FieldType("message", type_)
        if isinstance(declared.element, EnumElement):
            return _FieldType("scalar", SCALAR_KINDS["int32"])
        if declared.element.is_map_entry:
            fields = {field.name: field.type for field in declared.element.fields}
            return _FieldType("map", type_, None, (fields.get("key", ""), fields.get("value", "")))
        return _FieldType("message", type_, declared)

    def _scalar(
        self, place: _Place, old: tuple[str | None, str], new: tuple[str | None, str], found: list[Change]
    ) -> None:
        """`old` and `new`: label and kind."""
        if old[1] != new[1]:
            found.append(place.change("FIELD_SCALAR_KIND_CHANGED"))
        elif old[0] and new[0] and old[0] != new[0]:
            is_text = old[1] == SCALAR_KINDS["string"]
            kind = "FIELD_STRING_OR_BYTES_LABEL_CHANGED" if is_text else "FIELD_NUMERIC_LABEL_CHANGED"
            found.append(place.change(kind))

    def _message_type(
        self, place: _Place, before: _FieldType, after: _FieldType, found: list[Change]
    ) -> None:
        old, new = before.declared, after.declared
        if old is None or new is None:
            if before.name != after.name:
                found.append(place.change("FIELD_NAMED_TYPE_CHANGED"))
        elif old.local_name != new.local_name:
            found.append(place.change("FIELD_NAMED_TYPE_CHANGED"))
        elif old.file != self._original.name or new.file != self._update.name:
            inner = self._imported(old, new)
            found += inner[: max(MOST_CHANGES - len(found), 0)]
            if any(kind not in COMPATIBLE for kind, _ in inner):
                found.append(place.change("FIELD_NAMED_TYPE_CHANGED"))

    def _imported(self, old: DeclaredType, new: DeclaredType) -> list[Change]:
        """What changed in a message that is of another file, in one of the schemas at least."""
        pair = (old.full_name, new.full_name)
        if pair not in self._known:
            # A recursive type is compatible where nothing outside of itself says otherwise.
            self._known[pair] = []
            path = tuple(old.local_name.split("."))
            place = _Place(old.package, new.package, path, path)
            inner: list[Change] = []
            if isinstance(old.element, MessageElement) and isinstance(new.element, MessageElement):
                self._message(place, old.element, new.element, inner)
            self._known[pair] = inner
        return self._known[pair]
