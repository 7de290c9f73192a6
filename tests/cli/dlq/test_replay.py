"""Dead letters on their way back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.json_shapes.matching import check_json
from tests.waiting import wait_for

from barnabas import Admin, Consumer, NewTopic, Producer, Record, TopicPartition
from barnabas.cli.dlq import replay as dlq
from barnabas.cli.options import UsageError
from barnabas.client.dead_letters import HEADER_PREFIX
from barnabas.errors import BarnabasError
from barnabas.testing import ApacheKafka, EmbeddedBroker

Broker = ApacheKafka | EmbeddedBroker
Created = Callable[..., str]


@dataclass
class Told:
    stdout: str
    stderr: str


Replay = Callable[..., Told]


@pytest.fixture
def replay(broker: Broker, capsys: pytest.CaptureFixture[str]) -> Replay:
    """`replay(topic, "--dry-run")`, in this process: what it printed."""

    def run(*arguments: str) -> Told:
        given: Sequence[str] = ["replay", *arguments, "--bootstrap", broker.bootstrap]
        dlq.app(given, standalone_mode=False)
        return Told(*capsys.readouterr())

    return run


@pytest.fixture
def created(broker: Broker, topic: Callable[[], str], eventually: Callable[..., object]) -> Created:
    """`created(partitions=1)` is the name of a new topic."""

    def create(partitions: int = 1) -> str:
        name = topic()
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions)])
            eventually(lambda: name in admin.list_topics())
        return name

    return create


def reasons(topic: str, partition: int, offset: int, error: str = "expected int", query: str = "q-1") -> Any:
    """The headers of a dead letter."""
    told = {
        "topic": topic, "partition": partition, "offset": offset, "stage": "VALUE_CONVERTER",
        "exception.message": error, "field": "id", "query": query, "batch": 3,
        "read.at": 1_700_000_000_000 + offset,
    }  # fmt: skip
    return [(HEADER_PREFIX + name, str(value).encode()) for name, value in told.items()]


def put(broker: Broker, letters: str, *records: tuple[bytes, Any]) -> None:
    with Producer(broker.bootstrap) as producer:
        for number, (value, headers) in enumerate(records):
            producer.send(
                letters,
                value,
                key=b"k-%d" % number,
                headers=[("own", b"1"), *headers],
                timestamp=1000 + number,
            )


def all_of(broker: Broker, topic: str) -> list[Record]:
    with (
        Consumer(
            broker.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as consumer,
        Consumer(broker.bootstrap) as everything,
    ):
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        # A commit is confirmed before its marker is in the log.
        wait_for(lambda: consumer.end_offsets(partitions) == everything.end_offsets(partitions))
        ends = consumer.end_offsets(partitions)
        found: list[Record] = []
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            found += consumer.poll(0.2)
    return sorted(found, key=lambda record: (record.partition, record.offset))


def values(broker: Broker, topic: str) -> list[tuple[int, bytes]]:
    return [(record.partition, bytes(record.value or b"")) for record in all_of(broker, topic)]


def test_letters_go_back_to_their_partitions_in_order_and_each_once(
    replay: Replay, broker: Broker, created: Created
) -> None:
    source, letters = created(partitions=2), created(partitions=1)
    put(
        broker,
        letters,
        # As tasks side by side have written them, one of them twice.
        (b"later", reasons(source, 1, 40)),
        (b"earlier", reasons(source, 1, 7)),
        (b"other", reasons(source, 0, 9)),
        (b"later", reasons(source, 1, 40)),
        (b"no letter", []),
        (b"gone", reasons(source, 5, 1)),
    )
    shown = replay(letters, "--dry-run")
    assert "VALUE_CONVERTER" in shown.stdout
    assert "4 letters would be sent; 1 without a source topic left alone" in shown.stderr
    assert values(broker, source) == []

    told = json.loads(replay(letters, "--json").stdout)
    assert (told["letters"], told["not_dead_letters"], told["is_dry_run"]) == (4, 1, False)
    found = values(broker, source)
    # The partition 5 is not there any more: that letter goes by its key.
    assert [each for each in found if each[1] != b"gone"] == [(0, b"other"), (1, b"earlier"), (1, b"later")]
    (other,) = [record for record in all_of(broker, source) if record.value == b"other"]
    assert (other.key, other.timestamp, list(other.headers)) == (b"k-2", 1002, [("own", b"1")])

    assert "0 letters sent" in replay(letters).stderr
    put(broker, letters, (b"new", reasons(source, 1, 50)))
    assert "1 letter sent" in replay(letters, "--exactly-once").stderr
    assert values(broker, source)[-1] == (1, b"new")


def test_what_one_replay_did_not_choose_is_left_for_the_next(
    replay: Replay, broker: Broker, created: Created
) -> None:
    source, target, letters = created(), created(), created()
    put(
        broker,
        letters,
        (b"a", reasons(source, 0, 1)),
        (b"b", reasons(source, 0, 2, error="no field id")),
        (b"c", reasons(source, 0, 3, query="q-2")),
    )
    chosen = replay(letters, "--error", "int", "--query", "q-1", "--to", target)
    assert "1 letter sent; 2 letters not chosen" in chosen.stderr
    assert values(broker, target) == [(0, b"a")]
    at = 1_700_000_000_003
    assert "1 letter sent" in replay(letters, "--since", str(at), "--until", str(at + 1)).stderr
    assert "1 letter sent" in replay(letters, "--from", source).stderr
    assert values(broker, source) == [(0, b"c"), (0, b"b")]


@pytest.mark.parametrize("way", ["--at-least-once", "--exactly-once"])
def test_a_replay_that_is_broken_off_goes_on(
    replay: Replay, broker: Broker, created: Created, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    source, letters = created(), created(partitions=2)
    put(broker, letters, *((b"%d" % number, reasons(source, 0, number)) for number in range(10)))

    class Broken(Producer):
        """Ends in the middle of the third step."""

        steps = 0

        def flush(self, timeout: float | None = None) -> None:
            super().flush(timeout)
            Broken.steps += 1
            if Broken.steps == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(dlq, "LETTERS_A_STEP", 3)
    monkeypatch.setattr("barnabas.Producer", Broken)
    is_once = way == "--exactly-once"
    with pytest.raises(KeyboardInterrupt):
        dlq.replay(letters, exactly_once=is_once, bootstrap=broker.bootstrap)
    put(broker, letters, (b"late", reasons(source, 0, 99)))
    with pytest.raises(UsageError, match=r"a replay of .* was broken off: finish it with --resume"):
        replay(letters, "--error", "else")

    arguments = [letters, "--resume", *(["--exactly-once"] if is_once else [])]
    assert "4 letters sent" in replay(*arguments).stderr
    sent = [int(value) for _, value in values(broker, source)]
    assert sorted(set(sent)) == [*range(10)]
    # What was on its way comes twice, where it is not in a transaction.
    assert sent == ([*range(10)] if is_once else [*range(9), *range(6, 10)])
    with pytest.raises(UsageError, match="no replay of"):
        replay(*arguments)
    assert "1 letter sent" in replay(letters).stderr


def test_a_replay_that_cannot_end_well_does_not_begin(
    replay: Replay, broker: Broker, created: Created
) -> None:
    letters = created()
    put(broker, letters, (b"a", reasons("no-such-topic", 0, 1)), (b"b", reasons(letters, 0, 1)))
    for arguments, message in [
        (("--to", letters), "the topic of dead letters itself"),
        (("--since", "yesterday"), "--since 'yesterday' is no time"),
        (("--from", "no-such-topic"), "no-such-topic"),
        ((), "choose others by --from"),
    ]:
        with pytest.raises(BarnabasError, match=message):
            replay(letters, *arguments)
    assert len(values(broker, letters)) == 2


def of_spring(topic: str, partition: int, offset: int) -> Any:
    return [
        ("kafka_dlt-original-topic", topic.encode()),
        ("kafka_dlt-original-partition", partition.to_bytes(4)),
        ("kafka_dlt-original-offset", offset.to_bytes(8)),
        ("kafka_dlt-original-timestamp", (77).to_bytes(8)),
        ("kafka_dlt-exception-message", b"no"),
    ]


def test_letters_of_springs_and_of_ones_own_headers_go_back(
    replay: Replay, broker: Broker, created: Created
) -> None:
    source, letters = created(partitions=2), created(partitions=2)
    put(
        broker,
        letters,
        (b"later", of_spring(source, 1, 40)),
        (b"earlier", of_spring(source, 1, 7)),
        (b"own", [("x-topic", source.encode()), ("x-partition", b"0"), ("x-dead-count", b"3")]),
    )
    assert "2 letters sent; 1 without a source topic left alone" in replay(letters).stderr
    assert values(broker, source) == [(1, b"earlier"), (1, b"later")]
    assert {(record.timestamp, tuple(record.headers)) for record in all_of(broker, source)} == {
        (77, (("own", b"1"),))
    }
    own = ("--topic-from", "header:x-topic", "--partition-from", "header:x-partition", "--group", "g-own")
    assert "1 letter sent" in replay(letters, *own, "--drop-header", "x-dead-*").stderr
    assert values(broker, source)[0] == (0, b"own")
    (first, *_) = all_of(broker, source)
    assert list(first.headers) == [("own", b"1")]


def test_letters_that_tell_only_their_topic_go_by_their_keys(
    replay: Replay, broker: Broker, created: Created
) -> None:
    source, letters = created(partitions=3), created(partitions=2)
    put(broker, letters, *((b"%d" % number, [("t", source.encode())]) for number in range(20)))
    assert "20 letters sent" in replay(letters, "--topic-from", "headers.t").stderr
    assert sorted(int(value) for _, value in values(broker, source)) == [*range(20)]
    assert len({partition for partition, _ in values(broker, source)}) > 1
    assert dict(all_of(broker, source)[0].headers)["t"] == source.encode()


def test_letters_are_changed_by_options_and_shown_before(
    replay: Replay, broker: Broker, created: Created
) -> None:
    source, letters = created(), created()
    put(broker, letters, (b'{"id": "1"}', reasons(source, 0, 1)), (b'{"id": "2"}', reasons(source, 0, 2)))
    sets = ("--set-cel", "value.id=int(value.id)", "--set", "headers.mended=yes")
    shown = replay(letters, *sets, "--dry-run")
    assert '{"id": "1"}' in shown.stdout
    assert '{"id": 1}' in shown.stdout
    assert "2 letters would be sent; 2 letters edited" in shown.stderr
    as_json = replay(letters, *sets, "--dry-run", "--json").stdout
    check_json(("dlq", "replay"), as_json, may_be_empty=False)
    told = json.loads(as_json)
    assert told["changes"][0]["after"] == {"value": {"id": 1}, "headers": [["own", "1"], ["mended", "yes"]]}
    replay(letters, *sets, "--exactly-once")
    assert values(broker, source) == [(0, b'{"id": 1}'), (0, b'{"id": 2}')]
    assert dict(all_of(broker, source)[0].headers) == {"own": b"1", "mended": b"yes"}


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """`editor("text.replace('a', 'b')")` makes that the program that edits; files to edit are in a folder of
    the test."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def use(expression: str) -> None:
        program = tmp_path / "editor.py"
        program.write_text(
            "import sys, pathlib\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text()\n"
            f"path.write_text({expression})\n"
        )
        monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")

    return use


