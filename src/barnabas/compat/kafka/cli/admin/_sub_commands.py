"""The commands of `python -m kafka.admin` in kafka-python 2, by what they are about."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._configs import ConfigResource
from barnabas.compat.kafka.admin._topics import NewTopic
from barnabas.compat.kafka.cli.admin import cluster, topics
from barnabas.compat.kafka.cli.admin._command import Command, Parser, add_group_argument


class _CreateTopic(topics.CreateTopic):
    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.create_topics([NewTopic(args.topic, args.num_partitions, args.replication_factor)])


class _DescribeTopics(topics.DescribeTopics):
    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, action="append", dest="topics")

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_topics(args.topics or None)


class _DeleteTopic(topics.DeleteTopic):
    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, required=True)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.delete_topics([args.topic])


class _DescribeConfigs(Command):
    COMMAND = "describe"
    HELP = "Describe Kafka Configs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str, action="append", dest="topics", default=[])
        parser.add_argument("-b", "--broker", type=str, action="append", dest="brokers", default=[])

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        # An answer each: those about several topics are one, in whose order they are not.
        named = [*(("TOPIC", name) for name in args.topics), *(("BROKER", name) for name in args.brokers)]
        found: list[Any] = []
        for kind, name in named:
            [answer] = client.describe_configs([ConfigResource(kind, name)])
            [(*_, entries)] = answer.resources
            found.append(((kind, name), {str(entry[0]): entry[1] for entry in entries}))
        return found


class _DescribeLogDirs(Command):
    COMMAND = "describe"
    HELP = "Get topic log directories for brokers"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_log_dirs()


class _ListConsumerGroups(Command):
    COMMAND = "list"
    HELP = "List Consumer Groups"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.list_consumer_groups()


class _OfConsumerGroups(Command):
    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-g", "--group-id", type=str, action="append", dest="groups", required=True)


class _DescribeConsumerGroups(_OfConsumerGroups):
    COMMAND = "describe"
    HELP = "Describe Consumer Groups"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_consumer_groups(args.groups)


class _DeleteConsumerGroups(_OfConsumerGroups):
    COMMAND = "delete"
    HELP = "Delete Consumer Groups"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.delete_consumer_groups(args.groups)


class _ListConsumerGroupOffsets(Command):
    COMMAND = "list-offsets"
    HELP = "List Offsets for Consumer Group"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_group_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.list_consumer_group_offsets(args.group_id)


SUB_COMMANDS: dict[str, tuple[str, tuple[type[Command], ...]]] = {
    "cluster": ("Manage Kafka Cluster", (cluster.DescribeCluster,)),
    "configs": ("Manage Kafka Configuration", (_DescribeConfigs,)),
    "log-dirs": ("Manage Kafka Topic/Partition Log Directories", (_DescribeLogDirs,)),
    "topics": (
        "List/Describe/Create/Delete Kafka Topics",
        (topics.ListTopics, _DescribeTopics, _CreateTopic, _DeleteTopic),
    ),
    "consumer-groups": (
        "Manage Kafka Consumer Groups",
        (_ListConsumerGroups, _DescribeConsumerGroups, _ListConsumerGroupOffsets, _DeleteConsumerGroups),
    ),
}
"""By the name of a group of commands: what it says of itself, and its commands."""
