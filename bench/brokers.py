"""The embedded broker beside Apache Kafka, in one run: `python -m bench.brokers [--only NAME] [--write]`.

Owns what is measured of a broker as a program: its start, its memory, how much it holds, how soon it is back,
and what clients move through it. Each figure is taken of both brokers in turn.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import socket
import statistics
import struct
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.admin.types.topics import OffsetSpec
from barnabas.errors import BarnabasError
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.testing.broker_process import BrokerProcess
from bench.broker import KAFKA_JAVA_OPTIONS, KAFKA_SETTINGS
from bench.report import REPORT, write_section
from bench.runs import Topics, measure
from bench.works import OURS, PEER, is_writing

EMBEDDED = "embedded"
KAFKA = "Apache Kafka"
BROKERS = (EMBEDDED, KAFKA)
HEADING = "## The embedded broker, beside Apache Kafka"
RUNS = 3
CLIENT_RUNS = 6
TOPICS = 1_000
PARTITIONS = 10_000
CONNECTIONS = 1_000
LOG_BYTES = 1 << 30
VALUE_BYTES = 10_000
TOPICS_A_REQUEST = {1: TOPICS, PARTITIONS // 10: 1}
"""Kafka takes no request for as many as 10,000 partitions. By the number of each topic's partitions."""
# As many as fill about a second on a slow machine.
RECORDS = 500_000
READ_FACTOR = 4
"""So many times as many are read as are written in one run: reading takes a tenth of the time, and what ends
after a tenth of a second measures how caches and the scheduler stood."""
# Collections and page faults of the start are over by then.
IDLE_SECONDS = 3.0
ANSWER_SECONDS = 60.0
# ApiVersions in version 0, from nobody.
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)
_LENGTH = struct.Struct(">i")

BrokerFigures = dict[str, dict[str, float]]
"""Of each row the brokers' figures."""


@dataclass(frozen=True)
class Row:
    """One figure, and what is wanted of the embedded broker's."""

    title: str
    unit: str
    most: float | None = None
    most_of_kafka: float | None = None
    """At most so many times Kafka's."""
    least_of_kafka: float | None = None

    def is_met(self, figures: Mapping[str, float]) -> bool:
        ours, kafka = figures[EMBEDDED], figures.get(KAFKA)
        if self.most is not None and ours > self.most:
            return False
        if kafka is None:
            return True
        if self.most_of_kafka is not None and ours > self.most_of_kafka * kafka:
            return False
        return self.least_of_kafka is None or ours >= self.least_of_kafka * kafka

    @property
    def wanted(self) -> str:
        wishes = (
            (self.most, f"at most {self.most:g} {self.unit}" if self.most is not None else ""),
            (self.most_of_kafka, f"at most {self.most_of_kafka} x Kafka's"),
            (self.least_of_kafka, f"at least {self.least_of_kafka} x Kafka's"),
        )
        return ", ".join(text for wish, text in wishes if wish is not None)


READY, IDLE, THOUSAND_TOPICS, MANY_PARTITIONS = "ready", "idle", "topics", "partitions"
RESTART, MANY_CONNECTIONS, AFTER_KILL = "restart", "connections", "after-kill"
MANY_PARTITIONS_MEMORY = "partitions-memory"
CLIENT_ROWS = [f"{work} {client}" for work in ("produce/plain", "consume/list") for client in (PEER, OURS)]
BROKER_ROWS = {
    READY: Row("first acknowledged record after the start", "s", most=0.5, most_of_kafka=0.5),
    IDLE: Row("resident when idle", "MiB", most=64),
    THOUSAND_TOPICS: Row(f"{TOPICS:,} topics created and usable", "s", most=1),
    MANY_PARTITIONS: Row(f"{PARTITIONS:,} partitions in ten topics created and usable", "s"),
    MANY_PARTITIONS_MEMORY: Row(f"resident with {PARTITIONS:,} partitions", "MiB"),
    RESTART: Row(f"restart with {PARTITIONS:,} partitions", "s"),
    MANY_CONNECTIONS: Row(f"{CONNECTIONS:,} connections answered, each in turn", "s"),
    AFTER_KILL: Row("1 GB of log served after kill -9", "s", most=1),
    **{row: Row(row.replace(" ", ", "), "records/s", least_of_kafka=1) for row in CLIENT_ROWS},
}


