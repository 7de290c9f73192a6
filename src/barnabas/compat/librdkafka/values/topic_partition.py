"""`TopicPartition`, what programs for librdkafka name a partition with: with an offset, and maybe an error.

Knows nothing of clients. `topic_partition` makes one that has all that a client may tell of a partition.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn, Self

from barnabas.compat.librdkafka.values.arguments import c_arguments, no_state
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.compat.librdkafka.values.errors import KafkaError


def _read_only(slot: str, doc: str, complaint: str = "readonly attribute") -> Any:
    def refuse(*_: object) -> NoReturn:
        raise AttributeError(complaint)

    return property(operator.attrgetter(slot), refuse, refuse, doc)


def _number(slot: str, doc: str, bits: int) -> Any:
    """An attribute that is an integer, as one of an object in C is."""

    def assign(partition: TopicPartition, value: object) -> None:
        number = operator.index(value)  # type: ignore[arg-type]
        if not -(1 << bits) <= number < 1 << bits:
            raise OverflowError("int too big to convert")
        setattr(partition, slot, number)

    def refuse(_: TopicPartition) -> NoReturn:
        raise TypeError("can't delete numeric/char attribute")

    return property(operator.attrgetter(slot), assign, refuse, doc)


class TopicPartition:
    """A partition of a topic, with what else is known or asked of it.

    topic         the topic's name
    partition     its number
    offset        an offset, or one of OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED and OFFSET_INVALID
    metadata      a note that is committed with the offset
    leader_epoch  the leader epoch of the record before the offset, None where it is not known

    Two of them are the same when topic and partition are; they sort by these. Only `partition` and `offset`
    can be changed.
    """

    __slots__ = ("_error", "_leader_epoch", "_metadata", "_offset", "_partition", "_topic")
    __module__ = "cimpl"

    topic: str = _read_only("_topic", "The topic's name.")
    partition: int = _number("_partition", "The partition's number.", 31)
    offset: int = _number(
        "_offset",
        "An offset, or one of OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED and OFFSET_INVALID.",
        63,
    )
    metadata: str | None = _read_only("_metadata", "A note that is committed with the offset.")
    leader_epoch: int | None = _read_only(
        "_leader_epoch",
        "The leader epoch that belongs to the offset, or None.",
        "attribute 'leader_epoch' of 'cimpl.TopicPartition' objects is not writable",
    )
    error: KafkaError | None = _read_only("_error", "What failed for this partition, or None.")

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # What there is where __init__ did not run, as in the original, where it is the bits of fresh memory.
        made = object.__new__(cls)
        made._topic = made._metadata = made._error = None
        made._partition = made._offset = made._leader_epoch = 0
        return made

    @c_arguments("siLsi")
    def __init__(
        self,
        topic: str,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        metadata: str | None = None,
        leader_epoch: int = -1,
    ) -> None:
        _fill(self, topic, partition, offset, metadata, leader_epoch, None)

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self.topic},partition={self.partition},offset={self.offset},"
            f"leader_epoch={self.leader_epoch},error={self.error}}}"
        )

    def __hash__(self) -> int:
        return hash(self.topic) ^ self.partition

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key_like(other, self)

    def __ne__(self, other: object) -> bool:
        return _key(self) != _key_like(other, self)

    def __lt__(self, other: object) -> bool:
        return _key(self) < _key_like(other, self)

    def __le__(self, other: object) -> bool:
        return _key(self) <= _key_like(other, self)

    def __gt__(self, other: object) -> bool:
        return _key(self) > _key_like(other, self)

    def __ge__(self, other: object) -> bool:
        return _key(self) >= _key_like(other, self)

    def __getstate__(self) -> NoReturn:
        raise no_state(self)


def _key(partition: TopicPartition) -> tuple[str, int]:
    return partition.topic, partition.partition


def _key_like(other: object, partition: TopicPartition) -> tuple[str, int]:
    """What `other` is compared by. As in the original, even `==` refuses anything of another type."""
    if type(other) is not type(partition):
        raise NotImplementedError
    return _key(other)


def _fill(
    partition: Any,
    topic: str,
    number: int,
    offset: int,
    metadata: str | None,
    leader_epoch: int | None,
    error: KafkaError | None,
) -> None:
    partition._topic = topic
    partition._partition = number
    partition._offset = offset
    partition._metadata = metadata
    partition._leader_epoch = None if leader_epoch is None or leader_epoch < 0 else leader_epoch
    partition._error = error


def topic_partition(
    topic: str,
    partition: int,
    offset: int = OFFSET_INVALID,
    *,
    metadata: str | None = None,
    leader_epoch: int | None = None,
    error: KafkaError | None = None,
) -> TopicPartition:
    """A partition as clients hand it out, with an error as well. The arguments are not checked."""
    made = object.__new__(TopicPartition)
    _fill(made, topic, partition, offset, metadata, leader_epoch, error)
    return made
