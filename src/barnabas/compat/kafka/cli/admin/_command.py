"""What a command of `python -m kafka.admin` is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, ClassVar

from barnabas.compat.kafka_python.values.structs import STRUCTS

# What arguments are added to is an ArgumentParser, or a group of its arguments.
Parser = argparse._ActionsContainer  # pyright: ignore[reportPrivateUsage]


class Command:
    """One command: its name, what it takes, and what it does."""

    COMMAND: ClassVar[str]
    HELP: ClassVar[str]

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        """Says what it takes."""

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        """What is printed. Raises: ValueError for arguments that cannot be understood."""


class CommandGroup:
    """The commands about one thing."""

    GROUP: ClassVar[str]
    HELP: ClassVar[str]
    COMMANDS: ClassVar[Sequence[type[Command]]]


def partition_of(text: str) -> Any:
    """TOPIC:PARTITION. Raises: ValueError."""
    topic, partition = text.rsplit(":", 1)
    return STRUCTS["TopicPartition"](topic, int(partition))


def partition_and_offset_of(text: str) -> tuple[Any, int]:
    """TOPIC:PARTITION:OFFSET. Raises: ValueError."""
    partition, offset = text.rsplit(":", 1)
    return partition_of(partition), int(offset)


def by_topic(texts: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of partitions that are given as TOPIC:PARTITION, by topic. Raises: ValueError."""
    topics: dict[str, list[int]] = {}
    for topic, partition in map(partition_of, texts):
        topics.setdefault(topic, []).append(partition)
    return topics


def add_coordinator_argument(parser: Parser) -> None:
    parser.add_argument(
        "--group-coordinator-id",
        type=int,
        default=None,
        help="Send directly to this broker id, skipping coordinator lookup",
    )


def add_group_argument(parser: Parser) -> None:
    parser.add_argument("-g", "--group-id", type=str, required=True)


def add_timeout_argument(parser: Parser) -> None:
    parser.add_argument("--timeout-ms", type=int, default=None, help="Request timeout in milliseconds")
