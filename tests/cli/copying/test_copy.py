from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cli.conftest import command_line

from barnabas import Admin, Consumer, NewTopic, Producer, Record, TopicPartition
from barnabas.cli.copying.accounts import NoAccount
from barnabas.cli.copying.copier import Copier
from barnabas.cli.producing.throttle import Throttle
from barnabas.client.admin.types import ConfigResource, ResourceType
from barnabas.testing import ApacheKafka, EmbeddedBroker

Here = Callable[..., Any]
Made = Callable[..., str]


@pytest.fixture(scope="module")
def other_broker() -> Iterator[EmbeddedBroker]:
    """Another cluster than the embedded broker of all tests."""
    with EmbeddedBroker() as broker:
        yield broker


def fill(bootstrap: str, topic: str, count: int = 10, partitions: int = 1, begin: int = 0) -> None:
    with Producer(bootstrap) as producer:
        for number in range(begin, begin + count):
            producer.send(
                topic,
                f"v{number}".encode(),
                key=f"k{number}".encode(),
                headers=[("h", b"1")] if number % 2 else None,
                partition=number % partitions,
                timestamp=1_700_000_000_000 + number,
            )


def read(bootstrap: str, topic: str) -> list[Record]:
    """All records that were committed."""
    with Consumer(bootstrap, isolation_level="read_committed", auto_offset_reset="earliest") as consumer:
        places = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        found: list[Record] = []
        while any(consumer.position(place) < end for place, end in ends.items()):
            found += consumer.poll(0.2)
    return sorted(found, key=lambda record: (record.partition, record.offset))


def contents(records: list[Record]) -> list[tuple[object, ...]]:
    return [(r.partition, r.key, r.value, r.timestamp, list(r.headers)) for r in records]


def test_records_are_copied_with_all_that_they_have(
    broker: ApacheKafka | EmbeddedBroker, cli: Callable[..., Any], created: Made
) -> None:
    source, target = created(partitions=3), created(partitions=3)
    fill(broker.bootstrap, source, 100, 3)
    done = cli("copy", source, "--to", target)
    assert f"100 records copied, {source} to {target}" in done.stderr
    assert contents(read(broker.bootstrap, target)) == contents(read(broker.bootstrap, source))


