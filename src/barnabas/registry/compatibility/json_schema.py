"""Whether values of one JSON Schema are values of another one, by the rules of Confluent's registry, which
tell open, closed and partially open content models apart.

A property may be added where the writer's model is closed, and removed where the reader's is open. What
`if`, `contains`, `propertyNames`, `patternProperties` and `format` say is not compared, as it is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.registry.compatibility.difference import Difference, Sides
from barnabas.registry.compatibility.json_schema_kinds import COMPATIBLE_IF_LENIENT, description
from barnabas.registry.compatibility.json_schema_model import SchemaNode, followed, read
from barnabas.registry.errors import InvalidSchemaError
from barnabas.values import frozen

NO_REFERENCES: Mapping[str, str] = MappingProxyType({})
MOST_PAIRS = 300_000
MOST_DIFFERENCES = 1000

Path = tuple[str, ...]
Found = tuple[str, Path]
"""A difference that is not compatible, and where, as seen from the pair that has it."""
Pair = tuple[SchemaNode, SchemaNode]


@frozen
class JsonDifference(Difference):
    """In the form, quotation marks included, that Confluent's registry gives those of JSON Schemas."""

    def __str__(self) -> str:
        return f'{{errorType:"{self.kind}", description:"{self.description}\'}}'


def differences(
    reader: str,
    writer: str,
    *,
    reader_references: Mapping[str, str] = NO_REFERENCES,
    writer_references: Mapping[str, str] = NO_REFERENCES,
    sides: Sides = Sides(),  # noqa: B008  it is frozen
    is_lenient: bool = False,
) -> list[Difference]:
    """What keeps values of `writer` from being values of `reader`; nothing if none is. `is_lenient`: by the
    policy LENIENT, to which content models are what is told of, and not what may be.

    Raises: InvalidSchemaError, MissingExtraError.
    """
    update, original = read(reader, reader_references), read(writer, writer_references)
    try:
        found = _compared(original, update, is_lenient)
    except RecursionError:
        raise InvalidSchemaError("the JSON Schemas are too deep to be compared") from None
    return [
        JsonDifference(kind, path, description(kind, path, sides))
        for kind, path in ((kind, "#/" + "/".join(steps)) for kind, steps in found)
    ]


def _compared(original: SchemaNode, update: SchemaNode, is_lenient: bool) -> Sequence[Found]:
    """A pair within itself is taken for compatible. Where that turns out wrong, all are compared again with
    what is known by then, until nothing is new."""
    known: Mapping[Pair, Sequence[Found]] = {}
    budget = iter(range(MOST_PAIRS))
    while True:
        check = _JsonSchemaComparison(known, budget, is_lenient)
        found = check.compare(original, update)
        incompatible = {pair: each for pair, each in check.known.items() if each}
        if not check.has_assumed or incompatible.keys() == known.keys():
            return found
        known = incompatible


