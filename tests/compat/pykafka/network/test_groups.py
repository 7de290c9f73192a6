from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tests.waiting import wait_for

from barnabas.compat.pykafka import KafkaClient
from barnabas.compat.pykafka.protocol import (
    ConsumerGroupProtocolMetadata,
    MemberAssignment,
    PartitionOffsetCommitRequest,
    PartitionOffsetFetchRequest,
)
from barnabas.testing import ApacheKafka


class Membership:
    protocol_type = b"consumer"
    protocol_name = b"range"
    metadata = ConsumerGroupProtocolMetadata(topic_names=[b"topic"])


@pytest.fixture(scope="module", params=["0.9.0", "2.0.0"])
def client(request: pytest.FixtureRequest, kafka: ApacheKafka) -> KafkaClient:
    client = KafkaClient(kafka.bootstrap, broker_version=request.param)
    assert client.topics["topic"].partitions
    return client


@pytest.fixture
def group() -> bytes:
    return f"group-{time.monotonic_ns()}".encode()


@pytest.fixture
def coordinator(client: KafkaClient, group: bytes) -> Any:
    return client.cluster.get_group_coordinator(group)


def test_a_group_has_a_coordinator(client: KafkaClient, group: bytes) -> None:
    assert client.cluster.get_group_coordinator(group) is client.brokers[1]
    assert client.cluster.get_offset_manager(group) is client.brokers[1]


def test_offsets_are_committed_and_asked_for(coordinator: Any, group: bytes) -> None:
    commit = PartitionOffsetCommitRequest(b"topic", 0, 5, int(time.time() * 1000), b"meta")
    answer = coordinator.commit_consumer_group_offsets(group, -1, b"", [commit])
    assert answer.topics[b"topic"][0].err == 0
    assert coordinator.offsets_channel_connected
    wanted = [PartitionOffsetFetchRequest(b"topic", number) for number in (0, 1)]
    answer = coordinator.fetch_consumer_group_offsets(group, wanted)
    assert answer.topics[b"topic"][0][:3] == (5, b"meta", 0)
    assert answer.topics[b"topic"][1][:3] == (-1, b"", 0)


def test_a_member_joins_is_assigned_partitions_and_leaves(
    client: KafkaClient, coordinator: Any, group: bytes
) -> None:
    joined = coordinator.join_group("me", group, b"", b"topic", Membership)
    me = joined.member_id
    assert (joined.error_code, joined.leader_id, joined.group_protocol) == (0, me, b"range")
    assert [*joined.members] == [me]
    assert joined.members[me].topic_names == [b"topic"]
    assignment = [(me, MemberAssignment([(b"topic", [0])]))]
    synced = coordinator.sync_group("me", group, joined.generation_id, me, assignment)
    assert synced.member_assignment.partition_assignment == [(b"topic", [0])]
    assert coordinator.heartbeat("me", group, joined.generation_id, me).error_code == 0
    assert coordinator.heartbeat("me", group, joined.generation_id + 1, me).error_code == 22
    assert coordinator.list_groups().groups[group].protocol_type == b"consumer"
    described = client.cluster.get_managed_group_descriptions()[group]
    assert (described.state, described.protocol) == (b"Stable", b"range")
    assert described.members[me].member_assignment.partition_assignment == [(b"topic", [0])]
    assert coordinator.leave_group("me", group, me).error_code == 0
    assert coordinator.describe_groups([group]).groups[group].members == {}


def test_members_of_one_client_do_not_wait_for_each_other(coordinator: Any, group: bytes) -> None:
    first = coordinator.join_group("first", group, b"", b"topic", Membership)
    coordinator.sync_group("first", group, first.generation_id, first.member_id, [])
    joined: list[Any] = []

    def join() -> None:
        joined.append(coordinator.join_group("second", group, b"", b"topic", Membership))

    thread = threading.Thread(target=join)
    thread.start()

    def error() -> int:
        return coordinator.heartbeat("first", group, first.generation_id, first.member_id).error_code

    wait_for(lambda: error() == 27)
    again = coordinator.join_group("first", group, first.member_id, b"topic", Membership)
    thread.join(30)
    assert joined[0].generation_id == again.generation_id
    assert sorted(again.members) == sorted({first.member_id, joined[0].member_id})


def test_a_member_whose_connection_broke_gets_another(coordinator: Any, group: bytes) -> None:
    joined = coordinator.join_group("one", group, b"", b"topic", Membership)
    second = coordinator._get_unique_req_handler("two")
    second.shared.connection.disconnect()
    assert coordinator.heartbeat("two", group, joined.generation_id, joined.member_id).error_code in (0, 27)
