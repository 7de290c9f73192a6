"""kafka-tools: what there is in a cluster, printed; offsets of groups, set.

Its commands are functions of a KafkaClient and of the arguments that `_cli.arguments` reads, for programs too
that call them. What is wrong is raised.
"""

from __future__ import annotations

import argparse
import calendar
import datetime as dt
import importlib
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.compat.pykafka._cli.arguments import parser_for
from barnabas.compat.pykafka.client import KafkaClient
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.protocol import CreateTopicRequest, PartitionOffsetCommitRequest
from barnabas.compat.pykafka.utils import parse_version
from barnabas.compat.pykafka.utils.compat import PY3

__all__ = [
    "PY3",
    "consume_topic",
    "create_topic",
    "delete_topic",
    "desc_topic",
    "fetch_consumer_lag",
    "fetch_offsets",
    "main",
    "print_consumer_lag",
    "print_managed_consumer_groups",
    "print_offsets",
    "print_topics",
    "reset_offsets",
]

_METADATA = b"kafka-tools"
_FIRST_WITH_TOPICS = "0.10.1"


def fetch_offsets(client: Any, topic: Any, offset: str) -> Any:
    """An OffsetPartitionResponse by partition. `offset`: earliest, latest, or a time of UTC as in
    2020-12-31T23:59:59."""
    if offset.lower() == "earliest":
        return topic.earliest_available_offsets()
    if offset.lower() == "latest":
        return topic.latest_available_offsets()
    moment = dt.datetime.strptime(offset, "%Y-%m-%dT%H:%M:%S")
    return topic.fetch_offset_limits(int(calendar.timegm(moment.utctimetuple()) * 1000))


def fetch_consumer_lag(client: Any, topic: Any, consumer_group: Any) -> dict[int, tuple[int, int]]:
    """By partition: the offset of the next message there will be, and the one that the group committed."""
    latest = fetch_offsets(client, topic, "latest")
    consumer = topic.get_simple_consumer(
        consumer_group=consumer_group, auto_start=False, reset_offset_on_fetch=False
    )
    return {each: (latest[each].offset[0], found.offset) for each, found in consumer.fetch_offsets()}


def consume_topic(client: Any, args: argparse.Namespace) -> None:
    """Writes the values of new messages, each a line; messages without a value do not count."""
    consumer = _topic(client, args).get_simple_consumer(
        "pykafka_cli",
        consumer_timeout_ms=100,
        auto_offset_reset=OffsetType.LATEST,
        reset_offset_on_start=True,
        auto_commit_enable=True,
        auto_commit_interval_ms=3000,
    )
    written = 0
    while written < args.limit:
        message = consumer.consume()
        if message and message.value:
            args.outfile.write(message.value.decode("utf-8", errors="replace") + "\n")
            written += 1
    args.outfile.close()


def desc_topic(client: Any, args: argparse.Namespace) -> None:
    topic = _topic(client, args)
    # Brokers of today tell of partitions in no order.
    partitions = [topic.partitions[each] for each in sorted(topic.partitions)]
    print(f"Topic: {topic.name}")
    print(f"Partitions: {len(partitions)}")
    print(f"Replicas: {len(partitions[0].replicas)}")
    rows = [(each.id, each.leader.id, _ids(each.replicas), _ids(each.isr)) for each in partitions]
    _print_table(("Partition", "Leader", "Replicas", "ISR"), rows)


def print_managed_consumer_groups(client: Any, args: argparse.Namespace) -> None:
    """Prints the groups of which a member wants the topic."""
    _refuse_an_unknown_topic(client, args)
    found: dict[Any, Any] = {}
    for broker in client.brokers.values():
        described = broker.describe_groups(group_ids=[*broker.list_groups().groups]).groups
        found |= {group: each for group, each in described.items() if _wants(each, args.topic)}
    print(f"Topic: {args.topic}")
    rows = [(group, each.state, each.protocol, each.protocol_type) for group, each in found.items()]
    _print_table(("GroupId", "State", "Protocol", "ProtocolType"), rows, numalign="default")


def print_consumer_lag(client: Any, args: argparse.Namespace) -> None:
    lags = fetch_consumer_lag(client, _topic(client, args), args.consumer_group)
    rows = [
        (each, f"{latest - current:,}", latest, current) for each, (latest, current) in sorted(lags.items())
    ]
    _print_table(("Partition", "Lag", "Latest Offset", "Current Offset"), rows)
    total = sum(latest - current for latest, current in lags.values())
    print(f"\n Total lag: {total:,} messages.")


