from __future__ import annotations

import uuid

from barnabas import TopicPartition
from barnabas.broker_errors import KafkaStorageError
from barnabas.cli.groups.lags import GroupLag
from barnabas.cli.health import findings
from barnabas.cli.health.findings import HealthFinding, Severity
from barnabas.client.admin.types import (
    FeatureMetadata,
    GroupListing,
    LogDirDescription,
    PartitionReassignment,
    ProducerState,
    QuorumInfo,
    QuorumReplica,
    VersionRange,
)
from barnabas.types import PartitionInfo


def partition(leader: int, in_sync: tuple[int, ...], number: int = 0) -> PartitionInfo:
    return PartitionInfo("orders", number, leader, 0, (1, 2, 3), in_sync)


def told(found: list[HealthFinding]) -> list[tuple[Severity, str, str]]:
    return [(each.status, each.what, each.problem) for each in found]


def test_a_partition_is_as_bad_as_what_its_clients_meet() -> None:
    infos = [
        partition(1, (1, 2, 3), 0),
        partition(1, (1, 2), 1),
        partition(1, (1,), 2),
        partition(-1, (), 3),
        partition(1, (1, 2), 4),
    ]
    moving = {TopicPartition("orders", 4): PartitionReassignment((1, 2, 3), (3,), ())}
    assert told(findings.partitions(infos, {"orders": 2}, moving)) == [
        (Severity.WARNING, "orders:1", "has replicas that are not in sync"),
        (Severity.CRITICAL, "orders:2", "takes no records with acks=all"),
        (Severity.CRITICAL, "orders:3", "has no leader"),
        (Severity.WARNING, "orders:4", "is being moved"),
    ]


def test_a_leader_is_out_of_place_only_where_the_preferred_one_could_lead() -> None:
    infos = [
        partition(2, (1, 2, 3), 0),
        partition(2, (2, 3), 1),
        partition(1, (1,), 2),
        partition(2, (1, 2), 3),
    ]
    moving = [TopicPartition("orders", 3)]
    assert [each.what for each in findings.leaders(infos, moving)] == ["orders:0"]


def test_a_folder_is_critical_when_it_is_offline_and_a_warning_when_it_is_nearly_full() -> None:
    def folder(usable: int | None, error: KafkaStorageError | None = None) -> LogDirDescription:
        return LogDirDescription(error, {}, {}, None if usable is None else 100, usable, False)

    folders = {
        1: {"/full": folder(9), "/fine": folder(10), "/unknown": folder(None)},
        2: {"/gone": folder(None, KafkaStorageError("the disk is broken"))},
    }
    assert told(findings.log_dirs(folders, 10)) == [
        (Severity.WARNING, "broker 1 /full", "is nearly full"),
        (Severity.CRITICAL, "broker 2 /gone", "is offline"),
    ]


def test_a_controller_follows_if_it_caught_up_by_the_leaders_clock() -> None:
    def voter(number: int, caught_up_ms: int | None) -> QuorumReplica:
        return QuorumReplica(number, uuid.UUID(int=0), 9, None, caught_up_ms)

    voters = (voter(1, 100_000), voter(2, 99_000), voter(3, 60_000), voter(4, None))
    assert [each.what for each in findings.quorum(QuorumInfo(1, 1, 9, voters, (), {}))] == [
        "controller 3",
        "controller 4",
    ]
    assert told(findings.quorum(QuorumInfo(-1, 1, 9, voters, (), {}))) == [
        (Severity.CRITICAL, "quorum", "has no leader")
    ]


def test_groups_that_nobody_reads_for_or_that_are_too_far_behind_are_named() -> None:
    def group(name: str, state: str) -> GroupListing:
        return GroupListing(name, "consumer", state, "classic")

    place = TopicPartition("orders", 0)
    behind = {"a": 5, "b": 5, "c": 0, "d": None}
    lags = {name: GroupLag({place: 0}, {place: lag}) for name, lag in behind.items()}
    listed = [group(name, "Stable" if name == "b" else "Empty") for name in "abcde"]
    assert told(findings.groups(listed, lags, None)) == [
        (Severity.WARNING, "group a", "has no members, and has lag")
    ]
    assert [each.what for each in findings.groups(listed, lags, 4)] == ["group a", "group b"]
    assert [each.what for each in findings.groups(listed, lags, 5)] == ["group a"]


def test_brokers_of_different_versions_are_named() -> None:
    def supports(**highest: int) -> FeatureMetadata:
        return FeatureMetadata({}, None, {name: VersionRange(0, level) for name, level in highest.items()})

    apis = {1: {"Fetch": VersionRange(4, 18)}, 2: {"Fetch": VersionRange(4, 18)}}
    assert findings.versions({1: supports(a=1, b=2), 2: supports(a=1, b=2)}, apis) == []
    apis[2] = {"Fetch": VersionRange(4, 17)}
    one, two, api = findings.versions({1: supports(a=1, b=2), 2: supports(b=3)}, apis)
    assert (one.what, one.detail) == ("feature a", "highest version of broker 1: 1, broker 2: -")
    assert (two.what, two.detail) == ("feature b", "highest version of broker 1: 2, broker 2: 3")
    assert (api.what, api.detail) == ("API Fetch", "highest version of broker 1: 18, broker 2: 17")


def test_a_transaction_that_hangs_is_critical() -> None:
    state = ProducerState(7, 0, 1, 2, None, 42)
    (found,) = findings.transactions([(TopicPartition("orders", 1), state)])
    assert (found.status, found.what) == (Severity.CRITICAL, "orders:1")
    assert found.detail == "of producer 7, from offset 42"