def test_topics_of_a_pattern_are_created_elsewhere_as_they_are(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, topic: Callable[[], str]
) -> None:
    base = topic()
    with Admin(embedded_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{base}-a", 2, configs={"retention.ms": "-1"}), NewTopic(f"{base}-b")])
    fill(embedded_broker.bootstrap, f"{base}-a", 6, 2)
    fill(embedded_broker.bootstrap, f"{base}-b", 4)
    arguments = ("--pattern", f"{base}-.*", "--rename-regex", r"(.*)-([ab])=\2.\1", "--prefix", "dr.")
    elsewhere = ("--to-bootstrap", other_broker.bootstrap)
    refused = here("copy", *arguments, *elsewhere, ok=False)
    assert f"the target has no topic 'dr.a.{base}'" in refused.stderr
    done = here("copy", *arguments, *elsewhere, "--create-topics", "--json")
    found = json.loads(done.stdout)
    assert (found["records"], [each["records"] for each in found["topics"]]) == (10, [6, 4])
    with Admin(other_broker.bootstrap) as admin:
        resource = ConfigResource(ResourceType.TOPIC, f"dr.a.{base}")
        assert len(admin.describe_topics([resource.name])[resource.name].partitions) == 2
        assert admin.describe_configs([resource])[resource]["retention.ms"].value == "-1"
    assert contents(read(other_broker.bootstrap, f"dr.a.{base}")) == contents(
        read(embedded_broker.bootstrap, f"{base}-a")
    )


def test_headers_name_the_source_of_a_record(here: Here, embedded_broker: EmbeddedBroker, made: Made) -> None:
    source, target = made(), made()
    fill(embedded_broker.bootstrap, source, 3)
    here("copy", source, "--to", target, "--source-headers")
    assert [list(record.headers) for record in read(embedded_broker.bootstrap, target)] == [
        [
            *([("h", b"1")] if offset == 1 else []),
            ("source.topic", source.encode()),
            ("source.partition", b"0"),
            ("source.offset", str(offset).encode()),
            ("source.timestamp", str(1_700_000_000_000 + offset).encode()),
        ]
        for offset in range(3)
    ]


def test_a_copy_takes_ranges_and_filters(here: Here, embedded_broker: EmbeddedBroker, made: Made) -> None:
    source = made(partitions=2)
    fill(embedded_broker.bootstrap, source, 20, 2)

    def copied(*arguments: str) -> list[bytes | None]:
        target = made()
        here("copy", source, "--to", target, "--by-key", *arguments)
        return sorted(record.key or b"" for record in read(embedded_broker.bootstrap, target))

    assert copied("-p", "1", "-o", "7") == [b"k15", b"k17", b"k19"]
    assert copied("--offset=-1") == [b"k18", b"k19"]
    assert copied("--since", "1700000000018") == [b"k18", b"k19"]
    assert copied("--until", "1700000000002") == [b"k0", b"k1"]
    assert copied("--match-key", "^k1.$", "--match-header", "h") == [b"k11", b"k13", b"k15", b"k17", b"k19"]
    assert len(copied("--max", "5")) == 5


def test_partitions_that_are_missing_at_the_target_are_told(here: Here, made: Made) -> None:
    source, target = made(partitions=3), made(partitions=2)
    done = here("copy", source, "--to", target, ok=False)
    assert done.stderr == (
        f"error: topic {target!r} has 2 of the 3 partitions of {source!r}: add some, or use --by-key to "
        "choose partitions by the keys\n"
    )


def test_a_topic_is_not_copied_into_itself(here: Here, made: Made) -> None:
    name = made()
    assert "would be copied into itself" in here("copy", name, ok=False).stderr


def test_a_copy_begins_at_an_offset_or_a_time_and_not_at_both(here: Here, made: Made) -> None:
    name = made()
    both = here("copy", name, "--to", f"{name}-copy", "--since", "2h", "--offset", "1", ok=False)
    assert both.stderr == "error: --offset and --since exclude each other\n"


def test_a_dry_run_shows_what_would_be_copied(
    here: Here, embedded_broker: EmbeddedBroker, made: Made
) -> None:
    source = made()
    fill(embedded_broker.bootstrap, source, 4)
    done = here("copy", source, "--prefix", "x.", "--create-topics", "--dry-run", "--json")
    assert json.loads(done.stdout)["topics"] == [
        {"source": source, "target": f"x.{source}", "partitions": 1, "offsets": 4, "is_created": True}
    ]
    with Admin(embedded_broker.bootstrap) as admin:
        assert f"x.{source}" not in admin.list_topics()


@pytest.mark.parametrize("options", [["--group", "mine"], ["--exactly-once"]])
def test_the_next_copy_goes_on_where_one_ended(
    here: Here, embedded_broker: EmbeddedBroker, other_broker: EmbeddedBroker, made: Made, options: list[str]
) -> None:
    source = made(partitions=2)
    for arguments, bootstrap in (
        (["--to-bootstrap", other_broker.bootstrap, "--create-topics"], other_broker.bootstrap),
        (["--prefix", "x.", "--create-topics"], embedded_broker.bootstrap),
    ):
        target = source if bootstrap == other_broker.bootstrap else f"x.{source}"
        counts = []
        group = [f"{each}-{target}" if each == "mine" else each for each in options]
        with Admin(embedded_broker.bootstrap) as admin:
            begin = sum(
                found.offset
                for found in admin.list_offsets(
                    {TopicPartition(source, number): "latest" for number in range(2)}
                ).values()
            )
        fill(embedded_broker.bootstrap, source, 10, 2, begin)
        for _ in range(2):
            done = here("copy", source, *arguments, *group, "--json")
            counts.append(json.loads(done.stdout)["records"])
            fill(embedded_broker.bootstrap, source, 2, 2, begin + 10)
        counts.append(json.loads(here("copy", source, *arguments, *group, "--json").stdout)["records"])
        assert counts == [begin + 10, 2, 2]
        assert len(read(bootstrap, target)) == begin + 14


def test_a_copy_to_another_cluster_that_is_killed_loses_none_and_doubles_none(
    embedded_broker: EmbeddedBroker,
    other_broker: EmbeddedBroker,
    made: Made,
    eventually: Callable[..., object],
) -> None:
    source = made(partitions=2)
    fill(embedded_broker.bootstrap, source, 6000, 2)
    with Admin(other_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(source, 2)])
    command = command_line("copy", source, "--bootstrap", embedded_broker.bootstrap, "--exactly-once")
    command += ["--to-bootstrap", other_broker.bootstrap]
    for _ in range(2):
        before = end_offset(other_broker.bootstrap, source)
        copying = subprocess.Popen([*command, "--records-per-second", "500"], stderr=subprocess.PIPE)
        # In its second transaction at least.
        eventually(lambda before=before: end_offset(other_broker.bootstrap, source) > before + 500)
        copying.kill()
        copying.communicate()
        assert copying.returncode == -signal.SIGKILL
    subprocess.run(command, check=True, timeout=60)
    copied = [row[1:] for row in contents(read(other_broker.bootstrap, source))]
    assert copied == [row[1:] for row in contents(read(embedded_broker.bootstrap, source))]


