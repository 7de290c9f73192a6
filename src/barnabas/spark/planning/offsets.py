"""Offsets by partition, and their JSON as Spark's own Kafka connector writes it.

    {"flights": {"0": 23, "1": -2}, "weather": {"0": 5}}

The streaming engine compares offsets by their text, so a document always lists topics by name and partitions
by number. Pure functions: this module must not know Spark or a broker.

Where a batch began elsewhere than at the end of the one before, its document tells that as well: in a second
entry of the partition whose number has a zero put before it. A query's first batch is one of them: Spark logs
only the end of a batch and asks for the initial offset again when it repeats a first batch that was not
committed; by then "latest" means something later, and the rows between would be lost.

    {"flights": {"00": 17, "0": 23}}

A document also tells which topics it is of, by ids that are as Kafka's tools show them, so that one that was
deleted and created again is not taken for the one before:

    {"flights": {"0": 23}, "flights#zWlnHHbVTnWZUc8L5wGJeQ": {}}

Spark's own connector reads the numbers of partitions as integers and keeps the last entry of each, and of a
topic without partitions it sees nothing. So to it both say `{"flights": {"0": 23}}`, and it can go on from a
checkpoint of ours. No topic can have such a name: "#" is not allowed in one.
"""

from __future__ import annotations

import json
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

from barnabas.spark.errors import InvalidOptionError
from barnabas.types import EARLIEST_OFFSET, TopicPartition

Offsets = dict[TopicPartition, int]
Document = dict[str, Any]

TopicIds = Mapping[str, uuid.UUID]

START_MARK = "0"
ID_MARK = "#"
MAX_KNOWN_IDS = 100_000


def to_document(
    offsets: Mapping[TopicPartition, int],
    *,
    began: Mapping[TopicPartition, int] | None = None,
    topic_ids: TopicIds | None = None,
    start_mark: str = START_MARK,
) -> Document:
    """Offsets as the nested dictionary that Spark turns into JSON.

    `began`: where a batch that ends at `offsets` began, for partitions of which the batch before does not
    tell it. `start_mark` is one zero or more.
    """
    document: Document = {}
    for partition in sorted(offsets):
        entries = document.setdefault(partition.topic, {})
        if began is not None and partition in began:
            entries[f"{start_mark}{partition.partition}"] = began[partition]
        entries[str(partition.partition)] = offsets[partition]
    topics = sorted(document)
    if topic_ids is not None:
        document |= {
            f"{topic}{ID_MARK}{_id_text(topic_ids[topic])}": {} for topic in topics if topic in topic_ids
        }
    return document


def from_document(document: Mapping[str, Any]) -> Offsets:
    """The offsets of a document; where the batch began is left out."""
    return {
        TopicPartition(topic, int(number)): offset
        for topic, entries in document.items()
        for number, offset in entries.items()
        if number[:1] != START_MARK or number == START_MARK
    }


def starts_of(document: Mapping[str, Any]) -> Offsets:
    """Where the batch that ends at `document` began, as far as the document says so."""
    return {
        TopicPartition(topic, int(number)): offset
        for topic, entries in document.items()
        for number, offset in entries.items()
        if number[:1] == START_MARK and number != START_MARK
    }


def topic_ids_of(document: Mapping[str, Any]) -> dict[str, uuid.UUID]:
    """The ids of its topics, as far as the document says them."""
    names = (name.split(ID_MARK) for name in document if ID_MARK in name)
    return {topic: _topic_id(text) for topic, text in names}


# A query has the same topics in every batch.
@lru_cache(maxsize=MAX_KNOWN_IDS)
def _topic_id(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=urlsafe_b64decode(text + "=="))


@lru_cache(maxsize=MAX_KNOWN_IDS)
def _id_text(topic_id: uuid.UUID) -> str:
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def parse_offsets(text: str, option: str) -> Offsets:
    """Offsets that a user gave as JSON; -2 stands for earliest, -1 for latest.

    Raises: InvalidOptionError.
    """
    meaning = "an offset; give a number from 0 on, -2 for earliest or -1 for latest"
    return _parse_numbers(text, option, '{"topic":{"0":23,"1":-2}}', EARLIEST_OFFSET, meaning)


def parse_timestamps(text: str, option: str) -> dict[TopicPartition, int]:
    """Milliseconds since 1970 by partition, as JSON.

    Raises: InvalidOptionError.
    """
    example = '{"topic":{"0":1735689600000}}'
    return _parse_numbers(text, option, example, 0, "a time; give milliseconds since 1970")


def _parse_numbers(
    text: str, option: str, example: str, lowest: int, meaning: str
) -> dict[TopicPartition, int]:
    numbers: dict[TopicPartition, int] = {}
    for topic, partitions in _parse_topics(text, option, example).items():
        if not isinstance(partitions, dict):
            raise InvalidOptionError(f"{option}: {topic!r} must hold numbers by partition, such as {example}")
        for partition, number in cast(dict[str, Any], partitions).items():
            if not partition.isdecimal():
                raise InvalidOptionError(
                    f"{option}: {partition!r} of topic {topic!r} is not a partition's number"
                )
            if not isinstance(number, int) or isinstance(number, bool) or not lowest <= number < 2**63:
                raise InvalidOptionError(
                    f"{option}: {topic}-{partition} has {number!r}, which is not {meaning}"
                )
            numbers[TopicPartition(topic, int(partition))] = number
    if not numbers:
        raise InvalidOptionError(f"{option} names no partition; it takes JSON such as {example}")
    return numbers


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
