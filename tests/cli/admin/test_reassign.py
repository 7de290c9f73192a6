"""`barnabas reassign`: plans, moves with a throttle, how far they are, their end; on one node and three."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, run_here
from tests.waiting import wait_for

from barnabas import Admin, ConfigResource, NewTopic, Producer, ResourceType, TopicPartition
from barnabas.cli.options import UsageError
from barnabas.cli.reassign.plans import spread
from barnabas.testing import EmbeddedBroker

Here = Callable[..., Any]
Made = Callable[..., str]
Row = dict[str, Any]
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


@pytest.fixture
def rows(here: Here) -> Callable[..., list[Row]]:
    def rows(*arguments: str, **more: Any) -> list[Row]:
        return json.loads(here(*arguments, "--json", **more).stdout)

    return rows


class Place:
    """A cluster of three, and the command line on it."""

    def __init__(self, cluster: EmbeddedBroker, topic: Callable[[], str], folder: Path) -> None:
        self.cluster = cluster
        self.here: Cli = run_here(cluster.bootstrap)
        self._topic = topic
        self._folder = folder

    def made(self, *assignments: Sequence[int]) -> str:
        """A topic with records, whose partitions have these replicas."""
        name = self._topic()
        with Admin(self.cluster.bootstrap) as admin:
            admin.create_topics([NewTopic(name, replica_assignments=dict(enumerate(assignments)))])
        with Producer(self.cluster.bootstrap) as producer:
            for partition in range(len(assignments)):
                producer.send(name, bytes(10_000), partition=partition)
        return name

    def plan(self, name: str, *assignments: Sequence[int]) -> str:
        partitions = [
            {"topic": name, "partition": index, "replicas": [*replicas], "log_dirs": ["any"] * len(replicas)}
            for index, replicas in enumerate(assignments)
        ]
        path = self._folder / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(path)

    def verified(self, *arguments: str, status: int = 0) -> list[Row]:
        done = self.here("reassign", "verify", *arguments, "--json", ok=False)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    def until_done(self, name: str) -> None:
        with Admin(self.cluster.bootstrap) as admin:
            wait_for(lambda: not admin.list_partition_reassignments([TopicPartition(name, 0)]))

    def rates(self) -> set[tuple[str, str]]:
        """Of all brokers: the broker and its rate, which is one and the same for leaders and followers."""
        resources = [ConfigResource(ResourceType.BROKER, each) for each in ("1", "2", "3")]
        with Admin(self.cluster.bootstrap) as admin:
            found = admin.describe_configs(resources)
        return {
            (resource.name, value)
            for resource, settings in found.items()
            for name in RATES
            if name in settings and (value := settings[name].value) is not None
        }

    def throttled(self, name: str) -> tuple[str | None, str | None]:
        """The throttled replicas of leaders and followers."""
        resource = ConfigResource(ResourceType.TOPIC, name)
        with Admin(self.cluster.bootstrap) as admin:
            found = admin.describe_configs([resource])[resource]
        leaders, followers = (found[setting].value or None for setting in REPLICAS)
        return leaders, followers


@pytest.fixture
def place(own_embedded_cluster: EmbeddedBroker, topic: Callable[[], str], tmp_path: Path) -> Iterator[Place]:
    place = Place(own_embedded_cluster, topic, tmp_path)
    yield place
    own_embedded_cluster.node(3).catch_up()
    with Admin(own_embedded_cluster.bootstrap) as admin:
        wait_for(lambda: not admin.list_partition_reassignments())


def test_replicas_move_as_is_planned_or_as_a_file_says(
    here: Here, made: Made, rows: Callable[..., Any], tmp_path: Path
) -> None:
    name = made(partitions=2)
    broker = str(rows("brokers", "list")[0]["id"])
    planned = rows("reassign", "start", name, "--brokers", broker, "--dry-run")
    assert [(row["partition"], row["new_replicas"]) for row in planned] == [
        (partition, [int(broker)]) for partition in (0, 1)
    ]
    partitions = [{"topic": name, "partition": 1, "replicas": [int(broker)]}]
    (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "partitions": partitions}))
    here("reassign", "start", "--file", str(tmp_path / "plan.json"), "--yes")
    assert rows("reassign", "list") == []
    assert "no replicas move" in here("reassign", "cancel", name, "--yes").stderr
    too_many = here("reassign", "start", name, "--brokers", broker, "-r", "2", ok=False).stderr
    assert too_many == f"error: {name}-0 has 2 replicas, and --brokers names 1\n"
    assert [row["elected"] for row in rows("elect", name)] == [False, False]


def test_replicas_are_spread_evenly_by_leader_and_follower() -> None:
    now = {TopicPartition("t", partition): [9, 8] for partition in range(12)}
    wanted = spread(now, dict.fromkeys([1, 2, 3, 4]), None)
    assert all(len(set(replicas)) == 2 for replicas in wanted.values())
    assert set(Counter(replicas[0] for replicas in wanted.values()).values()) == {3}
    assert set(Counter(replicas[1] for replicas in wanted.values()).values()) == {3}


def test_replicas_of_a_partition_are_in_as_many_racks_as_there_are() -> None:
    now = {TopicPartition("t", partition): [1, 2] for partition in range(8)}
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    wanted = spread(now, racks, None)
    assert all({racks[broker] for broker in replicas} == {"a", "b"} for replicas in wanted.values())
    assert set(Counter(replicas[0] for replicas in wanted.values()).values()) == {2}
    all_four = spread(now, racks, 4)
    assert all(sorted(replicas) == [1, 2, 3, 4] for replicas in all_four.values())
    with pytest.raises(UsageError, match="t-0 has 5 replicas, and --brokers names 4"):
        spread(now, racks, 5)


def test_a_plan_is_generated_and_carried_out_and_taken_back(place: Place, tmp_path: Path) -> None:
    name = place.made([1, 2], [1, 2])
    back = tmp_path / "back.json"
    back.write_text(place.here("reassign", "generate", name, "--current").stdout)
    plan = tmp_path / "moves.json"
    plan.write_text(place.here("reassign", "generate", name, "--brokers", "2,3").stdout)
    assert json.loads(plan.read_text()) == {
        "version": 1,
        "partitions": [
            {"topic": name, "partition": 0, "replicas": [2, 3]},
            {"topic": name, "partition": 1, "replicas": [3, 2]},
        ],
    }
    assert [row["state"] for row in place.verified("--file", str(plan), status=3)] == ["elsewhere"] * 2
    place.here("reassign", "start", "--file", str(plan), "--yes")
    place.until_done(name)
    assert place.verified("--file", str(plan)) == [
        {
            "topic": name,
            "partition": partition,
            "replicas": replicas,
            "new_replicas": replicas,
            "state": "done",
            "bytes_left": None,
        }
        for partition, replicas in ((0, [2, 3]), (1, [3, 2]))
    ]
    place.here("reassign", "start", "--file", str(back), "--yes")
    place.until_done(name)
    assert [row["replicas"] for row in place.verified(name)] == [[1, 2], [1, 2]]


def test_a_throttle_is_set_before_a_move_and_taken_off_when_all_are_done(place: Place) -> None:
    name = place.made([1, 2])
    place.cluster.node(3).lag()
    plan = place.plan(name, [2, 3])
    tried = place.here("reassign", "start", "--file", plan, "--throttle", "5000", "--dry-run")
    assert tried.stderr.startswith("would let brokers 1, 2, 3 move 5000 bytes a second at most\n")
    assert place.rates() == set()
    done = place.here("reassign", "start", "--file", plan, "--throttle", "5000", "--yes")
    assert done.stderr.startswith("brokers 1, 2, 3 move 5000 bytes a second at most\n")
    wait_for(lambda: place.rates() == {("1", "5000"), ("2", "5000"), ("3", "5000")})
    wait_for(lambda: place.throttled(name) == ("0:1,0:2", "0:3"))
    (moving,) = place.verified("--file", plan, status=3)
    assert (moving["state"], moving["new_replicas"]) == ("moving", [2, 3])
    assert moving["bytes_left"] >= 10_000
    (listed,) = json.loads(place.here("reassign", "list", "--json").stdout)
    assert (listed["topic"], listed["adding"], listed["bytes_left"]) == (name, [3], moving["bytes_left"])
    # Begun again with another throttle, it goes on at that.
    place.here("reassign", "start", "--file", plan, "--throttle", "7000", "--yes")
    wait_for(lambda: place.rates() == {("1", "7000"), ("2", "7000"), ("3", "7000")})
    wait_for(lambda: place.throttled(name) == ("0:1,0:2", "0:3"))
    place.cluster.node(3).catch_up()
    place.until_done(name)
    kept = place.here("reassign", "verify", name, "--keep-throttle")
    assert kept.stderr == ""
    tried = place.here("reassign", "verify", name, "--dry-run")
    assert f"would take the throttle off all brokers and {name}\n" in tried.stderr
    assert place.rates() != set()
    done = place.here("reassign", "verify", "--file", plan)
    assert done.stderr == f"no throttle holds brokers and {name} any more\n"
    wait_for(lambda: place.rates() == set())
    wait_for(lambda: place.throttled(name) == (None, None))


def test_a_throttle_names_the_replicas_of_moves_that_are_under_way_in_the_topic(place: Place) -> None:
    name = place.made([1, 2], [2, 1])
    place.cluster.node(3).lag()
    place.here("reassign", "start", f"{name}:0", "--brokers", "2,3", "--throttle", "5000", "--yes")
    place.here("reassign", "start", f"{name}:1", "--brokers", "1,3", "--throttle", "5000", "--yes")
    wait_for(lambda: place.throttled(name) == ("0:1,0:2,1:1,1:2", "0:3,1:3"))


def test_cancelled_moves_leave_replicas_where_they_were_and_no_throttle(place: Place) -> None:
    first, second = place.made([1, 2]), place.made([1, 2])
    place.cluster.node(3).lag()
    for name in (first, second):
        plan = place.plan(name, [2, 3])
        place.here("reassign", "start", "--file", plan, "--throttle", "5000", "--yes")
    wait_for(lambda: place.throttled(second) == ("0:1,0:2", "0:3"))
    tried = place.here("reassign", "cancel", first, "--dry-run")
    assert tried.stderr.startswith(f"would end the moves of {first}-0\n")
    assert place.here("reassign", "cancel", first, "--yes").stderr == f"ended the moves of {first}-0\n"
    wait_for(lambda: place.throttled(first) == (None, None))
    # The other move goes on at its rate.
    assert place.rates() == {("1", "5000"), ("2", "5000"), ("3", "5000")}
    place.here("reassign", "cancel", "--file", plan, "--yes", "--keep-throttle")
    assert place.throttled(second) == ("0:1,0:2", "0:3")
    assert place.here("reassign", "cancel", "--all", "--yes").stderr == "no replicas move\n"
    found = place.verified(first, second)
    assert [sorted(row["replicas"]) for row in found] == [[1, 2], [1, 2]]
    wait_for(lambda: place.rates() == set())
    wait_for(lambda: place.throttled(second) == (None, None))


def test_replicas_move_away_from_a_broker_that_is_down(place: Place) -> None:
    name = place.made([1, 3])
    place.cluster.node(3).stop()
    try:
        start = ("reassign", "start", name, "--brokers", "1,2", "--throttle", "100000000", "--yes")
        done = place.here(*start)
        assert done.stderr.startswith("broker 3 is down: it gets no throttle\n")
        place.until_done(name)
        (row,) = place.verified(name)
        assert (row["replicas"], row["state"]) == ([1, 2], "done")
    finally:
        place.cluster.node(3).start()
    nowhere = place.here("reassign", "start", name, "--brokers", "1,9", "--yes", ok=False)
    assert nowhere.stderr == "error: there is no broker 9: those of the cluster are 1, 2, 3\n"


def test_partitions_that_are_not_there_are_told(place: Place) -> None:
    name = place.made([1, 2])
    plan = place.plan(name, [2, 1], [2, 1])
    assert [row["state"] for row in place.verified("--file", plan, status=3)] == ["elsewhere", "missing"]
    place.here("topics", "delete", name, "--yes")
    found = place.verified("--file", plan, status=3)
    assert [(row["replicas"], row["state"]) for row in found] == [(None, "missing")] * 2


def test_plans_that_cannot_be_meant_are_refused(here: Here, made: Made, tmp_path: Path) -> None:
    name = made()
    path = tmp_path / "plan.json"

    def refused(*arguments: str, plan: Any = None) -> str:
        path.write_text(json.dumps(plan))
        done = here("reassign", *arguments, *([] if plan is None else ["--file", str(path)]), ok=False)
        assert (done.returncode, done.stderr[:7], done.stderr.count("\n")) == (1, "error: ", 1)
        return done.stderr[7:]

    one = {"topic": name, "partition": 0, "replicas": [1]}
    assert f"has {name}-0 twice" in refused("start", plan={"partitions": [one, one]})
    assert "names no partitions" in refused("start", plan={"partitions": []})
    assert "is not {" in refused("start", plan={"partitions": [{"topic": name}]})
    assert "is not {" in refused("verify", plan=[1])
    in_folder = {**one, "log_dirs": ["/data"]}
    assert "barnabas log-dirs move" in refused("start", plan={"partitions": [in_folder]})
    nowhere = refused("start", "--yes", plan={"partitions": [{**one, "replicas": [7]}]})
    assert nowhere == "there is no broker 7: those of the cluster are 1\n"
    assert refused("generate", name, "--brokers", "1,7") == nowhere
    assert "name topics, and give --brokers or --current" in refused("generate", name)
    assert "name topics, or give --file" in refused("verify")
    assert "name topics, or give one of --file and --all" in refused("cancel")
