from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from barnabas.testing import ApacheKafkaCluster

TOPICS = "org.apache.kafka.tools.TopicCommand"


def test_a_topic_has_a_replica_on_each_broker_and_needs_two_in_sync(
    apache_cluster: ApacheKafkaCluster, eventually: Callable[..., str]
) -> None:
    server = ["--bootstrap-server", apache_cluster.bootstrap, "--topic", "replicated"]
    created = apache_cluster.tool(TOPICS, *server, "--create")
    assert created.returncode == 0, created.stderr
    described = eventually(lambda: apache_cluster.tool(TOPICS, *server, "--describe").stdout)
    assert "ReplicationFactor: 3" in described
    assert "min.insync.replicas=2" in described
    replicas = re.search(r"Replicas: (\S+)", described)
    assert replicas is not None
    assert sorted(replicas[1].split(",")) == ["1", "2", "3"]


def test_the_others_go_on_while_one_is_away_and_take_it_back(own_apache_cluster: ApacheKafkaCluster) -> None:
    address = own_apache_cluster.bootstrap
    own_apache_cluster.nodes[0].kill()
    assert not own_apache_cluster.nodes[0].is_alive
    survivors = ["--bootstrap-server", ",".join(node.bootstrap for node in own_apache_cluster.nodes[1:])]
    created = own_apache_cluster.tool(
        TOPICS, *survivors, "--create", "--topic", "made-by-two", "--partitions", "3"
    )
    assert created.returncode == 0, created.stderr
    own_apache_cluster.nodes[0].start()
    own_apache_cluster.wait_until_whole()
    assert own_apache_cluster.bootstrap == address
    listed = own_apache_cluster.tool(
        TOPICS, "--bootstrap-server", own_apache_cluster.nodes[0].bootstrap, "--list"
    )
    assert "made-by-two" in listed.stdout.split()


def test_each_broker_needs_its_own_rack() -> None:
    with pytest.raises(ValueError, match="there are 3 brokers, name a rack for each"):
        ApacheKafkaCluster(racks=["a", "b"])
