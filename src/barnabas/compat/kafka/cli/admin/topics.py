"""`python -m kafka.admin topics`."""

from __future__ import annotations

import uuid
from typing import Any

from barnabas.compat.kafka.cli._argument import number, text, texts
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command

TO_CREATE = (
    text("-t --topic", required=True),
    number("--num-partitions", default=-1),
    number("--replication-factor", default=-1),
)


@command("list", "List Kafka Topics")
def list_topics(client: Any, args: Any) -> Any:
    return client.list_topics()


@command(
    *("describe", "Describe Kafka Topics"),
    texts("-t --topic", "topics", "topic name"),
    texts("--id", "topic_ids", "topic UUID (requires broker >= 2.8, KIP-516)"),
)
def describe_topics(client: Any, args: Any) -> Any:
    return client.describe_topics([*args.topics, *map(uuid.UUID, args.topic_ids)] or None)


@command("create", "Create a Kafka Topic", *TO_CREATE)
def create_topic(client: Any, args: Any) -> Any:
    numbers = {"num_partitions": args.num_partitions, "replication_factor": args.replication_factor}
    return client.create_topics({args.topic: numbers})


@command(
    *("delete", "Delete Kafka Topic"),
    texts("-t --topic", "topics", "topic name"),
    texts("--id", "topic_ids", "topic UUID"),
)
def delete_topic(client: Any, args: Any) -> Any:
    if not args.topics and not args.topic_ids:
        raise ValueError("At least one topic or topic_id is required!")
    return client.delete_topics([*args.topics, *map(uuid.UUID, args.topic_ids)])


TOPICS = CommandGroup(
    "topics", "Manage Kafka Topics", (list_topics, describe_topics, create_topic, delete_topic)
)
