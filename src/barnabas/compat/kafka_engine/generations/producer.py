"""What KafkaProducer and partitioners are in each generation, where that takes a table."""

from __future__ import annotations

from collections.abc import Mapping

PARTITIONER_NAMES_OF_1 = (
    *("HashedPartitioner", "LegacyPartitioner", "Murmur2Partitioner", "RoundRobinPartitioner"),
)
PARTITIONER_NAMES_OF_2 = ("DefaultPartitioner", "murmur2")
PARTITIONER_NAMES_OF_3 = ("DefaultPartitioner", "Partitioner", "StickyPartitioner", "murmur2")

SendRefusals = Mapping[str, tuple[str, str]]
"""By the reason: the class of the exception, and its text, which may be empty."""

_REASONS = (
    *("neither key nor value", "headers are no list", "headers are no pairs", "key is no bytes"),
    *("value is no bytes", "partition is negative", "partition is unknown", "producer is closed"),
    "timeout is out of range",
)
"""Why a record, or the timeout of `close`, is refused, as code asks for it."""

_NOTHING = "Need at least one: key or value"
_CLOSED = "KafkaProducer already closed!"


def _refusals(*rows: tuple[str, str]) -> SendRefusals:
    return dict(zip(_REASONS, rows, strict=True))


SEND_REFUSALS_OF_1 = _refusals(
    ("AssertionError", _NOTHING),
    ("AssertionError", ""),
    ("AssertionError", ""),
    ("AssertionError", "key must be bytes"),
    ("AssertionError", "value must be bytes"),
    ("AssertionError", ""),
    ("AssertionError", "Unrecognized partition"),
    ("AssertionError", "RecordAccumulator is closed"),
    ("AssertionError", ""),
)
SEND_REFUSALS_OF_2 = _refusals(
    ("AssertionError", _NOTHING),
    ("AssertionError", ""),
    ("AssertionError", ""),
    ("AssertionError", ""),
    ("AssertionError", ""),
    ("AssertionError", ""),
    ("AssertionError", "Unrecognized partition"),
    ("AssertionError", _CLOSED),
    ("AssertionError", ""),
)
SEND_REFUSALS_OF_3 = _refusals(
    ("ValueError", _NOTHING),
    ("TypeError", "headers must be list-type"),
    ("TypeError", "All headers items must be (str, bytes) tuples"),
    ("TypeError", "Unsupported type for serialized key: {given}"),
    ("TypeError", "Unsupported type for serialized value: {given}"),
    ("ValueError", "partition must be >= 0"),
    ("ValueError", "Unrecognized partition {given} for topic {topic}"),
    ("IllegalStateError", _CLOSED),
    ("ValueError", "Invalid timeout: {given}"),
)
