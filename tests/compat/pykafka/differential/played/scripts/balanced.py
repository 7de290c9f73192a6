"""Balanced consumers: who owns what in ZooKeeper, and what members of a group are given."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka, on_zookeeper


def balanced(stage: Any, topic: Any, group: str, **settings: Any) -> Any:
    chosen = {
        "zookeeper_connect": stage.zookeeper,
        "consumer_timeout_ms": 2000,
        "rebalance_backoff_ms": 200,
        "zookeeper_connection_timeout_ms": 6000,
        **settings,
    }
    return stage.stopping(topic.get_balanced_consumer(group.encode(), **chosen))


def owners(stage: Any, group: str, topic: str) -> dict[str, bytes]:
    """Member by partition, from the nodes below the group's owners."""
    owned = stage.znodes(f"/consumers/{group}/owners")
    return {path.rpartition("/")[2]: owner for path, owner in owned.items() if "/" in path}


def members(stage: Any, group: str) -> Any:
    return stage.znodes(f"/consumers/{group}/ids")


def shares(stage: Any, group: str, topic: str) -> list[int]:
    """How many partitions each member owns, the most first."""
    found = [bytes(each) for each in owners(stage, group, topic).values()]
    return sorted((found.count(each) for each in set(found)), reverse=True)


@on_zookeeper()
def one_member_owns_all_partitions(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=3), stage.group()
    consumer = balanced(stage, stage.topic_of(name), group)
    stage.record("held", sorted(consumer.partitions))
    stage.record("owned", sorted(owners(stage, group, name)))
    stage.record("their paths", sorted(stage.znodes(f"/consumers/{group}/owners")))
    stage.record("owners", shares(stage, group, name))
    found = members(stage, group)
    stage.record("members", [data.decode() for data in found.values()])
    (owner,) = {bytes(each).decode() for each in owners(stage, group, name).values()}
    (member,) = found
    stage.record("the owner is the member", owner.startswith(member))
    consumer.stop()
    stage.record("after it", (members(stage, group), owners(stage, group, name)))


@on_zookeeper()
def two_members_share_and_one_takes_over(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=4), stage.group()
    topic = stage.topic_of(name)
    first = balanced(stage, topic, group)
    stage.until(lambda: shares(stage, group, name) == [4])
    second = balanced(stage, topic, group)
    stage.until(lambda: shares(stage, group, name) == [2, 2])
    stage.record("members", len(members(stage, group)))
    stage.until(lambda: len(first.partitions) == 2 and len(second.partitions) == 2)
    held = [each for consumer in (first, second) for each in consumer.partitions]
    stage.record("held", sorted(held))
    first.stop()
    stage.until(lambda: shares(stage, group, name) == [4])
    stage.until(lambda: len(second.partitions) == 4)
    stage.record("taken over", sorted(second.partitions))


@on_zookeeper()
def a_balanced_consumer_reads_and_commits(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    topic = stage.topic_of(name)
    earliest = stage.module("common").OffsetType.EARLIEST
    consumer = balanced(stage, topic, group, auto_offset_reset=earliest)
    stage.record("read", [consumer.consume().value for _ in range(2)])
    stage.attempt("committed", consumer.commit_offsets)
    stage.record("on the broker", stage.ask("committed", group, name, 0)[0])
    stage.record("held", consumer.held_offsets)
    consumer.stop()
    again = balanced(stage, topic, group)
    stage.record("goes on", again.consume().value)


@on_zookeeper()
def a_rebalance_is_told_of(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=2), stage.group()
    topic = stage.topic_of(name)
    seen: list[Any] = []

    def told(consumer: Any, before: Any, after: Any) -> None:
        seen.append((sorted(before), sorted(after)))

    balanced(stage, topic, group, post_rebalance_callback=told)
    stage.until(lambda: shares(stage, group, name) == [2])
    stage.record("at first", list(seen))
    other = balanced(stage, topic, group)
    stage.until(lambda: shares(stage, group, name) == [1, 1] and len(seen) > 1)
    stage.record("of how many", [(len(before), len(after)) for before, after in seen])
    other.stop()


@on_zookeeper()
def a_balanced_consumer_that_does_not_start(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=2), stage.group()
    consumer = balanced(stage, stage.topic_of(name), group, auto_start=False)
    stage.record("members", members(stage, group))
    stage.attempt("started", consumer.start)
    stage.record("owned", sorted(owners(stage, group, name)))
    consumer.stop()
    stage.record("after it", owners(stage, group, name))


@on_zookeeper()
def zookeeper_by_the_clients_address(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=2), stage.group()
    client = pykafka.KafkaClient(zookeeper_hosts=stage.zookeeper)
    topic = client.topics[name.encode()]
    stage.stopping(topic.get_balanced_consumer(group.encode()))
    stage.record("owned", sorted(owners(stage, group, name)))


@on_kafka(limit_seconds=90)
def a_managed_consumer_reads_and_commits(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    topic = stage.topic_of(name)
    earliest = stage.module("common").OffsetType.EARLIEST
    consumer = stage.stopping(
        topic.get_balanced_consumer(
            group.encode(), managed=True, auto_offset_reset=earliest, consumer_timeout_ms=5000
        )
    )
    stage.record("read", [consumer.consume().value for _ in range(2)])
    stage.attempt("committed", consumer.commit_offsets)
    stage.record("on the broker", stage.ask("committed", group, name, 0)[0])
    stage.record("held", sorted(consumer.partitions))


@on_kafka(limit_seconds=90)
def a_managed_group_is_described(pykafka: Any, stage: Any) -> None:
    name, group = stage.topic(partitions=2), stage.group()
    topic = stage.topic_of(name)
    stage.stopping(topic.get_balanced_consumer(group.encode(), managed=True, consumer_timeout_ms=1000))
    described = stage.client().cluster.get_managed_group_descriptions()[group.encode()]
    stage.record("group", (described.state, described.protocol, described.protocol_type))
    (member,) = described.members.values()
    stage.record("member", (member.client_id, member.member_metadata.topic_names))
    stage.record("its share", member.member_assignment.partition_assignment)
