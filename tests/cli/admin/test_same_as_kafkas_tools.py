"""What the commands that administer show and do, beside Apache Kafka's own tools on the same broker: the same
facts, and each takes away what the other has set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker.tools.java import CONFIG, Java
from tests.cli.conftest import Cli, run_here
from tests.waiting import wait_for

from barnabas import Admin, Consumer, NewTopic, Producer
from barnabas.testing import ApacheKafka

Row = dict[str, Any]
SOME_TIME_MS = 1_769_860_800_000


class Beside:
    """One broker, its tools and our command line."""

    def __init__(self, kafka: ApacheKafka, java: Java) -> None:
        self.bootstrap = kafka.bootstrap
        self.here: Cli = run_here(kafka.bootstrap)
        self._java = java

    def tool(self, command: str) -> list[str]:
        """The lines that the tool prints, of which some have words for what differs each time."""
        status, lines = self._java.run(self.bootstrap, command)
        assert status == "0", lines
        return [line for line in lines if line]

    def table(self, command: str, *columns: str) -> list[tuple[str, ...]]:
        """These columns of what the tool prints below a line of names."""
        lines = [line.split() for line in self.tool(command)]
        (names,) = [line for line in lines if columns[0] in line]
        places = [names.index(column) for column in columns]
        return sorted(tuple(line[place] for place in places) for line in lines if line != names)

    def rows(self, *arguments: str) -> Any:
        return json.loads(self.here(*arguments, "--json").stdout)

    def cells(self, *arguments: str, columns: str) -> list[tuple[str, ...]]:
        """These columns of our rows, as texts."""
        return sorted(tuple(str(row[column]) for column in columns.split()) for row in self.rows(*arguments))


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    java = Java()
    yield java
    java.end()


@pytest.fixture(scope="module")
def beside(java: Java) -> Iterator[Beside]:
    """The topic `orders` has four records, a group `readers`, and an open transaction in its partition 1."""
    with ApacheKafka(config=CONFIG) as kafka:
        with Admin(kafka.bootstrap) as admin:
            orders = NewTopic("orders", 2, 1, {"retention.ms": "-1", "max.message.bytes": "50000"})
            admin.create_topics([orders])
            wait_for(lambda: "orders" in admin.list_topics())
        with Producer(kafka.bootstrap) as producer:
            for time in (SOME_TIME_MS - 1000, SOME_TIME_MS, SOME_TIME_MS + 1000):
                producer.send("orders", b"value", key=b"k", partition=0, timestamp=time).result()
        with Consumer(kafka.bootstrap, group_id="readers") as consumer:
            consumer.commit({("orders", 0): 1})
        with Producer(kafka.bootstrap, transactional_id="open") as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send("orders", b"value", partition=1).result()
            yield Beside(kafka, java)
            producer.abort_transaction()


def words_after(line: str, *names: str) -> tuple[str, ...]:
    """Of a line such as `Leader: 1 Replicas: 1`."""
    words = line.split()
    return tuple(words[words.index(f"{name}:") + 1] for name in names)


def test_topics_are_described_alike(beside: Beside) -> None:
    lines = beside.tool("topics --describe --topic orders")
    theirs = {
        words_after(line, "Partition", "Leader", "Replicas", "Isr") for line in lines if "Leader:" in line
    }
    (ours,) = beside.rows("topics", "describe", "orders")
    assert theirs == {
        (
            str(each["partition"]),
            str(each["leader"]),
            ",".join(map(str, each["replicas"])),
            ",".join(map(str, each["in_sync_replicas"])),
        )
        for each in ours["partitions"]
    }
    assert {*beside.tool("topics --list")} == {*beside.rows("topics", "list", "--internal")}


@pytest.mark.parametrize("time", ["earliest", "latest", "max-timestamp", str(SOME_TIME_MS)])
def test_offsets_are_the_same_at_each_time(beside: Beside, time: str) -> None:
    theirs = {tuple(line.split(":")) for line in beside.tool(f"get-offsets --topic orders --time {time}")}
    ours = beside.rows("topics", "offsets", "orders", "--at", time)
    found = [row for row in ours if row["offset"] is not None]
    assert {(row["topic"], str(row["partition"]), str(row["offset"])) for row in found} == {
        (topic, partition, offset) for topic, partition, offset in theirs if offset
    }


def settings_in(lines: list[str]) -> dict[str, set[str]]:
    """Of lines such as `retention.ms=50000 sensitive=false synonyms={...}`; items of lists in any order."""
    pairs = [line.split()[0].partition("=") for line in lines if " sensitive=false" in line]
    return {name: {*value.split(",")} for name, _, value in pairs}


@pytest.mark.parametrize(("kind", "name"), [("topic", "orders"), ("broker", "1")])
def test_settings_are_described_alike(beside: Beside, kind: str, name: str) -> None:
    theirs = settings_in(beside.tool(f"configs --describe --all --entity-type {kind}s --entity-name {name}"))
    ours = {
        row["name"]: {*row["value"].split(",")}
        for row in beside.rows("configs", "describe", kind, name, "--all")
        if row["note"] != "sensitive" and row["value"] is not None
    }
    # Of some with several items, tests.broker.tools.java has put the words in another order, and it hides
    # addresses.
    both = {key for key in ours.keys() & theirs.keys() if "ADDRESS" not in "".join(theirs[key])}
    assert len(both) > 0.9 * len(ours)
    assert {key: ours[key] for key in both} == {key: theirs[key] for key in both}


def test_settings_that_one_sets_the_other_shows_and_takes_away(beside: Beside) -> None:
    def theirs() -> dict[str, set[str]]:
        return settings_in(beside.tool("configs --describe --entity-type topics --entity-name orders"))

    before = theirs()
    beside.here("configs", "set", "topic", "orders", "segment.ms=7000", "--append", "cleanup.policy=compact")
    added = {"segment.ms": {"7000"}, "cleanup.policy": {"compact", "delete"}}
    wait_for(lambda: theirs() == before | added)
    beside.here("configs", "set", "topic", "orders", "--delete", "cleanup.policy")
    beside.tool("configs --alter --entity-type topics --entity-name orders --delete-config segment.ms")
    wait_for(lambda: theirs() == before)
    beside.tool("configs --alter --entity-type topics --entity-name orders --add-config flush.messages=9")
    wait_for(
        lambda: (
            ("flush.messages", "9")
            in beside.cells("configs", "describe", "topic", "orders", columns="name value")
        )
    )
    own = beside.rows("configs", "delete", "topic", "orders", "--dry-run")
    assert [row["name"] for row in own] == ["flush.messages", "max.message.bytes", "retention.ms"]
    beside.here("configs", "set", "topic", "orders", "--delete", "flush.messages")
    wait_for(lambda: theirs() == before)


ROLES = (
    "--producer --topic a",
    "--producer --topic a --topic b --transactional-id x --idempotent",
    "--consumer --topic a --group g",
    "--consumer --topic * --group *",
    "--producer --consumer --topic a --group g --transactional-id x",
)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("pattern", ["literal", "prefixed"])
def test_producers_and_consumers_get_the_same_rules(beside: Beside, role: str, pattern: str) -> None:
    columns = "resource_type resource_name pattern_type host operation permission"

    def rules(principal: str) -> list[tuple[str, ...]]:
        return beside.cells("acls", "list", "--principal", principal, columns=columns)

    ours = (*role.split(), *(["--prefixed"] if pattern == "prefixed" else []))
    theirs = f"{role} --resource-pattern-type {pattern}"
    beside.here("acls", "create", "--allow", "User:ours", *ours)
    beside.tool(f"acls --add --allow-principal User:theirs {theirs}")
    wait_for(lambda: rules("User:theirs") != [] and rules("User:theirs") == rules("User:ours"))
    beside.here("acls", "delete", "--principal", "User:theirs", *ours, "--yes")
    beside.tool(f"acls --remove --force --allow-principal User:ours {theirs}")
    wait_for(lambda: rules("User:theirs") == rules("User:ours") == [])


def test_groups_are_described_alike(beside: Beside) -> None:
    lines = [line.split() for line in beside.tool("consumer-groups --describe --group readers")]
    theirs = [tuple(line[1:6]) for line in lines if line[0] == "readers"]
    (ours,) = beside.rows("groups", "describe", "readers")
    assert theirs == [
        tuple(str(each[name]) for name in ("topic", "partition", "committed", "end_offset", "lag"))
        for each in ours["partitions"]
    ]
    states = beside.table("consumer-groups --list --state", "GROUP", "STATE")
    assert states == beside.cells("groups", "list", "--type", "classic", columns="group state")


def test_offsets_that_are_exported_by_one_are_taken_by_the_other(beside: Beside, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"

    def committed() -> list[tuple[str, ...]]:
        (group,) = beside.rows("groups", "describe", "readers")
        return [(each["topic"], each["partition"], each["committed"]) for each in group["partitions"]]

    was = committed()
    beside.here("groups", "reset-offsets", "readers", "--to-current", "--export", str(file), "--yes")
    beside.here("groups", "reset-offsets", "readers", "--to-latest", "--yes")
    assert committed() != was
    beside.tool(f"consumer-groups --reset-offsets --group readers --from-file {file} --execute")
    assert committed() == was
    exported = beside.tool(
        "consumer-groups --reset-offsets --group readers --topic orders --to-latest --export --dry-run"
    )
    file.write_text("\n".join(line for line in exported if line.startswith("orders,")) + "\n")
    beside.here("groups", "reset-offsets", "readers", "--from-file", str(file), "--yes")
    assert committed() == [("orders", 0, 3), ("orders", 1, 1)]


def test_share_groups_are_described_alike(beside: Beside) -> None:
    reset = ("share-groups", "reset-offsets", "shared", "--topic", "orders", "--to-latest", "--yes")
    beside.here(*reset)
    rows = beside.rows("share-groups", "describe", "shared")["partitions"]
    ours = [(row["topic"], str(row["partition"]), str(row["start_offset"])) for row in rows]
    theirs = beside.table("share-groups --describe --group shared", "TOPIC", "PARTITION", "START-OFFSET")
    assert ours == theirs
    assert [row[2] for row in ours] == ["3", "1"]
    beside.tool("share-groups --reset-offsets --group shared --topic orders --to-earliest --execute")
    rows = beside.rows("share-groups", "describe", "shared")["partitions"]
    assert [row["start_offset"] for row in rows] == [0, 0]
    beside.here("share-groups", "delete", "shared", "--yes")
    assert "shared" not in beside.tool("share-groups --list")


def test_records_that_one_deletes_are_gone_for_the_other(beside: Beside) -> None:
    beside.here("topics", "create", "logs")
    beside.here("produce", "logs", input="a\nb\nc\n")
    (row,) = beside.rows("delete-records", "logs", "--before-offset", "2", "--yes")
    assert beside.tool("get-offsets --topic logs --time earliest") == [f"logs:0:{row['new_first_offset']}"]
    assert row["new_first_offset"] == 2
    beside.tool("topics --delete --topic logs")
    wait_for(lambda: "logs" not in beside.rows("topics", "list"))


def test_subscriptions_to_metrics_that_one_sets_the_other_shows(beside: Beside) -> None:
    beside.tool("client-metrics --alter --name mine --interval 30000 --metrics org.apache.kafka.consumer.")
    shown = {("interval.ms", "30000"), ("metrics", "org.apache.kafka.consumer.")}
    wait_for(
        lambda: (
            {*beside.cells("configs", "describe", "client-metrics", "mine", columns="name value")} >= shown
        )
    )
    assert {"type": "client-metrics", "name": "mine"} in beside.rows("configs", "list", "client-metrics")
    beside.here("configs", "delete", "client-metrics", "mine", "--yes")
    wait_for(lambda: "mine" not in beside.tool("client-metrics --list"))


def test_sizes_of_replicas_are_the_same(beside: Beside) -> None:
    (line,) = [each for each in beside.tool("log-dirs --describe --topic-list orders") if each[0] == "{"]
    (broker,) = json.loads(line.replace("DIRECTORY", '"path"'))["brokers"]
    (folder,) = broker["logDirs"]
    theirs = {
        (each["partition"], each["size"], each["offsetLag"], each["isFuture"])
        for each in folder["partitions"]
    }
    assert theirs == {
        (f"{row['topic']}-{row['partition']}", row["size_bytes"], row["offset_lag"], row["moves_here"])
        for row in beside.rows("log-dirs", "replicas", "--topic", "orders")
    }


def test_transactions_are_shown_alike(beside: Beside) -> None:
    listed = beside.table(
        "transactions list", "TransactionalId", "Coordinator", "ProducerId", "TransactionState"
    )
    assert listed == beside.cells(
        "transactions", "list", columns="transactional_id coordinator producer_id state"
    )
    described = beside.table(
        "transactions describe --transactional-id open",
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TopicPartitions"),
    )
    (ours,) = beside.rows("transactions", "describe", "open")
    names = [
        "coordinator",
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "state",
        "timeout_ms",
        "began_at_ms",
    ]
    assert described == [(*(str(ours[name]) for name in names), *ours["partitions"])]
    # The tool's name of the coordinator's epoch is as long as an id, and so hidden.
    producers = beside.table(
        "transactions describe-producers --topic orders --partition 1",
        *("ProducerId", "ProducerEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset"),
    )
    columns = "producer_id producer_epoch last_sequence last_timestamp_ms start_offset"
    assert producers == beside.cells("transactions", "producers", "orders:1", columns=columns)
    assert beside.table("transactions find-hanging --broker-id 1", "ProducerId") == []
    assert beside.rows("transactions", "find-hanging") == []


def test_features_and_their_levels_are_the_same(beside: Beside) -> None:
    names = ("Feature", "SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel")
    theirs = {words_after(line, *names) for line in beside.tool("features describe")}
    ours = beside.cells("features", "list", columns="feature lowest highest level")
    # That one has names for its levels.
    assert {each for each in theirs if each[0] != "metadata.version"} == {
        # What the cluster has not settled on has level 0 there.
        tuple("0" if word == "None" else word for word in each)
        for each in ours
        if each[0] != "metadata.version"
    }
    assert {each[0] for each in theirs} == {each[0] for each in ours}


def test_the_quorum_is_the_same(beside: Beside) -> None:
    status = beside.tool("metadata-quorum describe --status")
    ours = beside.rows("quorum", "describe")
    assert {f"LeaderId: {ours['leader']}", f"LeaderEpoch: {ours['leader_epoch']}"} <= {*status}
    theirs = beside.table("metadata-quorum describe --replication", "NodeId", "Lag", "Status")
    assert theirs == [
        (str(each["id"]), str(each["lag"]), each["role"].capitalize()) for each in ours["replicas"]
    ]


def test_passwords_and_quotas_that_one_sets_the_other_shows_and_takes_away(beside: Beside) -> None:
    def quotas() -> list[tuple[str, ...]]:
        return beside.cells("quotas", "list", columns="client_id quota value")

    def users() -> list[tuple[str, ...]]:
        return beside.cells("users", "list", columns="user mechanism iterations")

    beside.tool("configs --alter --user ann --add-config SCRAM-SHA-512=[iterations=5000,password=x]")
    beside.tool("configs --alter --client loader --add-config producer_byte_rate=1024")
    wait_for(lambda: users() == [("ann", "SCRAM-SHA-512", "5000")])
    wait_for(lambda: quotas() == [("loader", "producer_byte_rate", "1024.0")])
    beside.here("users", "delete", "ann", "--yes")
    beside.here("users", "set", "bob", input="secret\n")
    beside.here("quotas", "set", "--client-id", "loader", "--delete", "producer_byte_rate")
    beside.here("quotas", "set", "--client-id", "<default>", "request_percentage=50")
    shown = "SCRAM credential configs for user-principal 'bob' are SCRAM-SHA-512=iterations=4096"
    wait_for(lambda: beside.tool("configs --describe --entity-type users") == [shown])
    shown = "Quota configs for the default client-id are request_percentage=50.0"
    wait_for(lambda: beside.tool("configs --describe --entity-type clients") == [shown])
    beside.tool("configs --alter --user bob --delete-config SCRAM-SHA-512")
    beside.tool("configs --alter --client-defaults --delete-config request_percentage")
    wait_for(lambda: (users(), quotas()) == ([], []))


def test_a_throttle_on_one_node_is_the_same_and_either_takes_it_off(beside: Beside, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(beside.here("reassign", "generate", "orders", "--brokers", "1").stdout)

    def settings() -> set[tuple[str, str]]:
        found = beside.rows("configs", "describe", "topic", "orders")
        found += beside.rows("configs", "describe", "broker", "1")
        return {(row["name"], row["value"]) for row in found if "throttled" in row["name"] and row["value"]}

    expected = {
        ("leader.replication.throttled.replicas", "0:1,1:1"),
        ("leader.replication.throttled.rate", "5000"),
        ("follower.replication.throttled.rate", "5000"),
    }
    start_of_ours = ("reassign", "start", "--file", str(plan), "--throttle", "5000", "--yes")
    start_of_theirs = f"reassign-partitions --execute --reassignment-json-file {plan} --throttle 5000"
    end_of_ours = ("reassign", "verify", "--file", str(plan))
    end_of_theirs = f"reassign-partitions --verify --reassignment-json-file {plan}"
    begin: tuple[Callable[[], object], ...] = (
        lambda: beside.here(*start_of_ours),
        lambda: beside.tool(start_of_theirs),
    )
    end: tuple[Callable[[], object], ...] = (
        lambda: beside.tool(end_of_theirs),
        lambda: beside.here(*end_of_ours),
    )
    for start, verify in zip(begin, end, strict=True):
        start()
        wait_for(lambda: settings() == expected)
        verify()
        wait_for(lambda: settings() == set())
