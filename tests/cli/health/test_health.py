from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, Consumer, NewTopic
from barnabas.cli.health.checks import CHECKS
from barnabas.testing import ApacheKafka, EmbeddedBroker

from ..conftest import run_here


@pytest.fixture
def three() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(nodes=3) as cluster:
        yield cluster


def test_a_healthy_cluster_passes_every_check(broker: ApacheKafka | EmbeddedBroker) -> None:
    """But for what other tests have left: groups, and transactions that are not old enough to hang."""
    done = run_here(broker.bootstrap)("health", "--skip", "groups", "--min-free", "0", "--json")
    found = json.loads(done.stdout)
    assert {each["check"]: each["status"] for each in found["checks"]} == {
        name: "ok" for name in CHECKS if name != "groups"
    }
    assert found["status"] == "ok"
    shown = run_here(broker.bootstrap)("health", "--check", "brokers").stdout.splitlines()
    assert [line.split() for line in shown] == [
        ["STATUS", "CHECK", "WHAT"],
        ["ok", "brokers", "1", "broker,", "controller", "1"],
    ]


def test_a_broker_that_is_down_shows_in_all_that_suffers(
    three: EmbeddedBroker, eventually: Callable[..., object]
) -> None:
    here = run_here(three.bootstrap)
    with Admin(three.bootstrap) as admin:
        admin.create_topics(
            [
                NewTopic("safe", 1, 3, {"min.insync.replicas": "2"}),
                NewTopic("strict", 1, 3, {"min.insync.replicas": "3"}),
                NewTopic("alone", 3, 1, {"min.insync.replicas": "1"}),
            ]
        )
        with Consumer(three.bootstrap, group_id="idle") as consumer:
            consumer.commit({("safe", 0): 0})
    here("produce", "safe", input="a\nb\n")
    three.nodes[2].stop()

    def problems() -> dict[tuple[str, str], list[str]]:
        done = here("health", "--min-free", "0", "--json", ok=False)
        found: dict[tuple[str, str], list[str]] = {}
        for check in json.loads(done.stdout)["checks"]:
            for each in check["findings"]:
                found.setdefault((check["check"], each["problem"]), []).append(each["what"])
        return found if done.returncode == 4 else {}

    eventually(lambda: ("partitions", "has no leader") in problems())
    found = problems()
    assert found["brokers", "does not serve"] == ["broker 2"]
    assert found["partitions", "takes no records with acks=all"] == ["strict:0"]
    assert "safe:0" in found["partitions", "has replicas that are not in sync"]
    assert len(found["partitions", "has no leader"]) == 1
    assert found["groups", "has no members, and has lag"] == ["group idle"]
    shown = here("health", "--check", "brokers", ok=False)
    assert shown.returncode == 4
    assert "critical  brokers  broker 2 does not serve: it has " in shown.stdout
    assert here("health", "--check", "groups", ok=False).returncode == 3


def test_a_check_that_may_not_be_made_is_unknown_and_the_others_go_on(three: EmbeddedBroker) -> None:
    here = run_here(three.bootstrap)
    here("topics", "create", "orders")
    three.faults.error("DescribeLogDirs", "CLUSTER_AUTHORIZATION_FAILED")
    done = here("health", "--check", "log-dirs", "--check", "brokers", "--json", ok=False)
    checks = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
    assert (done.returncode, checks["brokers"]["status"], checks["log-dirs"]["status"]) == (
        5,
        "ok",
        "unknown",
    )
    assert "CLUSTER_AUTHORIZATION_FAILED" in checks["log-dirs"]["summary"]


def test_a_check_that_is_not_there_is_refused_with_those_that_are(three: EmbeddedBroker) -> None:
    done = run_here(three.bootstrap)("health", "--check", "broker", ok=False)
    assert done.returncode == 1
    assert done.stderr.endswith("; did you mean 'brokers'?\n")
