"""`python -m kafka.admin cluster`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._cluster import UpdateFeatureType
from barnabas.compat.kafka.cli._argument import Argument, number, switch, texts
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command
from barnabas.compat.kafka.protocol.api_key import ApiKey
from barnabas.compat.kafka_engine.values.structs import STRUCTS


@command("describe", "Describe Kafka Cluster")
def describe_cluster(client: Any, args: Any) -> Any:
    return client.describe_cluster()


@command("describe-quorum", "Describe the KRaft metadata quorum")
def describe_quorum(client: Any, args: Any) -> Any:
    return client.describe_metadata_quorum()


@command(
    *("api-versions", "Get Supported Api Versions"),
    texts("-k --api-key", "api_keys", default=None),
    switch("--raw"),
)
def api_versions(client: Any, args: Any) -> Any:
    wanted = {ApiKey[name] for name in args.api_keys} if args.api_keys else set(ApiKey)
    return {
        (key.value if args.raw else key.name): versions
        for key, versions in client.api_versions().items()
        if key in wanted
    }


@command("broker-version", "Get Version for Broker", Argument(["--broker"], {"required": True}))
def broker_version(client: Any, args: Any) -> Any:
    broker_id = int(args.broker)
    return {broker_id: client.get_broker_version_data(broker_id).broker_version_str}


@command(
    *("describe-features", "Describe Features of Kafka Cluster"),
    texts(
        *("-f --feature", "features"),
        "Show one or more specific features. If not provided, returns all features.",
    ),
)
def describe_features(client: Any, args: Any) -> Any:
    found = client.describe_features()
    return {name: found[name] for name in found if not args.features or name in args.features}


@command(
    *("update-features", "Update Features of Kafka Cluster"),
    texts("-f --feature", "features", "set feature=value"),
    switch("--downgrade"),
    switch("--unsafe"),
    number("--timeout", default=60),
    switch("--validate-only"),
)
def update_features(client: Any, args: Any) -> Any:
    way = UpdateFeatureType.UPGRADE
    if args.downgrade:
        way = UpdateFeatureType.UNSAFE_DOWNGRADE if args.unsafe else UpdateFeatureType.SAFE_DOWNGRADE
    levels = dict(feature.split("=") for feature in args.features)
    return client.update_features(
        {feature: (way, level) for feature, level in levels.items()},
        validate_only=args.validate_only,
        timeout_ms=1000 * args.timeout,
    )


@command(
    *("describe-log-dirs", "Get topic log directories and stats"),
    texts("--broker", "brokers", "Query specific broker(s)", type=int, default=None),
    texts("--topic", "topics", "Get data about specific topic(s)", default=None),
)
def describe_log_dirs(client: Any, args: Any) -> Any:
    return client.describe_log_dirs(topic_partitions=args.topics, brokers=args.brokers)


@command(
    *("alter-log-dirs", "Move replicas between log directories on their hosting brokers"),
    texts(
        *("-a --assignment", "assignments"),
        "TOPIC:PARTITION:BROKER_ID=/absolute/log/dir/path (repeatable). Instructs BROKER_ID to move its "
        "replica of TOPIC:PARTITION into the given log directory.",
        required=True,
    ),
)
def alter_log_dirs(client: Any, args: Any) -> Any:
    paths: dict[Any, str] = {}
    for given in args.assignments:
        replica, path = given.rsplit("=", 1)
        topic, partition, broker = replica.rsplit(":", 2)
        paths[STRUCTS["TopicPartitionReplica"](topic, int(partition), int(broker))] = path
    return {
        f"{replica.topic}:{replica.partition}:{replica.broker_id}": error.__name__
        for replica, error in client.alter_replica_log_dirs(paths).items()
    }


CLUSTER = CommandGroup(
    *("cluster", "Manage Kafka Cluster"),
    (
        *(describe_cluster, describe_quorum, api_versions, broker_version, describe_features),
        *(update_features, describe_log_dirs, alter_log_dirs),
    ),
)
