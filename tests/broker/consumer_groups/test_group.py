"""Members by chance: what each has, by what it was told and what it says."""

from __future__ import annotations

import random
import uuid

import pytest

from barnabas.broker.consumer_groups.assignors import ASSIGNORS, TopicIdPartition
from barnabas.broker.consumer_groups.group import ConsumerGroup, ConsumerMember, ConsumersState

TOPICS = [uuid.UUID(int=number) for number in range(3)]
COUNTS = {TOPICS[0]: 5, TOPICS[1]: 7, TOPICS[2]: 1}


class Client:
    """A member as its client sees it: takes what it is told, and gives up the rest, in its own time."""

    def __init__(self, member: ConsumerMember, topics: frozenset[uuid.UUID]) -> None:
        self.member = member
        self.topics = topics
        self.told: frozenset[TopicIdPartition] = frozenset()
        self.owned: frozenset[TopicIdPartition] = frozenset()

    def catch_up(self) -> None:
        self.owned = self.told


def assign(group: ConsumerGroup, clients: dict[str, Client], assignor: str) -> None:
    group.epoch += 1
    subscriptions = {member_id: client.topics for member_id, client in clients.items()}
    group.target = dict(ASSIGNORS[assignor](subscriptions, COUNTS, group.target))
    group.assignment_epoch = group.epoch


def check_owners(clients: dict[str, Client]) -> None:
    owned = [partition for client in clients.values() for partition in client.owned]
    assert len(owned) == len(set(owned))


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("seed", range(40))
def test_no_partition_has_two_owners_and_in_the_end_each_has_one(assignor: str, seed: int) -> None:
    dice = random.Random(seed)
    group = ConsumerGroup("g")
    clients: dict[str, Client] = {}

    def change() -> None:
        if clients and dice.random() < 0.4:
            gone = clients.pop(dice.choice(sorted(clients)))
            group.remove(gone.member)
        else:
            member = ConsumerMember(member_id=f"member-{len(clients)}-{dice.random()}")
            topics = frozenset(dice.sample(TOPICS, dice.randint(1, 3)))
            clients[member.member_id] = Client(member, topics)
            group.add(member)
        assign(group, clients, assignor)

    def heartbeat(client: Client, says_what_it_has: bool) -> None:
        group.reconcile(client.member, client.owned if says_what_it_has else None)
        client.told = client.member.assigned

    for _ in range(200):
        if dice.random() < 0.1 or not clients:
            change()
        else:
            heartbeat(clients[dice.choice(sorted(clients))], dice.random() < 0.7)
            clients[dice.choice(sorted(clients))].catch_up()
            check_owners(clients)
    for _ in range(10):
        for client in clients.values():
            client.catch_up()
            heartbeat(client, True)
            client.catch_up()
    if clients:
        assert group.state is ConsumersState.STABLE
    subscribed = frozenset[uuid.UUID]().union(*(client.topics for client in clients.values()))
    expected = {TopicIdPartition(topic, index) for topic in subscribed for index in range(COUNTS[topic])}
    assert {partition for client in clients.values() for partition in client.owned} == expected
    for client in clients.values():
        assert {partition.topic_id for partition in client.owned} <= client.topics


def test_a_uniform_assignment_is_as_even_as_can_be_and_moves_no_more_than_that_needs() -> None:
    everyone = {f"m{number}": frozenset(TOPICS) for number in range(3)}
    first = ASSIGNORS["uniform"](everyone, COUNTS, {})
    assert sorted(map(len, first.values())) == [4, 4, 5]
    second = ASSIGNORS["uniform"]({**everyone, "m3": frozenset(TOPICS)}, COUNTS, first)
    assert sorted(map(len, second.values())) == [3, 3, 3, 4]
    assert sum(len(first[member] - second[member]) for member in first) == 3
    del everyone["m0"]
    third = ASSIGNORS["uniform"](everyone, COUNTS, second)
    assert all(third[member] >= second[member] for member in everyone)


@pytest.mark.parametrize("members", range(1, 12))
def test_a_newcomer_is_given_its_share_and_nobody_else_gets_anything(members: int) -> None:
    counts = {TOPICS[0]: 24}
    everyone = {f"m{number:02}": frozenset(TOPICS[:1]) for number in range(members)}
    before = ASSIGNORS["uniform"](everyone, counts, {})
    after = ASSIGNORS["uniform"]({**everyone, "new": frozenset(TOPICS[:1])}, counts, before)
    assert len(after["new"]) == 24 // (members + 1)
    assert all(after[member] <= before[member] for member in everyone)
    sizes = sorted(map(len, after.values()))
    assert sizes[-1] - sizes[0] <= 1


def test_ranges_of_topics_that_are_alike_are_alike() -> None:
    counts = {TOPICS[0]: 6, TOPICS[1]: 6}
    everyone = {f"m{number}": frozenset(TOPICS[:2]) for number in range(4)}
    found = ASSIGNORS["range"](everyone, counts, {})
    for partitions in found.values():
        by_topic = [sorted(p.partition for p in partitions if p.topic_id == topic) for topic in TOPICS[:2]]
        assert by_topic[0] == by_topic[1]
        assert by_topic[0] == list(range(by_topic[0][0], by_topic[0][-1] + 1))
