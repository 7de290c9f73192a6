from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.streams_groups.streams_session import StreamsSession
from tests.waiting import Patience

from barnabas import Admin, Consumer, ShareConsumer
from barnabas.broker_errors import UnknownMemberIdError
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

Cli = Callable[..., subprocess.CompletedProcess[str]]
Created = Callable[..., str]


@pytest.fixture
def group(cli: Cli, created: Created) -> str:
    """A group of the name of its topic, which has read 3 of 5 records and has no members."""
    name = created()
    cli("produce", name, input="a\nb\nc\nd\ne\n")
    cli("consume", name, "--group", name, "--from-beginning", "--max", "3")
    return name


def progress(cli: Cli, group: str) -> dict:
    (found,) = json.loads(cli("groups", "describe", group, "--json").stdout)
    return found


def test_a_group_is_listed_with_its_state(cli: Cli, group: str) -> None:
    found = {each["group"]: each for each in json.loads(cli("groups", "list", "--json").stdout)}
    assert found[group]["state"] == "Empty"
    assert group in cli("groups", "list").stdout


def test_describe_shows_offsets_and_lag(cli: Cli, group: str) -> None:
    found = progress(cli, group)
    assert (found["state"], found["members"], found["lag"]) == ("Empty", 0, 2)
    (partition,) = found["partitions"]
    assert (partition["committed"], partition["end_offset"], partition["lag"]) == (3, 5, 2)
    assert "LAG" in cli("groups", "describe", group).stdout


def test_a_partition_without_a_committed_offset_is_not_taken_for_one_without_lag(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created
) -> None:
    name = created(partitions=2)
    cli("produce", name, "--partition", "0", input="a\nb\n")
    with Consumer(
        broker.bootstrap, topics=[name], group_id=name, enable_auto_commit=False, auto_offset_reset="earliest"
    ) as consumer:
        assert consumer.poll_one(30) is not None
        found = progress(cli, name)
        assert (found["lag"], found["partitions_without_lag"]) == (None, 2)
        consumer.commit({(name, 0): 1})
        found = progress(cli, name)
        assert (found["lag"], found["partitions_without_lag"]) == (1, 1)


def test_describe_shows_who_has_a_partition(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, group: str, eventually: Callable[..., list]
) -> None:
    arguments = ["consume", group, "--group", group, "-b", broker.bootstrap, "-X", "client.id=owner"]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", *arguments], stdout=subprocess.DEVNULL
    ) as member:
        try:
            owners = eventually(
                lambda: [p["client_id"] for p in progress(cli, group)["partitions"] if p["client_id"]], 30
            )
        finally:
            member.terminate()
    assert owners == ["owner"]


def rows(cli: Cli, *arguments: str) -> list:
    return json.loads(cli(*arguments, "--json").stdout)


def test_members_are_shown_and_put_out_of_their_group(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created
) -> None:
    name = created()
    assert f"there is no group {name!r}" in cli("groups", "members", name, ok=False).stderr
    # It stays a member when it goes, as those with an id of their own do.
    with Consumer(broker.bootstrap, topics=[name], group_id=name, group_instance_id="first") as consumer:
        while not consumer.assignment():
            consumer.poll(timeout=1)
    (member,) = rows(cli, "groups", "members", name)
    assert (member["instance_id"], member["partitions"]) == ("first", [f"{name}-0"])
    for which in (["--instance-id", "first"], ["--member-id", member["member_id"]], ["--all"]):
        tried = cli("groups", "remove-members", name, *which, "--dry-run").stderr
        assert tried.startswith("would put ")
    wrong = cli("groups", "remove-members", name, "-i", "second", "--dry-run", ok=False)
    assert wrong.stderr == f"error: group {name!r} has no member 'second'\n"
    nobody = cli("groups", "remove-members", name, "--yes", ok=False)
    assert "name members by --instance-id or --member-id, or give --all" in nobody.stderr
    done = cli("groups", "remove-members", name, "--instance-id", "first", "--yes")
    assert done.stderr == f"put 1 member out of {name}\n"
    assert rows(cli, "groups", "members", name) == []


def test_what_was_committed_of_a_topic_is_forgotten(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, group: str, created: Created
) -> None:
    other = created(partitions=3)
    with Consumer(broker.bootstrap, group_id=group) as consumer:
        consumer.commit({(other, 0): 0, (other, 1): 0, (other, 2): 0})

    def committed() -> list[tuple[str, int]]:
        return [(row["topic"], row["partition"]) for row in progress(cli, group)["partitions"]]

    forget = ("groups", "delete-offsets", group, "--topic")
    tried = rows(cli, *forget, f"{other}:1,2", "--dry-run")
    assert [(row["partition"], row["committed"]) for row in tried] == [(1, 0), (2, 0)]
    assert "add --yes" in cli(*forget, other, ok=False).stderr
    assert len(committed()) == 4
    cli(*forget, f"{other}:1,2", "--yes")
    assert sorted(committed()) == sorted([(group, 0), (other, 0)])
    assert cli(*forget, other, "--yes").stderr == f"forgot 1 offset of {group}\n"
    assert committed() == [(group, 0)]
    none = cli(*forget, other, "--yes", ok=False)
    assert none.stderr == f"error: group {group!r} has no committed offsets of {other}\n"


