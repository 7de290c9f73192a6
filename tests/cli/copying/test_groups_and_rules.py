"""What a copy carries over beside records: where groups stand, and rules of access."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from tests.cli.conftest import command_line
from tests.cli.copying.test_copy import fill, read

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.cli.copying import carrying
from barnabas.cli.copying.groups import CarriedOffset
from barnabas.client.admin.types import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.types import OffsetAndMetadata

Here = Callable[..., Any]
Made = Callable[..., str]
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def other_broker() -> Iterator[EmbeddedBroker]:
    """Another cluster than the embedded broker of all tests, with rules of access."""
    with EmbeddedBroker(config=GUARDED) as broker:
        yield broker


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    with Consumer(bootstrap, group_id=group) as consumer:
        consumer.commit({TopicPartition(topic, number): offset for number, offset in offsets.items()})


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    with Admin(bootstrap) as admin:
        return {
            (place.topic, place.partition): at.offset for place, at in admin.list_group_offsets(group).items()
        }


def elsewhere(other: EmbeddedBroker, *arguments: str) -> tuple[str, ...]:
    return ("--to-bootstrap", other.bootstrap, "--create-topics", *arguments)


def test_groups_go_on_at_the_target_with_the_record_that_comes_next(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made
) -> None:
    source = made(partitions=2)
    fill(embedded_broker.bootstrap, source, 20, 2)
    with Admin(embedded_broker.bootstrap) as admin:
        # The target's offsets are others than the source's.
        admin.delete_records({TopicPartition(source, 0): 3})
    group, behind, other = f"{source}-g", f"{source}-h", f"{source}-x"
    commit(embedded_broker.bootstrap, group, source, {0: 5, 1: 10})
    commit(embedded_broker.bootstrap, behind, source, {0: 1})
    commit(embedded_broker.bootstrap, other, source, {0: 5})
    arguments = ("copy", source, *elsewhere(other_broker), "--exactly-once")
    chosen = ("--groups", group, "--groups", f"{source}-[h]")
    shown = here(*arguments, *chosen, "--dry-run")
    assert "after the copy" in shown.stdout
    done = here(*arguments, *chosen)
    assert "offsets of 2 groups carried over in 3 partitions" in done.stderr
    first, second = (read_values(other_broker, source, number) for number in (0, 1))
    found = committed(other_broker.bootstrap, group)
    # Offset 5 of partition 0 was v10.
    assert first[found[source, 0]] == b"v10"
    assert found[source, 1] > max(second)
    assert committed(other_broker.bootstrap, behind) == {(source, 0): min(first)}
    assert committed(other_broker.bootstrap, other) == {}
    # A later copy, which copies nothing, finds what an earlier one has copied.
    commit(embedded_broker.bootstrap, group, source, {0: 7})
    rows = json.loads(here(*arguments, *chosen, "--dry-run", "--json").stdout)["groups"]
    (row,) = [row for row in rows if (row["group"], row["partition"]) == (group, 0)]
    assert (row["offset"], first[row["target_offset"]]) == (7, b"v14")
    again = json.loads(here(*arguments, *chosen, "--json").stdout)
    assert again["records"] == 0
    assert first[committed(other_broker.bootstrap, group)[source, 0]] == b"v14"
    assert {row["note"] for row in again["groups"] if row["group"] == behind} == {f"at {min(first)} already"}


def test_a_group_goes_on_in_a_copy_within_its_cluster(
    cli: Here, broker: ApacheKafka | EmbeddedBroker, created: Made
) -> None:
    source, target = created(partitions=2), created(partitions=2)
    fill(broker.bootstrap, source, 20, 2)
    group = f"{source}-g"
    commit(broker.bootstrap, group, source, {0: 5, 1: 10})
    cli("copy", source, "--to", target, "--exactly-once", "--groups", group)
    found = committed(broker.bootstrap, group)
    records = {(each.partition, each.offset): each.value for each in read(broker.bootstrap, target)}
    assert records[0, found[target, 0]] == b"v10"
    assert not [place for place in records if place[0] == 1 and place[1] >= found[target, 1]]


def read_values(broker: EmbeddedBroker, topic: str, partition: int) -> dict[int, bytes | None]:
    return {
        record.offset: record.value
        for record in read(broker.bootstrap, topic)
        if record.partition == partition
    }


def test_records_that_look_the_same_are_distinguished_by_headers_that_name_their_source(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made
) -> None:
    source = made()
    with Producer(embedded_broker.bootstrap) as producer:
        for _ in range(10):
            producer.send(source, b"same", timestamp=1_700_000_000_000)
    group = f"{source}-g"
    commit(embedded_broker.bootstrap, group, source, {0: 6})
    copied = ("copy", source, *elsewhere(other_broker), "--groups", group)
    here(*copied)
    # The first that looks so: nothing is passed over.
    assert committed(other_broker.bootstrap, group) == {(source, 0): 0}
    here(*copied, "--prefix", "dr.", "--source-headers")
    assert committed(other_broker.bootstrap, group)[f"dr.{source}", 0] == 6


def test_of_a_copy_of_some_records_a_group_goes_on_with_the_next_that_was_copied(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made
) -> None:
    source = made()
    fill(embedded_broker.bootstrap, source, 10)
    group = f"{source}-g"
    commit(embedded_broker.bootstrap, group, source, {0: 3})
    arguments = ("copy", source, *elsewhere(other_broker), "--groups", group)
    here(*arguments, "--match-value", "v[28]")
    assert committed(other_broker.bootstrap, group) == {(source, 0): 1}
    # It stands before what was copied.
    here(*arguments, "--prefix", "late.", "--offset", "5")
    assert committed(other_broker.bootstrap, group)[f"late.{source}", 0] == 0


def test_where_a_group_goes_on_that_cannot_be_found_is_told(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made
) -> None:
    source = made()
    fill(embedded_broker.bootstrap, source, 4)
    group = f"{source}-g"
    commit(embedded_broker.bootstrap, group, source, {0: 2})
    with Admin(other_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(source, 1, configs={"message.timestamp.type": "LogAppendTime"})])
    done = here("copy", source, *elsewhere(other_broker), "--groups", group)
    assert f"where group {group} goes on, {source}-0 at offset 2, was not found" in done.stderr
    assert committed(other_broker.bootstrap, group) == {}


def test_an_open_transaction_at_the_target_holds_nothing_up_and_metadata_goes_along(
    here: Here,
    embedded_broker: EmbeddedBroker,
    other_broker: EmbeddedBroker,
    made: Made,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.cli.copying.groups.STALLED_SECONDS", 0.5)
    source = made()
    fill(embedded_broker.bootstrap, source, 4)
    first, second = f"{source}-1", f"{source}-2"
    for group, offset in ((first, 1), (second, 3)):
        with Consumer(embedded_broker.bootstrap, group_id=group) as consumer:
            consumer.commit({TopicPartition(source, 0): OffsetAndMetadata(offset, f"at {offset}")})
    with Admin(other_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(source, 1)])
    copied = ("copy", source, *elsewhere(other_broker))
    here(*copied, "--max", "2")
    with Producer(other_broker.bootstrap, transactional_id=source) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(source, b"of another program").result()
            # What comes behind it cannot be read yet.
            done = here(*copied, "--offset", "2", "--groups", first, "--groups", second, "--group", source)
    assert f"where group {second} goes on, {source}-0 at offset 3, was not found" in done.stderr
    with Admin(other_broker.bootstrap) as admin:
        found = admin.list_group_offsets(first)[TopicPartition(source, 0)]
        assert (found.offset, found.metadata) == (1, "at 1")


def test_groups_are_checked_before_anything_is_copied(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made
) -> None:
    one, two = made(), made()
    fill(embedded_broker.bootstrap, one, 1)
    for arguments, message in [
        ((one, "--groups", "no-such"), "error: --groups 'no-such': the source has no such group"),
        ((one, "--groups", "("), "--groups '(' is no regular expression"),
        ((one, "--groups", ".*", "--by-key"), "--groups needs each partition to be copied to one of its own"),
        ((one, two, "--groups", ".*", "--to", "all"), "do not give several topics one name"),
    ]:
        refused = here("copy", *arguments, *elsewhere(other_broker), ok=False)
        assert message in refused.stderr
    with Admin(other_broker.bootstrap) as admin:
        assert one not in admin.list_topics()


def test_a_group_with_members_at_the_target_is_left_alone(
    here: Here, embedded_broker: EmbeddedBroker, made: Made
) -> None:
    source, target = made(), made()
    fill(embedded_broker.bootstrap, source, 4)
    group = f"{source}-g"
    commit(embedded_broker.bootstrap, group, source, {0: 2})
    with Consumer(embedded_broker.bootstrap, topics=[source], group_id=group) as consumer:
        while not consumer.assignment():
            consumer.poll(timeout=0.1)
        done = here("copy", source, "--to", target, "--groups", group)
    assert f"offsets of group {group} are not carried over: the group has members" in done.stderr
    assert (target, 0) not in committed(embedded_broker.bootstrap, group)


def test_a_copy_that_follows_carries_groups_over_when_it_ends(
    embedded_broker: EmbeddedBroker,
    other_broker: EmbeddedBroker,
    made: Made,
    eventually: Callable[..., object],
) -> None:
    source = made()
    group = f"{source}-g"
    fill(embedded_broker.bootstrap, source, 3)
    commit(embedded_broker.bootstrap, group, source, {0: 1})
    command = command_line("copy", source, "-b", embedded_broker.bootstrap, "--follow", "--groups", group)
    copying = subprocess.Popen([*command, *elsewhere(other_broker)], stderr=subprocess.PIPE, text=True)
    with Admin(other_broker.bootstrap) as admin:
        eventually(lambda: source in admin.list_topics())
    eventually(lambda: len(read(other_broker.bootstrap, source)) == 3)
    copying.send_signal(signal.SIGINT)
    _, errors = copying.communicate(timeout=30)
    assert copying.returncode == 0, errors
    assert committed(other_broker.bootstrap, group) == {(source, 0): 1}


def test_groups_are_looked_at_again_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Transfer:
        looks = 0

        def committed(self, targets: object, partitions: object) -> dict[Any, int]:
            return {}

        def found(self, *_: object, is_before: bool) -> list[Any]:
            return []

        def commit(self, rows: list[Any]) -> list[Any]:
            Transfer.looks += 1
            return rows

    transfer: Any = Transfer()
    consumer: Any = None
    groups = carrying.GroupCarrying(transfer, consumer, [], [], {}, None)
    groups.run_when_due()
    assert Transfer.looks == 0
    monkeypatch.setattr(carrying, "GROUPS_SECONDS", 0.0)
    groups.run_when_due()
    assert Transfer.looks == 1


def test_rules_of_access_of_topics_are_made_at_the_target_for_their_names_there(
    here: Here, other_broker: EmbeddedBroker, topic: Callable[[], str]
) -> None:
    source, bootstrap = topic(), other_broker.bootstrap

    def rule(name: str, principal: str, pattern: ResourcePatternType, operation: AclOperation) -> AclBinding:
        kind, allow = AclResourceType.TOPIC, AclPermissionType.ALLOW
        return AclBinding(kind, name, principal, operation, allow, "*", pattern)

    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(source, 1)])
        admin.create_acls(
            [
                rule(source, "User:alice", literal, AclOperation.READ),
                rule(source, "User:bob", literal, AclOperation.WRITE),
                rule(source[:-1], "User:carol", prefixed, AclOperation.READ),
                rule(f"{source}-2", "User:dan", literal, AclOperation.READ),
            ]
        )
        arguments = ("copy", source, "--prefix", "dr.", "--create-topics", "--acls")
        shown = here(*arguments, "--dry-run", "--json", BARNABAS_BOOTSTRAP=bootstrap)
        assert [each["principal"] for each in json.loads(shown.stdout)["acls"]] == ["User:alice", "User:bob"]
        assert f"dr.{source}" not in {each.resource_name for each in admin.describe_acls()}
        done = here(*arguments, BARNABAS_BOOTSTRAP=bootstrap)
        assert "2 rules of access made at the target" in done.stderr
        assert "1 rule for prefixes or * not copied" in done.stderr
        found = {each for each in admin.describe_acls() if each.resource_name == f"dr.{source}"}
        assert found == {
            rule(f"dr.{source}", "User:alice", literal, AclOperation.READ),
            rule(f"dr.{source}", "User:bob", literal, AclOperation.WRITE),
        }


def test_rules_of_access_of_copied_groups_are_made_at_the_target_too(
    here: Here, other_broker: EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name = topic()
    mine, others = f"{name}-readers", f"{name}-of-another-topic"
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED

    def rule(name: str, principal: str, pattern: ResourcePatternType = literal) -> AclBinding:
        kind, allow = AclResourceType.GROUP, AclPermissionType.ALLOW
        return AclBinding(kind, name, principal, AclOperation.READ, allow, "*", pattern)

    with (
        EmbeddedBroker(config=GUARDED, storage="memory") as source,
        Admin(source.bootstrap) as admin,
        Admin(other_broker.bootstrap) as to_admin,
    ):
        admin.create_topics([NewTopic(name, 1), NewTopic(f"{name}-2", 1)])
        admin.create_acls(
            [
                rule(mine, "User:alice"),
                rule(name, "User:carol", prefixed),
                rule(others, "User:dan"),
            ]
        )
        commit(source.bootstrap, mine, name, {0: 0})
        commit(source.bootstrap, others, f"{name}-2", {0: 0})
        groups = ("--acls", "--groups", f"{name}-.*")
        arguments = ("copy", name, *elsewhere(other_broker, *groups))
        shown = here(*arguments, "--dry-run", "--json", BARNABAS_BOOTSTRAP=source.bootstrap)
        assert json.loads(shown.stdout)["group_acls"] == [
            {
                "group": mine,
                "principal": "User:alice",
                "host": "*",
                "operation": "read",
                "permission": "allow",
            }
        ]
        table = here(*arguments, "--dry-run", BARNABAS_BOOTSTRAP=source.bootstrap)
        assert "GROUP" in table.stdout
        assert "User:alice" in table.stdout
        assert "barnabas acls list --group shows which" in table.stderr
        assert not [each for each in to_admin.describe_acls() if each.resource_name.startswith(name)]
        done = here(*arguments, BARNABAS_BOOTSTRAP=source.bootstrap)
        assert "1 rule of access made at the target" in done.stderr
        found = [each for each in to_admin.describe_acls() if each.resource_name.startswith(name)]
        assert found == [rule(mine, "User:alice")]


def test_rules_are_made_for_groups_that_come_while_a_copy_follows() -> None:
    class Transfer:
        rows: ClassVar[list[CarriedOffset]] = []

        def committed(self, targets: object, partitions: object) -> dict[Any, int]:
            return {("first", TopicPartition("t", 0)): 1}

        def found(self, *_: object, is_before: bool) -> list[CarriedOffset]:
            return self.rows

        def commit(self, rows: list[CarriedOffset]) -> list[CarriedOffset]:
            return rows

    made: list[Sequence[str]] = []
    transfer: Any = Transfer()
    consumer: Any = None
    groups = carrying.GroupCarrying(transfer, consumer, [], [], {}, made.append)
    Transfer.rows = [CarriedOffset(group, "t", 0, 1, "t", 1) for group in ("first", "second")]
    groups.run()
    groups.run()
    assert (groups.groups, made) == (["first", "second"], [["second"]])


def test_rules_are_told_not_to_be_there_where_the_source_has_no_authorizer(
    here: Here, other_broker: EmbeddedBroker, made: Made
) -> None:
    source = made()
    refused = here("copy", source, *elsewhere(other_broker), "--acls", ok=False)
    assert refused.stderr == (
        "error: describing ACLs: SECURITY_DISABLED (No Authorizer is configured on the broker)\n"
    )