def print_offsets(client: Any, args: argparse.Namespace) -> None:
    offsets = fetch_offsets(client, _topic(client, args), args.offset)
    rows = [(each, offsets[each].offset[0]) for each in sorted(offsets)]
    _print_table(("Partition", "Offset"), rows)


def print_topics(client: Any, args: argparse.Namespace) -> None:
    rows: list[tuple[Any, ...]] = []
    for topic in client.topics.values():
        partitions = [*topic.partitions.values()]
        rows.append((topic.name, len(partitions), len(partitions[0].replicas) - 1))
    _print_table(("Topic", "Partitions", "Replication"), rows)


def reset_offsets(client: Any, args: argparse.Namespace) -> None:
    """Commits offsets for a group whose members have none of the topic's partitions."""
    topic = _topic(client, args)
    offsets = fetch_offsets(client, topic, args.offset)
    now_ms = int(time.time() * 1000)
    requests = [
        PartitionOffsetCommitRequest(topic.name, each, found.offset[0], now_ms, _METADATA)
        for each, found in offsets.items()
    ]
    broker = client.cluster.get_group_coordinator(args.consumer_group)
    broker.commit_consumer_group_offsets(args.consumer_group, 1, _METADATA, requests)


def create_topic(client: Any, args: argparse.Namespace) -> None:
    _refuse_a_version_without_topics("creation", args)
    request = CreateTopicRequest(
        args.topic,
        args.num_partitions,
        args.replication_factor,
        [(int(each), replicas) for each, replicas in _pairs(args.replica_assignment)],
        [(name.encode(), str(value).encode()) for name, value in _pairs(args.config_entries)],
    )
    client.cluster.controller_broker.create_topics([request], args.timeout)


def delete_topic(client: Any, args: argparse.Namespace) -> None:
    _refuse_a_version_without_topics("deletion", args)
    client.cluster.controller_broker.delete_topics([args.topic], args.timeout)


def main() -> None:
    """Does what the command line says."""
    parser = parser_for(
        {
            "consume_topic": consume_topic,
            "desc_topic": desc_topic,
            "print_managed_consumer_groups": print_managed_consumer_groups,
            "print_consumer_lag": print_consumer_lag,
            "print_offsets": print_offsets,
            "print_topics": print_topics,
            "reset_offsets": reset_offsets,
            "create_topic": create_topic,
            "delete_topic": delete_topic,
        }
    )
    args = parser.parse_args()
    if not args.command:
        parser.print_help()
        return
    args.func(KafkaClient(hosts=args.host, broker_version=args.broker_version), args)


def _topic(client: Any, args: argparse.Namespace) -> Any:
    _refuse_an_unknown_topic(client, args)
    return client.topics[args.topic]


def _refuse_an_unknown_topic(client: Any, args: argparse.Namespace) -> None:
    # Asking for it would make it.
    if args.topic not in client.topics:
        raise ValueError(f"Topic {args.topic} does not exist.")


def _refuse_a_version_without_topics(what: str, args: argparse.Namespace) -> None:
    if parse_version(args.broker_version) < parse_version(_FIRST_WITH_TOPICS):
        raise ValueError(
            f"The topic {what} API is not usable on brokers older than {_FIRST_WITH_TOPICS}. "
            "Use --broker_version to specify the version"
        )


def _wants(group: Any, topic: bytes) -> bool:
    return any(topic in member.member_metadata.topic_names for member in group.members.values())


def _ids(brokers: Iterable[Any]) -> list[int]:
    return [each.id for each in brokers]


def _pairs(text: bytes | None) -> list[tuple[str, Any]]:
    return [] if text is None else [*json.loads(text).items()]


def _print_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], numalign: str = "center") -> None:
    try:
        tabulate: Any = importlib.import_module("tabulate")
    except ImportError as error:
        raise ImportError(
            "kafka-tools prints by tabulate, which the extra pykafka brings: pip install 'barnabas[pykafka]'"
        ) from error
    print(tabulate.tabulate(rows, headers=headers, numalign=numalign))


if __name__ == "__main__":
    main()
