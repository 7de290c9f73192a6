"""Producers and consumers go on where a broker of several goes and its partitions and groups move."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.client.admin.types.topics import NewTopic
from barnabas.compat.pykafka import KafkaClient
from barnabas.compat.pykafka.exceptions import KafkaException
from barnabas.sync.admin import Admin
from barnabas.testing import ApacheKafkaCluster

PARTITIONS = 3


class Writer:
    """A program that produces one message after the other, and again where that failed."""

    def __init__(self, topic: Any) -> None:
        # A leader that is killed takes with it what no other replica has.
        self._producer = topic.get_sync_producer(required_acks=-1)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.acknowledged: set[bytes] = set()

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._producer.stop()

    def _write(self) -> None:
        number = 0
        while not self._is_over.wait(0.005):
            value = b"%d" % number
            with contextlib.suppress(KafkaException):
                self._producer.produce(value)
                self.acknowledged.add(value)
                number += 1


@pytest.fixture
def new_topic(own_apache_cluster: ApacheKafkaCluster, topic: Callable[[], str]) -> Any:
    name = topic()
    with Admin(own_apache_cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 3)])
    own_apache_cluster.wait_until_whole()
    client = KafkaClient(own_apache_cluster.bootstrap, broker_version="0.10.2")
    found = client.topics[name.encode()]
    # A topic does not keep its client.
    found.client_of_test = client
    return found


@contextlib.contextmanager
def without(cluster: ApacheKafkaCluster, node_id: int, *, is_killed: bool) -> Generator[None]:
    node = cluster.node(node_id)
    node.kill() if is_killed else node.stop()
    try:
        yield
    finally:
        node.start()
        cluster.wait_until_whole()


@contextlib.contextmanager
def stopped_at_the_end(consumer: Any) -> Generator[Any]:
    try:
        yield consumer
    finally:
        consumer.stop()


def read_all(consumer: Any, writer: Writer, found: set[bytes]) -> None:
    """Until all is there that was acknowledged so far."""
    wanted = set(writer.acknowledged)
    patience = Patience()
    while not wanted <= found:
        patience.check(f"{len(wanted - found)} messages are missing")
        message = consumer.consume()
        if message is not None:
            found.add(message.value)


def went_on(writer: Writer, eventually: Callable[..., object]) -> None:
    before = len(writer.acknowledged)
    eventually(lambda: len(writer.acknowledged) > before + 50)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "is_killed",
    [pytest.param(False, id="stopped"), pytest.param(True, id="killed")],
)
def test_what_was_acknowledged_is_read_though_leaders_move(
    own_apache_cluster: ApacheKafkaCluster,
    new_topic: Any,
    topic: Callable[[], str],
    eventually: Any,
    is_killed: bool,
) -> None:
    group = topic().encode()
    found: set[bytes] = set()
    consumer = new_topic.get_simple_consumer(group, auto_commit_enable=True, consumer_timeout_ms=200)
    with stopped_at_the_end(consumer):
        with Writer(new_topic) as writer:
            went_on(writer, eventually)
            with without(own_apache_cluster, new_topic.partitions[0].leader.id, is_killed=is_killed):
                went_on(writer, eventually)
                read_all(consumer, writer, found)
            went_on(writer, eventually)
            read_all(consumer, writer, found)
        read_all(consumer, writer, found)
    with stopped_at_the_end(new_topic.get_simple_consumer(group, consumer_timeout_ms=1000)) as again:
        assert again.consume() is None


@pytest.mark.timeout(240)
def test_members_of_a_group_go_on_when_their_coordinator_goes(
    own_apache_cluster: ApacheKafkaCluster, new_topic: Any, topic: Callable[[], str], eventually: Any
) -> None:
    group = topic().encode()
    member = new_topic.get_balanced_consumer(
        group, managed=True, consumer_timeout_ms=200, heartbeat_interval_ms=200
    )
    found: set[bytes] = set()
    coordinator = member._group_coordinator.id
    with stopped_at_the_end(member), Writer(new_topic) as writer:
        went_on(writer, eventually)
        read_all(member, writer, found)
        with without(own_apache_cluster, coordinator, is_killed=False):
            eventually(lambda: member._group_coordinator.id != coordinator)
            went_on(writer, eventually)
            read_all(member, writer, found)
            member.commit_offsets()