def test_a_group_of_kafka_streams_has_members_with_tasks(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, topic: Callable[[], str]
) -> None:
    async def join(name: str) -> str:
        session = await StreamsSession.open_raw(broker.bootstrap, name)
        await session.create_topic("a", 3)
        # Has the broker make the topic of groups, where there is none.
        await session.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[session.group]))
        topology = session.topology(session.part("0", ["a"]))
        patience = Patience()
        while not session.tasks.get("one", ([],))[0]:
            is_member = "one" in session.epochs
            await (session.owns("one") if is_member else session.beat("one", 0, topology))
            await patience.pause_async()
        session.connection.close()
        return session.group

    name = asyncio.run(join(topic()))
    assert cli("groups", "describe", name).stdout.startswith(f"{name}  Stable, 1 member, coordinator ")
    (member,) = rows(cli, "groups", "members", name)
    assert (member["member_id"], member["active_tasks"]) == ("one", ["0_0", "0_1", "0_2"])
    assert member["standby_tasks"] == []


def test_a_share_group_is_left_to_the_command_for_those(cli: Cli, created: Created) -> None:
    name = created()
    cli("share-groups", "reset-offsets", name, "--topic", name, "--to-earliest", "--yes")
    told = cli("groups", "describe", name, ok=False).stderr
    assert told == f"error: {name!r} is a share group: barnabas share-groups describe shows it\n"
    for arguments in (
        ("reset-offsets", name, "--to-earliest", "--dry-run"),
        ("reset-offsets", name, "--topic", name, "--to-earliest", "--yes"),
        ("delete-offsets", name, "--topic", name, "--yes"),
        ("remove-members", name, "--all", "--yes"),
    ):
        told = cli("groups", *arguments, ok=False).stderr
        assert (
            told == f"error: {name!r} is a share group: barnabas share-groups moves and forgets its offsets\n"
        )


def test_a_share_group_with_members_is_left_to_the_command_for_those_as_well(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created, eventually: Callable[..., object]
) -> None:
    name = created()
    with ShareConsumer(broker.bootstrap, topics=[name], group_id=name) as member:

        def state() -> str:
            member.poll(timeout=0.1)
            listed = json.loads(cli("groups", "list", "--json").stdout)
            return next((each["state"] for each in listed if each["group"] == name), "")

        eventually(lambda: state() == "Stable")
        for command in ("describe", "members"):
            told = cli("groups", command, name, ok=False).stderr
            assert told == f"error: {name!r} is a share group: barnabas share-groups describe shows it\n"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_reset_says_of_a_live_group_that_it_is_live(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created, protocol: str
) -> None:
    name = created()
    with Consumer(broker.bootstrap, topics=[name], group_id=name, group_protocol=protocol) as member:
        while not member.assignment():
            member.poll(timeout=0.1)
        member.commit({(name, 0): 0})
        reset = ("groups", "reset-offsets", name, "--to-latest")
        assert cli(*reset, "--dry-run").stderr == "nothing was changed: this was --dry-run\n"
        told = cli(*reset, "--yes", ok=False).stderr
        assert told == f"error: group {name!r} is live: it is Stable with 1 member; stop them first\n"
        with Admin(broker.bootstrap) as admin, pytest.raises(UnknownMemberIdError) as raised:
            admin.alter_group_offsets(name, {(name, 0): 0})
        assert str(raised.value) == (
            f"group {name!r}, {name}-0: UNKNOWN_MEMBER_ID (the group is live, and its offsets are set while "
            "it has no members; stop its members first)"
        )
    cli(*reset, "--yes")


def test_a_reset_is_shown_and_not_done_where_nobody_says_yes(cli: Cli, group: str) -> None:
    reset = ("groups", "reset-offsets", group, "--to-earliest", "--json")
    (shown,) = rows(cli, *reset[:-1], "--dry-run")
    assert (shown["committed"], shown["new_offset"]) == (3, 0)
    done = cli(*reset, ok=False)
    assert (json.loads(done.stdout), done.returncode) == ([shown], 1)
    assert done.stderr == f"error: move {group} in 1 partition: add --yes to do it without being asked\n"
    assert progress(cli, group)["partitions"][0]["committed"] == 3


