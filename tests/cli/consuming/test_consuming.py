"""What `barnabas consume` reads: topics, starts, ends, filters, and how it prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import pytest

from barnabas import Admin, Producer, Record
from barnabas.cli.consuming.progress import Rates
from barnabas.cli.formats.records import as_by_kcat, templated
from barnabas.cli.options import UsageError
from barnabas.testing import EmbeddedBroker

Here = Callable[..., Any]
Made = Callable[..., str]


@pytest.fixture
def send(embedded_broker: EmbeddedBroker) -> Callable[..., None]:
    """`send(topic, "a", "b", timestamps=...)`: values in order."""

    def send(topic: str, *values: str, timestamps: Iterable[int] = (), **more: Any) -> None:
        with Producer(embedded_broker.bootstrap) as producer:
            times = iter(timestamps)
            for value in values:
                producer.send(topic, value.encode(), timestamp=next(times, None), **more)

    return send


@pytest.mark.parametrize(
    ("offset", "expected"),
    [("beginning", "abcd"), ("1", "bcd"), ("-2", "cd"), ("-9", "abcd"), ("end", ""), ("1h", "abcd")],
)
def test_it_begins_where_offset_says(
    here: Here, made: Made, send: Callable[..., None], offset: str, expected: str
) -> None:
    name = made()
    send(name, *"abcd")
    assert here("consume", name, "-o", offset, "-e").stdout == "".join(f"{v}\n" for v in expected)


def test_offset_takes_times_as_since_does_and_as_kcat_writes_them(
    here: Here, made: Made, send: Callable[..., None]
) -> None:
    name = made()
    now = int(time.time() * 1000)
    send(name, *"ab", timestamps=[now - 3 * 3_600_000, now - 3_600_000])
    between = datetime.fromtimestamp(now / 1000 - 7200).isoformat()
    for offset in ("2h", between, f"s@{now - 7_200_000}"):
        assert here("consume", name, "-o", offset, "-e").stdout == "b\n"


def test_it_reads_between_two_times(here: Here, made: Made, send: Callable[..., None]) -> None:
    name = made()
    now = int(time.time() * 1000)
    hours_ago = [now - hours * 3_600_000 for hours in (5, 4, 3, 2)]
    send(name, *"abcd", timestamps=hours_ago)
    assert here("consume", name, "--since", "4.5h", "--until", "2.5h").stdout == "b\nc\n"
    assert here("consume", name, "--since", str(hours_ago[3]), "-e").stdout == "d\n"
    assert here("consume", name, "--since", "1h", "-e").stdout == ""
    assert here("consume", name, "--from-beginning", "--until", "1h").stdout == "a\nb\nc\nd\n"


def test_it_reads_until_a_time_that_is_yet_to_come(here: Here, made: Made, send: Callable[..., None]) -> None:
    name = made()
    send(name, "a")
    ends = int(time.time() * 1000) + 700
    assert here("consume", name, "--from-beginning", "--until", str(ends)).stdout == "a\n"
    assert time.time() * 1000 >= ends


def test_it_reads_several_topics_and_those_of_a_pattern(
    here: Here, made: Made, send: Callable[..., None]
) -> None:
    names = [made(partitions=2) for _ in range(2)]
    for name in names:
        send(name, name)
    expected = sorted(names)
    for chosen in (names, ["--pattern", "|".join(names)]):
        assert sorted(here("consume", *chosen, "--from-beginning", "-e").stdout.split()) == expected
    of_group = here("consume", *names, "-g", names[0], "--from-beginning", "--max", "2", "--timeout", "20")
    assert sorted(of_group.stdout.split()) == expected


def test_it_prints_records_with_what_is_looked_for(here: Here, made: Made, send: Callable[..., None]) -> None:
    name = made()
    send(name, "größer", key=b"user-1", headers=[("trace", b"x1"), ("kind", b"a")])
    send(name, "kleiner", key=b"user-2", headers=[("trace", b"y1")])
    send(name, "plain")

    def read(*arguments: str) -> list[str]:
        return here("consume", name, "--from-beginning", "-e", *arguments).stdout.split()

    assert read("--match-key", "^user") == ["größer", "kleiner"]
    assert read("--match-key", "2$") == ["kleiner"]
    assert read("--match-value", "(?i)GRÖ") == ["größer"]
    assert read("--match-header", "trace") == ["größer", "kleiner"]
    assert read("--match-header", "trace", "--match-header", "kind=^a$") == ["größer"]
    assert read("--match-header", "trace=z") == []
    assert read("--match-value", "er$", "--max", "1") == ["größer"]


def test_a_topic_that_is_not_there_fails_and_is_not_created(
    here: Here, made: Made, embedded_broker: EmbeddedBroker
) -> None:
    name = made()
    missing = name + "x"
    for of_group in ([], ["--group", "g"]):
        done = here("consume", missing, *of_group, "-X", "allow.auto.create.topics=true", ok=False)
        assert done.returncode == 1
        assert done.stderr == f"error: there is no topic {missing!r}; did you mean {name!r}?\n"
    with Admin(embedded_broker.bootstrap) as admin:
        assert missing not in admin.list_topics()


def test_it_tells_rates_and_prints_nothing_if_asked_to(
    here: Here, made: Made, send: Callable[..., None]
) -> None:
    name = made()
    send(name, "a", "b")
    done = here("consume", name, "--from-beginning", "-e", "--rates", "--quiet")
    assert done.stdout == ""
    assert done.stderr.startswith("2 records, 0.00 MB in 0.")


def test_rates_are_told_each_second(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    rates = Rates(lambda: now)
    record = Record("t", 0, 0, value=b"x" * 500_000)
    rates.count([record] * 2)
    now = 1.0
    rates.count([record] * 2)
    now = 4.0
    rates.end()
    assert capsys.readouterr().err.splitlines() == [
        "4 records, 2.00 MB: 4 records/s, 2.00 MB/s",
        "4 records, 2.00 MB in 4.0 s: 1 records/s, 0.50 MB/s",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"%t[%p]@%o %T\n", b"t[3]@9 1700000000123\n"),
        (r"%k=%s (%K, %S)\t\x41%%", b"k=v1 (1, 2)\tA%"),
        ("%h", b"a=1,b=NULL"),
        ("%R", b"\0\0\0\2"),
    ],
)
def test_a_format_is_what_kcat_makes_of_it(text: str, expected: bytes) -> None:
    record = Record("t", 3, 9, 1_700_000_000_123, b"k", b"v1", [("a", b"1"), ("b", None)])
    assert as_by_kcat(text)(record) == expected


def test_what_is_not_there_has_kcats_size_of_minus_1() -> None:
    assert as_by_kcat("%K%S[%k%s]%R")(Record("t", 0, 0)) == b"-1-1[]\xff\xff\xff\xff"


def test_a_template_has_sizes_and_times_for_people() -> None:
    record = Record("t", 0, 0, 1_700_000_000_123, None, b"v")
    assert templated("{time} {key_size} {value_size}")(record) == b"2023-11-14T22:13:20.123+00:00 -1 1"


def test_a_letter_that_kcat_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="-f has no %q; there are %s, "):
        as_by_kcat("%q")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name the topics to read, or give --pattern"),
        (["t", "--pattern", "t"], "--pattern and topics exclude each other"),
        (["--pattern", "("], "--pattern '(' is no regular expression"),
        (["t", "-o", "yesterday"], "--offset 'yesterday' is none of beginning, end, an offset"),
        (["t", "-o", "e@1700000000000"], "for 'e@1700000000000' give --until 1700000000000"),
        (["t", "-o", "s@soon"], "--offset 'soon' is no time"),
        (["t", "-g", "g", "-o", "2h"], "--group takes its own partitions and offsets"),
        (["t", "--since", "soon"], "--since 'soon' is no time"),
        (
            ["t", "--since", "1h", "-o", "1"],
            "--from-beginning, --offset, --since and --tail exclude each other",
        ),
        (["t", "--match-value", "["], "--match-value '[' is no regular expression"),
        (["t", "--match-header", "=a"], "--match-header '=a' is neither NAME nor NAME=REGEX"),
        (["t", "-f", "%s", "--json"], "choose one way to print"),
        (["--pattern", "no-such-topic.*"], "no topic matches 'no-such-topic.*'"),
    ],
)
def test_what_cannot_be_meant_is_refused(here: Here, arguments: list[str], complaint: str) -> None:
    done = here("consume", *arguments, ok=False)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
