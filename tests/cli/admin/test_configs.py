"""`barnabas configs`: settings of one resource, of several and of all that match, with a preview."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Here = Callable[..., Any]
Made = Callable[..., str]
Row = dict[str, Any]


@pytest.fixture
def rows(here: Here) -> Callable[..., list[Row]]:
    def rows(*arguments: str, **more: Any) -> list[Row]:
        return json.loads(here(*arguments, "--json", **more).stdout)

    return rows


def values(rows: list[Row]) -> list[tuple[str | None, ...]]:
    """Names and values, those of a topic itself alone: Kafka sets min.insync.replicas of all brokers."""
    shown = ("resource", "name", "value", "new_value")
    return [
        tuple(row[name] for name in shown if name in row)
        for row in rows
        if row.get("source") != "dynamic-default-broker-config"
    ]


def test_configs_are_set_described_and_go_back_to_their_defaults(
    here: Here, made: Made, rows: Callable[..., Any]
) -> None:
    name = made()
    here("configs", "set", "topic", name, "retention.ms=1000", "cleanup.policy=delete")
    here("configs", "set", "topic", name, "retention.ms=5", "--dry-run")
    here("configs", "set", "topic", name, "--append", "cleanup.policy=compact")
    found = {row["name"]: row["value"] for row in rows("configs", "describe", "topic", name)}
    assert (found["retention.ms"], found["cleanup.policy"]) == ("1000", "delete,compact")
    here("configs", "set", "topic", name, "--delete", "retention.ms", "--subtract", "cleanup.policy=delete")
    found = {row["name"]: row["value"] for row in rows("configs", "describe", "topic", name)}
    assert "retention.ms" not in found
    everything = rows("configs", "describe", "topic", name, "--all", "--documentation")
    assert {"retention.ms", "segment.bytes"} < {row["name"] for row in everything}
    assert {"type": "topic", "name": name} in rows("configs", "list", "topic")
    wrong = here("configs", "describe", "topics", name, ok=False).stderr
    assert wrong.startswith("error: TYPE 'topics' is none of topic, broker, ")
    assert wrong.endswith("; did you mean 'topic'?\n")


def test_several_resources_are_set_described_and_deleted_at_once(
    here: Here, made: Made, rows: Callable[..., list[Row]]
) -> None:
    first, second = sorted((made(), made()))
    done = here("configs", "set", "topic", first, second, "retention.ms=5000")
    assert done.stderr == f"set retention.ms of topic '{first}', topic '{second}'\n"
    assert values(rows("configs", "describe", "topic", first, second)) == [
        (first, "retention.ms", "5000"),
        (second, "retention.ms", "5000"),
    ]
    shown = here("configs", "describe", "topic", first, second).stdout
    assert shown.split()[:5] == ["RESOURCE", "NAME", "VALUE", "SOURCE", "NOTE"]
    assert "RESOURCE" not in here("configs", "describe", "topic", first).stdout
    done = here("configs", "delete", "topic", first, second, "--yes")
    assert done.stderr == f"deleted 2 settings of topic '{first}', topic '{second}'\n"
    assert values(rows("configs", "describe", "topic", first, second)) == []
    nothing = here("configs", "delete", "topic", first, "--yes")
    assert nothing.stderr == f"topic '{first}': no settings of their own\n"


def test_a_pattern_stands_for_names_and_asks(here: Here, made: Made, rows: Callable[..., list[Row]]) -> None:
    first, second = sorted((made(), made()))
    pattern = ("--pattern", f"{first}|{second}")
    change = ("configs", "set", "topic", *pattern, "retention.ms=5000")
    asked = here(*change, ok=False)
    assert asked.stderr == "error: set retention.ms of 2 topics: add --yes to do it without being asked\n"
    assert asked.stdout.count("5000") == 2
    assert values(rows("configs", "describe", "topic", *pattern)) == []
    here(*change, "--yes")
    assert [row[2] for row in values(rows("configs", "describe", "topic", *pattern))] == ["5000", "5000"]
    asked = here("configs", "delete", "topic", *pattern, ok=False)
    assert "add --yes to do it without being asked" in asked.stderr
    here("configs", "delete", "topic", *pattern, "--yes")
    assert values(rows("configs", "describe", "topic", *pattern)) == []
    assert (
        "no topic matches --pattern"
        in here("configs", "describe", "topic", "--pattern", "no-such", ok=False).stderr
    )
    both = here("configs", "describe", "topic", first, *pattern, ok=False)
    assert both.stderr == "error: name topics, or give --pattern, not both\n"


def test_a_dry_run_shows_each_value_before_and_after(
    here: Here, made: Made, rows: Callable[..., list[Row]]
) -> None:
    name = made()
    here(
        "configs",
        "set",
        "topic",
        name,
        "retention.ms=5000",
        "cleanup.policy=delete",
        "max.message.bytes=1000",
    )
    change = ("configs", "set", "topic", name, "segment.ms=1000", "--delete", "retention.ms")
    change += ("--append", "cleanup.policy=compact", "--delete", "max.message.bytes", "--dry-run")
    assert values(rows(*change)) == [
        (name, "cleanup.policy", "delete", "delete,compact"),
        (name, "max.message.bytes", "1000", "1048588"),
        (name, "retention.ms", "5000", None),
        (name, "segment.ms", "604800000", "1000"),
    ]
    assert here(*change).stderr == "nothing was changed: this was --dry-run\n"
    found = values(rows("configs", "delete", "topic", name, "--dry-run"))
    assert (name, "max.message.bytes", "1000", "1048588") in found
    assert values(rows("configs", "describe", "topic", name)) == [
        (name, "cleanup.policy", "delete"),
        (name, "max.message.bytes", "1000"),
        (name, "retention.ms", "5000"),
    ]
    wrong = here("configs", "set", "topic", name, "retention.ms=soon", "--dry-run", ok=False)
    assert "retention.ms" in wrong.stderr


def test_brokers_groups_and_client_metrics_lose_what_is_their_own(
    here: Here, rows: Callable[..., list[Row]]
) -> None:
    node = str(rows("brokers", "list")[0]["id"])
    for kind, name, setting in (
        ("broker", node, "log.cleaner.threads=2"),
        ("broker", "<default>", "log.cleaner.threads=3"),
        ("group", "team", "consumer.session.timeout.ms=50000"),
        ("client-metrics", "mine", "interval.ms=60000"),
    ):
        here("configs", "set", kind, name, setting)
        setting_name, _, value = setting.partition("=")
        own = [row[:3] for row in values(rows("configs", "delete", kind, name, "--dry-run"))]
        assert own == [(name, setting_name, value)]
    # That of all brokers stays when the one's goes.
    assert values(rows("configs", "delete", "broker", node, "--yes")) == [
        (node, "log.cleaner.threads", "2", "3")
    ]
    here("configs", "delete", "broker", "<default>", "--yes")
    here("configs", "delete", "group", "--pattern", "te.m", "--yes")
    here("configs", "delete", "client-metrics", "--pattern", "mi.*", "--yes")
    assert {"type": "client-metrics", "name": "mine"} not in rows("configs", "list", "client-metrics")
