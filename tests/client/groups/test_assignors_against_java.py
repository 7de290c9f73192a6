"""Kafka's own assignors read our subscriptions, and ours divide as they do, or better."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.assignor import NO_RACKS, Assignment, GroupMember, PartitionRacks
from barnabas.client.groups.assignors import ASSIGNORS, decode_sticky_user_data
from barnabas.client.groups.classic_messages import (
    decode_assignment,
    decode_subscription,
    encode_subscription,
)
from barnabas.settings.table import AssignorName
from barnabas.testing.distribution import KafkaDistribution, java_command
from barnabas.types import TopicPartition

SOURCE = Path(__file__).with_name("Assignors.java")
TOPICS = ("a", "b", "c", "d")


class Case(NamedTuple):
    name: AssignorName
    counts: dict[str, int]
    members: list[GroupMember]
    subscriptions: list[bytes]
    racks: PartitionRacks = NO_RACKS


def run_java(cases: Sequence[Case]) -> list[Assignment]:
    """What Java's assignors make of each case."""
    lines: list[str] = []
    for case in cases:
        topics = " ".join(f"{topic}={count}" for topic, count in case.counts.items())
        members = " ".join(
            f"{member.member_id}={member.group_instance_id or ''}={subscription.hex()}"
            for member, subscription in zip(case.members, case.subscriptions, strict=True)
        )
        racks = " ".join(f"{partition}={','.join(sorted(of))}" for partition, of in case.racks.items())
        lines.append(f"{case.name};{topics};{members};{racks}\n")
    result = subprocess.run(
        [java_command(), "-cp", KafkaDistribution().class_path, str(SOURCE)],
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    answers = result.stdout.splitlines()
    assert len(answers) == len(cases)
    return [
        {
            member: sorted(decode_assignment(bytes.fromhex(assignment)))
            for member, _, assignment in (entry.partition("=") for entry in answer.split())
        }
        for answer in answers
    ]


def make_case(
    random_: random.Random, name: AssignorName, *, same_topics: bool, with_racks: bool = False
) -> Case:
    """A group that had an assignment before, from which some members left, and to which some came."""
    counts = {topic: random_.randint(0, 9) for topic in TOPICS}
    shared = random_.sample(TOPICS, random_.randint(1, 4))
    names = [f"m{number}" for number in range(random_.randint(1, 7))]
    topics = {n: shared if same_topics else random_.sample(TOPICS, random_.randint(1, 4)) for n in names}
    instances = {n: f"i{n}" if random_.random() < 0.3 else None for n in names}
    names_of_racks = ("r1", "r2", "r3")
    member_racks = {n: random_.choice((*names_of_racks, None)) if with_racks else None for n in names}
    racks = {
        TopicPartition(topic, number): frozenset(random_.sample(names_of_racks, random_.randint(1, 3)))
        for topic, count in counts.items()
        for number in range(count)
        if with_racks
    }
    assignor = ASSIGNORS[name]()
    before = assignor.assign(
        {topic: max(0, count - random_.randint(0, 2)) for topic, count in counts.items()},
        [GroupMember(n, tuple(topics[n]), instances[n]) for n in names if random_.random() < 0.8],
    )
    members: list[GroupMember] = []
    subscriptions: list[bytes] = []
    for n in names:
        owned = before.get(n, [])
        generation = 5 if n in before else -1
        encoded = encode_subscription(
            topics[n],
            owned if assignor.cooperative else [],
            generation,
            assignor.user_data(owned, generation),
            member_racks[n],
        )
        members.append(decode_subscription(n, instances[n], encoded))
        subscriptions.append(encoded)
    # Java's assignors are only ever told of topics that somebody subscribed to.
    subscribed = {topic for member in members for topic in member.topics}
    return Case(name, {t: c for t, c in counts.items() if t in subscribed}, members, subscriptions, racks)


def owned_by(case: Case, member: GroupMember) -> set[tuple[str, int]]:
    if ASSIGNORS[case.name].cooperative:
        return set(member.owned)
    return set(decode_sticky_user_data(member.user_data)[0])


def kept(case: Case, assignment: Assignment) -> int:
    """How many partitions stay with their owner."""
    return sum(len(set(assignment[m.member_id]) & owned_by(case, m)) for m in case.members)


def ours(case: Case) -> Assignment:
    assignment = ASSIGNORS[case.name]().assign(case.counts, case.members, case.racks)
    return {member: sorted(partitions) for member, partitions in assignment.items()}


Answers = list[tuple[Case, Assignment]]


@pytest.fixture(scope="module")
def java_answers() -> dict[tuple[str, bool], Answers]:
    """Cases by assignor and by whether all members subscribe to the same topics, out of one run of Java."""
    random_ = random.Random(0)
    kinds = [(name, same_topics) for name in ASSIGNORS for same_topics in (True, False)]
    cases = [make_case(random_, name, same_topics=same) for name, same in kinds for _ in range(150)]
    answers: dict[tuple[str, bool], Answers] = {}
    for number, (case, java) in enumerate(zip(cases, run_java(cases), strict=True)):
        answers.setdefault(kinds[number // 150], []).append((case, java))
    return answers


@pytest.mark.parametrize("same_topics", [True, False])
@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_range_and_round_robin_give_what_java_gives(
    name: AssignorName, same_topics: bool, java_answers: dict[tuple[str, bool], Answers]
) -> None:
    for case, java in java_answers[name, same_topics]:
        assert ours(case) == java, case


def test_sticky_shares_are_those_of_java_and_as_many_partitions_stay(
    java_answers: dict[tuple[str, bool], Answers],
) -> None:
    for case, java in java_answers["sticky", True]:
        assignment = ours(case)
        assert kept(case, assignment) == kept(case, java), case
        shares = sorted(len(partitions) for partitions in assignment.values())
        assert shares == sorted(len(partitions) for partitions in java.values()), case


def test_cooperative_members_give_up_as_few_partitions_as_in_java(
    java_answers: dict[tuple[str, bool], Answers],
) -> None:
    for case, java in java_answers["cooperative-sticky", True]:
        assignment = ours(case)
        assert kept(case, assignment) == kept(case, java), case
        assert sum(map(len, assignment.values())) == sum(map(len, java.values())), case


def test_with_different_subscriptions_shares_are_at_least_as_even_as_in_java(
    java_answers: dict[tuple[str, bool], Answers],
) -> None:
    for case, java in java_answers["sticky", False]:
        squares = [sum(len(partitions) ** 2 for partitions in a.values()) for a in (ours(case), java)]
        assert squares[0] <= squares[1], case


@pytest.fixture(scope="module")
def java_answers_with_racks() -> dict[str, Answers]:
    random_ = random.Random(1)
    names: list[AssignorName] = ["range", "sticky", "cooperative-sticky"]
    cases = [
        make_case(random_, name, same_topics=name != "range" or number % 2 == 0, with_racks=True)
        for name in names
        for number in range(200)
    ]
    answers: dict[str, Answers] = {}
    for case, java in zip(cases, run_java(cases), strict=True):
        answers.setdefault(case.name, []).append((case, java))
    return answers


def near(case: Case, assignment: Assignment) -> int:
    """How many partitions have a replica in their owner's rack."""
    racks = {member.member_id: member.rack for member in case.members}
    return sum(
        racks[member] is None or racks[member] in case.racks[partition]
        for member, partitions in assignment.items()
        for partition in partitions
    )


def test_range_matches_racks_as_java_does(java_answers_with_racks: dict[str, Answers]) -> None:
    for case, java in java_answers_with_racks["range"]:
        assert ours(case) == java, case


def test_sticky_keeps_its_even_shares_and_as_many_partitions_near_as_in_java(
    java_answers_with_racks: dict[str, Answers],
) -> None:
    ours_near = javas_near = 0
    for case, java in java_answers_with_racks["sticky"]:
        assignment = ours(case)
        shares = sorted(len(partitions) for partitions in assignment.values())
        assert shares == sorted(len(partitions) for partitions in java.values()), case
        ours_near += near(case, assignment)
        javas_near += near(case, java)
    assert ours_near >= javas_near
