"""Who may use, see and delete groups and offsets: the same answers as Kafka's, with each right alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.waiting import Patience

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.testing import ApacheKafka

from .probe import Ask, probe
from .stage import Stage, rule, same_on_both

TOPIC, GROUP, CLUSTER = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER
NOT_READY = (14, 15, 16)


def fixed(request: Any, version: int | None = None) -> Ask:
    return lambda _: (request, version)


async def ready(stage: Stage, group: str) -> None:
    """The group's coordinator answers."""
    patience = Patience()
    while True:
        found = await stage.admin(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
        described = await stage.admin(DescribeGroupsRequest(groups=[group]), 5)
        listed = await stage.admin(ListGroupsRequest())
        codes = found.coordinators[0].error_code, described.groups[0].error_code, listed.error_code
        if not any(codes):
            return
        await patience.pause_async()


async def coordinated(stage: Stage, key_type: int, key: str) -> None:
    patience = Patience()
    while True:
        found = await stage.admin(FindCoordinatorRequest(key, key_type), 3)
        if not found.error_code:
            return
        await patience.pause_async()


def commit(group: str, *topics: str) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 7)
    names = [
        OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[partition]) for name in topics
    ]
    return OffsetCommitRequest(group_id=group, topics=names)


async def membership(stage: Stage) -> None:
    group = stage.name("group")
    await ready(stage, group)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    requests = {
        "join": JoinGroupRequest(group, 10_000, 10_000, "", None, "consumer", [protocol]),
        "sync": SyncGroupRequest(group, 1, "nobody", None, "consumer", "range"),
        "sync without a protocol": SyncGroupRequest(group, 1, "nobody"),
        "heartbeat": HeartbeatRequest(group, 1, "nobody"),
        "leave": LeaveGroupRequest(group, members=[LeaveGroupRequest.MemberIdentity("nobody")]),
    }
    needs = [
        (Operation.READ, GROUP, group),
        (Operation.DESCRIBE, GROUP, group),
        (Operation.READ, GROUP, "*"),
        (Operation.ALL, CLUSTER, CLUSTER_NAME),
    ]
    for label, request in requests.items():
        await probe(stage, label, fixed(request), *needs)
    await probe(stage, "leave alone", fixed(LeaveGroupRequest(group, "nobody"), 2), *needs)


async def consumer_membership(stage: Stage) -> None:
    group, topic, other = stage.name("group"), stage.name("topic"), stage.name("other")
    await stage.create_topic(topic)
    await ready(stage, group)
    beat = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=stage.name("member"),
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[topic, other],
        topic_partitions=[],
    )
    use, see = (Operation.READ, GROUP, group), (Operation.DESCRIBE, TOPIC, topic)
    describe_group = Operation.DESCRIBE, GROUP, group
    see_all = Operation.DESCRIBE, TOPIC, "*"
    await probe(stage, "join", fixed(beat), use, see, [use, see], [use, see_all])
    asked = ConsumerGroupDescribeRequest([group, other], include_authorized_operations=True)
    delete = Operation.DELETE, GROUP, group
    await probe(
        stage,
        "describe",
        fixed(asked),
        describe_group,
        [describe_group, see],
        [describe_group, see, (Operation.DESCRIBE, TOPIC, other)],
        [delete, see_all],
    )


async def regular_expressions(stage: Stage) -> None:
    """A regular expression matches topics that the member may see."""
    group, seen, hidden = stage.name("group"), stage.name("a-seen"), stage.name("a-hidden")
    for topic in (seen, hidden):
        await stage.create_topic(topic)
    await ready(stage, group)
    rights = [
        (Operation.READ, GROUP, group),
        (Operation.READ, TOPIC, seen),
        (Operation.DESCRIBE, GROUP, group),
    ]
    await stage.allow(*(rule(*right) for right in rights))
    beat = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=stage.name("member"),
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex=f"a-.*{stage.run}",
        topic_partitions=[],
    )
    answer = await stage.guest(beat)
    # Kafka resolves the expression later.
    assigned: list[Any] = []
    patience = Patience()
    while not assigned:
        await patience.pause_async()
        request = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=answer.member_id, member_epoch=answer.member_epoch
        )
        answer = await stage.guest(request)
        assert answer.error_code == 0
        described = await stage.guest(ConsumerGroupDescribeRequest([group]))
        assigned = described.groups[0].members[0].assignment.topic_partitions
    stage.tell("assigned", [topic.topic_name for topic in assigned])
    leaves = ConsumerGroupHeartbeatRequest(group_id=group, member_id=answer.member_id, member_epoch=-1)
    stage.tell("leaves", (await stage.guest(leaves)).error_code)
    await stage.forbid()


