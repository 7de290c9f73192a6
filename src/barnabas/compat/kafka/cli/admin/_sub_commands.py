"""The commands of `python -m kafka.admin` in kafka-python 2, by what they are about."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._configs import ConfigResource
from barnabas.compat.kafka.admin._topics import NewTopic
from barnabas.compat.kafka.cli._argument import text, texts
from barnabas.compat.kafka.cli.admin._command import GROUP_ID, GROUP_IDS, CommandGroup, command
from barnabas.compat.kafka.cli.admin.cluster import describe_cluster
from barnabas.compat.kafka.cli.admin.topics import TO_CREATE, list_topics


@command("create", "Create a Kafka Topic", *TO_CREATE)
def _create_topic(client: Any, args: Any) -> Any:
    return client.create_topics([NewTopic(args.topic, args.num_partitions, args.replication_factor)])


@command("describe", "Describe Kafka Topics", texts("-t --topic", "topics", default=None))
def _describe_topics(client: Any, args: Any) -> Any:
    return client.describe_topics(args.topics or None)


@command("delete", "Delete Kafka Topic", text("-t --topic", required=True))
def _delete_topic(client: Any, args: Any) -> Any:
    return client.delete_topics([args.topic])


@command(
    *("describe", "Describe Kafka Configs"), texts("-t --topic", "topics"), texts("-b --broker", "brokers")
)
def _describe_configs(client: Any, args: Any) -> Any:
    # An answer each: those about several topics are one, in whose order they are not.
    named = [*(("TOPIC", name) for name in args.topics), *(("BROKER", name) for name in args.brokers)]
    found: list[Any] = []
    for kind, name in named:
        [answer] = client.describe_configs([ConfigResource(kind, name)])
        [(*_, entries)] = answer.resources
        found.append(((kind, name), {str(entry[0]): entry[1] for entry in entries}))
    return found


@command("describe", "Get topic log directories for brokers")
def _describe_log_dirs(client: Any, args: Any) -> Any:
    return client.describe_log_dirs()


@command("list", "List Consumer Groups")
def _list_consumer_groups(client: Any, args: Any) -> Any:
    return client.list_consumer_groups()


@command("describe", "Describe Consumer Groups", GROUP_IDS)
def _describe_consumer_groups(client: Any, args: Any) -> Any:
    return client.describe_consumer_groups(args.groups)


@command("list-offsets", "List Offsets for Consumer Group", GROUP_ID)
def _list_consumer_group_offsets(client: Any, args: Any) -> Any:
    return client.list_consumer_group_offsets(args.group_id)


@command("delete", "Delete Consumer Groups", GROUP_IDS)
def _delete_consumer_groups(client: Any, args: Any) -> Any:
    return client.delete_consumer_groups(args.groups)


SUB_COMMANDS = (
    CommandGroup("cluster", "Manage Kafka Cluster", (describe_cluster,)),
    CommandGroup("configs", "Manage Kafka Configuration", (_describe_configs,)),
    CommandGroup("log-dirs", "Manage Kafka Topic/Partition Log Directories", (_describe_log_dirs,)),
    CommandGroup(
        *("topics", "List/Describe/Create/Delete Kafka Topics"),
        (list_topics, _describe_topics, _create_topic, _delete_topic),
    ),
    CommandGroup(
        *("consumer-groups", "Manage Kafka Consumer Groups"),
        (
            *(_list_consumer_groups, _describe_consumer_groups),
            *(_list_consumer_group_offsets, _delete_consumer_groups),
        ),
    ),
)