def test_offsets_are_reset_in_every_way(cli: Cli, group: str) -> None:
    committed = 3
    for way, offset in [
        (["--shift-by", "-2"], 1),
        (["--to-earliest"], 0),
        (["--to-latest"], 5),
        (["--to-offset", "4"], 4),
        (["--to-offset", "99"], 5),
        (["--to-datetime", "2001-01-01"], 0),
        (["--to-datetime", "2999-01-01"], 5),
        (["--to-datetime", "2h"], 0),
        (["--to-current"], 0),
    ]:
        (partition,) = rows(cli, "groups", "reset-offsets", group, *way, "--yes")
        assert (way, partition["committed"], partition["new_offset"]) == (way, committed, offset)
        committed = offset
    assert progress(cli, group)["partitions"][0]["committed"] == committed


def test_offsets_of_a_new_group_are_set_by_topic(
    cli: Cli, created: Created, topic: Callable[[], str]
) -> None:
    name, group = created(partitions=2), topic()
    cli("produce", name, "-p", "1", input="a\nb\n")
    cli("groups", "reset-offsets", group, "--topic", f"{name}:1", "--to-latest", "--yes")
    assert [(p["partition"], p["committed"]) for p in progress(cli, group)["partitions"]] == [(1, 2)]


def test_a_reset_needs_one_way(cli: Cli, group: str) -> None:
    for ways in ([], ["--to-earliest", "--to-latest"]):
        done = cli("groups", "reset-offsets", group, *ways, ok=False)
        assert done.returncode == 1
        assert "give one of" in done.stderr


def test_a_deleted_group_is_gone(cli: Cli, group: str) -> None:
    cli("groups", "delete", group, "--yes")
    assert group not in cli("groups", "list").stdout.split()


def test_a_group_that_is_not_there_cannot_be_deleted(cli: Cli, topic: Callable[[], str]) -> None:
    name = topic()
    done = cli("groups", "delete", name, "--yes", ok=False)
    assert done.returncode == 1
    assert name in done.stderr


