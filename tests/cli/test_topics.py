from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

from barnabas import Consumer
from barnabas.testing import EmbeddedBroker

from .conftest import run_here

Cli = Callable[..., subprocess.CompletedProcess[str]]
Created = Callable[..., str]


def described(cli: Cli, name: str) -> dict:
    (found,) = json.loads(cli("topics", "describe", name, "--json").stdout)
    return found


def test_a_created_topic_is_listed_and_a_deleted_one_is_not(
    cli: Cli, created: Created, eventually: Callable[..., bool]
) -> None:
    name = created()
    assert name in cli("topics", "list").stdout.split()
    assert name in json.loads(cli("topics", "list", "--json").stdout)
    cli("topics", "delete", name, "--yes")
    eventually(lambda: name not in cli("topics", "list").stdout.split())


def test_describe_shows_partitions_offsets_and_settings(cli: Cli, topic: Callable[[], str]) -> None:
    name = topic()
    cli("topics", "create", name, "-p", "2", "-r", "1", "--config", "retention.ms=12345")
    cli("produce", name, "--partition", "1", input="a\nb\n")
    found = described(cli, name)
    assert found["configs"]["retention.ms"] == "12345"
    offsets = [(p["partition"], p["leader"], p["first_offset"], p["end_offset"]) for p in found["partitions"]]
    assert offsets == [(0, 1, 0, 0), (1, 1, 0, 2)]
    shown = cli("topics", "describe", name).stdout
    assert "retention.ms=12345" in shown
    assert "END OFFSET" in shown


def test_what_has_no_leader_or_lacks_replicas_is_found_and_its_offsets_are_not_asked_for(
    eventually: Callable[..., object],
) -> None:
    with EmbeddedBroker(nodes=2) as cluster:
        here = run_here(cluster.bootstrap)
        here("topics", "create", "alone", "-p", "2", "-r", "1")
        here("topics", "create", "both", "-r", "2")
        (alone,) = json.loads(here("topics", "describe", "alone", "--json").stdout)
        lost, left = alone["partitions"]
        with Consumer(cluster.bootstrap, group_id="g") as consumer:
            consumer.commit({("alone", 0): 0, ("alone", 1): 0})
        cluster.nodes[lost["leader"]].stop()

        def found(*only: str) -> dict[str, list[dict[str, Any]]]:
            shown = json.loads(here("topics", "describe", *only, "--json").stdout)
            return {topic["name"]: topic["partitions"] for topic in shown}

        eventually(lambda: found("--unavailable"))
        assert list(found("--unavailable")) == ["alone"]
        (unavailable,) = found("--unavailable")["alone"]
        assert unavailable == {
            **lost,
            "leader": None,
            "in_sync_replicas": [],
            "first_offset": None,
            "end_offset": None,
        }
        assert found("alone")["alone"][1] == left
        (behind,) = found("--under-replicated")["both"]
        assert (len(behind["replicas"]), behind["in_sync_replicas"]) == (2, [left["leader"]])
        assert found().keys() >= {"alone", "both", "__consumer_offsets"}
        (group,) = json.loads(here("groups", "describe", "g", "--json").stdout)
        assert [(row["end_offset"], row["lag"]) for row in group["partitions"]] == [(None, None), (0, 0)]


def test_a_topic_that_exists_is_an_error_unless_that_is_fine(cli: Cli, created: Created) -> None:
    name = created()
    again = cli("topics", "create", name, ok=False)
    assert again.returncode == 1
    assert again.stderr == f"error: topic {name!r}: TOPIC_ALREADY_EXISTS (Topic {name!r} already exists.)\n"
    cli("topics", "create", name, "--if-not-exists")


def test_alter_adds_partitions_and_changes_settings(
    cli: Cli, created: Created, eventually: Callable[..., bool]
) -> None:
    name = created(partitions=1)
    cli("topics", "alter", name, "--partitions", "3", "--config", "retention.ms=1000")

    def state() -> tuple[int, str | None]:
        found = described(cli, name)
        return len(found["partitions"]), found["configs"].get("retention.ms")

    eventually(lambda: state() == (3, "1000"))
    cli("topics", "alter", name, "--delete-config", "retention.ms")
    eventually(lambda: state() == (3, None))


def test_alter_without_a_change_is_refused(cli: Cli, created: Created) -> None:
    done = cli("topics", "alter", created(), ok=False)
    assert done.returncode == 1
    assert "nothing to alter" in done.stderr


def test_a_topic_that_is_not_there_is_named(cli: Cli, topic: Callable[[], str]) -> None:
    name = topic()
    for arguments in (["describe", name], ["delete", name, "-y"], ["alter", name, "--partitions", "2"]):
        done = cli("topics", *arguments, ok=False)
        assert done.returncode == 1
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_setting_that_no_topic_has_is_refused(cli: Cli, topic: Callable[[], str]) -> None:
    done = cli("topics", "create", topic(), "--config", "retention.msec=1", ok=False)
    assert done.returncode == 1
    assert "retention.msec" in done.stderr


