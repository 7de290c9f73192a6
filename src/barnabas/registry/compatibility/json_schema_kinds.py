"""The kinds of differences of JSON Schemas, in the words of Confluent's registry."""

from __future__ import annotations

from barnabas.registry.compatibility.difference import Sides

# To the policy LENIENT, besides what is compatible anyway.
COMPATIBLE_IF_LENIENT = frozenset(
    {
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    }
)

ADDED = "The keyword at path '{path}' in the {reader} schema is not present in the {writer} schema"
MORE = "The value at path '{path}' in the {reader} schema is more than its value in the {writer} schema"
LESS = "The value at path '{path}' in the {reader} schema is less than its value in the {writer} schema"
CHANGED = "The value at path '{path}' is different between the {reader} and {writer} schema"
FEWER_ELEMENTS = (
    "An array or combined type at path '{path}' has fewer elements in the {reader} schema than the {writer} "
    "schema"
)
MORE_ELEMENTS = (
    "An array or combined type at path '{path}' has more elements in the {reader} schema than the {writer} "
    "schema"
)
OTHER_TYPE = "A type at path '{path}' is different between the {reader} schema and the {writer} schema"
ADDED_TO_OPEN = (
    "The {reader} schema has an open content model and has a property or item at path '{path}' which is "
    "missing in the {writer} schema"
)
REQUIRED_ADDED_TO_UNOPEN = (
    "The {reader} schema has an unopen content model and has a required property at path '{path}' which is "
    "missing in the {writer} schema"
)
REMOVED_FROM_CLOSED = (
    "The {reader} has a closed content model and is missing a property or item present at path '{path}' in "
    "the {writer} schema"
)
REMOVED_NOT_COVERED = (
    "A property or item is missing in the {reader} schema but present at path '{path}' in the {writer} "
    "schema and is not covered by its partially open content model"
)
ADDED_NOT_COVERED = (
    "The {reader} schema has a property or item at path '{path}' which is missing in the {writer} schema and "
    "is not covered by its partially open content model"
)

DESCRIPTIONS = {
    # Nothing is said of it there.
    "SCHEMA_ADDED": "",
    **dict.fromkeys(
        (
            "MAXIMUM_ADDED",
            "MINIMUM_ADDED",
            "EXCLUSIVE_MAXIMUM_ADDED",
            "EXCLUSIVE_MINIMUM_ADDED",
            "MULTIPLE_OF_ADDED",
            "MAX_LENGTH_ADDED",
            "MIN_LENGTH_ADDED",
            "PATTERN_ADDED",
            "REQUIRED_ATTRIBUTE_ADDED",
            "MAX_PROPERTIES_ADDED",
            "MIN_PROPERTIES_ADDED",
            "DEPENDENCY_ARRAY_ADDED",
            "DEPENDENCY_SCHEMA_ADDED",
            "MAX_ITEMS_ADDED",
            "MIN_ITEMS_ADDED",
            "MAX_CONTAINS_ADDED",
            "MIN_CONTAINS_ADDED",
            "UNIQUE_ITEMS_ADDED",
            "ADDITIONAL_ITEMS_REMOVED",
            "ADDITIONAL_PROPERTIES_REMOVED",
            "UNEVALUATED_PROPERTIES_REMOVED",
            "UNEVALUATED_ITEMS_REMOVED",
        ),
        ADDED,
    ),
    **dict.fromkeys(
        (
            "MIN_LENGTH_INCREASED",
            "MINIMUM_INCREASED",
            "EXCLUSIVE_MINIMUM_INCREASED",
            "MIN_PROPERTIES_INCREASED",
            "MULTIPLE_OF_EXPANDED",
            "MIN_ITEMS_INCREASED",
            "MIN_CONTAINS_INCREASED",
        ),
        MORE,
    ),
    **dict.fromkeys(
        (
            "MAX_LENGTH_DECREASED",
            "MAXIMUM_DECREASED",
            "MAX_ITEMS_DECREASED",
            "MAX_CONTAINS_DECREASED",
            "EXCLUSIVE_MAXIMUM_DECREASED",
            "MAX_PROPERTIES_DECREASED",
        ),
        LESS,
    ),
    **dict.fromkeys(("PATTERN_CHANGED", "MULTIPLE_OF_CHANGED", "DEPENDENCY_ARRAY_CHANGED"), CHANGED),
    **dict.fromkeys(
        (
            "ADDITIONAL_ITEMS_NARROWED",
            "ENUM_ARRAY_NARROWED",
            "SUM_TYPE_NARROWED",
            "ADDITIONAL_PROPERTIES_NARROWED",
            "UNEVALUATED_PROPERTIES_NARROWED",
            "UNEVALUATED_ITEMS_NARROWED",
        ),
        FEWER_ELEMENTS,
    ),
    **dict.fromkeys(
        ("DEPENDENCY_ARRAY_EXTENDED", "PRODUCT_TYPE_EXTENDED", "NOT_TYPE_EXTENDED"),
        MORE_ELEMENTS,
    ),
    **dict.fromkeys(
        (
            "TYPE_CHANGED",
            "TYPE_NARROWED",
            "COMBINED_TYPE_CHANGED",
            "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
            "ENUM_ARRAY_CHANGED",
        ),
        OTHER_TYPE,
    ),
    **dict.fromkeys(
        (
            "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        ADDED_TO_OPEN,
    ),
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": REQUIRED_ADDED_TO_UNOPEN,
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": REMOVED_FROM_CLOSED,
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL": REMOVED_FROM_CLOSED,
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": REMOVED_NOT_COVERED,
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": REMOVED_NOT_COVERED,
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": ADDED_NOT_COVERED,
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": ADDED_NOT_COVERED,
}


def description(kind: str, path: str, sides: Sides) -> str:
    return DESCRIPTIONS[kind].format(path=path, reader=sides.reader, writer=sides.writer)
