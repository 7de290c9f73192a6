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
        group = json.loads(here("groups", "describe", "g", "--json").stdout)
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
