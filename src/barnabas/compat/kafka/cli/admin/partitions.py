"""`python -m kafka.admin partitions`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.cli.admin._command import (
    Command,
    CommandGroup,
    Parser,
    add_timeout_argument,
    by_topic,
    partition_and_offset_of,
    partition_of,
)
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec
from barnabas.compat.kafka_python.values.structs import STRUCTS

_ELECTION_TYPES = {"preferred": 0, "unclean": 1}


class CreatePartitions(Command):
    COMMAND = "create"
    HELP = "Create additional partitions for existing topics"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-p", "--topic-partitions"),
            type=str,
            action="append",
            dest="topic_partitions",
            default=[],
            required=True,
            help="TOPIC:TOTAL_PARTITION_COUNT pair (repeatable)",
        )
        add_timeout_argument(parser)
        parser.add_argument(
            "--validate-only",
            action="store_true",
            help="Validate the request without actually creating partitions",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        counts = dict(map(partition_of, args.topic_partitions))
        return client.create_partitions(counts, timeout_ms=args.timeout_ms, validate_only=args.validate_only)


class DescribeTopicPartitions(Command):
    COMMAND = "describe"
    HELP = "Describe topic partitions with pagination (KIP-966, broker >=3.9)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-t", "--topic"),
            type=str,
            action="append",
            dest="topics",
            default=[],
            required=True,
            help="Topic to describe (repeatable)",
        )
        parser.add_argument(
            "--response-partition-limit",
            type=int,
            default=2000,
            help="Maximum number of partitions to include in the response (default: 2000)",
        )
        parser.add_argument(
            "--cursor-topic", type=str, default=None, help="Topic name to start pagination from"
        )
        parser.add_argument(
            "--cursor-partition", type=int, default=None, help="Partition index to start pagination from"
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        if (args.cursor_topic is None) is not (args.cursor_partition is None):
            raise ValueError("--cursor-topic and --cursor-partition must be used together")
        cursor = None
        if args.cursor_topic is not None:
            cursor = {"topic_name": args.cursor_topic, "partition_index": args.cursor_partition}
        return client.describe_topic_partitions(
            args.topics, response_partition_limit=args.response_partition_limit, cursor=cursor
        )


class ListPartitionOffsets(Command):
    COMMAND = "list-offsets"
    HELP = "List offsets for partitions by spec (earliest/latest/timestamp)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("-t", "--topic", type=str)
        parser.add_argument(
            *("-s", "--spec"),
            type=str,
            help="Spec may be one of earliest, latest, max-timestamp, earliest-local, latest-tiered, or a "
            "millisecond timestamp.",
        )
        parser.add_argument(
            *("-p", "--partition"),
            type=str,
            action="append",
            dest="partitions",
            default=[],
            help="TOPIC:PARTITION:SPEC triple (repeatable). PARTITION may be a single partition, a closed "
            'range (0-2), an open range (1-), or a single wildcard "*" for all partitions. SPEC may be one '
            "of earliest, latest, max-timestamp, earliest-local, latest-tiered, or a millisecond timestamp.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        specs = cls._specs(client, args)
        found: dict[str, dict[int, Any]] = {}
        for partition, each in client.list_partition_offsets(specs).items():
            found.setdefault(partition.topic, {})[partition.partition] = {
                "offset": each.offset,
                "timestamp": each.timestamp,
                "leader_epoch": each.leader_epoch,
                "spec": specs[partition],
            }
        return found

    @classmethod
    def _specs(cls, client: Any, args: Any) -> dict[Any, Any]:
        if args.partitions and (args.topic or args.spec):
            raise ValueError("Either --partition or (--topic and --spec) is supported, but not both.")
        if not args.partitions and not (args.topic and args.spec):
            raise ValueError("Both --topic and --spec must be provided.")
        specs: dict[Any, Any] = {}
        for text in args.partitions or [f"{args.topic}:*:{args.spec}"]:
            topic, numbers, spec = text.rsplit(":", 2)
            target = OffsetSpec.build_from(spec)
            for number in cls._numbers(client, topic, numbers):
                partition = STRUCTS["TopicPartition"](topic, number)
                if partition in specs:
                    raise ValueError("Only one spec allowed per partition")
                specs[partition] = target
        return specs

    @classmethod
    def _numbers(cls, client: Any, topic: str, text: str) -> list[int]:
        if text.isdecimal():
            return [int(text)]
        if text == "-" or (text != "*" and "-" not in text):
            raise ValueError(f"Unrecognized partition: {text}")
        [described] = client.describe_topics([topic])
        known = sorted(each["partition_index"] for each in described["partitions"])
        if text == "*":
            return known
        first, last = text.split("-")
        return list(range(int(first or known[0]), int(last or known[-1]) + 1))


class ListPartitionReassignments(Command):
    COMMAND = "list-reassignments"
    HELP = "List the current ongoing partition reassignments"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-p", "--topic-partition"),
            type=str,
            action="append",
            dest="topic_partitions",
            default=[],
            help="TOPIC:PARTITION pair (repeatable). Omit to list reassignments for all partitions.",
        )
        add_timeout_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        wanted = by_topic(args.topic_partitions) if args.topic_partitions else None
        found = client.list_partition_reassignments(wanted, timeout_ms=args.timeout_ms)
        return {f"{each.topic}:{each.partition}": state for each, state in found.items()}


class AlterPartitionReassignments(Command):
    COMMAND = "alter-reassignments"
    HELP = "Alter replica assignments for partitions"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-r", "--reassign"),
            type=str,
            action="append",
            dest="reassignments",
            default=[],
            required=True,
            help="TOPIC:PARTITION=BROKER_ID[,BROKER_ID...] to set a new replica set, or "
            "TOPIC:PARTITION=cancel to cancel an in-progress reassignment for that partition. Repeatable.",
        )
        add_timeout_argument(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        wanted: dict[Any, list[int] | None] = {}
        for text in args.reassignments:
            partition, brokers = text.rsplit("=", 1)
            is_end = brokers.lower() == "cancel"
            wanted[partition_of(partition)] = (
                None if is_end else [int(broker) for broker in brokers.split(",") if broker]
            )
        found = client.alter_partition_reassignments(wanted, timeout_ms=args.timeout_ms)
        return {
            f"{each.topic}:{each.partition}": error.__name__ if error else None
            for each, error in found.items()
        }


class DeleteRecords(Command):
    COMMAND = "delete-records"
    HELP = "Delete records from partitions up to a given offset"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-r", "--record"),
            type=str,
            action="append",
            dest="records",
            default=[],
            required=True,
            help="TOPIC:PARTITION:OFFSET triple (repeatable). Use -1 as OFFSET to delete up to the current "
            "high-water mark.",
        )
        add_timeout_argument(parser)
        parser.add_argument(
            "--partition-leader-id",
            type=int,
            default=None,
            help="Send all delete requests to this broker id, skipping metadata lookup",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.delete_records(
            dict(map(partition_and_offset_of, args.records)),
            timeout_ms=args.timeout_ms,
            partition_leader_id=args.partition_leader_id,
        )


class ElectLeaders(Command):
    COMMAND = "elect-leaders"
    HELP = "Trigger leader election for partitions"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            "--election-type",
            type=str,
            default="preferred",
            choices=sorted(_ELECTION_TYPES),
            help="Election type (default: preferred)",
        )
        parser.add_argument(
            *("-p", "--topic-partition"),
            type=str,
            action="append",
            dest="topic_partitions",
            default=[],
            help="TOPIC:PARTITION pair (repeatable). Omit to elect leaders for all partitions of all topics.",
        )
        parser.add_argument(
            *("-t", "--topic"),
            type=str,
            action="append",
            dest="topics",
            default=[],
            help="Elect leaders for all partitions of TOPIC (repeatable). Mutually exclusive with "
            "--topic-partition.",
        )
        add_timeout_argument(parser)
        parser.add_argument(
            "--no-raise-errors",
            dest="raise_errors",
            action="store_false",
            help="Do not raise on partition-level errors; return the response instead",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        if args.topic_partitions and args.topics:
            raise ValueError("--topic-partition and --topic are mutually exclusive")
        wanted = by_topic(args.topic_partitions) if args.topic_partitions else args.topics or None
        return client.elect_leaders(
            _ELECTION_TYPES[args.election_type],
            topic_partitions=wanted,
            timeout_ms=args.timeout_ms,
            raise_errors=args.raise_errors,
        )


class PartitionsCommandGroup(CommandGroup):
    GROUP = "partitions"
    HELP = "Manage Kafka Partitions"
    COMMANDS = (
        *(CreatePartitions, DescribeTopicPartitions, ListPartitionOffsets, ListPartitionReassignments),
        *(AlterPartitionReassignments, DeleteRecords, ElectLeaders),
    )
