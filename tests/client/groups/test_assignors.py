from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.assignor import Assignment, GroupMember
from barnabas.client.groups.assignors import (
    ASSIGNORS,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    decode_sticky_user_data,
    encode_sticky_user_data,
)
from barnabas.types import TopicPartition

TOPICS = ("a", "b", "c", "d")


@st.composite
def groups(draw: st.DrawFn, *, same_topics: bool = False) -> tuple[dict[str, int], list[GroupMember]]:
    counts = {topic: draw(st.integers(0, 7)) for topic in TOPICS}
    shared = tuple(draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)))
    members = [
        GroupMember(
            f"member-{draw(st.integers(0, 10**6))}-{number}",
            shared if same_topics else tuple(draw(st.lists(st.sampled_from(TOPICS), unique=True))),
            draw(st.one_of(st.none(), st.just(f"instance-{number}"))),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    return counts, members


def all_partitions(counts: Mapping[str, int], members: Sequence[GroupMember]) -> set[TopicPartition]:
    subscribed = {topic for member in members for topic in member.topics}
    return {TopicPartition(t, p) for t in subscribed for p in range(counts.get(t, 0))}


def assert_each_partition_has_one_owner(
    assignment: Assignment, counts: Mapping[str, int], members: Sequence[GroupMember]
) -> None:
    owners = Counter(p for partitions in assignment.values() for p in partitions)
    assert set(owners) == all_partitions(counts, members)
    assert set(owners.values()) <= {1}
    for member in members:
        assert {p.topic for p in assignment[member.member_id]} <= set(member.topics)


def assert_nobody_can_hand_on(assignment: Assignment, members: Sequence[GroupMember]) -> None:
    """No chain of hand-overs would make the shares more even."""
    subscribers = {t: [m.member_id for m in members if t in m.topics] for t in TOPICS}
    for start, partitions in assignment.items():
        reached, waiting = {start}, [start]
        while waiting:
            for partition in assignment[waiting.pop()]:
                for taker in subscribers[partition.topic]:
                    if taker not in reached:
                        reached.add(taker)
                        waiting.append(taker)
        assert all(len(assignment[member]) >= len(partitions) - 1 for member in reached)


def rejoin(
    members: Sequence[GroupMember], assignment: Assignment, generation: int, assignor: str
) -> list[GroupMember]:
    """The members as they describe themselves after that assignment."""
    instance = ASSIGNORS[assignor]()
    return [
        replace(
            member,
            owned=tuple(assignment.get(member.member_id, ())) if instance.cooperative else (),
            generation=generation if instance.cooperative else -1,
            user_data=instance.user_data(assignment.get(member.member_id, ()), generation),
        )
        for member in members
    ]


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(group=groups())
def test_every_partition_has_exactly_one_owner_that_subscribed_to_it(
    name: str, group: tuple[dict[str, int], list[GroupMember]]
) -> None:
    counts, members = group
    assignment = ASSIGNORS[name]().assign(counts, members)
    assert_each_partition_has_one_owner(assignment, counts, members)


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(group=groups(), seed=st.randoms())
def test_the_order_in_which_members_joined_does_not_matter(name: str, group, seed) -> None:
    counts, members = group
    shuffled = list(members)
    seed.shuffle(shuffled)
    assert ASSIGNORS[name]().assign(counts, members) == ASSIGNORS[name]().assign(counts, shuffled)


@pytest.mark.parametrize("name", ["roundrobin", "sticky", "cooperative-sticky"])
@given(group=groups(same_topics=True))
def test_members_of_equal_subscriptions_get_equal_shares(name: str, group) -> None:
    counts, members = group
    shares = [len(partitions) for partitions in ASSIGNORS[name]().assign(counts, members).values()]
    assert max(shares) - min(shares) <= 1


@given(group=groups())
def test_sticky_shares_are_as_even_as_the_subscriptions_allow(group) -> None:
    counts, members = group
    assert_nobody_can_hand_on(StickyAssignor().assign(counts, members), members)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@given(group=groups())
def test_nothing_moves_when_nothing_has_changed(name: str, group) -> None:
    counts, members = group
    first = ASSIGNORS[name]().assign(counts, members)
    second = ASSIGNORS[name]().assign(counts, rejoin(members, first, 1, name))
    assert second == first


@given(group=groups(same_topics=True))
def test_a_new_member_takes_no_more_than_its_share(group) -> None:
    counts, members = group
    before = StickyAssignor().assign(counts, members)
    newcomer = GroupMember("zz-new", members[0].topics)
    joined = [*rejoin(members, before, 1, "sticky"), newcomer]
    after = StickyAssignor().assign(counts, joined)
    assert_each_partition_has_one_owner(after, counts, joined)
    for member in members:
        kept = set(before[member.member_id]) & set(after[member.member_id])
        assert kept == set(after[member.member_id])
    assert len(after["zz-new"]) == len(all_partitions(counts, joined)) // len(joined)


@given(group=groups(same_topics=True))
def test_what_a_leaver_had_is_divided_and_nothing_else_moves(group) -> None:
    counts, members = group
    before = StickyAssignor().assign(counts, members)
    staying = rejoin(members, before, 1, "sticky")[1:]
    if not staying:
        return
    after = StickyAssignor().assign(counts, staying)
    for member in staying:
        assert set(before[member.member_id]) <= set(after[member.member_id])


@given(group=groups(), leaves=st.integers(0, 5))
@settings(max_examples=50)
def test_cooperative_members_never_own_a_partition_twice_and_settle_in_two_rounds(group, leaves: int) -> None:
    counts, members = group
    assignor = CooperativeStickyAssignor()
    owned = assignor.assign(counts, members)
    members = [m for i, m in enumerate(members) if i != leaves] or members
    members = [*members, GroupMember("zz-new", TOPICS)]
    held: Assignment = {m.member_id: list(owned.get(m.member_id, ())) for m in members}
    for generation in (1, 2, 3):
        assignment = assignor.assign(counts, rejoin(members, held, generation, "cooperative-sticky"))
        # In between everybody still holds what it held, so nobody else may be given that.
        for member in members:
            for other in members:
                if other is not member:
                    assert not set(assignment[member.member_id]) & set(held[other.member_id])
        held = assignment
    assert_each_partition_has_one_owner(held, counts, members)
    assert_nobody_can_hand_on(held, members)


def test_range_gives_contiguous_ranges_and_the_first_members_the_larger_ones() -> None:
    members = [GroupMember("y", ("a", "b")), GroupMember("x", ("a", "b"))]
    assignment = RangeAssignor().assign({"a": 3, "b": 3}, members)
    assert assignment["x"] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert assignment["y"] == [("a", 2), ("b", 2)]


def test_round_robin_goes_past_members_without_the_topic() -> None:
    members = [GroupMember("x", ("a",)), GroupMember("y", ("a", "b")), GroupMember("z", ("b",))]
    assignment = RoundRobinAssignor().assign({"a": 3, "b": 2}, members)
    assert assignment == {
        "x": [("a", 0), ("a", 2)],
        "y": [("a", 1), ("b", 0)],
        "z": [("b", 1)],
    }


def test_static_members_keep_their_place_by_instance_id() -> None:
    first = [GroupMember("1", ("a",), "late"), GroupMember("2", ("a",), "early"), GroupMember("0", ("a",))]
    again = [replace(member, member_id=f"new-{member.member_id}") for member in first]
    before = RangeAssignor().assign({"a": 5}, first)
    after = RangeAssignor().assign({"a": 5}, again)
    assert before["2"] == [("a", 0), ("a", 1)]
    assert after == {f"new-{member_id}": partitions for member_id, partitions in before.items()}


def test_of_two_claims_to_a_partition_the_later_generation_wins() -> None:
    members = [
        GroupMember("x", ("a",), owned=(TopicPartition("a", 0), TopicPartition("a", 1)), generation=3),
        GroupMember("y", ("a",), owned=(TopicPartition("a", 0), TopicPartition("a", 1)), generation=5),
        GroupMember("z", ("a",)),
    ]
    assignment = StickyAssignor().assign({"a": 2}, members)
    assert len(assignment["y"]) == 1
    assert sum(map(len, assignment.values())) == 2


@given(
    owned=st.lists(st.tuples(st.text(max_size=9), st.integers(0, 99)), unique=True),
    generation=st.integers(-1, 2**31 - 1),
)
def test_sticky_user_data_comes_back_as_it_was(owned: list[tuple[str, int]], generation: int) -> None:
    partitions = [TopicPartition(*partition) for partition in owned]
    data = encode_sticky_user_data(partitions, generation)
    decoded, decoded_generation = decode_sticky_user_data(data)
    assert sorted(decoded) == sorted(partitions)
    assert decoded_generation == generation


@given(data=st.binary(max_size=60))
def test_user_data_that_makes_no_sense_counts_as_none(data: bytes) -> None:
    owned, generation = decode_sticky_user_data(data)
    assert isinstance(generation, int)
    assert all(isinstance(partition, TopicPartition) for partition in owned)


def test_a_thousand_members_are_divided_quickly() -> None:
    members = [GroupMember(f"m{i}", ("big",)) for i in range(1000)]
    counts = {"big": 10_000}
    first = CooperativeStickyAssignor().assign(counts, members)
    joined = [*rejoin(members, first, 1, "cooperative-sticky"), GroupMember("new", ("big",))]
    second = CooperativeStickyAssignor().assign(counts, joined)
    moved = 10_000 - sum(len(partitions) for partitions in second.values())
    assert moved == 9
