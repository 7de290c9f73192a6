"""`barnabas reassign` and kafka-reassign-partitions on three nodes of Apache Kafka: what each sets for a move
with a throttle, that either shows the other's move, cancels it, and takes its throttle off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker.tools.java import Java
from tests.cli.conftest import Cli, run_here
from tests.waiting import wait_for

from barnabas import Admin, ConfigResource, NewTopic, Producer, ResourceType
from barnabas.testing import ApacheKafkaCluster

BYTES = 100_000
"""A record's. Kafka's throttle lets through a mebibyte before it holds."""


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    java = Java()
    yield java
    java.end()


class Movers:
    """A cluster and both tools."""

    def __init__(self, cluster: ApacheKafkaCluster, java: Java, folder: Path) -> None:
        self.bootstrap = cluster.bootstrap
        self.here: Cli = run_here(cluster.bootstrap)
        self._java = java
        self._folder = folder

    def tool(self, command: str) -> str:
        status, lines = self._java.run(self.bootstrap, f"reassign-partitions {command}")
        assert status == "0", lines
        return "\n".join(lines)

    def ours(self, command: str, *, status: int = 0) -> Any:
        done = self.here("reassign", *command.split(), ok=False)
        assert done.returncode == status, done.stderr
        return done

    def full(self, topic: str) -> str:
        """A new topic with ten megabytes, on the nodes 1 and 2."""
        with Admin(self.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, replica_assignments={0: [1, 2]})])
            wait_for(lambda: topic in admin.list_topics())
        with Producer(self.bootstrap) as producer:
            for _ in range(100):
                producer.send(topic, bytes(BYTES))
        return topic

    def plan(self, topic: str, *replicas: int) -> str:
        path = self._folder / f"{topic}.json"
        plan = {"topic": topic, "partition": 0, "replicas": [*replicas]}
        path.write_text(json.dumps({"version": 1, "partitions": [plan]}))
        return str(path)

    def throttles(self, topic: str) -> set[tuple[str, str, str]]:
        """Of the topic and of all brokers."""
        resources = [ConfigResource(ResourceType.TOPIC, topic)]
        resources += [ConfigResource(ResourceType.BROKER, each) for each in ("1", "2", "3")]
        with Admin(self.bootstrap) as admin:
            found = admin.describe_configs(resources)
        return {
            (resource.name if resource.type is ResourceType.BROKER else "topic", name, entry.value)
            for resource, settings in found.items()
            for name, entry in settings.items()
            if "throttled" in name and entry.value
        }

    def under_way(self, topic: str) -> bool:
        with Admin(self.bootstrap) as admin:
            return any(tp.topic == topic for tp in admin.list_partition_reassignments())


@pytest.fixture
def movers(own_apache_cluster: ApacheKafkaCluster, java: Java, tmp_path: Path) -> Movers:
    return Movers(own_apache_cluster, java, tmp_path)


THROTTLED = {
    ("topic", "leader.replication.throttled.replicas", "0:1,0:2"),
    ("topic", "follower.replication.throttled.replicas", "0:3"),
    *(
        (node, f"{side}.replication.throttled.rate", "1")
        for node in ("1", "2", "3")
        for side in ("leader", "follower")
    ),
}


@pytest.mark.parametrize("starts", ["ours", "theirs"])
def test_a_move_of_either_is_told_and_cancelled_by_the_other(movers: Movers, starts: str) -> None:
    topic = movers.full(f"started-by-{starts}")
    plan = movers.plan(topic, 2, 3)
    begin: dict[str, Callable[[], object]] = {
        "ours": lambda: movers.ours(f"start --file {plan} --throttle 1 --yes"),
        "theirs": lambda: movers.tool(f"--execute --reassignment-json-file {plan} --throttle 1"),
    }
    begin[starts]()
    wait_for(lambda: movers.throttles(topic) == THROTTLED)
    assert movers.under_way(topic)
    assert f"Reassignment of partition {topic}-0 is still in progress." in movers.tool(
        f"--verify --reassignment-json-file {plan}"
    )
    (row,) = json.loads(movers.ours(f"verify --file {plan} --json", status=3).stdout)
    assert (row["state"], row["new_replicas"]) == ("moving", [2, 3])
    (listed,) = json.loads(movers.ours("list --json").stdout)
    assert f"{topic}-0: replicas: 2,3,1. adding: 3. removing: 1." in movers.tool("--list")
    assert (listed["replicas"], listed["adding"], listed["removing"]) == ([2, 3, 1], [3], [1])
    assert listed["bytes_left"] > 5 * BYTES
    # Neither has taken the throttle off a move that goes on.
    assert movers.throttles(topic) == THROTTLED
    end: dict[str, Callable[[], object]] = {
        "ours": lambda: movers.tool(f"--cancel --reassignment-json-file {plan}"),
        "theirs": lambda: movers.ours(f"cancel --file {plan} --yes"),
    }
    end[starts]()
    wait_for(lambda: not movers.under_way(topic))
    wait_for(lambda: movers.throttles(topic) == set())


@pytest.mark.parametrize("starts", ["ours", "theirs"])
def test_the_plan_of_either_is_carried_out_by_the_other(movers: Movers, starts: str, tmp_path: Path) -> None:
    topic = movers.full(f"planned-by-{starts}")
    plan = tmp_path / "plan.json"
    if starts == "ours":
        plan.write_text(movers.ours(f"generate {topic} --brokers 2,3").stdout)
        movers.tool(f"--execute --reassignment-json-file {plan} --throttle 100000000")
    else:
        wanted = tmp_path / "topics.json"
        wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
        told = movers.tool(f"--generate --topics-to-move-json-file {wanted} --broker-list 2,3")
        # The other one is where the replicas are now.
        plans = [line for line in told.splitlines() if '"partitions"' in line]
        (proposed,) = [line for line in plans if '"replicas":[1,2]' not in line]
        # In place of "any" there is another word, as of all folders.
        plan.write_text(proposed.replace("DIRECTORY", '"any"'))
        movers.ours(f"start --file {plan} --throttle 100000000 --yes")
    wait_for(lambda: not movers.under_way(topic))
    wait_for(lambda: len(movers.throttles(topic)) == 8)
    if starts == "ours":
        assert movers.ours(f"verify --file {plan}").returncode == 0
    else:
        # The tool looks once: brokers hear later than the controller that the move has ended.
        verify = f"--verify --reassignment-json-file {plan}"
        wait_for(lambda: f"{topic}-0 is completed" in movers.tool(verify))
    wait_for(lambda: movers.throttles(topic) == set())
