"""What all requests of administration share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from barnabas.types import TopicPartition

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)


class Answer(NamedTuple, Generic[K, T_co]):
    """What an answer says of one item. `result` means nothing where `code` is that of an error; `message` is
    the broker's own."""

    key: K
    result: T_co
    code: int
    message: str | None = None


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Partitions by their topic, in order."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def first_code(codes: Iterable[int]) -> int:
    """The first that is an error, else 0."""
    return next((code for code in codes if code), 0)
