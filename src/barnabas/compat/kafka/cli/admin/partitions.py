"""`python -m kafka.admin partitions`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.cli._argument import number, switch, text, texts
from barnabas.compat.kafka.cli.admin._command import (
    TIMEOUT_MS,
    CommandGroup,
    by_topic,
    command,
    partition_and_offset_of,
    partition_of,
)
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec
from barnabas.compat.kafka_engine.values.structs import STRUCTS

_ELECTION_TYPES = {"preferred": 0, "unclean": 1}


@command(
    *("create", "Create additional partitions for existing topics"),
    texts(
        *("-p --topic-partitions", "topic_partitions", "TOPIC:TOTAL_PARTITION_COUNT pair (repeatable)"),
        required=True,
    ),
    TIMEOUT_MS,
    switch("--validate-only", "Validate the request without actually creating partitions"),
)
def create_partitions(client: Any, args: Any) -> Any:
    counts = dict(map(partition_of, args.topic_partitions))
    return client.create_partitions(counts, timeout_ms=args.timeout_ms, validate_only=args.validate_only)


@command(
    *("describe", "Describe topic partitions with pagination (KIP-966, broker >=3.9)"),
    texts("-t --topic", "topics", "Topic to describe (repeatable)", required=True),
    number(
        "--response-partition-limit",
        "Maximum number of partitions to include in the response (default: 2000)",
        default=2000,
    ),
    text("--cursor-topic", "Topic name to start pagination from"),
    number("--cursor-partition", "Partition index to start pagination from"),
)
def describe_topic_partitions(client: Any, args: Any) -> Any:
    if (args.cursor_topic is None) is not (args.cursor_partition is None):
        raise ValueError("--cursor-topic and --cursor-partition must be used together")
    cursor = None
    if args.cursor_topic is not None:
        cursor = {"topic_name": args.cursor_topic, "partition_index": args.cursor_partition}
    return client.describe_topic_partitions(
        args.topics, response_partition_limit=args.response_partition_limit, cursor=cursor
    )


@command(
    *("list-offsets", "List offsets for partitions by spec (earliest/latest/timestamp)"),
    text("-t --topic"),
    text(
        "-s --spec",
        "Spec may be one of earliest, latest, max-timestamp, earliest-local, latest-tiered, or a "
        "millisecond timestamp.",
    ),
    texts(
        *("-p --partition", "partitions"),
        "TOPIC:PARTITION:SPEC triple (repeatable). PARTITION may be a single partition, a closed range "
        '(0-2), an open range (1-), or a single wildcard "*" for all partitions. SPEC may be one of '
        "earliest, latest, max-timestamp, earliest-local, latest-tiered, or a millisecond timestamp.",
    ),
)
def list_partition_offsets(client: Any, args: Any) -> Any:
    specs = _specs(client, args)
    found: dict[str, dict[int, Any]] = {}
    for partition, each in client.list_partition_offsets(specs).items():
        found.setdefault(partition.topic, {})[partition.partition] = {
            "offset": each.offset,
            "timestamp": each.timestamp,
            "leader_epoch": each.leader_epoch,
            "spec": specs[partition],
        }
    return found


def _specs(client: Any, args: Any) -> dict[Any, Any]:
    if args.partitions and (args.topic or args.spec):
        raise ValueError("Either --partition or (--topic and --spec) is supported, but not both.")
    if not args.partitions and not (args.topic and args.spec):
        raise ValueError("Both --topic and --spec must be provided.")
    specs: dict[Any, Any] = {}
    for given in args.partitions or [f"{args.topic}:*:{args.spec}"]:
        topic, numbers, spec = given.rsplit(":", 2)
        target = OffsetSpec.build_from(spec)
        for each in _numbers(client, topic, numbers):
            partition = STRUCTS["TopicPartition"](topic, each)
            if partition in specs:
                raise ValueError("Only one spec allowed per partition")
            specs[partition] = target
    return specs


def _numbers(client: Any, topic: str, given: str) -> list[int]:
    if given.isdecimal():
        return [int(given)]
    if given == "-" or (given != "*" and "-" not in given):
        raise ValueError(f"Unrecognized partition: {given}")
    [described] = client.describe_topics([topic])
    known = sorted(each["partition_index"] for each in described["partitions"])
    if given == "*":
        return known
    first, last = given.split("-")
    return list(range(int(first or known[0]), int(last or known[-1]) + 1))


@command(
    *("list-reassignments", "List the current ongoing partition reassignments"),
    texts(
        *("-p --topic-partition", "topic_partitions"),
        "TOPIC:PARTITION pair (repeatable). Omit to list reassignments for all partitions.",
    ),
    TIMEOUT_MS,
)
def list_partition_reassignments(client: Any, args: Any) -> Any:
    wanted = by_topic(args.topic_partitions) if args.topic_partitions else None
    found = client.list_partition_reassignments(wanted, timeout_ms=args.timeout_ms)
    return {f"{each.topic}:{each.partition}": state for each, state in found.items()}


@command(
    *("alter-reassignments", "Alter replica assignments for partitions"),
    texts(
        *("-r --reassign", "reassignments"),
        "TOPIC:PARTITION=BROKER_ID[,BROKER_ID...] to set a new replica set, or TOPIC:PARTITION=cancel to "
        "cancel an in-progress reassignment for that partition. Repeatable.",
        required=True,
    ),
    TIMEOUT_MS,
)
def alter_partition_reassignments(client: Any, args: Any) -> Any:
    wanted: dict[Any, list[int] | None] = {}
    for given in args.reassignments:
        partition, brokers = given.rsplit("=", 1)
        is_end = brokers.lower() == "cancel"
        wanted[partition_of(partition)] = (
            None if is_end else [int(broker) for broker in brokers.split(",") if broker]
        )
    found = client.alter_partition_reassignments(wanted, timeout_ms=args.timeout_ms)
    return {
        f"{each.topic}:{each.partition}": error.__name__ if error else None for each, error in found.items()
    }


@command(
    *("delete-records", "Delete records from partitions up to a given offset"),
    texts(
        *("-r --record", "records"),
        "TOPIC:PARTITION:OFFSET triple (repeatable). Use -1 as OFFSET to delete up to the current high-water "
        "mark.",
        required=True,
    ),
    TIMEOUT_MS,
    number("--partition-leader-id", "Send all delete requests to this broker id, skipping metadata lookup"),
)
def delete_records(client: Any, args: Any) -> Any:
    return client.delete_records(
        dict(map(partition_and_offset_of, args.records)),
        timeout_ms=args.timeout_ms,
        partition_leader_id=args.partition_leader_id,
    )


@command(
    *("elect-leaders", "Trigger leader election for partitions"),
    text(
        "--election-type",
        "Election type (default: preferred)",
        default="preferred",
        choices=sorted(_ELECTION_TYPES),
    ),
    texts(
        *("-p --topic-partition", "topic_partitions"),
        "TOPIC:PARTITION pair (repeatable). Omit to elect leaders for all partitions of all topics.",
    ),
    texts(
        *("-t --topic", "topics"),
        "Elect leaders for all partitions of TOPIC (repeatable). Mutually exclusive with --topic-partition.",
    ),
    TIMEOUT_MS,
    switch(
        "--no-raise-errors",
        "Do not raise on partition-level errors; return the response instead",
        action="store_false",
        dest="raise_errors",
    ),
)
def elect_leaders(client: Any, args: Any) -> Any:
    if args.topic_partitions and args.topics:
        raise ValueError("--topic-partition and --topic are mutually exclusive")
    wanted = by_topic(args.topic_partitions) if args.topic_partitions else args.topics or None
    return client.elect_leaders(
        _ELECTION_TYPES[args.election_type],
        topic_partitions=wanted,
        timeout_ms=args.timeout_ms,
        raise_errors=args.raise_errors,
    )


PARTITIONS = CommandGroup(
    *("partitions", "Manage Kafka Partitions"),
    (
        *(create_partitions, describe_topic_partitions, list_partition_offsets),
        *(list_partition_reassignments, alter_partition_reassignments, delete_records, elect_leaders),
    ),
)
