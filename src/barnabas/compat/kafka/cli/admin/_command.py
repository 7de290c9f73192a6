"""What a command of `python -m kafka.admin` is: its name, what it takes, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas.compat.kafka.cli._argument import Argument, OneOf, Parser, number, text, texts
from barnabas.compat.kafka_engine.values.structs import STRUCTS

Run = Callable[[Any, Any], Any]
"""Gets a KafkaAdminClient and what was parsed; gives what is printed. Raises: ValueError for arguments that
cannot be understood."""


@dataclass(frozen=True)
class Command:
    """One command."""

    name: str
    about: str
    arguments: Sequence[Argument | OneOf]
    run: Run

    def add_arguments(self, parser: Parser) -> None:
        for argument in self.arguments:
            argument.add_to(parser)


@dataclass(frozen=True)
class CommandGroup:
    """The commands about one thing."""

    name: str
    about: str
    commands: Sequence[Command]


def command(name: str, about: str, *arguments: Argument | OneOf) -> Callable[[Run], Command]:
    """Makes a Command of the function that does it."""
    return lambda run: Command(name, about, arguments, run)


GROUP_ID = text("-g --group-id", required=True)
GROUP_IDS = texts("-g --group-id", "groups", required=True)
COORDINATOR = number("--group-coordinator-id", "Send directly to this broker id, skipping coordinator lookup")
TIMEOUT_MS = number("--timeout-ms", "Request timeout in milliseconds")


def partition_of(given: str) -> Any:
    """TOPIC:PARTITION. Raises: ValueError."""
    topic, partition = given.rsplit(":", 1)
    return STRUCTS["TopicPartition"](topic, int(partition))


def partition_and_offset_of(given: str) -> tuple[Any, int]:
    """TOPIC:PARTITION:OFFSET. Raises: ValueError."""
    partition, offset = given.rsplit(":", 1)
    return partition_of(partition), int(offset)


def by_topic(given: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of partitions that are given as TOPIC:PARTITION, by topic. Raises: ValueError."""
    topics: dict[str, list[int]] = {}
    for topic, partition in map(partition_of, given):
        topics.setdefault(topic, []).append(partition)
    return topics
