from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

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
    return json.loads(cli("groups", "describe", group, "--json").stdout)


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


def test_a_reset_is_only_shown_without_execute(cli: Cli, group: str) -> None:
    shown = json.loads(cli("groups", "reset-offsets", group, "--to-earliest", "--json").stdout)
    assert (shown["executed"], shown["partitions"][0]["new_offset"]) == (False, 0)
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
    ]:
        shown = json.loads(cli("groups", "reset-offsets", group, *way, "--execute", "--json").stdout)
        (partition,) = shown["partitions"]
        assert (way, partition["committed"], partition["new_offset"]) == (way, committed, offset)
        committed = offset
    assert progress(cli, group)["partitions"][0]["committed"] == committed


def test_offsets_of_a_new_group_are_set_by_topic(
    cli: Cli, created: Created, topic: Callable[[], str]
) -> None:
    name, group = created(partitions=2), topic()
    cli("produce", name, "-p", "1", input="a\nb\n")
    cli("groups", "reset-offsets", group, "--topic", f"{name}:1", "--to-latest", "--execute")
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
    assert (done.returncode, done.stderr) == (1, f"error: there is no group {name!r}\n")
