"""What shows that a command of docs/command-line-compared.md did its task, by the task: what it printed, or
what it left behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
from tests.cli.conftest import Ended
from tests.docs.compared_place import FILES, HOUR_MS, Place
from tests.waiting import wait_for

from barnabas import Admin

KEY_AND_NAME = ("--select", "key", "--select", "value.name")


@dataclass
class Done:
    """`check` fails where the task was not done. `status`: a documented one. `input`: what a user types."""

    check: Callable[[Place, Ended], object]
    status: int = 0
    input: str | None = None


def prints(*lines: str) -> Done:
    """Exactly these lines, in any order: partitions are read side by side."""

    def check(_: Place, ended: Ended) -> None:
        assert sorted(ended.stdout.splitlines()) == sorted(lines)

    return Done(check)


def shows(*texts: str, status: int = 0) -> Done:
    """A line with these words, whatever is between them, on stdout."""

    def check(_: Place, ended: Ended) -> None:
        for text in texts:
            assert any(text in " ".join(line.split()) for line in ended.stdout.splitlines()), ended.stdout

    return Done(check, status)


def holds(topic: str, *records: tuple[str | None, str | bytes | None]) -> Done:
    """The topic has exactly these keys and values."""

    def check(place: Place, _: Ended) -> None:
        wanted = [(as_bytes(key), as_bytes(value)) for key, value in records]
        assert [(each.key, each.value) for each in place.records(topic)] == wanted

    return Done(check)


def reads(*lines: str, by: tuple[str, ...]) -> Done:
    """This command line prints exactly these lines afterwards."""
    return Done(lambda place, _: prints(*lines).check(place, place.here(*by)))


def as_bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def the_row(rows: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    """The one that has these values."""
    (found,) = [row for row in rows if values.items() <= row.items()]
    return found


def order(number: int, amount: int) -> str:
    return json.dumps({"id": number, "amount": amount})


def printed_as_json(_: Place, ended: Ended) -> None:
    found = {each["key"]: each for each in map(json.loads, ended.stdout.splitlines())}
    assert sorted(found) == ["user-1", "user-2", "user-3", "user-4"]
    assert found["user-3"]["headers"] == [["source", "app"]]


def formatted(_: Place, ended: Ended) -> None:
    lines = [line.split(" ", 2) for line in ended.stdout.splitlines()]
    assert ("orders/0@1", f"user-2: {order(2, 250)}") in [(line[0], line[2]) for line in lines]
    assert len(lines) == 4


def committed(place: Place, ended: Ended) -> None:
    assert len(ended.stdout.splitlines()) == 4
    assert place.rows("groups", "describe", "readers")[0]["lag"] == 0


def kept_in_parquet(place: Place, _: Ended) -> None:
    table = pq.read_table(place.folder / "orders.parquet")
    assert sorted(table["key"].to_pylist()) == [b"user-1", b"user-2", b"user-3", b"user-4"]


def sent_with_headers(place: Place, _: Ended) -> None:
    found = [(each.value, list(each.headers)) for each in place.records("notes")]
    assert found == [(b"first", [("source", b"mail")]), (b"second", [("source", b"mail")])]


def sent_at_a_rate(place: Place, _: Ended) -> None:
    times = [each.timestamp for each in place.records("clicks")]
    assert len(times) == 100
    # They take 200 ms at 500 records a second, but for the first and the last few.
    assert times[-1] - times[0] >= 50


def copied_with_all(place: Place, _: Ended) -> None:
    def of(*, in_other: bool) -> list[tuple[Any, ...]]:
        found = place.records("orders", in_other=in_other)
        rows = [(each.timestamp, each.partition, each.key, each.value, each.headers) for each in found]
        return sorted(rows, key=lambda row: row[:2])

    assert of(in_other=True) == of(in_other=False)


def copied_once(place: Place, _: Ended) -> None:
    arguments = ("copy", "eu.orders", "--to-bootstrap", place.other.bootstrap, "--exactly-once")
    assert place.here(*arguments).stderr.startswith("0 records copied")
    assert [each.value for each in place.records("eu.orders", in_other=True)] == [b"from the EU"]


def copied_some(place: Place, _: Ended) -> None:
    assert {each.key for each in place.records("web-orders")} == {b"user-1", b"user-2", b"user-4"}


def listed_topics(_: Place, ended: Ended) -> None:
    (line,) = [line.split() for line in ended.stdout.splitlines() if line.startswith("orders ")]
    assert line[1:4] == ["2", "2", "4"]
    assert int(line[4]) > 0
    assert "billing" in line[5].split(",")


def created(place: Place, _: Ended) -> None:
    described = place.rows("topics", "describe", "invoices")
    assert "86400000" in json.dumps(described)
    with Admin(place.broker.bootstrap) as admin:
        assert len(admin.describe_topics(["invoices"])["invoices"].partitions) == 3


def altered(place: Place, _: Ended) -> None:
    with Admin(place.broker.bootstrap) as admin:
        assert len(admin.describe_topics(["parcels"])["parcels"].partitions) == 4
    assert (
        the_row(place.rows("configs", "describe", "topic", "parcels"), name="retention.ms")["value"]
        == "3600000"
    )


def deleted_topics(place: Place, _: Ended) -> None:
    assert not [each for each in place.here("topics", "list").stdout.splitlines() if each.startswith("tmp")]


def shows_seconds(_: Place, ended: Ended) -> None:
    (line,) = [line.split() for line in ended.stdout.splitlines() if line.split()[:2] == ["orders", "0"]]
    assert HOUR_MS / 1000 <= int(line[5]) < 2 * HOUR_MS / 1000


def offsets_of(place: Place, group: str) -> dict[int, int]:
    (found,) = place.rows("groups", "describe", group)
    return {each["partition"]: each["committed"] for each in found["partitions"]}


def moved_to_a_time(place: Place, _: Ended) -> None:
    assert offsets_of(place, "reports") == {0: 1, 1: 0}


def moved_as_the_file_says(place: Place, _: Ended) -> None:
    assert offsets_of(place, "archive") == {0: 2, 1: 1}


def has_no_members(place: Place, _: Ended) -> None:
    assert place.rows("groups", "members", "workers") == []


def deleted_group(place: Place, _: Ended) -> None:
    assert "old-team" not in place.here("groups", "list").stdout


def moved_replicas(place: Place, ended: Ended) -> None:
    assert "brokers 1, 2 move 10000000 bytes a second at most" in ended.stderr
    with Admin(place.broker.bootstrap) as admin:

        def has_moved() -> bool:
            (partition,) = admin.describe_topics(["parts"])["parts"].partitions
            return 2 in partition.replicas

        # The broker that is asked may not know it yet.
        wait_for(has_moved)


def allowed(place: Place, _: Ended) -> None:
    rules = place.rows("acls", "list", "--principal", "User:alice")
    assert sorted((rule["resource_name"], rule["operation"]) for rule in rules) == [
        ("billing", "read"),
        ("orders", "describe"),
        ("orders", "read"),
    ]


def has_a_password(place: Place, _: Ended) -> None:
    assert the_row(place.rows("users", "list"), user="alice")["mechanism"] == "SCRAM-SHA-512"


def limited(place: Place, _: Ended) -> None:
    assert "producer_byte_rate" in place.here("quotas", "list", "--client-id", "loader").stdout


def registered(place: Place, _: Ended) -> None:
    assert "Parcel" in place.here("schemas", "show", "parcels-value").stdout


DONE: Mapping[str, Done] = {
    "Read a topic from its beginning to its end": prints(
        order(1, 50), order(2, 250), order(3, 300), order(4, 20)
    ),
    "Read the last records": prints(order(3, 300), order(4, 20)),
    "Read what came between two times": prints(order(2, 250), order(3, 300)),
    "Read one record by its offset": prints(order(2, 250)),
    "Print records by a format string": Done(formatted),
    "Print records as JSON, with keys and headers": Done(printed_as_json),
    "Print values of several schemas in one topic": prints(
        '{"amount":12.5}', '{"id":7,"city":"Graz"}', "by hand"
    ),
    "Print Protobuf by a .proto file alone": prints('{"id":7,"city":"Graz"}'),
    "Only records of which a condition is true": prints(order(2, 250)),
    "Only some fields of a value": prints("user-1\t50", "user-2\t250", "user-3\t300", "user-4\t20"),
    "Read as a member of a group": Done(committed),
    "Keep records in a Parquet or CSV file": Done(kept_in_parquet),
    "Tell how many records there are, and how large": shows("orders 0 3 88", "all - 4 118", "user-1 1 29"),
    "Read all topics whose names match": prints("from the EU", "back to the EU"),
    "Send lines, each with key and value": holds("users", ("user-7", "Ada"), ("user-8", "Bob")),
    "Send a file as one record": holds("pictures", (None, FILES["logo.png"])),
    "Send records with headers": Done(sent_with_headers),
    "Encode values by a registry's schema": reads(
        '{"id":7}', by=("consume", "refunds", "-o", "beginning", "-e", "--value-format", "avro")
    ),
    "Delete keys of a compacted topic": holds("accounts", ("user-7", "Ada"), ("user-7", None)),
    "Send the rows of a CSV or Parquet file": reads(
        "7\tAda", "8\tBob", by=("consume", "customers", "-o", "beginning", "-e", *KEY_AND_NAME)
    ),
    "Send all of a file, or nothing": holds("ledger", (None, "in 10"), (None, "out 5")),
    "Send so many records a second": Done(sent_at_a_rate),
    "Copy a topic to another cluster": Done(copied_with_all),
    "Copy exactly once": Done(copied_once),
    "Copy some records to another topic": Done(copied_some),
    "List topics with records, bytes and groups": Done(listed_topics),
    "Create a topic": Done(created),
    "Describe a topic": shows("0 1 1,2 1,2 0 3", "1 2 2,1 2,1 0 1"),
    "Add partitions, and change a setting": Done(altered),
    "Delete topics whose names match": Done(deleted_topics),
    "Find the offsets of a time": shows("orders 0 1", "orders 1 0"),
    "Delete records that are older than a day": holds("logs", (None, "new")),
    "Compare the topics of two clusters": shows(
        "only-there topic - there", "payments topic there -", status=3
    ),
    "List groups with their lag": shows("billing Empty classic 0 0 orders 2"),
    "Show the lag of each partition": shows("orders 0 1 3 2", "orders 1 1 1 0"),
    "Show lag in seconds": Done(shows_seconds),
    "Set a group's offsets to a time": Done(moved_to_a_time),
    "Set a group's offsets from a file": Done(moved_as_the_file_says),
    "Put a member out of a group": Done(has_no_members),
    "Delete a group": Done(deleted_group),
    "Find out what is wrong with the cluster": shows(
        "critical transactions hung:0 has a transaction that hangs",
        "group billing: 2 records behind",
        status=4,
    ),
    "Move replicas to other brokers": Done(moved_replicas),
    "Allow a user to read a topic": Done(allowed),
    "Give a user a password": Done(has_a_password, input="secret\n"),
    "Limit what a client writes a second": Done(limited),
    "Find hanging transactions": shows("hung 0"),
    "Measure throughput and latency": shows("2,000 records", "latency: mean"),
    "Register a schema": Done(registered),
    "Check whether a schema may follow others": shows("compatible"),
}
