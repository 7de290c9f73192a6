"""What a query's driver asks of a cluster."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from tests.spark.conftest import Kafka

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.spark.options import source_options
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.types import TopicPartition


def cluster_of(kafka: Kafka, tries: int, **subscription: str) -> SourceCluster:
    given = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "fetchOffset.numRetries": str(tries),
        "fetchOffset.retryIntervalMs": "100",
    }
    return SourceCluster(source_options(given | subscription))


def test_what_is_about_to_exist_is_asked_for_again(kafka: Kafka) -> None:
    topic = f"spark-{uuid.uuid4().hex[:12]}"
    with (
        cluster_of(kafka, 300, subscribe=topic) as subscribed,
        cluster_of(kafka, 300, assign=json.dumps({topic: [1]})) as assigned,
        ThreadPoolExecutor() as threads,
    ):
        found = [threads.submit(cluster.partitions) for cluster in (subscribed, assigned)]
        assert not wait(found, timeout=0.5).done
        kafka.create(1, name=topic)
        assert found[0].result(30) == [TopicPartition(topic, 0)]
        assert not found[1].done()
        kafka.grow(topic, 2)
        assert found[1].result(30) == [TopicPartition(topic, 1)]


def test_what_never_exists_is_named_after_the_last_try(kafka: Kafka, missing_topic: str) -> None:
    topic = kafka.create(1)
    with (
        cluster_of(kafka, 2, subscribe=missing_topic) as cluster,
        pytest.raises(UnknownTopicOrPartitionError, match=f"'{missing_topic}'.* does not exist: create it"),
    ):
        cluster.partitions()
    with (
        cluster_of(kafka, 0, assign=json.dumps({topic: [0, 1]})) as cluster,
        pytest.raises(UnknownTopicOrPartitionError, match=f"assign: {topic}-1 does not exist"),
    ):
        cluster.partitions()
