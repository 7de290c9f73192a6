"""`NewTopic` and `NewPartitions`, by which programs for librdkafka say what AdminClient is to create.

They are in C in the original, and behave like it. Knows nothing of clients.
"""

from __future__ import annotations

import operator
import sys
import warnings
from abc import ABC, abstractmethod
from typing import Any, NoReturn, Self

from barnabas.compat.librdkafka.values.arguments import c_arguments, no_state

BROKER_DEFAULT = -1
_INTEGER_BITS = 31
_LONG_BITS = 63


def _name(doc: str) -> Any:
    def refuse(*_: object) -> NoReturn:
        raise AttributeError("readonly attribute")

    return property(operator.attrgetter("_topic"), refuse, refuse, doc)


def _number(slot: str, doc: str) -> Any:
    def assign(made: object, value: Any) -> None:
        number = operator.index(value)
        if not -(1 << _LONG_BITS) <= number < 1 << _LONG_BITS:
            raise OverflowError("Python int too large to convert to C long")
        kept = (number + (1 << _INTEGER_BITS)) % (2 << _INTEGER_BITS) - (1 << _INTEGER_BITS)
        if kept != number:
            warnings.warn("Truncation of value to int", RuntimeWarning, stacklevel=3)
        setattr(made, slot, kept)

    def refuse(_: object) -> NoReturn:
        raise TypeError("can't delete numeric/char attribute")

    return property(operator.attrgetter(slot), assign, refuse, doc)


def _anything(slot: str, doc: str) -> Any:
    def assign(made: object, value: object) -> None:
        setattr(made, slot, value)

    def forget(made: object) -> None:
        setattr(made, slot, None)

    return property(operator.attrgetter(slot), assign, forget, doc)


class _Made(ABC):
    """What both have in common: they compare by a name and a number, and cannot be copied."""

    __slots__ = ("_topic",)

    _topic: str | None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        # What there is where __init__ did not run, as in the original, where it is the bits of fresh memory.
        made = super().__new__(cls)
        made._topic = None
        return made

    @property
    @abstractmethod
    def _key(self) -> tuple[str | None, int]:
        """What it compares by."""

    def __repr__(self) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self._key == self._other(other)

    def __ne__(self, other: object) -> bool:
        return self._key != self._other(other)

    def __lt__(self, other: Self) -> bool:
        return self._key < self._other(other)

    def __le__(self, other: Self) -> bool:
        return self._key <= self._other(other)

    def __gt__(self, other: Self) -> bool:
        return self._key > self._other(other)

    def __ge__(self, other: Self) -> bool:
        return self._key >= self._other(other)

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except AttributeError as error:
            if hasattr(type(self), name):
                raise
            text = f"'cimpl.{type(self).__name__}' object has no attribute '{name}'"
            if sys.version_info >= (3, 13):
                text += " and no __dict__ for setting new attributes"
            raise AttributeError(text, name=name, obj=self) from error

    def __getstate__(self) -> NoReturn:
        raise no_state(self)

    def _other(self, other: object) -> tuple[str | None, int]:
        # As in the original, even `==` refuses anything else.
        for kind in (NewTopic, NewPartitions):
            if isinstance(self, kind) and isinstance(other, kind):
                return other._key  # pyright: ignore[reportPrivateUsage]
        raise NotImplementedError


class NewTopic(_Made):
    """A topic to be created by `AdminClient.create_topics`.

    topic               the topic's name
    num_partitions      how many partitions it is to have; -1 leaves that to the broker
    replication_factor  how many replicas each partition is to have; -1 leaves that to the broker
    replica_assignment  in place of the factor, for each partition a list of the brokers that are to hold it,
                        the preferred leader first
    config              settings of the topic, a dict of text by name
    """

    __slots__ = ("_config", "_num_partitions", "_replica_assignment", "_replication_factor")
    __module__ = "cimpl"

    topic: str = _name("The topic's name.")
    num_partitions: int = _number(
        "_num_partitions", "How many partitions it is to have, -1: as the broker says."
    )
    replication_factor: int = _number(
        "_replication_factor", "How many replicas each partition is to have, -1: as the broker says."
    )
    replica_assignment: Any = _anything(
        "_replica_assignment", "For each partition a list of the brokers that are to hold it, or None."
    )
    config: Any = _anything("_config", "Settings of the topic by name, or None.")

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._num_partitions = made._replication_factor = 0
        made._replica_assignment = made._config = None
        return made

    @c_arguments("siiOO")
    def __init__(
        self,
        topic: str,
        num_partitions: int = BROKER_DEFAULT,
        replication_factor: int = BROKER_DEFAULT,
        replica_assignment: list[list[int]] | None = None,
        config: dict[str, str] | Any = ...,
    ) -> None:
        self._topic = topic
        self._num_partitions = num_partitions
        self._replication_factor = replication_factor
        self._replica_assignment = replica_assignment
        if config is not ... and not isinstance(config, dict):
            raise TypeError("config must be a dict of strings")
        self._config: Any = None if config is ... else config

    def __str__(self) -> str:
        partitions = (
            "" if self._num_partitions == BROKER_DEFAULT else f",num_partitions={self._num_partitions}"
        )
        return f"NewTopic(topic={self._topic}{partitions})"

    @property
    def _key(self) -> tuple[str | None, int]:
        return self._topic, self._num_partitions


class NewPartitions(_Made):
    """How many partitions a topic is to have, for `AdminClient.create_partitions`.

    topic               the topic's name
    new_total_count     how many partitions it is to have in all
    replica_assignment  for each new partition a list of the brokers that are to hold it, the preferred leader
                        first
    """

    __slots__ = ("_new_total_count", "_replica_assignment")
    __module__ = "cimpl"

    topic: str = _name("The topic's name.")
    new_total_count: int = _number("_new_total_count", "How many partitions it is to have in all.")
    replica_assignment: Any = _anything(
        "_replica_assignment", "For each new partition a list of the brokers that are to hold it, or None."
    )

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._new_total_count = 0
        made._replica_assignment = None
        return made

    @c_arguments("siO")
    def __init__(
        self, topic: str, new_total_count: int, replica_assignment: list[list[int]] | None = None
    ) -> None:
        self._topic = topic
        self._new_total_count = new_total_count
        self._replica_assignment = replica_assignment

    def __str__(self) -> str:
        return f"NewPartitions(topic={self._topic},new_total_count={self._new_total_count})"

    @property
    def _key(self) -> tuple[str | None, int]:
        return self._topic, self._new_total_count
