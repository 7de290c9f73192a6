"""The commands that administer, on the embedded broker: each shows and changes what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.broker_errors import ProducerFencedError
from barnabas.testing import EmbeddedBroker

Here = Callable[..., Any]
Made = Callable[..., str]


@pytest.fixture
def rows(here: Here) -> Callable[..., list[dict[str, Any]]]:
    def rows(*arguments: str, **more: Any) -> list[dict[str, Any]]:
        return json.loads(here(*arguments, "--json", **more).stdout)

    return rows


def test_rules_of_access_are_created_listed_and_deleted(here: Here, guarded: EmbeddedBroker) -> None:
    on_it = {"BARNABAS_BOOTSTRAP": guarded.bootstrap}

    def rules(*arguments: str) -> list[tuple[str, ...]]:
        found = json.loads(here("acls", "list", *arguments, "--json", **on_it).stdout)
        return [tuple(rule.values()) for rule in found]

    rule = ["--allow", "User:alice", "-o", "read", "-o", "Describe", "--topic", "fl", "--prefixed"]
    tried = here("acls", "create", *rule, "--dry-run", **on_it)
    assert "nothing was changed" in tried.stderr
    assert rules() == []
    here("acls", "create", *rule, **on_it)
    here("acls", "create", "--deny", "User:bob", "-o", "all", "--cluster", "--host", "10.0.0.1", **on_it)
    expected = [
        ("topic", "fl", "prefixed", "User:alice", "*", operation, "allow")
        for operation in ("describe", "read")
    ]
    assert rules("--topic", "flights") == expected
    assert rules("--topic", "other") == []
    assert rules("--principal", "User:bob") == [
        ("cluster", "kafka-cluster", "literal", "User:bob", "10.0.0.1", "all", "deny")
    ]
    refused = here("acls", "delete", "--all", ok=False, **on_it)
    assert refused.stderr == "error: delete 3 rules: add --yes to do it without being asked\n"
    assert "no rule is like that" in here("acls", "delete", "--topic", "fl", "--yes", **on_it).stderr
    done = here("acls", "delete", "--topic", "fl", "--prefixed", "-o", "read", "--yes", **on_it)
    assert done.stderr == "deleted 1 rule\n"
    assert len(rules()) == 2


def test_users_get_passwords_and_lose_them(here: Here, rows: Callable[..., Any]) -> None:
    here("users", "set", "alice", input="secret\n")
    here("users", "set", "alice", "-m", "scram-sha-256", "-i", "5000", input="secret")
    found = [row for row in rows("users", "list") if row["user"] == "alice"]
    assert sorted((row["mechanism"], row["iterations"]) for row in found) == [
        ("SCRAM-SHA-256", 5000),
        ("SCRAM-SHA-512", 4096),
    ]
    here("users", "delete", "alice", "-m", "SCRAM-SHA-256", "-y")
    here("users", "delete", "alice", "--yes")
    assert all(row["user"] != "alice" for row in rows("users", "list"))
    assert "the password is empty" in here("users", "set", "alice", input="", ok=False).stderr
    wrong = here("users", "set", "alice", "-m", "MD5", input="x", ok=False).stderr
    assert wrong == "error: --mechanism is SCRAM-SHA-256 or SCRAM-SHA-512, not 'MD5'\n"


def test_quotas_are_set_listed_and_taken_away(here: Here, rows: Callable[..., Any]) -> None:
    here("quotas", "set", "producer_byte_rate=1024", "--user", "u1", "--client-id", "<default>")
    here("quotas", "set", "request_percentage=50", "--user", "u2", "--dry-run")
    row = {"user": "u1", "client_id": "<default>", "ip": None, "quota": "producer_byte_rate", "value": 1024.0}
    assert rows("quotas", "list", "--user", "u1") == [row]
    assert rows("quotas", "list", "--user", "u2") == []
    here("quotas", "set", "--delete", "producer_byte_rate", "--user", "u1", "--client-id", "<default>")
    assert rows("quotas", "list", "--user", "u1") == []
    wrong = here("quotas", "set", "producer_byte_rate=fast", "--user", "u", ok=False).stderr
    assert wrong == "error: the quota 'producer_byte_rate' is a number, not 'fast'\n"


def test_the_cluster_its_brokers_quorum_and_features_are_shown(
    here: Here, rows: Callable[..., Any], embedded_broker: EmbeddedBroker
) -> None:
    (broker,) = rows("brokers", "list")
    assert f"{broker['host']}:{broker['port']}" == embedded_broker.bootstrap
    summary = json.loads(here("cluster", "--json").stdout)
    assert (summary["brokers"], summary["controller"]) == (1, broker["id"])
    assert f"cluster id: {summary['cluster_id']}\n" in here("cluster").stdout
    quorum = json.loads(here("quorum", "describe", "--json").stdout)
    assert ("leader", 0) in [(row["role"], row["lag"]) for row in quorum["replicas"]]
    levels = {row["feature"]: row["level"] for row in rows("features", "list")}
    assert levels["metadata.version"] >= 1
    level = str(levels["metadata.version"])
    here("features", "update", "metadata.version", level, "--dry-run")
    asked = here("brokers", "unregister", "7", ok=False).stderr
    assert asked == "error: forget broker 7: add --yes to do it without being asked\n"


def test_log_dirs_tell_what_is_in_them(here: Here, made: Made, rows: Callable[..., Any]) -> None:
    name = made(partitions=2)
    here("produce", name, "-p", "1", input="a\n")
    (folder,) = rows("log-dirs", "list")
    assert folder["size_bytes"] > 0
    found = rows("log-dirs", "replicas", "--topic", f"{name}:1")
    assert [(row["partition"], row["path"], row["moves_here"]) for row in found] == [
        (1, folder["path"], False)
    ]
    assert found[0]["size_bytes"] > 0


def test_a_throttle_of_moves_between_folders_is_set_first_and_taken_off_when_nothing_moves(
    here: Here, made: Made, rows: Callable[..., Any]
) -> None:
    name = made()
    (folder,) = rows("log-dirs", "list")
    broker = str(folder["broker"])

    def throttle() -> str | None:
        found = rows("configs", "describe", "broker", broker, "--all")
        (value,) = [
            row["value"] for row in found if row["name"] == "replica.alter.log.dirs.io.max.bytes.per.second"
        ] or [None]
        return value

    without = throttle()
    move = ("log-dirs", "move", name, "--broker", broker, "--throttle", "5000", "--to")
    tried = here(*move, folder["path"], "--dry-run").stderr
    assert f"would let broker {broker} move 5000 bytes a second at most between its folders\n" in tried
    assert "has no folder '/elsewhere'" in here(*move, "/elsewhere", ok=False).stderr
    assert throttle() == without
    here(*move, folder["path"])
    assert throttle() == "5000"
    here("log-dirs", "verify", "--keep-throttle")
    tried = here("log-dirs", "verify", "--broker", broker, "--dry-run").stderr
    assert f"would take the throttle of moves between folders off broker {broker}\n" in tried
    assert throttle() == "5000"
    done = here("log-dirs", "verify", "--broker", broker)
    assert done.stderr == f"no throttle holds moves between folders of broker {broker} any more\n"
    assert throttle() == without


def test_records_are_deleted_before_an_offset_a_time_or_all(
    here: Here, made: Made, rows: Callable[..., Any]
) -> None:
    name = made()
    here("produce", name, "--timestamp", "3h", input="a\nb\n")
    here("produce", name, input="c\nd\n")

    def first(*arguments: str) -> int:
        (row,) = rows("delete-records", f"{name}:0", *arguments)
        return row["new_first_offset"]

    assert first("--before", "1h", "--dry-run") == 2
    assert first("--before-offset", "1", "--yes") == 1
    assert first("--before", "1h", "--yes") == 2
    assert here("consume", name, "-o", "beginning", "-e").stdout == "c\nd\n"
    asked = here("delete-records", name, "--all", ok=False).stderr
    assert asked == "error: delete 2 records at most, permanently: add --yes to do it without being asked\n"
    assert first("--all", "-y") == 4


def test_transactions_are_shown_and_their_producers_shut_out(
    here: Here, made: Made, rows: Callable[..., Any], embedded_broker: EmbeddedBroker
) -> None:
    name = made()
    with Producer(embedded_broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"a").result()
        listed = rows("transactions", "list", "--state", "Ongoing")
        (found,) = [row for row in listed if row["transactional_id"] == name]
        (described,) = rows("transactions", "describe", name)
        assert (described["partitions"], described["state"]) == ([f"{name}-0"], "Ongoing")
        (state,) = rows("transactions", "producers", name)
        assert (state["producer_id"], state["start_offset"]) == (found["producer_id"], 0)
        # Its coordinator knows of it: it is open, and does not hang.
        assert rows("transactions", "find-hanging", name, "--open-for", "-1") == []
        wrong = here("transactions", "abort", f"{name}:0", "--start-offset", "5", "--yes", ok=False).stderr
        assert wrong == f"error: no transaction begins at offset 5 of {name}-0\n"
        here("transactions", "fence", name, "--yes")
        assert rows("transactions", "describe", name)[0]["state"] in (
            "PrepareAbort",
            "CompleteAbort",
            "Empty",
        )
        with pytest.raises(ProducerFencedError):
            producer.abort_transaction()


def test_a_transaction_of_which_no_coordinator_knows_is_found_and_aborted(
    here: Here, made: Made, rows: Callable[..., Any], embedded_broker: EmbeddedBroker
) -> None:
    name = made()
    with Producer(embedded_broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"a").result()
        here("transactions", "abort", f"{name}:0", "--start-offset", "0", "--yes")
        assert [row["start_offset"] for row in rows("transactions", "producers", name)] == [None]
        producer.abort_transaction()


def test_share_groups_are_reset_described_and_deleted(
    here: Here, made: Made, rows: Callable[..., Any]
) -> None:
    name = made()
    here("produce", name, input="a\nb\nc\n")
    tried = rows("share-groups", "reset-offsets", name, "--topic", name, "--to-offset", "2", "--dry-run")
    assert tried == [{"topic": name, "partition": 0, "start_offset": None, "new_offset": 2}]
    here("share-groups", "reset-offsets", name, "--topic", name, "--to-offset", "2", "--yes")
    assert {"group": name, "state": "Empty"} in rows("share-groups", "list")
    found = json.loads(here("share-groups", "describe", name, "--json").stdout)
    assert [(row["partition"], row["start_offset"]) for row in found["partitions"]] == [(0, 2)]
    assert f"{name}  Empty, 0 members" in here("share-groups", "describe", name).stdout
    forget = ("share-groups", "delete-offsets", name, "--topic")
    assert "stands nowhere in 'no-topic'" in here(*forget, "no-topic", "--yes", ok=False).stderr
    assert f"would forget where {name} stands in {name}" in here(*forget, name, "--dry-run").stderr
    here(*forget, name, "--yes")
    assert json.loads(here("share-groups", "describe", name, "--json").stdout)["partitions"] == []
    here("share-groups", "delete", name, "--yes")
    assert all(row["group"] != name for row in rows("share-groups", "list"))


def test_several_share_groups_are_described_and_deleted_by_a_pattern(
    here: Here, made: Made, rows: Callable[..., Any]
) -> None:
    name = made()
    groups = [f"{name}-a", f"{name}-b"]
    for group in groups:
        here("share-groups", "reset-offsets", group, "--topic", name, "--to-latest", "--yes")
    assert [each["group"] for each in rows("share-groups", "describe", "--pattern", f"{name}-.*")] == groups
    assert [each["group"] for each in rows("share-groups", "describe", *reversed(groups))] == groups[::-1]
    first, *_ = rows("share-groups", "describe", "--pattern", f"{name}-a")
    assert first["group"] == groups[0]
    told = here("share-groups", "describe", *groups).stdout
    assert [line.split()[0] for line in told.splitlines() if "Empty" in line] == groups
    refused = here("share-groups", "delete", "--pattern", f"{name}-c", ok=False).stderr
    assert refused == f"error: no group matches --pattern '{name}-c'\n"
    tried = here("share-groups", "delete", "--pattern", f"{name}-.*", "--dry-run").stderr
    assert f"would delete {', '.join(groups)}\n" in tried
    here("share-groups", "delete", "--pattern", f"{name}-.*", "--yes")
    assert not {each["group"] for each in rows("share-groups", "list")} & {*groups}


def test_durations_are_taken_as_people_write_them(here: Here) -> None:
    for given in ("15m", "2h", "30"):
        here("transactions", "list", "--open-for", given)
    refused = here("transactions", "find-hanging", "--open-for", "soon", ok=False).stderr
    assert refused == (
        "error: --open-for 'soon' is no duration: give 30s, 15m, 2h, 7d, or a number of minutes\n"
    )
    refused = here("tokens", "renew", "AAAA", "--period", "1x", ok=False).stderr
    assert "--period '1x' is no duration" in refused
    assert "a number of milliseconds" in refused


def test_what_deletes_asks_and_does_nothing_where_nobody_answers(
    here: Here, made: Made, embedded_broker: EmbeddedBroker
) -> None:
    name = made()
    for arguments, what in (
        (["topics", "delete", name], f"delete {name} with all records"),
        (["groups", "delete", name], f"delete {name} with their offsets"),
        (["schemas", "delete", name, "--registry", "http://localhost:1"], f"delete {name}"),
        (["share-groups", "delete", name], f"delete {name}"),
        (["transactions", "fence", name], f"shut out the producers of {name}"),
        (["tokens", "expire", "AAAA"], "end the token"),
    ):
        done = here(*arguments, ok=False)
        assert (done.returncode, done.stderr) == (
            1,
            f"error: {what}: add --yes to do it without being asked\n",
        )
    assert f"would delete {name}" in here("topics", "delete", name, "--dry-run").stderr
    with Admin(embedded_broker.bootstrap) as admin:
        assert name in admin.list_topics()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["acls", "create", "--allow", "User:a"], "name who, what and on which"),
        (
            ["acls", "create", "--allow", "a", "-o", "read", "--topic", "t"],
            "a principal is like User:a, not 'a'",
        ),
        (["acls", "delete"], "name resources (--topic, --group or another), or give --all"),
        (["quotas", "set", "a=1"], "name whom"),
        (["configs", "set", "topic", "t"], "nothing to set"),
        (["delete-records", "t"], "give one of --before-offset, --before and --all"),
        (["elect"], "name topics, or give --all"),
        (["reassign", "start"], "name topics and --brokers, or give --file"),
        (["reassign", "start", "t", "--brokers", "a"], "topic 't'"),
        (["quorum", "add", "1", "x", "--endpoint", "y"], "--endpoint 'y' is not LISTENER://HOST:PORT"),
        (["quorum", "remove", "1", "x", "--yes"], "'x' is no id of a folder"),
        (["tokens", "renew", "?"], "the HMAC is not base64"),
    ],
)
def test_what_cannot_be_meant_is_refused(here: Here, arguments: list[str], complaint: str) -> None:
    done = here(*arguments, ok=False)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_versions_of_apis_are_listed_once_where_all_brokers_speak_them_alike(
    rows: Callable[..., Any], embedded_broker: EmbeddedBroker
) -> None:
    found = {row["api"]: row for row in rows("brokers", "api-versions")}
    assert found["Produce"]["brokers"] == [1]
    assert found["Produce"]["highest"] >= 12
    assert found.keys() >= {"Fetch", "ListOffsets", "ShareFetch", "DescribeQuorum"}
    assert rows("brokers", "api-versions", "--broker", "1") == list(found.values())