async def views(stage: Stage) -> None:
    group, other, topic = stage.name("group"), stage.name("other"), stage.name("topic")
    await stage.create_topic(topic)
    await ready(stage, group)
    for name in (group, other):
        committed = await stage.admin(commit(name, topic), 9)
        assert committed.topics[0].partitions[0].error_code == 0
    describe_group = Operation.DESCRIBE, GROUP, group
    needs = [
        describe_group,
        (Operation.READ, GROUP, group),
        (Operation.DELETE, GROUP, group),
        (Operation.ALL, GROUP, group),
        (Operation.DESCRIBE_CONFIGS, GROUP, group),
        (Operation.DESCRIBE, CLUSTER, CLUSTER_NAME),
    ]
    missing = stage.name("missing")
    everything = DescribeGroupsRequest([group, missing], include_authorized_operations=True)
    await probe(stage, "describe", fixed(everything), *needs)
    await probe(stage, "describe in version 5", fixed(everything, 5), *needs)
    await probe(stage, "describe without operations", fixed(DescribeGroupsRequest([group, missing])), *needs)

    def mine(stage: Stage) -> tuple[ListGroupsRequest, None]:
        return ListGroupsRequest(states_filter=["Empty"]), None

    async def listed(label: str) -> None:
        answer = await stage.guest(mine(stage)[0])
        names = sorted(each.group_id for each in answer.groups if each.group_id in (group, other))
        stage.tell("list", label, answer.error_code, names)

    await listed("nothing")
    for need in needs:
        await stage.allow(rule(*need))
        await listed(need[0].name)
        await stage.forbid()
    for key_type, key in ((0, group), (1, group)):
        await coordinated(stage, key_type, key)
        asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key, missing])
        rights = [describe_group, (Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID, key)]
        await probe(stage, f"find {key_type}", fixed(asked), *rights)
        alone = FindCoordinatorRequest(key=key, key_type=key_type)
        await probe(stage, f"find {key_type} alone", fixed(alone, 3), *rights)
    await probe(stage, "delete", fixed(DeleteGroupsRequest([group, missing])), *needs)


async def offsets(stage: Stage) -> None:
    group, topic, other = stage.name("group"), stage.name("topic"), stage.name("other")
    missing = stage.name("missing")
    topic_id = await stage.create_topic(topic)
    await stage.create_topic(other)
    await ready(stage, group)
    await stage.admin(commit(group, topic, other), 9)
    use, see = (Operation.READ, GROUP, group), (Operation.DESCRIBE, GROUP, group)
    read, describe = (Operation.READ, TOPIC, topic), (Operation.DESCRIBE, TOPIC, topic)
    read_all = Operation.READ, TOPIC, "*"
    rights = [use, see, read, [use, read], [see, describe], [use, describe], [use, read_all]]
    by_id = OffsetCommitRequest.OffsetCommitRequestTopic(
        topic_id=topic_id, partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 9)]
    )
    names = commit(group, topic, other, missing)
    await probe(stage, "commit", fixed(names, 9), *rights)
    await probe(stage, "commit by id", fixed(OffsetCommitRequest(group_id=group, topics=[by_id])), *rights)
    topics = [
        OffsetFetchRequest.OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in (topic, missing)
    ]
    many = OffsetFetchRequest.OffsetFetchRequestGroup
    some = OffsetFetchRequest(groups=[many(group, topics=topics)])
    ids = [OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])]
    await probe(stage, "fetch", fixed(some, 9), *rights)
    await probe(stage, "fetch all", fixed(OffsetFetchRequest(groups=[many(group, topics=None)]), 9), *rights)
    await probe(stage, "fetch by id", fixed(OffsetFetchRequest(groups=[many(group, topics=ids)])), *rights)
    one = OffsetFetchRequest(group, [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [0])])
    await probe(stage, "fetch of one", fixed(one, 7), *rights)
    await probe(stage, "fetch of one in version 1", fixed(one, 1), *rights)
    await probe(stage, "fetch all of one", fixed(OffsetFetchRequest(group, None), 5), *rights)
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(0)
    deleted = [OffsetDeleteRequest.OffsetDeleteRequestTopic(name, [partition]) for name in (topic, other)]
    delete = Operation.DELETE, GROUP, group
    asked = OffsetDeleteRequest(group, deleted)
    await probe(stage, "delete", fixed(asked), delete, read, [delete, read], [use, read], [delete, describe])


def test_membership_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, membership))


def test_membership_of_consumer_groups_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, consumer_membership))


def test_regular_expressions_match_what_the_member_may_see_as_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, regular_expressions))


def test_seeing_groups_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, views))


def test_offsets_need_the_rights_that_they_need_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, offsets))
