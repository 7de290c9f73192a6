"""The words that rules are written with. Their values are what a registry has for them in JSON."""

from __future__ import annotations

from enum import StrEnum


class RuleKind(StrEnum):
    """The kind of a rule: a condition accepts or refuses a message, a transformation makes another one of
    it."""

    CONDITION = "CONDITION"
    TRANSFORM = "TRANSFORM"


class RulePhase(StrEnum):
    """Which of a schema's rules: between its versions, for a message, or for its bytes."""

    MIGRATION = "MIGRATION"
    DOMAIN = "DOMAIN"
    ENCODING = "ENCODING"


class RuleMode(StrEnum):
    """The mode of a rule, or of a call that runs rules: only rules have UPDOWN and WRITEREAD."""

    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    UPDOWN = "UPDOWN"
    READ = "READ"
    WRITE = "WRITE"
    WRITEREAD = "WRITEREAD"


class FieldType(StrEnum):
    """What a field is, in the same words for all formats. COMBINED is a union."""

    RECORD = "RECORD"
    ENUM = "ENUM"
    ARRAY = "ARRAY"
    MAP = "MAP"
    COMBINED = "COMBINED"
    FIXED = "FIXED"
    STRING = "STRING"
    BYTES = "BYTES"
    INT = "INT"
    LONG = "LONG"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    NULL = "NULL"


PRIMITIVE_TYPES = frozenset(
    {
        FieldType.INT,
        FieldType.LONG,
        FieldType.FLOAT,
        FieldType.DOUBLE,
        FieldType.BOOLEAN,
        FieldType.NULL,
        FieldType.STRING,
        FieldType.BYTES,
    }
)