def end_offset(bootstrap: str, topic: str) -> int:
    with Admin(bootstrap) as admin:
        found = admin.list_offsets({TopicPartition(topic, number): "latest" for number in range(2)})
    return sum(each.offset for each in found.values())


def test_what_comes_is_followed_until_ctrl_c(
    embedded_broker: EmbeddedBroker, made: Made, eventually: Callable[..., object]
) -> None:
    source, target = made(), made()
    command = command_line("copy", source, "--to", target, "--follow", "-b", embedded_broker.bootstrap)
    copying = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    fill(embedded_broker.bootstrap, source, 3)
    eventually(lambda: len(read(embedded_broker.bootstrap, target)) == 3)
    copying.send_signal(signal.SIGINT)
    _, errors = copying.communicate(timeout=20)
    assert copying.returncode == 0, errors
    assert "3 records copied" in errors


@pytest.mark.parametrize("account", [(), ("--exactly-once",)])
def test_topics_that_are_made_while_a_pattern_is_followed_are_copied_too(
    broker: ApacheKafka | EmbeddedBroker,
    topic: Callable[[], str],
    eventually: Callable[..., object],
    account: tuple[str, ...],
) -> None:
    base = topic()
    # Copies match the pattern as well, and are none the less not copied.
    renamed = ("--rename-regex", rf"({base})-([a-z]+)=\1-\2-copy", "--create-topics")
    command = command_line("copy", "--pattern", f"{base}-.*", *renamed, "--follow", "-o", "end", *account)
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{base}-a", 1)])
        copying = subprocess.Popen([*command, "-b", broker.bootstrap], stderr=subprocess.PIPE, text=True)
        eventually(lambda: f"{base}-a-copy" in admin.list_topics())
        admin.create_topics([NewTopic(f"{base}-b", 2)])
        fill(broker.bootstrap, f"{base}-b", 6, 2)
        eventually(lambda: f"{base}-b-copy" in admin.list_topics())
        eventually(lambda: len(read(broker.bootstrap, f"{base}-b-copy")) == 6)
        fill(broker.bootstrap, f"{base}-b", 2, 2, begin=6)
        fill(broker.bootstrap, f"{base}-a", 3)
        eventually(lambda: len(read(broker.bootstrap, f"{base}-b-copy")) == 8)
        eventually(lambda: len(read(broker.bootstrap, f"{base}-a-copy")) == 3)
        copying.send_signal(signal.SIGINT)
        _, errors = copying.communicate(timeout=30)
        assert copying.returncode == 0, errors
        assert f"{base}-b is new, and copied to {base}-b-copy" in errors
        assert "11 records copied, 2 topics" in errors
        copies = {f"{base}-{name}" for name in ("a", "b", "a-copy", "b-copy")}
        assert {name for name in admin.list_topics() if name.startswith(base)} == copies
    assert contents(read(broker.bootstrap, f"{base}-b-copy")) == contents(read(broker.bootstrap, f"{base}-b"))