def test_letters_are_edited_as_lines_and_those_whose_lines_are_gone_are_dropped(
    replay: Replay, broker: Broker, created: Created, editor: Callable[[str], None], tmp_path: Path
) -> None:
    source, letters = created(), created()
    put(broker, letters, *((b'{"id":%d}' % n, reasons(source, 0, n)) for n in range(3)))
    editor("text.split('\\n', 1)[1].replace('{\"id\": 2}', '{\"id\": 5}')")
    shown = replay(letters, "--edit", "--dry-run")
    assert "2 letters would be sent; 1 letter edited; 1 letter dropped" in shown.stderr
    (kept,) = tmp_path.glob("barnabas-dlq-*.jsonl")
    assert f"the letters as they were edited are in {kept}: --edited takes them from there" in shown.stderr
    kept.unlink()
    assert "2 letters sent; 1 letter edited; 1 letter dropped" in replay(letters, "--edit").stderr
    assert values(broker, source) == [(0, b'{"id":1}'), (0, b'{"id":5}')]
    assert not list(tmp_path.glob("barnabas-dlq-*"))
    assert "0 letters sent" in replay(letters).stderr


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("text.replace('\"value\"', '\"valve\"')", r"jsonl, line 1 has no value"),
        ("''", "no line is left: nothing was sent"),
        ("exit(3)", "ended with status 3: nothing was sent"),
    ],
)
def test_what_an_editor_leaves_is_checked_before_anything_is_sent(
    replay: Replay,
    broker: Broker,
    created: Created,
    editor: Callable[[str], None],
    expression: str,
    message: str,
) -> None:
    source, letters = created(), created()
    put(broker, letters, (b"a", reasons(source, 0, 1)))
    editor(expression)
    with pytest.raises(UsageError, match=message):
        replay(letters, "--edit")
    assert values(broker, source) == []
    assert "1 letter sent" in replay(letters).stderr


