"""Whether data of one Avro schema can be read by another: the specification's schema resolution, and what
Avro's own SchemaCompatibility (1.11 and 1.12) makes of it.

As that one does, it takes a reader's branch or type only by its last name or an alias, and says of a union
only which of the writer's branches nothing reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.registry.compatibility.avro_schema import AvroField, AvroType, parse
from barnabas.registry.compatibility.difference import Difference, Sides, pointer
from barnabas.registry.errors import InvalidSchemaError

# Which types a reader of the first takes besides its own.
PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}


def differences(
    reader: str,
    writer: str,
    *,
    reader_references: Sequence[str] = (),
    writer_references: Sequence[str] = (),
    sides: Sides = Sides(),  # noqa: B008  it is frozen
    is_strict: bool = True,
) -> list[Difference]:
    """What keeps data that was written by `writer` from being read by `reader`; nothing if none is.
    `is_strict`: names and defaults have to be right.

    Raises: InvalidSchemaError.
    """
    read = parse(reader, reader_references, is_strict=is_strict)
    written = parse(writer, writer_references, is_strict=is_strict)
    try:
        return _Check(sides).look(read, written, [])
    except RecursionError:
        raise InvalidSchemaError("the types of the Avro schemas are too many within each other") from None


class _Check:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._seen: dict[tuple[AvroType, AvroType], list[Difference]] = {}
        self._branches: dict[AvroType, dict[tuple[str, str], list[AvroType]]] = {}
        """Of each union: by kind and name, and by kind and alias. Names of types without one are empty."""

    def look(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        pair = (reader, writer)
        known = self._seen.get(pair)
        if known is None:
            # A recursive type is compatible where nothing outside of itself says otherwise.
            self._seen[pair] = []
            known = self._seen[pair] = self._found(reader, writer, path)
        return known

    def _found(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        if reader.kind == writer.kind:
            return self._of_one_kind(reader, writer, path)
        if writer.kind == "union":
            return [each for branch in writer.branches for each in self.look(reader, branch, [])]
        if reader.kind == "union":
            if any(not self.look(branch, writer, []) for branch in self._candidates(reader, writer)):
                return []
            return [self._no_branch(writer, path)]
        if writer.kind in PROMOTIONS.get(reader.kind, ()):
            return []
        return [
            Difference(
                "TYPE_MISMATCH",
                pointer(path),
                f"The type (path '{pointer(path)}') of a field in the {self._sides.reader} schema does not "
                f"match with the {self._sides.writer} schema",
                f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}",
            )
        ]

    def _candidates(self, union: AvroType, writer: AvroType) -> list[AvroType]:
        """Its branches that may read what `writer` wrote: not each of thousands is tried."""
        known = self._branches.get(union)
        if known is None:
            known = self._branches[union] = {}
            for branch in union.branches:
                for name in dict.fromkeys([branch.name, *branch.aliases]):
                    kind = branch.kind if branch.full_name else ""
                    known.setdefault((kind, name), []).append(branch)
        if not writer.full_name:
            return known.get(("", ""), [])
        names = dict.fromkeys([writer.name, writer.full_name])
        return [branch for name in names for branch in known.get((writer.kind, name), [])]

    def _of_one_kind(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        if reader.kind == "union":
            return [
                self._no_branch(branch, [*path, str(number)])
                for number, branch in enumerate(writer.branches)
                if self.look(reader, branch, [])
            ]
        if reader.kind in ("array", "map"):
            part = "items" if reader.kind == "array" else "values"
            return self.look(reader.branches[0], writer.branches[0], [*path, part])
        if not reader.full_name:
            return []
        found = self._of_names(reader, writer, path)
        if reader.kind == "fixed":
            return found + self._of_sizes(reader, writer, path)
        if reader.kind == "enum":
            return found + self._of_symbols(reader, writer, path)
        written = {each.name: each.type for each in writer.fields}
        for number, each in enumerate(reader.fields):
            found += self._of_field(each, written, [*path, "fields", str(number)])
        return found

    def _no_branch(self, writer: AvroType, path: list[str]) -> Difference:
        return Difference(
            "MISSING_UNION_BRANCH",
            pointer(path),
            f"The {self._sides.reader} schema is missing a type inside a union field at path "
            f"'{pointer(path)}' in the {self._sides.writer} schema",
            f"reader union lacking writer type: {writer.kind.upper()}",
        )

    def _of_names(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        if reader.name == writer.name or writer.full_name in reader.aliases:
            return []
        where = pointer([*path, "name"])
        description = f"The name of the schema has changed (path '{where}')"
        return [Difference("NAME_MISMATCH", where, description, f"expected: {writer.full_name}")]

    def _of_sizes(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        if reader.size == writer.size:
            return []
        where = pointer([*path, "size"])
        return [
            Difference(
                "FIXED_SIZE_MISMATCH",
                where,
                f"The size of FIXED type field at path '{where}' in the {self._sides.reader} schema does not "
                f"match with the {self._sides.writer} schema",
                f"expected: {writer.size}, found: {reader.size}",
            )
        ]

    def _of_symbols(self, reader: AvroType, writer: AvroType, path: list[str]) -> list[Difference]:
        known = set(reader.symbols)
        missing = [symbol for symbol in writer.symbols if symbol not in known]
        if not missing or reader.default_symbol is not None:
            return []
        where, listed = pointer([*path, "symbols"]), f"[{', '.join(missing)}]"
        return [
            Difference(
                "MISSING_ENUM_SYMBOLS",
                where,
                f"The {self._sides.reader} schema is missing enum symbols '{listed}' at path '{where}' in "
                f"the {self._sides.writer} schema",
                listed,
            )
        ]

    def _of_field(
        self, reader: AvroField, written: Mapping[str, AvroType], path: list[str]
    ) -> list[Difference]:
        name = next((name for name in (reader.name, *reader.aliases) if name in written), None)
        if name is not None:
            return self.look(reader.type, written[name], [*path, "type"])
        if reader.has_default:
            return []
        return [
            Difference(
                "READER_FIELD_MISSING_DEFAULT_VALUE",
                pointer(path),
                f"The field '{reader.name}' at path '{pointer(path)}' in the {self._sides.reader} schema has "
                f"no default value and is missing in the {self._sides.writer} schema",
                reader.name,
            )
        ]