def test_a_group_that_is_not_there_cannot_be_described(cli: Cli, topic: Callable[[], str]) -> None:
    name = topic()
    done = cli("groups", "describe", name, ok=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: there is no group {name!r}")
    assert len(done.stderr.splitlines()) == 1


def test_lag_topics_and_members_of_all_groups_are_listed_at_once(
    broker: ApacheKafka | EmbeddedBroker, cli: Cli, created: Created, group: str
) -> None:
    live, shared = created(), created()
    cli("share-groups", "reset-offsets", shared, "--topic", shared, "--to-earliest", "--yes")
    with Consumer(broker.bootstrap, topics=[live], group_id=live) as member:
        while not member.assignment():
            member.poll(timeout=0.1)
        member.commit({(live, 0): 0})
        found = {each["group"]: each for each in rows(cli, "groups", "list", "--lag")}
    idle = {"state": "Empty", "members": 0, "idle_members": 0}
    assert found[group] == {"group": group, "type": found[group]["type"], **idle, "topics": [group], "lag": 2}
    assert (found[live]["members"], found[live]["idle_members"], found[live]["lag"]) == (1, 0, 0)
    assert (found[shared]["type"], found[shared]["topics"]) == ("share", [shared])
    shown = cli("groups", "list", "--lag").stdout
    assert shown.splitlines()[1].split() == ["GROUP", "STATE", "TYPE", "MEMBERS", "IDLE", "TOPICS", "LAG"]


def test_groups_are_listed_by_topic_state_and_type(cli: Cli, created: Created, group: str) -> None:
    shared = created()
    cli("share-groups", "reset-offsets", shared, "--topic", shared, "--to-earliest", "--yes")

    def names(*options: str) -> set[str]:
        return {each["group"] for each in rows(cli, "groups", "list", *options)}

    assert names("--topic", group) == {group}
    assert names("--topic", group, "--topic", shared) == {group, shared}
    assert names("--topic", "no-such-topic") == set()
    assert names("--topic", group, "--state", "stable") == set()
    assert {group, shared} <= names("--state", "empty")
    assert shared in names("--type", "Share")
    assert group not in names("--type", "Share")


def test_several_groups_are_described_in_one_table(cli: Cli, created: Created, group: str) -> None:
    other = created()
    cli("groups", "reset-offsets", other, "--topic", other, "--to-earliest", "--yes")
    assert [each["group"] for each in rows(cli, "groups", "describe", group, other)] == [group, other]
    first, second, columns, *lines = cli("groups", "describe", group, other).stdout.splitlines()
    assert first.startswith(f"{group}  Empty, 0 members, coordinator ")
    assert second.startswith(f"{other}  Empty, 0 members, coordinator ")
    assert columns.split()[:2] == ["GROUP", "TOPIC"]
    assert [line.split()[0] for line in lines] == [group, other]


def test_lag_in_seconds_is_the_age_of_the_first_record_that_is_not_read(
    cli: Cli, created: Created, group: str
) -> None:
    """The third record of these is 100 days old."""
    old = created(partitions=2)
    cli("produce", old, "-p", "0", "--timestamp", "100d", input="a\nb\nc\n")
    cli("groups", "reset-offsets", old, "--topic", old, "--to-offset", "2", "--yes")
    (found,) = rows(cli, "groups", "describe", old, "--seconds")
    day = 24 * 60 * 60
    first, second = found["partitions"]
    assert 100 * day <= first["lag_seconds"] < 101 * day
    assert (second["lag"], second["lag_seconds"]) == (0, 0)
    assert found["lag_seconds"] == first["lag_seconds"]
    assert "LAG SECONDS" in cli("groups", "describe", old, "--seconds").stdout


def test_all_groups_are_listed_with_their_lag_in_seconds(cli: Cli, created: Created) -> None:
    """Three groups stand at different records of one partition, and one of them has read all."""
    old = created()
    for ago in ("100d", "50d"):
        cli("produce", old, "--timestamp", ago, input="a\n")
    for number in range(3):
        name = f"{old}-{number}"
        cli("groups", "reset-offsets", name, "--topic", old, "--to-offset", str(number), "--yes")
    found = {row["group"]: row for row in rows(cli, "groups", "list", "--topic", old, "--seconds")}
    days = [found[f"{old}-{number}"]["lag_seconds"] // (24 * 60 * 60) for number in range(3)]
    assert days == [100, 50, 0]
    assert "LAG SECONDS" in cli("groups", "list", "--topic", old, "--seconds").stdout


def test_watching_shows_groups_again_and_again(cli: Cli, group: str) -> None:
    watch = ("groups", "describe", group, "--watch", "--interval", "0.1", "--looks", "3")
    shown = cli(*watch).stdout
    assert (shown.count(f"{group}  Empty"), shown.count("COMMITTED")) == (3, 3)
    looks = [json.loads(line) for line in cli(*watch, "--json").stdout.splitlines()]
    assert [look[0]["lag"] for look in looks] == [2, 2, 2]
    done = cli("groups", "list", "--looks", "3", ok=False)
    assert done.stderr == "error: --looks is for --watch\n"


def test_offsets_go_to_a_file_and_come_back_from_it(cli: Cli, group: str, tmp_path: Path) -> None:
    kept = tmp_path / "before.csv"
    cli("groups", "reset-offsets", group, "--to-current", "--export", str(kept), "--dry-run")
    assert kept.read_text() == f"{group},0,3\n"
    cli("groups", "reset-offsets", group, "--to-latest", "--yes")
    cli("groups", "reset-offsets", group, "--from-file", str(kept), "--yes")
    assert progress(cli, group)["partitions"][0]["committed"] == 3
    # Kafka's own tool writes the group first where it is asked for several, and names in quotes.
    kept.write_text(f'"{group}","{group}",0,1\n')
    cli("groups", "reset-offsets", group, "--from-file", str(kept), "--yes")
    assert progress(cli, group)["partitions"][0]["committed"] == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("orders,0\n", "line 1: 'orders,0' is not TOPIC,PARTITION,OFFSET"),
        ("orders,0,1\norders,x,1\n", "line 2: 'orders,x,1' is not TOPIC,PARTITION,OFFSET"),
        ("\n", "has no line TOPIC,PARTITION,OFFSET"),
    ],
)
def test_a_file_of_offsets_that_says_something_else_is_named_with_the_line(
    here: Cli, tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "offsets.csv"
    path.write_text(text)
    done = here("groups", "reset-offsets", "g", "--from-file", str(path), "--dry-run", ok=False)
    assert done.stderr.startswith(f"error: --from-file {str(path)!r}")
    assert done.stderr.endswith(f"{why}\n")


def test_groups_are_described_and_deleted_by_a_pattern(cli: Cli, created: Created, group: str) -> None:
    others = [f"{group}-{number}" for number in range(2)]
    for other in others:
        cli("groups", "reset-offsets", other, "--topic", group, "--to-earliest", "--yes")
    pattern = ("--pattern", f"{group}-.")
    assert [each["group"] for each in rows(cli, "groups", "describe", *pattern)] == others
    told = cli("groups", "delete", *pattern, "--dry-run").stderr
    assert told.startswith(f"would delete {others[0]}, {others[1]} with their offsets\n")
    cli("groups", "delete", *pattern, "--yes")
    left = {each["group"] for each in rows(cli, "groups", "list")}
    assert group in left
    assert not left & set(others)
    for wrong, why in (
        (("--pattern", "no-such-.*"), "no group matches"),
        ((), "name groups, or give --pattern"),
    ):
        assert why in cli("groups", "describe", *wrong, ok=False).stderr