def test_a_replay_of_edited_letters_goes_on_with_the_file_that_was_kept(
    replay: Replay,
    broker: Broker,
    created: Created,
    editor: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, letters = created(), created()
    put(broker, letters, *((b"v%d" % n, reasons(source, 0, n)) for n in range(6)))
    editor("text.replace(': \"v', ': \"w').split('\\n', 1)[1]")

    class Broken(Producer):
        steps = 0

        def flush(self, timeout: float | None = None) -> None:
            super().flush(timeout)
            Broken.steps += 1
            if Broken.steps == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(dlq, "LETTERS_A_STEP", 2)
    monkeypatch.setattr("barnabas.Producer", Broken)
    with pytest.raises(KeyboardInterrupt):
        dlq.replay(letters, edit=True, exactly_once=True, bootstrap=broker.bootstrap)
    found = re.search(r"edited are in (\S+): --edited", capsys.readouterr().err)
    assert found is not None
    with pytest.raises(UsageError, match="--resume goes on with letters as they were read and edited then"):
        replay(letters, "--resume", "--exactly-once")
    with pytest.raises(UsageError, match="was broken off: finish it with --resume"):
        replay(letters, "--exactly-once")
    replay(letters, "--resume", "--exactly-once", "--edited", found[1])
    assert values(broker, source) == [(0, b"w%d" % number) for number in range(1, 6)]
