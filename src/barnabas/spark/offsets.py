"""Offsets by partition, and their JSON as Spark's own Kafka connector writes it.

    {"flights": {"0": 23, "1": -2}, "weather": {"0": 5}}

The streaming engine compares offsets by their text, so a document always lists topics by name and partitions
by number. Pure functions: this module must not know Spark or a broker.

The documents of a query's first micro-batch carry one more entry, `"@start"`, with the offsets the query
began at. Spark logs only the end of a batch and asks for the initial offset again when it repeats a first
batch that was not committed; by then "latest" means something later, and the rows between would be lost. No
topic can have this name, since "@" is not allowed in one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from barnabas.spark.errors import InvalidOptionError
from barnabas.types import EARLIEST_OFFSET, TopicPartition

Offsets = dict[TopicPartition, int]
Document = dict[str, Any]

FIRST_BATCH_START = "@start"


def to_document(
    offsets: Mapping[TopicPartition, int], *, first_batch_start: Offsets | None = None
) -> Document:
    """Offsets as the nested dictionary that Spark turns into JSON."""
    document: Document = {}
    for partition in sorted(offsets):
        document.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    if first_batch_start is not None:
        document[FIRST_BATCH_START] = to_document(first_batch_start)
    return document


def from_document(document: Mapping[str, Any]) -> Offsets:
    """The offsets of a document; what it tells about a first batch is left out."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in document.items()
        if topic != FIRST_BATCH_START
        for partition, offset in partitions.items()
    }


def first_batch_start(document: Mapping[str, Any]) -> Offsets | None:
    """Where the query began, if `document` belongs to its first micro-batch."""
    start = document.get(FIRST_BATCH_START)
    return None if start is None else from_document(start)


def parse_offsets(text: str, option: str) -> Offsets:
    """Offsets that a user gave as JSON; -2 stands for earliest, -1 for latest.

    Raises: InvalidOptionError.
    """
    example = '{"topic":{"0":23,"1":-2}}'
    offsets: Offsets = {}
    for topic, partitions in _parse_topics(text, option, example).items():
        if not isinstance(partitions, dict):
            raise InvalidOptionError(f"{option}: {topic!r} must hold offsets by partition, such as {example}")
        for partition, offset in cast(dict[str, Any], partitions).items():
            if not partition.isdecimal():
                raise InvalidOptionError(
                    f"{option}: {partition!r} of topic {topic!r} is not a partition's number"
                )
            if (
                not isinstance(offset, int)
                or isinstance(offset, bool)
                or not EARLIEST_OFFSET <= offset < 2**63
            ):
                raise InvalidOptionError(
                    f"{option}: {topic}-{partition} has {offset!r}, which is not an offset; "
                    "give a number from 0 on, -2 for earliest or -1 for latest"
                )
            offsets[TopicPartition(topic, int(partition))] = offset
    if not offsets:
        raise InvalidOptionError(f"{option} names no partition; it takes JSON such as {example}")
    return offsets


def parse_partitions(text: str, option: str) -> list[TopicPartition]:
    """Partitions that a user gave as JSON, `{"topicA":[0,1],"topicB":[2,4]}`, each once, in order.

    Raises: InvalidOptionError.
    """
    example = '{"topicA":[0,1],"topicB":[2,4]}'
    found: set[TopicPartition] = set()
    for topic, numbers in _parse_topics(text, option, example).items():
        if not isinstance(numbers, list):
            raise InvalidOptionError(f"{option}: {topic!r} must hold a list of partitions, such as {example}")
        for number in cast(list[Any], numbers):
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise InvalidOptionError(
                    f"{option}: {number!r} of topic {topic!r} is not a partition's number"
                )
            found.add(TopicPartition(topic, number))
    if not found:
        raise InvalidOptionError(f"{option} names no partition; it takes JSON such as {example}")
    return sorted(found)


def name_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Partitions for an error message: `flights-0, flights-1, and 7 more`."""
    names = [str(partition) for partition in sorted(partitions)]
    if len(names) > 10:
        return ", ".join(names[:9]) + f", and {len(names) - 9} more"
    return ", ".join(names)


def _parse_topics(text: str, option: str, example: str) -> dict[str, Any]:
    try:
        parsed: Any = json.loads(text)
    except ValueError as error:
        raise InvalidOptionError(f"{option} must be JSON such as {example}, not {text!r}: {error}") from None
    if not isinstance(parsed, dict):
        raise InvalidOptionError(f"{option} must be JSON such as {example}, not {text!r}")
    return cast(dict[str, Any], parsed)
