"""`python -m kafka.admin cluster`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._cluster import UpdateFeatureType
from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser
from barnabas.compat.kafka.protocol.api_key import ApiKey
from barnabas.compat.kafka_python.values.structs import STRUCTS


class DescribeCluster(Command):
    COMMAND = "describe"
    HELP = "Describe Kafka Cluster"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_cluster()


class DescribeQuorum(Command):
    COMMAND = "describe-quorum"
    HELP = "Describe the KRaft metadata quorum"

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_metadata_quorum()


class GetApiVersions(Command):
    COMMAND = "api-versions"
    HELP = "Get Supported Api Versions"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-k", "--api-key", type=str, action="append", dest="api_keys", default=None)
        parser.add_argument("--raw", action="store_true")

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        wanted = {ApiKey[name] for name in args.api_keys} if args.api_keys else set(ApiKey)
        return {
            (key.value if args.raw else key.name): versions
            for key, versions in client.api_versions().items()
            if key in wanted
        }


class GetBrokerVersion(Command):
    COMMAND = "broker-version"
    HELP = "Get Version for Broker"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("--broker", required=True)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        broker_id = int(args.broker)
        return {broker_id: client.get_broker_version_data(broker_id).broker_version_str}


class DescribeFeatures(Command):
    COMMAND = "describe-features"
    HELP = "Describe Features of Kafka Cluster"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-f", "--feature"),
            type=str,
            action="append",
            dest="features",
            default=[],
            help="Show one or more specific features. If not provided, returns all features.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        found = client.describe_features()
        return {name: found[name] for name in found if not args.features or name in args.features}


class UpdateFeatures(Command):
    COMMAND = "update-features"
    HELP = "Update Features of Kafka Cluster"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-f", "--feature"),
            type=str,
            action="append",
            dest="features",
            default=[],
            help="set feature=value",
        )
        parser.add_argument("--downgrade", action="store_true")
        parser.add_argument("--unsafe", action="store_true")
        parser.add_argument("--timeout", type=int, default=60)
        parser.add_argument("--validate-only", action="store_true")

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        way = UpdateFeatureType.UPGRADE
        if args.downgrade:
            way = UpdateFeatureType.UNSAFE_DOWNGRADE if args.unsafe else UpdateFeatureType.SAFE_DOWNGRADE
        levels = dict(feature.split("=") for feature in args.features)
        return client.update_features(
            {feature: (way, level) for feature, level in levels.items()},
            validate_only=args.validate_only,
            timeout_ms=1000 * args.timeout,
        )


class DescribeLogDirs(Command):
    COMMAND = "describe-log-dirs"
    HELP = "Get topic log directories and stats"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--broker", type=int, action="append", dest="brokers", help="Query specific broker(s)"
        )
        parser.add_argument(
            "--topic", type=str, action="append", dest="topics", help="Get data about specific topic(s)"
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.describe_log_dirs(topic_partitions=args.topics, brokers=args.brokers)


class AlterLogDirs(Command):
    COMMAND = "alter-log-dirs"
    HELP = "Move replicas between log directories on their hosting brokers"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-a", "--assignment"),
            type=str,
            action="append",
            dest="assignments",
            default=[],
            required=True,
            help="TOPIC:PARTITION:BROKER_ID=/absolute/log/dir/path (repeatable). Instructs BROKER_ID to move "
            "its replica of TOPIC:PARTITION into the given log directory.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        paths: dict[Any, str] = {}
        for text in args.assignments:
            replica, path = text.rsplit("=", 1)
            topic, partition, broker = replica.rsplit(":", 2)
            paths[STRUCTS["TopicPartitionReplica"](topic, int(partition), int(broker))] = path
        return {
            f"{replica.topic}:{replica.partition}:{replica.broker_id}": error.__name__
            for replica, error in client.alter_replica_log_dirs(paths).items()
        }


class ClusterCommandGroup(CommandGroup):
    GROUP = "cluster"
    HELP = "Manage Kafka Cluster"
    COMMANDS = (
        *(DescribeCluster, DescribeQuorum, GetApiVersions, GetBrokerVersion, DescribeFeatures),
        *(UpdateFeatures, DescribeLogDirs, AlterLogDirs),
    )
