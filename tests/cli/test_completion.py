from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Producer, Registry
from barnabas.client.admin.types import ScramMechanism, ScramUpsertion
from barnabas.registry import Schema
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry


def completed(line: str, tmp_path: Path, bootstrap: str) -> list[str]:
    """What the shell is told, as its own script asks for it."""
    done = subprocess.run(
        [sys.executable, "-m", "barnabas"],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "_BARNABAS_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
            "BARNABAS_BOOTSTRAP": bootstrap,
            "XDG_CONFIG_HOME": str(tmp_path),
        },
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_names_of_topics_and_profiles_are_completed(
    embedded_broker: EmbeddedBroker, made: Callable[..., str], tmp_path: Path
) -> None:
    name = made()
    folder = tmp_path / "barnabas" / "profiles"
    folder.mkdir(parents=True)
    (folder / "prod.properties").write_text("bootstrap.servers=kafka:9092\n")
    assert completed(f"barnabas consume {name[:-1]}", tmp_path, embedded_broker.bootstrap) == [name]
    assert completed("barnabas consume --profile pr", tmp_path, embedded_broker.bootstrap) == ["prod"]
    # What is left out of it is no warning in the middle of a line.
    (folder / "prod.properties").write_text("bootstrap.servers=kafka:9092\nkey.serializer=org.x.S\n")
    line = f"barnabas consume --profile prod --bootstrap {embedded_broker.bootstrap} {name[:-1]}"
    assert completed(line, tmp_path, embedded_broker.bootstrap) == [name]


def test_nothing_is_said_where_no_cluster_answers(tmp_path: Path) -> None:
    assert completed("barnabas consume fl", tmp_path, "localhost:1") == []


@pytest.fixture
def completed_here(here: Callable[..., Any]) -> Callable[..., list[str]]:
    """As `completed`, in this process: the last word is the one that is being typed."""

    def completed_here(*words: str, **environment: str) -> list[str]:
        asked = {
            "_BARNABAS_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("barnabas", *words)),
            "COMP_CWORD": str(len(words)),
        }
        return here(**asked, **environment).stdout.split()

    return completed_here


def test_names_of_what_a_command_administers_are_completed(
    embedded_broker: EmbeddedBroker, made: Callable[..., str], completed_here: Callable[..., list[str]]
) -> None:
    name = made()
    with (
        Admin(embedded_broker.bootstrap) as admin,
        Producer(embedded_broker.bootstrap, transactional_id=name) as producer,
    ):
        producer.init_transactions()
        admin.alter_user_scram_credentials(
            [ScramUpsertion(name, ScramMechanism.SCRAM_SHA_256, "secret", 4096)]
        )
        admin.alter_share_group_offsets(name, {(name, 0): 0})
        node = str(admin.describe_cluster().nodes[0].node_id)
    begun = name[:-1]
    for words in (
        ("delete-records",),
        ("elect",),
        ("log-dirs", "replicas", "--topic"),
        ("acls", "list", "--topic"),
        ("users", "delete"),
        ("quotas", "set", "--user"),
        ("transactions", "fence"),
        ("share-groups", "delete"),
        ("configs", "set", "topic"),
        ("bench", "produce", "--topic"),
        ("bench", "consume", "--topic"),
        ("bench", "latency", "--topic"),
        ("registry", "--topic"),
    ):
        assert completed_here(*words, begun) == [name], words
    assert node in completed_here("brokers", "unregister", "")
    assert completed_here("configs", "set", "topic", name, "retention.m") == ["retention.ms"]
    assert completed_here("configs", "set", "broker", node, "--delete", "log.retention.h") == [
        "log.retention.hours"
    ]
    assert completed_here("topics", "alter", name, "--delete-config", "segment.b") == ["segment.bytes"]
    assert completed_here("features", "update", "metadata.v") == ["metadata.version"]
    assert completed_here("configs", "set", "nothing", begun) == []


def test_subjects_of_a_registry_are_completed(completed_here: Callable[..., list[str]]) -> None:
    with EmbeddedRegistry() as server, Registry(server.url) as registry:
        registry.register("users-value", Schema('"string"', "AVRO"))
        there = {"BARNABAS_REGISTRY": server.url}
        assert completed_here("schemas", "delete", "us", **there) == ["users-value"]
        assert completed_here("schemas", "check", "a.avsc", "--subject", "us", **there) == ["users-value"]
        assert completed_here("schemas", "register", "--registry", server.url, "us") == ["users-value"]
    assert completed_here("schemas", "delete", "us", BARNABAS_REGISTRY="http://127.0.0.1:9") == []


def test_faults_and_nodes_are_completed_where_faults_are_told(
    completed_here: Callable[..., list[str]],
) -> None:
    with EmbeddedBroker(nodes=2) as broker:
        broker.faults.delay("Produce", 1)
        at = {"BARNABAS_FAULTS": broker.faults.url}
        assert completed_here("faults", "remove", "", **at) == ["f1"]
        assert completed_here("faults", "add", "error", "--follows", "", **at) == ["f1"]
        assert completed_here("faults", "requests", "--node", "", **at) == ["1", "2"]
        assert completed_here("faults", "nodes", "part", "", **at) == ["1", "2"]
        assert completed_here("faults", "nodes", "part", "--at", broker.faults.url, "2") == ["2"]
    assert completed_here("faults", "nodes", "part", "", **at) == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("faults", "add", "bl"), ["black_hole"]),
        (("faults", "add", "error", "ShareA"), ["ShareAcknowledge"]),
        (("faults", "add", "error", "--error", "NOT_LEADER"), ["NOT_LEADER_OR_FOLLOWER"]),
        (("faults", "add", "delay", "--stage", ""), ["before", "after"]),
        (("faults", "requests", "Heart"), ["Heartbeat"]),
        (("registry", "--config", "kafkagroup.s"), ["kafkagroup.session.timeout.ms"]),
        (("registry-user", "alice", "--role", "w"), ["write"]),
    ],
)
def test_words_that_are_the_same_everywhere_are_completed(
    completed_here: Callable[..., list[str]], words: tuple[str, ...], found: list[str]
) -> None:
    assert completed_here(*words) == found
