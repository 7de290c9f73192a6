"""How often the driver asks a cluster what there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.spark.conftest import Kafka

from barnabas.spark.options import source_options
from barnabas.spark.reading import cluster as views
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.types import TopicPartition


@pytest.fixture
def asked(kafka: Kafka) -> Iterator[SourceCluster]:
    topic = kafka.create(3)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic}
    with SourceCluster(source_options(options)) as cluster:
        yield cluster


def test_few_partitions_are_looked_for_at_every_trigger(kafka: Kafka, asked: SourceCluster) -> None:
    (topic,) = {partition.topic for partition in asked.partitions(anew=False)}
    kafka.grow(topic, 5)
    assert len(asked.partitions(anew=False)) == 5


def test_many_partitions_are_looked_for_again_after_a_pause_or_on_demand(
    kafka: Kafka, asked: SourceCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MANY_PARTITIONS", 3)
    monkeypatch.setattr(views, "PAUSE_BY_SEARCH", 1e9)
    (topic,) = {partition.topic for partition in asked.partitions(anew=False)}
    kafka.grow(topic, 5)
    assert len(asked.partitions(anew=False)) == 3
    assert len(asked.partitions(anew=True)) == 5
    monkeypatch.setattr(views, "PAUSE_BY_SEARCH", 0)
    asked.partitions(anew=True)
    kafka.grow(topic, 6)
    assert asked.partitions(anew=False)[-1] == TopicPartition(topic, 5)
