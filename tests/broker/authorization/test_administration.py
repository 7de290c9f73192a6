"""Who may create, change and see topics, settings, users and the cluster: the same answers as Kafka's, with
each right alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.testing import ApacheKafka

from .probe import Ask, probe
from .stage import Stage, rule, same_on_both

TOPIC, GROUP, CLUSTER = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER
DESCRIBE_CLUSTER = Operation.DESCRIBE, CLUSTER, CLUSTER_NAME
ALTER_CLUSTER = Operation.ALTER, CLUSTER, CLUSTER_NAME
CREATE_CLUSTER = Operation.CREATE, CLUSTER, CLUSTER_NAME


def fixed(request: Any, version: int | None = None) -> Ask:
    return lambda _: (request, version)


async def topics(stage: Stage) -> None:
    topic, new, missing = stage.name("topic"), stage.name("new"), stage.name("missing")
    topic_id = await stage.create_topic(topic)
    names = [CreateTopicsRequest.CreatableTopic(name, 1, 1) for name in (new, topic)]
    dry = CreateTopicsRequest(topics=names, validate_only=True)
    create, see_configs = (Operation.CREATE, TOPIC, new), (Operation.DESCRIBE_CONFIGS, TOPIC, new)
    await probe(
        stage,
        "create",
        fixed(dry),
        create,
        CREATE_CLUSTER,
        [CREATE_CLUSTER, see_configs],
        [create, (Operation.ALTER_CONFIGS, TOPIC, "*")],
        (Operation.ALL, TOPIC, new),
        (Operation.ALTER, TOPIC, new),
    )
    more = [CreatePartitionsRequest.CreatePartitionsTopic(name, 5, None) for name in (topic, missing)]
    alter, describe = (Operation.ALTER, TOPIC, topic), (Operation.DESCRIBE, TOPIC, topic)
    asked = CreatePartitionsRequest(more, 30_000, True)
    await probe(stage, "create partitions", fixed(asked), alter, (Operation.ALTER, TOPIC, "*"), ALTER_CLUSTER)
    shown = DescribeTopicPartitionsRequest(
        [DescribeTopicPartitionsRequest.TopicRequest(name) for name in (topic, missing)]
    )
    describe_all = Operation.DESCRIBE, TOPIC, "*"
    await probe(stage, "partitions", fixed(shown), describe, alter, describe_all, DESCRIBE_CLUSTER)
    delete, delete_all = (Operation.DELETE, TOPIC, topic), (Operation.DELETE, CLUSTER, CLUSTER_NAME)
    states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in (topic, missing)]
    gone = fixed(DeleteTopicsRequest(states, timeout_ms=30_000))
    await probe(stage, "delete", gone, describe, describe_all)
    old = DeleteTopicsRequest(topic_names=[topic, missing], timeout_ms=30_000)
    await probe(stage, "delete in version 5", fixed(old, 5), describe, describe_all)
    one = DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id)
    by_id = fixed(DeleteTopicsRequest([one], timeout_ms=30_000))
    await probe(stage, "delete by id", by_id, describe, alter, delete)
    await stage.create_topic(topic)
    await probe(stage, "delete by name", gone, delete)
    await stage.create_topic(topic)
    await probe(stage, "delete by cluster", gone, delete_all)


async def metadata(stage: Stage) -> None:
    topic, missing = stage.name("topic"), stage.name("missing")
    topic_id = await stage.create_topic(topic)
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in (topic, missing)]
    by_id = MetadataRequest([MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None)])
    describe, describe_all = (Operation.DESCRIBE, TOPIC, topic), (Operation.DESCRIBE, TOPIC, "*")
    needs = [
        describe,
        describe_all,
        (Operation.READ, TOPIC, topic),
        (Operation.ALL, TOPIC, topic),
        (Operation.ALTER_CONFIGS, TOPIC, topic),
        DESCRIBE_CLUSTER,
        (Operation.ALL, CLUSTER, CLUSTER_NAME),
    ]

    def asked(topics: Any, *, creates: bool = False) -> MetadataRequest:
        return MetadataRequest(topics, creates, True, True)

    await probe(stage, "named", fixed(asked(named), 10), *needs)
    await probe(stage, "by id", fixed(by_id), *needs)
    new = [MetadataRequest.MetadataRequestTopic(name=missing)]
    await probe(stage, "creating", fixed(asked(new, creates=True), 9), describe_all, CREATE_CLUSTER)

    async def all_topics(label: str) -> None:
        answer = await stage.guest(asked(None), 9)
        stage.tell("all", label, [each.name for each in answer.topics if each.name == topic])

    await all_topics("nothing")
    for need in needs:
        await stage.allow(rule(*need))
        await all_topics(need[0].name)
        await stage.forbid()
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    rights = [(operation, CLUSTER, CLUSTER_NAME) for operation in Operation if operation > 1]
    await probe(stage, "cluster", fixed(cluster), *(right for right in rights if right[0] not in (3, 4, 6)))


async def settings(stage: Stage) -> None:
    topic = stage.name("topic")
    await stage.create_topic(topic)
    group = stage.name("group")
    resources = [(2, topic), (2, stage.name("missing")), (4, ""), (32, group)]
    needs = [
        (Operation.DESCRIBE_CONFIGS, TOPIC, topic),
        (Operation.ALTER_CONFIGS, TOPIC, topic),
        (Operation.ALTER, TOPIC, topic),
        (Operation.DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME),
        (Operation.ALTER_CONFIGS, CLUSTER, CLUSTER_NAME),
    ]
    described = DescribeConfigsRequest(
        [DescribeConfigsRequest.DescribeConfigsResource(kind, name, []) for kind, name in resources[:3]]
    )
    await probe(stage, "describe", fixed(described), *needs)
    value = AlterConfigsRequest.AlterableConfig("retention.ms", "1000")
    altered = AlterConfigsRequest(
        [AlterConfigsRequest.AlterConfigsResource(2, name, [value]) for _, name in resources[:2]], True
    )
    await probe(stage, "alter", fixed(altered), *needs)
    change = IncrementalAlterConfigsRequest.AlterableConfig("retention.ms", 0, "1000")
    changed = IncrementalAlterConfigsRequest(
        [IncrementalAlterConfigsRequest.AlterConfigsResource(2, name, [change]) for _, name in resources[:2]],
        True,
    )
    await probe(stage, "change", fixed(changed), *needs)
    changed = IncrementalAlterConfigsRequest(
        [IncrementalAlterConfigsRequest.AlterConfigsResource(4, "", [])], True
    )
    await probe(stage, "change the brokers", fixed(changed), *needs)

    async def listed(label: str) -> None:
        answer = await stage.guest(ListConfigResourcesRequest([2]))
        names = [each.resource_name for each in answer.config_resources]
        stage.tell("list", label, answer.error_code, topic in names)

    await listed("nothing")
    for need in needs:
        await stage.allow(rule(*need))
        await listed(f"{need[0].name} {need[1].name}")
        await stage.forbid()


async def cluster(stage: Stage) -> None:
    topic = stage.name("topic")
    await stage.create_topic(topic)
    needs = [
        DESCRIBE_CLUSTER,
        ALTER_CLUSTER,
        (Operation.DESCRIBE_CONFIGS, CLUSTER, CLUSTER_NAME),
        (Operation.ALTER_CONFIGS, CLUSTER, CLUSTER_NAME),
        (Operation.ALL, CLUSTER, CLUSTER_NAME),
        (Operation.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME),
        (Operation.ALL, TOPIC, "*"),
    ]
    part = [0]
    folders = [
        AlterReplicaLogDirsRequest.AlterReplicaLogDir(
            "/nowhere", [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(topic, part)]
        )
    ]
    salted = b"p" * 32
    user = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        stage.name("user"), 1, 4096, b"s", salted
    )
    voted = [DescribeQuorumRequest.TopicData("other", [DescribeQuorumRequest.PartitionData(0)])]
    requests = {
        "log folders": DescribeLogDirsRequest([DescribeLogDirsRequest.DescribableLogDirTopic(topic, part)]),
        "move": AlterReplicaLogDirsRequest(folders),
        "quorum": DescribeQuorumRequest(voted),
        "features": UpdateFeaturesRequest(feature_updates=[], validate_only=True),
        "unregister": UnregisterBrokerRequest(77),
        "reassign": AlterPartitionReassignmentsRequest(
            topics=[
                AlterPartitionReassignmentsRequest.ReassignableTopic(
                    topic, [AlterPartitionReassignmentsRequest.ReassignablePartition(0, None)]
                )
            ]
        ),
        "reassignments": ListPartitionReassignmentsRequest(
            topics=[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(topic, part)]
        ),
        "elect": ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions(topic, part)]),
        "set quotas": AlterClientQuotasRequest(
            [AlterClientQuotasRequest.EntryData([AlterClientQuotasRequest.EntityData("user", topic)], [])]
        ),
        "quotas": DescribeClientQuotasRequest([DescribeClientQuotasRequest.ComponentData("user", 0, topic)]),
        "set users": AlterUserScramCredentialsRequest(upsertions=[user]),
        "users": DescribeUserScramCredentialsRequest(
            [DescribeUserScramCredentialsRequest.UserName(stage.name("stranger"))]
        ),
    }
    for label, request in requests.items():
        await probe(stage, label, fixed(request), *needs)
    # With the right to it, it is of all topics of the broker, which other tests make.
    await probe(stage, "elect all", fixed(ElectLeadersRequest(0, None)), DESCRIBE_CLUSTER)


def test_topics_need_the_rights_that_they_need_with_kafka(guarded_kafka: ApacheKafka, tmp_path: Path) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, topics))


def test_metadata_shows_what_it_shows_with_kafka(guarded_kafka: ApacheKafka, tmp_path: Path) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, metadata))


def test_settings_need_the_rights_that_they_need_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, settings))


def test_the_cluster_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, cluster))
