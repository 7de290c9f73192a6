"""Calls of Admin that move what is on several brokers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Admin, ElectionType, NewTopic, OffsetAndMetadata, TopicPartition
from barnabas.broker_errors import NoReassignmentInProgressError, UnknownTopicOrPartitionError
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker


@pytest.fixture(scope="module")
def admin(cluster: ApacheKafkaCluster | EmbeddedBroker) -> Iterator[Admin]:
    with Admin(cluster.bootstrap) as admin:
        yield admin


@pytest.fixture
def create(admin: Admin, topic: Any, eventually: Any) -> Callable[..., str]:
    """`create(...)` gives the name of a new topic that every broker knows. `NewTopic` says what it takes."""

    def known_everywhere(name: str) -> bool:
        return all(
            any(TopicPartition(name, 0) in log_dir.replicas for log_dir in log_dirs.values())
            for log_dirs in admin.describe_log_dirs().values()
        )

    def make(**arguments: Any) -> str:
        name, later = topic(), topic()
        admin.create_topics([NewTopic(name, **arguments)])
        # Brokers learn of topics in the order of their creation: one that knows the later knows both.
        admin.create_topics([NewTopic(later, 1, 3)])
        eventually(lambda: known_everywhere(later), timeout=30.0)
        return name

    return make


@pytest.fixture
def flights(admin: Admin, create: Callable[..., str], eventually: Any) -> str:
    """Three partitions on nodes 1 and 2, whose leader is 1."""
    name = create(replica_assignments={0: [1, 2], 1: [1, 2], 2: [1, 2]})

    def is_led() -> bool:
        partitions = admin.describe_topics([name])[name].partitions
        return all(p.leader == 1 and set(p.in_sync_replicas) == {1, 2} for p in partitions)

    eventually(is_led, timeout=30.0)
    return name


def test_replicas_are_moved_and_the_preferred_leader_is_elected(
    admin: Admin, flights: str, eventually: Any
) -> None:
    first, second = TopicPartition(flights, 0), TopicPartition(flights, 1)
    ends: Any = {first: "latest", second: "latest"}
    assert admin.list_offsets(ends)[second].offset == 0
    admin.alter_partition_reassignments({first: [2, 3], second: [2, 1]})

    def replicas() -> list[tuple[int, ...]]:
        return [p.replicas for p in admin.describe_topics([flights])[flights].partitions]

    eventually(lambda: replicas() == [(2, 3), (2, 1), (1, 2)], timeout=30.0)
    eventually(lambda: admin.list_partition_reassignments([first, second]) == {}, timeout=30.0)

    def leaders() -> list[int]:
        return [p.leader for p in admin.describe_topics([flights])[flights].partitions]

    third = TopicPartition(flights, 2)
    elected = admin.elect_leaders(ElectionType.PREFERRED, [second, third])
    assert elected == {second: True, third: False}
    eventually(lambda: leaders() == [2, 2, 1], timeout=30.0)
    # Those that it knew lead no more.
    assert admin.list_offsets(ends)[second].offset == 0
    assert admin.elect_leaders(ElectionType.UNCLEAN, [third]) == {third: False}
    with pytest.raises(UnknownTopicOrPartitionError, match="missing-0"):
        admin.elect_leaders(ElectionType.PREFERRED, [("missing", 0)])
    with pytest.raises(NoReassignmentInProgressError, match=str(third)):
        admin.alter_partition_reassignments({third: None})


def test_offsets_and_records_are_asked_for_on_every_leader(admin: Admin, create: Callable[..., str]) -> None:
    name = create(num_partitions=9, replication_factor=3)
    partitions = [TopicPartition(name, number) for number in range(9)]
    found = admin.list_offsets(dict.fromkeys(partitions, "latest"), timeout=60)
    assert [(p, found[p].offset) for p in found] == [(p, 0) for p in partitions]
    assert admin.delete_records(dict.fromkeys(partitions, -1)) == dict.fromkeys(partitions, 0)
    assert {len(admin.describe_producers(partitions)[p]) for p in partitions} == {0}


def test_groups_of_several_coordinators_are_asked_for_at_once(admin: Admin, flights: str) -> None:
    # So many that one broker leads the offsets of them all by a chance of less than 1 in 10^10.
    groups = [f"group-{uuid.uuid4().hex}" for _ in range(40)]
    for group in groups:
        admin.alter_group_offsets(group, {(flights, 0): 1})
    described = admin.describe_groups(groups)
    assert list(described) == groups
    assert len({description.coordinator for description in described.values()}) > 1
    committed = {TopicPartition(flights, 0): OffsetAndMetadata(1)}
    assert admin.list_offsets_of_groups(dict.fromkeys(groups)) == dict.fromkeys(groups, committed)
    assert set(groups) <= {listing.group_id for listing in admin.list_groups()}
    admin.delete_groups(groups)
    assert not set(groups) & {listing.group_id for listing in admin.list_groups()}


def test_every_broker_tells_of_its_disks_and_its_transactions(admin: Admin, flights: str) -> None:
    log_dirs = admin.describe_log_dirs()
    assert sorted(log_dirs) == [1, 2, 3]
    holders = {
        node_id
        for node_id, found in log_dirs.items()
        for log_dir in found.values()
        if TopicPartition(flights, 0) in log_dir.replicas
    }
    assert holders == {1, 2}
    (of_one,) = admin.describe_log_dirs([1], partitions=[(flights, 0)])[1].values()
    assert list(of_one.replicas) == [TopicPartition(flights, 0)]
    assert sorted(admin.list_transactions()) == [1, 2, 3]
    assert len(admin.describe_cluster().nodes) == 3
    assert len(admin.describe_metadata_quorum().voters) == 3