def new_broker(name: str) -> BrokerProcess:
    if name == EMBEDDED:
        return EmbeddedBroker()
    config = {**KAFKA_SETTINGS, "auto.create.topics.enable": "true"}
    return ApacheKafka(heap_mb=1024, config=config, java_options=KAFKA_JAVA_OPTIONS)


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def seconds_until_usable(admin: Admin, topics: int, partitions: int) -> float:
    """From the request on until the leaders of all partitions answer."""
    began = time.perf_counter()
    names = [f"topic-{number}" for number in range(topics)]
    for first in range(0, topics, TOPICS_A_REQUEST[partitions]):
        some = names[first : first + TOPICS_A_REQUEST[partitions]]
        admin.create_topics([NewTopic(name, partitions, 1) for name in some])
    ends: dict[TopicPartition, OffsetSpec] = {
        TopicPartition(name, index): "latest" for name in names for index in range(partitions)
    }
    while True:
        # Kafka answers before its broker has them.
        with contextlib.suppress(UnknownTopicOrPartitionError):
            admin.list_offsets(ends)
            return time.perf_counter() - began


def seconds_until_first_record(broker: BrokerProcess, topic: str) -> float:
    """Of a broker that does not run. The client is there already, as a program under test would be."""
    broker.stop()
    with Producer(broker.bootstrap, retry_backoff_ms=10, reconnect_backoff_ms=10) as producer:
        began = time.perf_counter()
        broker.launch()
        while True:
            with contextlib.suppress(BarnabasError):
                producer.send(topic, b"first").result(ANSWER_SECONDS)
                return time.perf_counter() - began


def seconds_for_connections(broker: BrokerProcess) -> float:
    """All open at once; each is asked and answers, and then once more."""
    host, port = broker.bootstrap.rsplit(":", 1)
    with ExitStack() as stack:
        began = time.perf_counter()
        sockets = [
            stack.enter_context(socket.create_connection((host, int(port)), ANSWER_SECONDS))
            for _ in range(CONNECTIONS)
        ]
        for _ in range(2):
            for each in sockets:
                each.sendall(API_VERSIONS)
            for each in sockets:
                _read_frame(each)
        return time.perf_counter() - began


