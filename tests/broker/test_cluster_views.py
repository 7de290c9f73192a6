"""What administrators see of the cluster itself: features, the quorum, and what there is to configure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Admin
from barnabas.net.connection import Connection
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
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