def test_partitions_that_are_added_while_a_copy_follows_are_copied_too(
    broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str], eventually: Callable[..., object]
) -> None:
    source = topic()
    target = f"{source}-copy"
    command = command_line("copy", source, "--to", target, "--create-topics", "--follow")
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(source, 1)])
        copying = subprocess.Popen([*command, "-b", broker.bootstrap], stderr=subprocess.PIPE, text=True)
        eventually(lambda: target in admin.list_topics())
        admin.create_partitions({source: 3})
        fill(broker.bootstrap, source, 9, 3)
        eventually(lambda: len(admin.describe_topics([target])[target].partitions) == 3)
        eventually(lambda: len(read(broker.bootstrap, target)) == 9)
        copying.send_signal(signal.SIGINT)
        _, errors = copying.communicate(timeout=30)
    assert copying.returncode == 0, errors
    assert f"{source} has 3 partitions by now, all of which are copied" in errors
    assert contents(read(broker.bootstrap, target)) == contents(read(broker.bootstrap, source))


def test_a_new_topic_that_cannot_be_copied_is_told_of_once_and_taken_when_it_can(
    embedded_broker: EmbeddedBroker, topic: Callable[[], str], eventually: Callable[..., object]
) -> None:
    base = topic()
    command = command_line("copy", "--pattern", f"{base}-.*", "--prefix", "dr.", "--follow")
    with Admin(embedded_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(f"{base}-a", 1), NewTopic(f"dr.{base}-a", 1)])
        fill(embedded_broker.bootstrap, f"{base}-a", 1)
        copying = subprocess.Popen(
            [*command, "-b", embedded_broker.bootstrap], stderr=subprocess.PIPE, text=True
        )
        eventually(lambda: len(read(embedded_broker.bootstrap, f"dr.{base}-a")) == 1)
        admin.create_topics([NewTopic(f"{base}-b", 1)])
        fill(embedded_broker.bootstrap, f"{base}-b", 2)
        assert copying.stderr is not None
        assert f"{base}-b is new, and not copied: the target has no topic" in copying.stderr.readline()
        admin.create_topics([NewTopic(f"dr.{base}-b", 1)])
        eventually(lambda: len(read(embedded_broker.bootstrap, f"dr.{base}-b")) == 2)
        copying.send_signal(signal.SIGINT)
        _, errors = copying.communicate(timeout=30)
        assert copying.returncode == 0, errors
        assert "not copied" not in errors
        assert "3 records copied, 2 topics" in errors


def test_ctrl_c_in_the_middle_of_a_step_counts_what_has_left(
    embedded_broker: EmbeddedBroker, made: Made
) -> None:
    def press(_: float) -> None:
        raise KeyboardInterrupt

    source, target = made(), made()
    fill(embedded_broker.bootstrap, source, 3)
    place = TopicPartition(source, 0)
    with (
        Consumer(embedded_broker.bootstrap, auto_offset_reset="earliest") as consumer,
        Producer(embedded_broker.bootstrap) as producer,
    ):
        consumer.assign([place])
        copier = Copier(
            consumer,
            producer,
            NoAccount(),
            {source: target},
            [place],
            is_wanted=None,
            keeps_partitions=True,
            has_source_headers=False,
            throttle=Throttle(1, sleep=press),
            max_records=None,
        )
        with pytest.raises(KeyboardInterrupt):
            copier.run(None, lambda: None)
        assert copier.counts == {source: 1}
        assert [record.value for record in read(embedded_broker.bootstrap, target)] == [b"v0"]


def test_no_more_records_go_in_a_second_than_are_asked_for(
    here: Here, embedded_broker: EmbeddedBroker, made: Made
) -> None:
    source, target = made(), made()
    fill(embedded_broker.bootstrap, source, 60)
    began = time.monotonic()
    here("copy", source, "--to", target, "--records-per-second", "30")
    # A second's worth may go at once.
    assert time.monotonic() - began > 0.9
