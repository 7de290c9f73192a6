"""What isolation levels show of interleaved transactions, against a model and confluent-kafka."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.waiting import Patience

from barnabas import Consumer, TopicPartition
from barnabas.testing import ApacheKafka, EmbeddedBroker

MakeTopic = Callable[..., str]
PARTITIONS = (0, 1)


class Writer:
    """Transactions of several producers. Records are flushed one step at a time, so that they interleave;
    markers are written by the broker some time later."""

    def __init__(self, producers: list[Any], topic: str) -> None:
        self.producers = producers
        self.topic = topic
        self.records: dict[int, list[tuple[int, bytes, int]]] = {number: [] for number in PARTITIONS}
        """Offset, value and transaction, for each partition."""
        self.open: dict[int, tuple[int, dict[int, int]]] = {}
        """For each producer its transaction, with its first offset in each partition."""
        self.committed: set[int] = set()
        self.transactions = 0

    def send(self, who: int, partition: int, count: int) -> None:
        producer = self.producers[who]
        if who not in self.open:
            producer.begin_transaction()
            self.open[who] = (self.transactions, {})
            self.transactions += 1
        transaction, first_offsets = self.open[who]
        log = self.records[partition]

        def delivered(error: Any, message: Any) -> None:
            assert error is None
            log.append((message.offset(), message.value(), transaction))
            first_offsets.setdefault(partition, message.offset())

        for number in range(count):
            producer.produce(
                self.topic, b"%d: %d" % (transaction, number), partition=partition, on_delivery=delivered
            )
        assert producer.flush(20) == 0

    def end(self, who: int, *, commit: bool) -> None:
        if who not in self.open:
            return
        transaction, _ = self.open.pop(who)
        if commit:
            self.producers[who].commit_transaction(20)
            self.committed.add(transaction)
        else:
            self.producers[who].abort_transaction(20)

    def last_stable_offset(self, partition: int, end: int) -> int:
        """`end`: the offset at which the log ends."""
        return min([firsts.get(partition, end) for _, firsts in self.open.values()] + [end])

    def shown(self, partition: int, end: int) -> list[tuple[int, bytes]]:
        return [
            (offset, value)
            for offset, value, transaction in self.records[partition]
            if transaction in self.committed and offset < end
        ]


@pytest.fixture(scope="module")
def producers(broker: Any) -> list[Any]:
    made = [
        confluent_kafka.Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "transactional.id": f"writer-{uuid.uuid4().hex}",
                "linger.ms": 0,
            }
        )
        for _ in range(3)
    ]
    for producer in made:
        producer.init_transactions(20)
    return made


def read_to(consumer: Consumer, ends: dict[TopicPartition, int], arrow: bool) -> dict[int, list[Any]]:
    """All (offset, value) of each partition, until every position is at its end."""
    seen: dict[int, list[Any]] = {number: [] for number in PARTITIONS}
    patience = Patience()
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        patience.check((ends, [consumer.position(partition) for partition in ends]))
        if arrow:
            batch = consumer.poll_arrow(0.05, 7)
            rows = zip(*(batch[name].to_pylist() for name in ("partition", "offset", "value")), strict=True)
        else:
            rows = ((r.partition, r.offset, r.value) for r in consumer.poll(0.05, 7))
        for partition, offset, value in rows:
            seen[partition].append((offset, value))
    return seen


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 2), st.sampled_from(PARTITIONS), st.integers(1, 4)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(0, 2)),
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_committed_records_show_and_no_others_whatever_the_order_of_transactions(
    broker: Any,
    producers: list[Any],
    make_topic: MakeTopic,
    read_topic: Callable[..., list[Any]],
    eventually: Any,
    steps: list[Any],
) -> None:
    topic = make_topic(broker, len(PARTITIONS))
    writer = Writer(producers, topic)
    try:
        for step in steps:
            if step[0] == "send":
                writer.send(*step[1:])
            else:
                writer.end(step[1], commit=step[0] == "commit")
        partitions = [TopicPartition(topic, number) for number in PARTITIONS]
        options: Any = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20}
        with (
            Consumer(broker.bootstrap, isolation_level="read_committed", **options) as consumer,
            Consumer(broker.bootstrap, **options) as everything,
        ):

            def stable_ends() -> dict[TopicPartition, int] | None:
                """Once the broker has written all markers."""
                ends = {
                    p: writer.last_stable_offset(p.partition, end)
                    for p, end in everything.end_offsets(partitions).items()
                }
                return ends if consumer.end_offsets(partitions) == ends else None

            ends = eventually(stable_ends)
            shown = {p.partition: writer.shown(p.partition, end) for p, end in ends.items()}
            theirs = read_topic(broker, topic)
            assert [(m.partition(), m.offset(), m.value()) for m in theirs] == [
                (number, *row) for number in PARTITIONS for row in shown[number]
            ]
            for arrow in (False, True):
                consumer.assign(partitions)
                consumer.seek_to_beginning(*partitions)
                assert read_to(consumer, ends, arrow) == shown
                assert {p: consumer.position(p) for p in partitions} == ends
                assert {consumer.lag(p) for p in partitions} == {0}
            everything.assign(partitions)
            assert read_to(everything, everything.end_offsets(partitions), arrow=False) == {
                number: [record[:2] for record in writer.records[number]] for number in PARTITIONS
            }
    finally:
        for who in list(writer.open):
            writer.end(who, commit=False)


def test_what_was_open_shows_when_it_is_committed_and_the_position_passes_what_was_aborted(
    broker: Any, producers: list[Any], make_topic: MakeTopic
) -> None:
    topic = make_topic(broker, len(PARTITIONS))
    writer = Writer(producers, topic)
    writer.send(0, 0, 3)
    writer.send(1, 0, 2)
    writer.end(1, commit=True)
    partition = TopicPartition(topic, 0)
    with Consumer(
        broker.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_partition_eof=True,
        fetch_max_wait_ms=20,
    ) as consumer:
        consumer.assign([partition])
        assert consumer.poll(20) == []
        assert consumer.ends_reached() == {partition: 0}
        writer.end(0, commit=True)
        offsets: list[int] = []
        while consumer.position(partition) < 7:
            # Two markers are behind the records.
            offsets += [record.offset for record in consumer.poll(20)]
        assert offsets == [0, 1, 2, 3, 4]
        assert consumer.ends_reached()[partition] == 7
        writer.send(0, 0, 3)
        writer.end(0, commit=False)
        while consumer.position(partition) < 11:
            assert consumer.poll(20) == []
        assert consumer.ends_reached() == {partition: 11}


@pytest.mark.parametrize("kind", [ApacheKafka, EmbeddedBroker])
def test_the_gaps_of_a_compacted_log_are_passed_in_both_isolation_levels(
    kind: Any, make_topic: MakeTopic, eventually: Any
) -> None:
    with kind(config={"log.cleaner.backoff.ms": "50"}) as kafka:
        topic = make_topic(
            kafka, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01"
        )
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": kafka.bootstrap, "transactional.id": "compacted", "linger.ms": 0}
        )
        producer.init_transactions(20)

        def write(value: bytes, *, commit: bool) -> None:
            producer.begin_transaction()
            for key in range(10):
                producer.produce(topic, value, key=b"%d" % key)
            (producer.commit_transaction if commit else producer.abort_transaction)(20)

        for number in range(10):
            write(b"%d" % number, commit=number % 3 != 2)
        write(b"last", commit=True)

        def are_markers_written() -> bool:
            """A commit is confirmed before that."""
            with (
                Consumer(kafka.bootstrap, isolation_level="read_committed") as committed,
                Consumer(kafka.bootstrap) as everything,
            ):
                return committed.end_offsets([(topic, 0)]) == everything.end_offsets([(topic, 0)])

        def read(isolation_level: Any) -> dict[bytes | None, list[int]]:
            """The offsets of each key's records, once the end is reached."""
            found: dict[bytes | None, list[int]] = {}
            eventually(are_markers_written)
            with Consumer(
                kafka.bootstrap,
                auto_offset_reset="earliest",
                isolation_level=isolation_level,
                enable_partition_eof=True,
                fetch_max_wait_ms=20,
            ) as consumer:
                consumer.assign([(topic, 0)])
                while not consumer.ends_reached():
                    for record in consumer.poll(5):
                        found.setdefault(record.key, []).append(record.offset)
                assert consumer.position((topic, 0)) == consumer.end_offsets([(topic, 0)])[topic, 0]
            return found

        def is_compacted() -> bool:
            # A segment is rolled when something is written behind it.
            write(b"roll", commit=True)
            return len(read("read_committed")[b"0"]) <= 3

        eventually(is_compacted, timeout=120)
        committed, everything = read("read_committed"), read("read_uncommitted")
        assert {key: offsets[-1] for key, offsets in committed.items()} == {
            key: offsets[-1] for key, offsets in everything.items()
        }
        first = min(offsets[0] for offsets in committed.values())
        assert first > 22
