"""What administrators see of the cluster itself: features, the quorum, and what there is to configure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.waiting import wait_for

from barnabas import Admin
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.protocol.schema import ZERO_UUID
from barnabas.testing import ApacheKafka, EmbeddedBroker

Kafka = ApacheKafka | EmbeddedBroker
Update = tuple[str, int, int]


def ask(broker: Kafka, request: Any, version: int) -> Any:
    async def main() -> Any:
        host, port = broker.bootstrap.split(":")
        connection = await Connection.open(host, int(port), client_id="views")
        try:
            return await connection.submit(request, timeout_ms=30_000, max_version=version)
        finally:
            connection.close()

    return asyncio.run(main())


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "updates",
    [
        [("nope", 1, 1)],
        [("transaction.version", 9, 1)],
        [("transaction.version", 1, 1)],
        [("transaction.version", 2, 1)],
        [("transaction.version", 1, 2)],
        [("transaction.version", 1, 7)],
        [("transaction.version", 1, 2), ("nope", 1, 1)],
        [("metadata.version", 29, 2)],
        [],
    ],
    ids=range(9),
)
def test_updates_of_features_are_judged_as_kafka_judges_them(
    updates: list[Update], version: int, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    keys = [
        UpdateFeaturesRequest.FeatureUpdateKey(name, level, upgrade_type=kind)
        for name, level, kind in updates
    ]
    request = UpdateFeaturesRequest(feature_updates=keys, validate_only=True)
    answers = [ask(broker, request, version) for broker in (apache_kafka, embedded_broker)]
    assert answers[1] == answers[0]


ELR, KRAFT = "eligible.leader.replicas.version", "kraft.version"
CHANGES: list[tuple[list[Update], dict[str, int]]] = [
    ([], {ELR: 1}),
    ([(KRAFT, 2, 1)], {ELR: 1}),
    ([(KRAFT, 1, 2)], {ELR: 1}),
    ([(ELR, 0, 2), ("nope", 1, 1)], {ELR: 1}),
    ([(KRAFT, 1, 1)], {ELR: 1, KRAFT: 1}),
    ([(KRAFT, 0, 1)], {ELR: 1, KRAFT: 1}),
    ([(KRAFT, 0, 2)], {ELR: 1, KRAFT: 1}),
    ([(KRAFT, 0, 3)], {ELR: 1, KRAFT: 1}),
    ([(ELR, 0, 1)], {ELR: 1, KRAFT: 1}),
    ([(ELR, 0, 2)], {KRAFT: 1}),
    ([(ELR, 1, 2)], {KRAFT: 1}),
    ([(ELR, 1, 1), (KRAFT, 1, 1)], {ELR: 1, KRAFT: 1}),
    ([(ELR, 0, 3)], {KRAFT: 1}),
]
"""Updates, and the levels that hold then; one that is 0 is not told."""


def test_levels_of_what_the_quorum_and_elections_do_are_changed_as_with_kafka() -> None:
    answers: list[list[Any]] = []
    with ApacheKafka() as kafka, EmbeddedBroker() as embedded:
        for broker in (kafka, embedded):
            answers.append([])
            for updates, levels in CHANGES:
                keys = [
                    UpdateFeaturesRequest.FeatureUpdateKey(name, level, upgrade_type=kind)
                    for name, level, kind in updates
                ]
                answers[-1].append(ask(broker, UpdateFeaturesRequest(feature_updates=keys), 2))
                wait_for(lambda broker=broker, levels=levels: told_levels(broker) == levels)
                answers[-1].append(voters_have_directories(broker))
    assert answers[1] == answers[0]


def told_levels(broker: Kafka) -> dict[str, int]:
    request = ApiVersionsRequest(client_software_name="views", client_software_version="1")
    told = ask(broker, request, 4).finalized_features
    return {each.name: each.max_version_level for each in told if each.name in (ELR, KRAFT)}


def voters_have_directories(broker: Kafka) -> bool:
    topics = [DescribeQuorumRequest.TopicData("__cluster_metadata", [DescribeQuorumRequest.PartitionData(0)])]
    (partition,) = ask(broker, DescribeQuorumRequest(topics), 2).topics[0].partitions
    return all(voter.replica_directory_id != ZERO_UUID for voter in partition.current_voters)


def test_a_broker_has_min_insync_replicas_of_its_own_only_without_eligible_leaders() -> None:
    answers: list[list[Any]] = []
    own = IncrementalAlterConfigsRequest.AlterableConfig("min.insync.replicas", 0, "3")
    to_set = IncrementalAlterConfigsRequest(
        [IncrementalAlterConfigsRequest.AlterConfigsResource(4, "1", [own])]
    )
    of_broker = DescribeConfigsRequest.DescribeConfigsResource(4, "1", ["min.insync.replicas"])
    to_tell = DescribeConfigsRequest([of_broker], include_synonyms=True)
    with ApacheKafka() as kafka, EmbeddedBroker() as embedded:
        for broker in (kafka, embedded):

            def told(broker: Kafka = broker) -> list[tuple[str, int]]:
                (config,) = ask(broker, to_tell, 4).results[0].configs
                return [(each.value, each.source) for each in config.synonyms]

            answers.append([ask(broker, to_set, 1).responses, told()])
            for level, kind, is_own in ((0, 2, True), (1, 1, False)):
                update = UpdateFeaturesRequest.FeatureUpdateKey(ELR, level, upgrade_type=kind)
                answers[-1].append(ask(broker, UpdateFeaturesRequest(feature_updates=[update]), 2))
                wait_for(lambda broker=broker, level=level: told_levels(broker).get(ELR, 0) == level)
                if is_own:
                    answers[-1].append(ask(broker, to_set, 1).responses)
                wait_for(lambda told=told, is_own=is_own: ("3" in dict(told())) == is_own)
                answers[-1].append(told())
    assert answers[1] == answers[0]


def test_the_quorum_is_this_node_alone(broker: Kafka) -> None:
    with Admin(broker.bootstrap) as admin:
        quorum = admin.describe_metadata_quorum()
    assert (quorum.leader_id, [voter.replica_id for voter in quorum.voters]) == (1, [1])
    topics = [DescribeQuorumRequest.TopicData("x", [DescribeQuorumRequest.PartitionData(0)])]
    (partition,) = ask(broker, DescribeQuorumRequest(topics), 2).topics[0].partitions
    assert (partition.error_code, partition.error_message) == (
        3,
        "This server does not host this topic-partition.",
    )


def test_topics_and_brokers_can_be_configured(broker: Kafka, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker)
    for types, expected in (([2], {(topic, 2)}), ([4], {("1", 4)}), ([], {(topic, 2), ("1", 4)})):
        answer = ask(broker, ListConfigResourcesRequest(types), 1)
        found = {(found.resource_name, found.resource_type) for found in answer.config_resources}
        assert expected <= found
    # Other tests give settings to groups of this broker.
    others = ask(broker, ListConfigResourcesRequest([16, 32]), 1).config_resources
    assert {found.resource_type for found in others} <= {32}
    assert ask(broker, ListConfigResourcesRequest([64]), 1).error_code == 35
    assert ask(broker, ListConfigResourcesRequest(), 0).config_resources == []