def _read_frame(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    return _read(connection, length)


def _read(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        piece = connection.recv(size - len(got))
        if not piece:
            raise ConnectionError("the broker hung up")
        got += piece
    return got


def seconds_after_kill(broker: BrokerProcess) -> float:
    """Until the last record of 1 GB can be consumed."""
    topic = "killed"
    value = os.urandom(VALUE_BYTES)
    with Producer(broker.bootstrap, compression="none") as producer:
        for _ in range(LOG_BYTES // VALUE_BYTES):
            producer.send(topic, value, partition=0)
        producer.flush()
    broker.kill()
    return _seconds_until_consumed(broker, topic)


def _seconds_until_consumed(broker: BrokerProcess, topic: str) -> float:
    began = time.perf_counter()
    broker.start()
    with Consumer(broker.bootstrap) as consumer:
        last = TopicPartition(topic, 0)
        consumer.assign([last])
        consumer.seek(last, consumer.end_offsets([last])[last] - 1)
        while not consumer.poll(timeout=1.0):
            pass
    return time.perf_counter() - began


class BrokerBench:
    """Measures the rows whose names have `only` in them."""

    def __init__(self, only: str, records: int) -> None:
        self._only = only
        self._records = records
        self._measured: dict[str, dict[str, list[float]]] = {}

    @property
    def figures(self) -> BrokerFigures:
        """The medians."""
        return {
            row: {broker: statistics.median(values) for broker, values in brokers.items()}
            for row, brokers in self._measured.items()
        }

    def run(self) -> None:
        for _ in range(RUNS):
            for name in BROKERS:
                self._measure_start(name)
        # Kafka takes minutes for as many partitions.
        self._measure_partitions(EMBEDDED)
        for name in BROKERS:
            self._measure_topics(name)
            self._measure_connections(name)
            self._measure_after_kill(name)
        self._measure_clients()

    def _is_asked(self, *rows: str) -> bool:
        return any(self._only in row for row in rows)

    def _note(self, row: str, name: str, figure: float) -> None:
        self._measured.setdefault(row, {}).setdefault(name, []).append(figure)

    def _measure_start(self, name: str) -> None:
        if not self._is_asked(READY, IDLE):
            return
        with new_broker(name) as broker:
            self._note(READY, name, seconds_until_first_record(broker, "first"))
            time.sleep(IDLE_SECONDS)
            self._note(IDLE, name, resident_bytes(broker.pid) / (1 << 20))

    def _measure_topics(self, name: str) -> None:
        if not self._is_asked(THOUSAND_TOPICS):
            return
        with new_broker(name) as broker, Admin(broker.bootstrap) as admin:
            admin.list_topics()
            self._note(THOUSAND_TOPICS, name, seconds_until_usable(admin, TOPICS, 1))

    def _measure_partitions(self, name: str) -> None:
        if not self._is_asked(MANY_PARTITIONS, RESTART):
            return
        with new_broker(name) as broker:
            with Admin(broker.bootstrap) as admin:
                admin.list_topics()
                self._note(MANY_PARTITIONS, name, seconds_until_usable(admin, 10, PARTITIONS // 10))
            self._note(MANY_PARTITIONS_MEMORY, name, resident_bytes(broker.pid) / (1 << 20))
            broker.stop()
            began = time.perf_counter()
            broker.start()
            self._note(RESTART, name, time.perf_counter() - began)

    def _measure_connections(self, name: str) -> None:
        if not self._is_asked(MANY_CONNECTIONS):
            return
        with new_broker(name) as broker:
            self._note(MANY_CONNECTIONS, name, seconds_for_connections(broker))

    def _measure_after_kill(self, name: str) -> None:
        if not self._is_asked(AFTER_KILL):
            return
        with new_broker(name) as broker:
            self._note(AFTER_KILL, name, seconds_after_kill(broker))

    def _measure_clients(self) -> None:
        """Both brokers run, and each work is done on one right after the other."""
        rows = [row for row in CLIENT_ROWS if self._is_asked(row)]
        if not rows:
            return
        with ExitStack() as stack:
            bootstraps = {name: stack.enter_context(new_broker(name)).bootstrap for name in BROKERS}
            topics = {name: Topics(bootstrap) for name, bootstrap in bootstraps.items()}
            filled = {name: stack.enter_context(topics[name].fresh()) for name in BROKERS}
            for name in BROKERS:
                # What is read later; and Kafka's compilers have to see some work.
                count = READ_FACTOR * self._records
                measure(OURS, "produce/plain", bootstraps[name], filled[name], count, "none")
            for number in range(CLIENT_RUNS):
                for row in rows:
                    work, client = row.split(" ")
                    # Who comes second finds the machine's caches otherwise than who came first.
                    for name in BROKERS[:: -1 if number % 2 else 1]:
                        self._note(
                            row, name, self._rate(work, client, bootstraps[name], topics[name], filled[name])
                        )

    def _rate(self, work: str, client: str, bootstrap: str, topics: Topics, filled: str) -> float:
        if not is_writing(work):
            return measure(client, work, bootstrap, filled, READ_FACTOR * self._records, "none").rate
        with topics.fresh() as topic:
            return measure(client, work, bootstrap, topic, self._records, "none").rate


def section(figures: BrokerFigures, command: str) -> str:
    """Of docs/benchmarks.md: all rows, and which of them are missed."""
    lines = [
        HEADING,
        "",
        f"Written by `{command}`: medians of {RUNS} starts and of {CLIENT_RUNS} runs of what",
        f"clients move, each broker in turn; one run of the rest. {os.cpu_count()} cores; the load of the",
        f"machine, with the run's own, was {os.getloadavg()[2]:.1f} in the 15 minutes before the end.",
        "",
        "| what | embedded | Apache Kafka | wanted | met |",
        "| --- | ---: | ---: | --- | --- |",
    ]
    for name, row in BROKER_ROWS.items():
        if name in figures:
            found = figures[name]
            shown = [f"{found[each]:,.2f}" if each in found else "" for each in BROKERS]
            met = "" if not row.wanted else "yes" if row.is_met(found) else "**missed**"
            lines.append(f"| {row.title}, {row.unit} | {shown[0]} | {shown[1]} | {row.wanted} | {met} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.brokers", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name has this in it, such as ready")
    parser.add_argument("--records", type=int, default=RECORDS, help=f"of one run (default {RECORDS})")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--write", action="store_true", help=f"put all figures into {REPORT}")
    options = parser.parse_args()
    # Of brokers that do not answer yet, which is what is measured.
    logging.getLogger("barnabas").setLevel(logging.CRITICAL)
    bench = BrokerBench(options.only, options.records)
    bench.run()
    if options.write:
        write_section(section(bench.figures, "python -m bench.brokers --write"))
    if options.json:
        print(json.dumps(bench.figures))
        return
    for name, figures in bench.figures.items():
        row = BROKER_ROWS[name]
        shown = ", ".join(f"{broker} {figure:,.2f}" for broker, figure in figures.items())
        met = "" if not row.wanted else f"; wanted {row.wanted}: {'met' if row.is_met(figures) else 'MISSED'}"
        print(f"{row.title}, {row.unit}: {shown}{met}")


if __name__ == "__main__":
    main()
