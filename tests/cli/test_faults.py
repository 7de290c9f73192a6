from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from tests.programs import running

from barnabas import Producer
from barnabas.broker_errors import NotLeaderOrFollowerError
from barnabas.testing import EmbeddedBroker, free_ports

from .conftest import Cli
from .test_up import command, run


def test_faults_of_a_broker_are_told_and_looked_at(tmp_path: Path) -> None:
    port = free_ports()[0]
    process = subprocess.Popen(
        command("up", "-p", "0", "-d", str(tmp_path), "--faults-port", str(port), "--json"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with running(process):
        addresses = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        at = ["--at", addresses["faults"]]
        assert run("topics", "create", "flights", "-b", addresses["bootstrap"]).returncode == 0
        added = run(
            *("faults", "add", "error", "Produce", "--error", "NOT_LEADER_OR_FOLLOWER"),
            *("--topic", "flights", "--times", "1", *at),
        )
        assert added.stdout == "f1\n", added.stderr
        with Producer(addresses["bootstrap"], retries=0, enable_idempotence=False) as producer:
            delivery = producer.send("flights", b"a")
            assert isinstance(delivery.exception(30), NotLeaderOrFollowerError)
        assert run("faults", "wait", "f1", *at).returncode == 0
        listed = run("faults", "list", *at).stdout.splitlines()
        assert listed[1].split() == [
            *("f1", "1", "True", "error", "Produce", "topic=flights", "times=1"),
            "error=NOT_LEADER_OR_FOLLOWER",
        ]
        recorded = json.loads(run("faults", "requests", "Produce", "--json", *at).stdout)
        assert [each["partitions"] for each in recorded] == [{"flights": [0]}]
        assert "flights-0" in run("faults", "requests", "--topic", "flights", *at).stdout
        assert run("faults", "clear", *at).returncode == 0
        assert json.loads(run("faults", "list", "--json", *at).stdout) == []
        wrong = run("faults", "add", "error", "Produce", *at)
        assert wrong.returncode == 1
        assert "an error needs" in wrong.stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert "nobody takes faults" in run("faults", "list", *at).stderr


def test_nodes_are_upset_and_looked_at(here: Cli) -> None:
    with EmbeddedBroker(nodes=3) as broker:
        at = {"BARNABAS_FAULTS": broker.faults.url}

        def states() -> list[list[str]]:
            return [line.split() for line in here("faults", "nodes", "list", **at).stdout.splitlines()]

        assert states() == [["NODE", "STATE"], ["1", "running"], ["2", "running"], ["3", "running"]]
        for begin, end, state in (
            ("stop", "start", "stopped"),
            ("kill", "start", "stopped"),
            ("pause", "resume", "paused"),
            ("part", "join", "parted"),
            ("lag", "catch-up", "lagging"),
        ):
            assert here("faults", "nodes", begin, "2", **at).stdout == ""
            assert states()[1:] == [["1", "running"], ["2", state], ["3", "running"]]
            told = here("faults", "nodes", end, "2", "--json", **at).stdout
            assert json.loads(told) == {
                "node_id": 2,
                "is_running": True,
                "is_paused": False,
                "is_parted": False,
                "is_lagging": False,
            }
        assert len(json.loads(here("faults", "nodes", "list", "--json", **at).stdout)) == 3
        refused = here("faults", "nodes", "stop", "7", ok=False, **at)
        assert (refused.returncode, refused.stderr) == (1, "error: there is no node 7: 1, 2, 3\n")


def test_a_proxy_stands_before_a_broker(embedded_broker: EmbeddedBroker) -> None:
    process = subprocess.Popen(
        command("faults", "--upstream", embedded_broker.bootstrap, "--faults-port", "0"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with running(process):
        bootstrap, at = (process.stdout.readline().strip() for _ in range(2))
        assert run("topics", "list", "-b", bootstrap).returncode == 0
        assert run("faults", "add", "disconnect", "--at", at).returncode == 0
        assert run("topics", "list", "-b", bootstrap).returncode == 1
        assert "this is a proxy" in run("faults", "nodes", "list", "--at", at).stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert "no broker" in run("faults", "--upstream", "127.0.0.1:1").stderr
