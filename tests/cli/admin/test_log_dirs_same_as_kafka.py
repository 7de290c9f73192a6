"""`barnabas log-dirs move --throttle` and kafka-reassign-partitions on an Apache Kafka with two folders: what
each sets for a move between them, that ours shows it, and that either takes its throttle off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.broker.tools.java import Java
from tests.cli.conftest import Cli, run_here
from tests.waiting import wait_for

from barnabas import Admin, NewTopic, Producer
from barnabas.testing import ApacheKafka

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
BYTES = 100_000
FAST = "100000000"


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    java = Java()
    yield java
    java.end()


class TwoFolders:
    """A broker with two folders, its tool and our command line."""

    def __init__(self, kafka: ApacheKafka, java: Java, folder: Path) -> None:
        self.bootstrap = kafka.bootstrap
        self.here: Cli = run_here(kafka.bootstrap)
        self._java = java
        self._folder = folder

    def tool(self, command: str) -> str:
        status, lines = self._java.run(self.bootstrap, f"reassign-partitions {command}")
        assert status == "0", lines
        return "\n".join(lines)

    def full(self, topic: str) -> str:
        """A new topic with ten megabytes."""
        with Admin(self.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, 1)])
            wait_for(lambda: topic in admin.list_topics())
        with Producer(self.bootstrap) as producer:
            for _ in range(100):
                producer.send(topic, bytes(BYTES))
        return topic

    def paths_of(self, topic: str) -> list[str]:
        """The folder that it is in, not one that it moves to; both for a moment at the end of a move."""
        found = json.loads(self.here("log-dirs", "replicas", "--topic", topic, "--json").stdout)
        return [row["path"] for row in found if not row["moves_here"]]

    def other_than(self, path: str) -> str:
        found = json.loads(self.here("log-dirs", "list", "--json").stdout)
        (other,) = [row["path"] for row in found if row["path"] != path]
        return other

    def plan(self, topic: str, path: str) -> str:
        file = self._folder / f"{topic}.json"
        move = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [path]}
        file.write_text(json.dumps({"version": 1, "partitions": [move]}))
        return str(file)

    def throttle(self) -> str | None:
        found = json.loads(self.here("configs", "describe", "broker", "1", "--all", "--json").stdout)
        (value,) = [row["value"] for row in found if row["name"] == RATE] or [None]
        return value


@pytest.fixture
def folders(java: Java, tmp_path: Path) -> Iterator[TwoFolders]:
    paths = [tmp_path / "first", tmp_path / "second"]
    config = {"log.dirs": ",".join(map(str, paths))}
    with ApacheKafka(config=config) as kafka:
        yield TwoFolders(kafka, java, tmp_path)


@pytest.mark.parametrize("starts", ["ours", "theirs"])
def test_a_throttled_move_of_either_is_shown_hastened_and_its_throttle_taken_off_by_the_other(
    folders: TwoFolders, starts: str
) -> None:
    without = folders.throttle()
    topic = folders.full(f"started-by-{starts}")
    (path,) = folders.paths_of(topic)
    other = folders.other_than(path)
    plan = folders.plan(topic, other)
    ours = ("log-dirs", "move", topic, "--broker", "1", "--to", other, "--throttle")
    theirs = f"--execute --additional --reassignment-json-file {plan} --replica-alter-log-dirs-throttle"

    def start(who: str, rate: str) -> None:
        if who == "ours":
            folders.here(*ours, rate)
        else:
            folders.tool(f"{theirs} {rate}")
        wait_for(lambda: folders.throttle() == rate)

    start(starts, "1")
    done = folders.here("log-dirs", "verify", "--json", ok=False)
    assert done.returncode == 3
    (row,) = json.loads(done.stdout)
    assert (row["topic"], row["path"], row["new_path"]) == (topic, path, other)
    assert row["bytes_left"] > 5 * BYTES
    assert "any throttle of broker 1 stays" in done.stderr
    assert folders.throttle() == "1"
    assert "is still in progress" in folders.tool(f"--verify --reassignment-json-file {plan}")
    start({"ours": "theirs", "theirs": "ours"}[starts], FAST)
    wait_for(lambda: folders.paths_of(topic) == [other])
    end: dict[str, Callable[[], object]] = {
        "ours": lambda: folders.tool(f"--verify --reassignment-json-file {plan}"),
        "theirs": lambda: folders.here("log-dirs", "verify"),
    }
    end[starts]()
    wait_for(lambda: folders.throttle() == without)
