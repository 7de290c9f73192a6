"""How fast replicas may move, which are settings of topics and brokers, and taking that off again.

As kafka-reassign-partitions does it, so that either tool takes off what the other has set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas import TopicPartition
from barnabas.cli.output import note
from barnabas.cli.reassign.plans import Replicas
from barnabas.client.admin.types import ConfigChange, ConfigResource, PartitionReassignment, ResourceType
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin

LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"

Changes = dict[ConfigResource, dict[str, ConfigChange]]


@frozen
class ReplicaMove:
    """The brokers that a partition's records come from, and those that they go to."""

    sources: frozenset[int]
    targets: frozenset[int]


def moves_of(
    under_way: Mapping[TopicPartition, PartitionReassignment], now: Replicas, wanted: Replicas
) -> dict[TopicPartition, ReplicaMove]:
    """Those under way and those to come: a throttle names the replicas of all moves in a topic at once."""
    moves = {
        tp: ReplicaMove(
            frozenset(move.replicas) - frozenset(move.adding_replicas), frozenset(move.adding_replicas)
        )
        for tp, move in under_way.items()
    }
    for tp, replicas in wanted.items():
        sources = moves[tp].sources if tp in moves else frozenset(now[tp])
        moves[tp] = ReplicaMove(sources, frozenset(replicas) - sources)
    return moves


def set_throttle(admin: Admin, moves: Mapping[TopicPartition, ReplicaMove], bytes_per_second: int) -> None:
    living = {node.node_id for node in admin.describe_cluster().nodes}
    brokers = brokers_of(moves)
    for broker in sorted(brokers - living):
        note(f"broker {broker} is down: it gets no throttle")
    rate = str(bytes_per_second)
    changes: Changes = {
        _topic(topic): {LEADER_REPLICAS: leaders, FOLLOWER_REPLICAS: followers}
        for topic, (leaders, followers) in _throttled_replicas(moves).items()
    }
    changes |= {_broker(each): {LEADER_RATE: rate, FOLLOWER_RATE: rate} for each in brokers & living}
    admin.alter_configs(changes)


def brokers_of(moves: Mapping[TopicPartition, ReplicaMove]) -> set[int]:
    return {broker for move in moves.values() for broker in move.sources | move.targets}


def take_off(admin: Admin, topics: Iterable[str], *, of_brokers: bool) -> None:
    """Of topics that are there still, and of all brokers, since nobody knows which ones a move had."""
    there = set(admin.list_topics(internal=True))
    changes: Changes = {
        _topic(topic): {LEADER_REPLICAS: None, FOLLOWER_REPLICAS: None}
        for topic in sorted(set(topics))
        if topic in there
    }
    if of_brokers:
        changes |= {
            _broker(node.node_id): {LEADER_RATE: None, FOLLOWER_RATE: None}
            for node in admin.describe_cluster().nodes
        }
    if changes:
        admin.alter_configs(changes)


def _throttled_replicas(moves: Mapping[TopicPartition, ReplicaMove]) -> dict[str, tuple[str, str]]:
    """By topic, of leaders and of followers: `partition:broker` of each, divided by commas."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for tp, move in sorted(moves.items()):
        leaders.setdefault(tp.topic, []).extend(_named(tp, move.sources))
        followers.setdefault(tp.topic, []).extend(_named(tp, move.targets))
    return {topic: (",".join(found), ",".join(followers[topic])) for topic, found in leaders.items()}


def _named(tp: TopicPartition, brokers: frozenset[int]) -> list[str]:
    return [f"{tp.partition}:{broker}" for broker in sorted(brokers)]


def _topic(name: str) -> ConfigResource:
    return ConfigResource(ResourceType.TOPIC, name)


def _broker(node_id: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(node_id))