def test_a_long_list_has_partitions_replicas_records_bytes_and_groups(cli: Cli, created: Created) -> None:
    name = created(partitions=2)
    cli("produce", name, input="a\nb\nc\n")
    cli("consume", name, "--group", name, "--from-beginning", "--max", "3")
    (found,) = json.loads(cli("topics", "list", "--long", "--pattern", name, "--json").stdout)
    size = found.pop("bytes")
    assert size > 0
    assert found == {"topic": name, "partitions": 2, "replicas": 1, "records": 3, "groups": [name]}
    shown = cli("topics", "list", "-l", "--pattern", name).stdout.split()
    assert shown[:6] == ["TOPIC", "PARTITIONS", "REPLICAS", "RECORDS", "BYTES", "GROUPS"]


def test_topics_are_created_altered_and_deleted_by_name_and_by_pattern(
    cli: Cli, topic: Callable[[], str], eventually: Callable[..., bool]
) -> None:
    name = topic()
    names = [f"{name}-1", f"{name}-2"]
    assert cli("topics", "create", *names).stderr == f"created topic {names[0]}\ncreated topic {names[1]}\n"
    pattern = ("--pattern", f"{name}-.")

    def listed() -> list[str]:
        return cli("topics", "list", *pattern).stdout.split()

    eventually(lambda: listed() == names)
    again = cli("topics", "create", names[1], f"{name}-3", ok=False)
    assert again.stderr.startswith(f"created topic {name}-3\nerror: topic {names[1]!r}: TOPIC_ALREADY_EXISTS")
    names.append(f"{name}-3")
    eventually(lambda: listed() == names)
    change = ("topics", "alter", *pattern, "-c", "retention.ms=77777")
    assert "add --yes to do it" in cli(*change, ok=False).stderr
    cli(*change, "--yes")
    eventually(lambda: all(described(cli, each)["configs"].get("retention.ms") == "77777" for each in names))
    shown = json.loads(cli("topics", "describe", *pattern, "--json").stdout)
    assert [each["name"] for each in shown] == names
    told = cli("topics", "delete", *pattern, "--dry-run").stderr
    assert told == f"would delete {', '.join(names)}\nnothing was changed: this was --dry-run\n"
    cli("topics", "delete", *pattern, "--yes")
    eventually(lambda: not listed())
    for wrong in (("--pattern", "no-such-.*"), ("--pattern", "("), (), (*pattern, name)):
        assert cli("topics", "delete", *wrong, "--yes", ok=False).returncode == 1


def test_offsets_are_shown_by_time(cli: Cli, created: Created) -> None:
    name = created(partitions=2)
    cli("produce", name, "-p", "0", "--timestamp", "2026-01-01T00:00Z", input="a\n")
    cli("produce", name, "-p", "0", "--timestamp", "2026-02-01T00:00Z", input="b\n")

    def offsets(*at: str) -> list[list[Any]]:
        found = json.loads(cli("topics", "offsets", *at, "--json").stdout)
        return [list(each.values())[2:] for each in found]

    assert offsets(name) == [[0, 2], [0, 0]]
    assert offsets(name, "--at", "2026-01-02T00:00Z") == [[1, 1769904000000], [None, None]]
    assert offsets(f"{name}:0", "--at", "max-timestamp") == [[1, 1769904000000]]
    assert offsets(f"{name}:0", "--at", "latest") == [[2, None]]
    assert "is no time" in cli("topics", "offsets", name, "--at", "soon", ok=False).stderr


def test_the_topics_of_two_clusters_are_compared(
    cli: Cli, created: Created, topic: Callable[[], str]
) -> None:
    same, other, alone = created(), created(partitions=2), created()
    theirs = topic()
    with EmbeddedBroker() as target:
        there = run_here(target.bootstrap)
        there("topics", "create", same)
        there("topics", "create", other, "-p", "3", "-c", "retention.ms=5")
        there("topics", "create", theirs)
        there("produce", same, input="a\n")
        diff = ("topics", "diff", "--to-bootstrap", target.bootstrap)
        done = cli(*diff, same, other, alone, theirs, "--json", ok=False)
        found = [tuple(each.values()) for each in json.loads(done.stdout)]
        expected = [
            (other, "partitions", "2", "3"),
            (other, "retention.ms", "604800000", "5"),
            (alone, "topic", "there", "-"),
            (theirs, "topic", "-", "there"),
        ]
        assert (done.returncode, found) == (3, sorted(expected))
        assert cli(*diff, same).stderr == "no differences in 1 topic\n"
        counted = cli(*diff, same, "--records", ok=False).stdout.splitlines()
        assert [line.split() for line in counted] == [
            ["TOPIC", "WHAT", "HERE", "THERE"],
            [same, "records", "0", "1"],
        ]
        missing = cli(*diff, "no-such-topic", ok=False)
        assert (missing.returncode, missing.stderr) == (1, "error: no cluster has a topic 'no-such-topic'\n")