class _JsonSchemaComparison:
    def __init__(self, incompatible: Mapping[Pair, Sequence[Found]], budget: Iterator[int], is_lenient: bool):
        self._incompatible = incompatible
        self._budget = budget
        self._is_lenient = is_lenient
        self._under_way: set[Pair] = set()
        self.known: dict[Pair, Sequence[Found]] = {}
        self.has_assumed = False

    def compare(self, original: SchemaNode | None, update: SchemaNode | None) -> Sequence[Found]:
        if update is None:
            return []
        if original is None:
            return [("SCHEMA_ADDED", ())]
        pair = (followed(original), followed(update))
        known = self.known.get(pair)
        if known is not None:
            return known
        if pair in self._under_way:
            known = self._incompatible.get(pair)
            if known is None:
                self.has_assumed = True
            return known or []
        if next(self._budget, None) is None:
            raise InvalidSchemaError(f"the JSON Schemas take more than {MOST_PAIRS} comparisons")
        self._under_way.add(pair)
        try:
            found = self._of_pair(*pair)[:MOST_DIFFERENCES]
        finally:
            self._under_way.discard(pair)
        self.known[pair] = found
        return found

    def _fits(self, original: SchemaNode, update: SchemaNode) -> bool:
        return not self.compare(original, update)

    def _of_pair(self, original: SchemaNode, update: SchemaNode) -> list[Found]:
        if self._is_of_combined(original, update):
            return []
        if original.kind != update.kind:
            is_bytes = original.connect_type == update.connect_type == "bytes"
            if original.kind == "NOTHING" or update.kind == "ANY" or is_bytes:
                return []
            return [("TYPE_CHANGED", ())]
        match original.kind:
            case "STRING":
                return [
                    *_grown(original, update, "maxLength", "MAX_LENGTH"),
                    *_shrunk(original, update, "minLength", "MIN_LENGTH"),
                    *_of_pattern(original, update),
                ]
            case "NUMBER":
                return _of_numbers(original, update)
            case "CONST":
                return [] if original.values == update.values else [("ENUM_ARRAY_CHANGED", ("const",))]
            case "ENUM":
                return _of_enums(original, update)
            case "COMBINED":
                return self._of_combined(original, update)
            case "NOT":
                # What is refused may become less.
                fits = self._fits(update.parts[0], original.parts[0])
                return [] if fits else [("NOT_TYPE_EXTENDED", ("not",))]
            case "OBJECT":
                return self._of_objects(original, update)
            case "ARRAY":
                return self._of_arrays(original, update)
            case _:
                return []

    # Combinations

    def _is_of_combined(self, original: SchemaNode, update: SchemaNode) -> bool:
        """Whether one of a combination's parts makes the other schema compatible."""
        if (original.kind == "COMBINED") == (update.kind == "COMBINED"):
            return False
        if update.kind == "COMBINED":
            if len(update.parts) == 1 or update.criterion != "allOf":
                return any(self._fits(original, part) for part in update.parts)
        elif len(original.parts) == 1 or original.criterion == "allOf":
            return any(self._fits(part, update) for part in original.parts)
        return False

    def _of_combined(self, original: SchemaNode, update: SchemaNode) -> list[Found]:
        before, after = original.parts, update.parts
        if original.criterion != update.criterion and not (
            update.criterion == "anyOf"
            or (len(before) == 1 and (len(after) == 1 or update.criterion == "oneOf"))
            or (len(after) == 1 and original.criterion == "allOf")
        ):
            return [("COMBINED_TYPE_CHANGED", ())]
        found: list[Found] = []
        if len(before) < len(after) and update.criterion == "allOf":
            found.append(("PRODUCT_TYPE_EXTENDED", ()))
        if len(before) > len(after) and original.criterion != "allOf":
            found.append(("SUM_TYPE_NARROWED", ()))
        fitting = [[number for number, each in enumerate(after) if self._fits(part, each)] for part in before]
        if not _is_matched(fitting, len(after)):
            found.append(("COMBINED_TYPE_SUBSCHEMAS_CHANGED", ()))
        return found

    # Objects

    def _of_objects(self, original: SchemaNode, update: SchemaNode) -> list[Found]:
        found: list[Found] = []
        for name in original.properties:
            is_new_demand = name in update.required and name not in original.required
            if is_new_demand and name in update.properties and not update.properties[name].has_default:
                found.append(("REQUIRED_ATTRIBUTE_ADDED", ("required", name)))
        for name in {**original.properties, **update.properties}:
            found += _below(("properties", name), self._of_property(original, update, name))
        found += _below(("dependencies",), self._of_dependencies(original, update))
        found += self._of_others(original, update, "additionalProperties", "ADDITIONAL_PROPERTIES")
        found += self._of_unevaluated(original, update, "unevaluatedProperties", "UNEVALUATED_PROPERTIES")
        found += _grown(original, update, "maxProperties", "MAX_PROPERTIES")
        found += _shrunk(original, update, "minProperties", "MIN_PROPERTIES")
        return found

    def _of_property(self, original: SchemaNode, update: SchemaNode, name: str) -> Sequence[Found]:
        before, after = original.properties.get(name), update.properties.get(name)
        if after is None:
            assert before is not None
            return self._of_removed_property(before, update, name)
        if before is None:
            return self._of_added_property(original, update, name)
        return self.compare(before, after)

    def _of_removed_property(self, before: SchemaNode, update: SchemaNode, name: str) -> Sequence[Found]:
        if _is_open(update):
            return []
        covering = _covering(update, name)
        if covering is not None:
            return self._uncovered(
                before, covering, "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            )
        if before.kind == "NOTHING":
            return []
        return self._told("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL")

    def _of_added_property(self, original: SchemaNode, update: SchemaNode, name: str) -> Sequence[Found]:
        after = update.properties[name]
        is_new_demand = name in update.required and not after.has_default
        if _is_open(original):
            if after.kind == "ANY":
                return []
            if is_new_demand:
                return self._told("REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL")
            if name in update.required:
                return self._told("REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL")
            return self._told("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL")
        found: list[Found] = []
        covering = _covering(original, name)
        if covering is not None:
            found += self._uncovered(
                covering, after, "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            )
        if is_new_demand:
            found += self._told("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL")
        return found

    def _of_dependencies(self, original: SchemaNode, update: SchemaNode) -> Iterator[Found]:
        for name, after in update.needed.items():
            before = original.needed.get(name)
            if before is None:
                yield "DEPENDENCY_ARRAY_ADDED", (name,)
            elif not after <= before:
                kind = "DEPENDENCY_ARRAY_EXTENDED" if after > before else "DEPENDENCY_ARRAY_CHANGED"
                yield kind, (name,)
        for name, schema in update.dependents.items():
            if name in original.dependents:
                yield from _below((name,), self.compare(original.dependents[name], schema))
            else:
                yield "DEPENDENCY_SCHEMA_ADDED", (name,)

    # Arrays

    def _of_arrays(self, original: SchemaNode, update: SchemaNode) -> list[Found]:
        found = _below(("items",), self.compare(original.items, update.items))
        for number in range(max(len(original.first_items), len(update.first_items))):
            found += _below((f"items/{number}",), self._of_item(original, update, number))
        found += self._of_others(original, update, "additionalItems", "ADDITIONAL_ITEMS")
        found += self._of_unevaluated(original, update, "unevaluatedItems", "UNEVALUATED_ITEMS")
        found += _grown(original, update, "maxItems", "MAX_ITEMS")
        found += _shrunk(original, update, "minItems", "MIN_ITEMS")
        if update.is_unique and not original.is_unique:
            found.append(("UNIQUE_ITEMS_ADDED", ("uniqueItems",)))
        found += _grown(original, update, "maxContains", "MAX_CONTAINS")
        found += _shrunk(original, update, "minContains", "MIN_CONTAINS")
        return found

    def _of_item(self, original: SchemaNode, update: SchemaNode, number: int) -> Sequence[Found]:
        if number >= len(update.first_items):
            before = original.first_items[number]
            if _is_open(update):
                return []
            covering = _covering(update)
            if covering is not None:
                return self._uncovered(
                    before, covering, "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
                )
            return [] if before.kind == "NOTHING" else self._told("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL")
        after = update.first_items[number]
        if number < len(original.first_items):
            return self.compare(original.first_items[number], after)
        if _is_open(original):
            return [] if after.kind == "ANY" else self._told("ITEM_ADDED_TO_OPEN_CONTENT_MODEL")
        covering = _covering(original)
        if covering is None:
            return []
        return self._uncovered(covering, after, "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")

    # Content models, of objects and arrays

    def _uncovered(self, original: SchemaNode, update: SchemaNode, kind: str) -> list[Found]:
        found = list(self.compare(original, update))
        return [*found, *self._told(kind)] if found else []

    def _of_others(
        self, original: SchemaNode, update: SchemaNode, keyword: str, kind: str
    ) -> Sequence[Found]:
        if original.permits_others != update.permits_others:
            return [] if update.permits_others else self._told(f"{kind}_REMOVED", keyword)
        if original.others is None and update.others is not None:
            return self._told(f"{kind}_NARROWED", keyword)
        return _below((keyword,), self.compare(original.others, update.others))

    def _of_unevaluated(
        self, original: SchemaNode, update: SchemaNode, keyword: str, kind: str
    ) -> Sequence[Found]:
        before, after = original.unevaluated, update.unevaluated
        if after is None:
            return []
        if after.kind == "NOTHING":
            is_same = before is not None and before.kind == "NOTHING"
            return [] if is_same else self._told(f"{kind}_REMOVED", keyword)
        if before is None or (before.kind == "ANY" and after.kind != "ANY"):
            return self._told(f"{kind}_NARROWED", keyword)
        return _below((keyword,), self.compare(before, after))

    def _told(self, kind: str, *path: str) -> list[Found]:
        if self._is_lenient and kind in COMPATIBLE_IF_LENIENT:
            return []
        return [(kind, path)]


def _below(steps: Path, found: Sequence[Found] | Iterator[Found]) -> list[Found]:
    return [(kind, (*steps, *path)) for kind, path in found]


# Content models


def _is_open(node: SchemaNode) -> bool:
    """Whether there may be anything besides what is told of."""
    if not node.permits_others or node.others is not None or node.patterns:
        return False
    return node.unevaluated is None or node.unevaluated.kind == "ANY"


def _covering(node: SchemaNode, name: str | None = None) -> SchemaNode | None:
    """What a partially open model makes of a property, or of an item, that it does not tell of."""
    for pattern, schema in node.patterns.items():
        if name is not None and _matches(pattern, name):
            return schema
    if node.others is not None:
        return node.others
    unevaluated = node.unevaluated if node.permits_others else None
    return None if unevaluated is None or unevaluated.kind in ("ANY", "NOTHING") else unevaluated


def _matches(pattern: str, name: str) -> bool:
    return _expression(pattern)({name: None})


@lru_cache(maxsize=1000)
def _expression(pattern: str) -> Any:
    # Not Python's own expressions, which may take for ever.
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("the comparison of schemas with patternProperties", "json-schema") from None
    try:
        schema = {"minProperties": 1, "patternProperties": {pattern: True}, "additionalProperties": False}
        return jsonschema_rs.Draft7Validator(schema).is_valid  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except ValueError:
        raise InvalidSchemaError(f"the pattern {pattern!r:.100} of the JSON Schema is broken") from None


# What has no parts


def _grown(original: SchemaNode, update: SchemaNode, keyword: str, kind: str) -> Iterator[Found]:
    """An upper limit, which may grow or go."""
    before, after = original.limits.get(keyword), update.limits.get(keyword)
    if after is not None and before is None:
        yield f"{kind}_ADDED", (keyword,)
    elif after is not None and after < before:
        yield f"{kind}_DECREASED", (keyword,)


def _shrunk(original: SchemaNode, update: SchemaNode, keyword: str, kind: str) -> Iterator[Found]:
    """A lower limit, which may shrink or go."""
    before, after = original.limits.get(keyword), update.limits.get(keyword)
    if after is not None and before is None:
        yield f"{kind}_ADDED", (keyword,)
    elif after is not None and after > before:
        yield f"{kind}_INCREASED", (keyword,)


def _of_pattern(original: SchemaNode, update: SchemaNode) -> Iterator[Found]:
    before, after = original.limits.get("pattern"), update.limits.get("pattern")
    if after is not None and after != before:
        yield "PATTERN_ADDED" if before is None else "PATTERN_CHANGED", ("pattern",)


def _of_numbers(original: SchemaNode, update: SchemaNode) -> list[Found]:
    found = [
        *_grown(original, update, "maximum", "MAXIMUM"),
        *_shrunk(original, update, "minimum", "MINIMUM"),
        *_grown(original, update, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM"),
        *_shrunk(original, update, "exclusiveMinimum", "EXCLUSIVE_MINIMUM"),
    ]
    before, after = original.limits.get("multipleOf"), update.limits.get("multipleOf")
    if after is not None and before is None:
        found.append(("MULTIPLE_OF_ADDED", ("multipleOf",)))
    elif after is not None:
        # As they are written, and not as the nearest binary fractions.
        old, new = Fraction(repr(before)), Fraction(repr(after))
        if old % new != 0:
            kind = "MULTIPLE_OF_EXPANDED" if new % old == 0 else "MULTIPLE_OF_CHANGED"
            found.append((kind, ("multipleOf",)))
    if update.is_integer and not original.is_integer:
        found.append(("TYPE_NARROWED", ()))
    return found


def _of_enums(original: SchemaNode, update: SchemaNode) -> list[Found]:
    if original.values <= update.values:
        return []
    kind = "ENUM_ARRAY_NARROWED" if update.values < original.values else "ENUM_ARRAY_CHANGED"
    return [(kind, ("enum",))]


def _is_matched(fitting: Sequence[Sequence[int]], count: int) -> bool:
    """Whether each of the fewer side has one of its own on the other. `fitting`: for each on the left, those
    of the `count` on the right that it fits."""
    if len(fitting) > count:
        turned: list[list[int]] = [[] for _ in range(count)]
        for left, rights in enumerate(fitting):
            for right in rights:
                turned[right].append(left)
        fitting = turned
    right_of: dict[int, int] = {}
    left_of: dict[int, int] = {}
    return all(_augmented(left, fitting, right_of, left_of) for left in range(len(fitting)))


def _augmented(
    start: int, fitting: Sequence[Sequence[int]], right_of: dict[int, int], left_of: dict[int, int]
) -> bool:
    """Gives one more on the left its own on the right, moving others to another where that helps."""
    came_from: dict[int, int] = {}
    waiting = [start]
    for left in waiting:
        for right in fitting[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right in left_of:
                waiting.append(left_of[right])
                continue
            while True:
                giver = came_from[right]
                given_up = right_of.get(giver)
                right_of[giver], left_of[right] = right, giver
                if giver == start or given_up is None:
                    return True
                right = given_up
    return False
