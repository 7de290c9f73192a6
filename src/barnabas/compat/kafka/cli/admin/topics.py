"""`python -m kafka.admin topics`."""

from __future__ import annotations

import uuid
from typing import Any

from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser


class ListTopics(Command):
    COMMAND = "list"
    HELP = "List Kafka Topics"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.list_topics()


class DescribeTopics(Command):
    COMMAND = "describe"
    HELP = "Describe Kafka Topics"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-t", "--topic"), type=str, action="append", dest="topics", default=[], help="topic name"
        )
        parser.add_argument(
            "--id",
            type=str,
            action="append",
            dest="topic_ids",
            default=[],
            help="topic UUID (requires broker >= 2.8, KIP-516)",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_topics([*args.topics, *map(uuid.UUID, args.topic_ids)] or None)


class CreateTopic(Command):
    COMMAND = "create"
    HELP = "Create a Kafka Topic"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, required=True)
        parser.add_argument("--num-partitions", type=int, default=-1)
        parser.add_argument("--replication-factor", type=int, default=-1)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        numbers = {"num_partitions": args.num_partitions, "replication_factor": args.replication_factor}
        return client.create_topics({args.topic: numbers})


class DeleteTopic(Command):
    COMMAND = "delete"
    HELP = "Delete Kafka Topic"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-t", "--topic"), type=str, action="append", dest="topics", default=[], help="topic name"
        )
        parser.add_argument(
            "--id", type=str, action="append", dest="topic_ids", default=[], help="topic UUID"
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        if not args.topics and not args.topic_ids:
            raise ValueError("At least one topic or topic_id is required!")
        return client.delete_topics([*args.topics, *map(uuid.UUID, args.topic_ids)])


class TopicsCommandGroup(CommandGroup):
    GROUP = "topics"
    HELP = "Manage Kafka Topics"
    COMMANDS = (ListTopics, DescribeTopics, CreateTopic, DeleteTopic)
