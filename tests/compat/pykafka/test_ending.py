"""Consumers that nobody stops: the end of a program, and Ctrl-C while a join waits for another member."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import pytest
from tests.programs import ended, running, started

from barnabas import Admin, Producer, TopicPartition
from barnabas.compat.pykafka import KafkaClient
from barnabas.compat.pykafka.membershipprotocol import RangeProtocol
from barnabas.compat.pykafka.protocol import (
    ConsumerGroupProtocolMetadata,
    JoinGroupRequest,
    JoinGroupResponse,
    MemberAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from barnabas.testing import EmbeddedBroker

HEAD = """
import logging, sys
from barnabas.compat.pykafka import KafkaClient
logging.basicConfig(level="INFO", format="%(message)s")
client = KafkaClient(sys.argv[1], broker_version="0.10.2")
topic = client.topics[sys.argv[2].encode()]
group = sys.argv[3].encode()
def managed(**settings):
    return topic.get_balanced_consumer(group, managed=True, heartbeat_interval_ms=200, **settings)
def simple(**settings):
    return topic.get_simple_consumer(group, **settings)
def read(consumer):
    for _ in range(5):
        consumer.consume()
    print("read", flush=True)
    return consumer
"""
JOINING = "Sending JoinGroupRequest"
REBALANCE_IN_PROGRESS = 27
# Far more than the end takes, and less than requests wait for answers.
SOON_SECONDS = 20.0


@pytest.fixture
def topic(embedded_broker: Any, make_topic: Callable[..., str]) -> str:
    """With five messages."""
    name = make_topic(embedded_broker)
    with Producer(embedded_broker.bootstrap) as producer:
        for number in range(5):
            producer.send(name, b"%d" % number)
    return name


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


class Holder:
    """A member that joins when the test calls for it. Until then the joins of others wait."""

    def __init__(self, client: KafkaClient, topic: str, group: str) -> None:
        self._topic, self._group = topic.encode(), group.encode()
        self._coordinator: Any = client.cluster.get_group_coordinator(self._group)
        metadata = ConsumerGroupProtocolMetadata(topic_names=[self._topic])
        self._protocol = RangeProtocol._replace(metadata=metadata)
        self._ids: list[bytes] = []

    def begin_joining(self) -> Any:
        """A member of its own each time."""
        request = JoinGroupRequest(self._group, b"", self._topic, self._protocol, 120_000)
        return self._coordinator._get_unique_req_handler(object()).request(request)

    def end_joining(self, answer: Any) -> bytes:
        joined = answer.get(JoinGroupResponse)
        self._ids.append(joined.member_id)
        own = [(joined.member_id, MemberAssignment([(self._topic, [0])]))] if joined.members else []
        request = SyncGroupRequest(self._group, joined.generation_id, joined.member_id, own)
        self._coordinator._get_unique_req_handler(object()).request(request).get(SyncGroupResponse)
        self._generation = joined.generation_id
        return joined.member_id

    def is_waited_for(self) -> bool:
        beat = self._coordinator.heartbeat("beats", self._group, self._generation, self._ids[-1])
        return beat.error_code == REBALANCE_IN_PROGRESS

    def members(self) -> set[bytes]:
        return {*self._coordinator.describe_groups([self._group]).groups[self._group].members}

    def close(self) -> None:
        for each in self._ids:
            self._coordinator.leave_group("leaves", self._group, each)
        self._coordinator.disconnect()


@pytest.fixture
def holder(embedded_broker: Any, topic: str, group: str) -> Iterator[Holder]:
    holder = Holder(KafkaClient(embedded_broker.bootstrap, broker_version="0.10.2"), topic, group)
    yield holder
    holder.close()


@pytest.fixture
def program(embedded_broker: Any, topic: str, group: str) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    with contextlib.ExitStack() as stack:

        def program(code: str) -> subprocess.Popen[str]:
            process = started(HEAD + dedent(code), embedded_broker.bootstrap, topic, group)
            return stack.enter_context(running(process))

        yield program


def committed(broker: Any, topic: str, group: str) -> int:
    with Admin(broker.bootstrap) as admin:
        return admin.list_group_offsets(group)[TopicPartition(topic, 0)].offset


JOINS = {
    "kept in a global variable": "consumer = managed()",
    "of a function": """
        def work():
            consumer = managed(auto_start=False)
            consumer.start()
        work()
        """,
    "stopped by the program": """
        consumer = managed(auto_start=False)
        try:
            consumer.start()
        finally:
            consumer.stop()
        """,
    "dropped by the program": """
        consumer = managed(auto_start=False)
        try:
            consumer.start()
        except KeyboardInterrupt:
            pass
        del consumer
        raise KeyboardInterrupt
        """,
    "committing by the clock": "consumer = managed(auto_commit_enable=True)",
    "waiting as greenlets do": """
        client = KafkaClient(sys.argv[1], broker_version="0.10.2", use_greenlets=True)
        topic = client.topics[sys.argv[2].encode()]
        consumer = managed()
        """,
}


@pytest.mark.parametrize("kind", JOINS)
def test_ctrl_c_ends_a_program_whose_join_waits_for_another_member(
    program: Any, holder: Holder, eventually: Any, kind: str
) -> None:
    holder.end_joining(holder.begin_joining())
    process = program(JOINS[kind])
    eventually(holder.is_waited_for)
    process.send_signal(signal.SIGINT)
    status, said = ended(process, within=SOON_SECONDS)
    assert status == -signal.SIGINT
    assert "KeyboardInterrupt" in said


def test_ctrl_c_while_another_thread_joins_again_ends_the_program_which_leaves_its_group(
    program: Any, holder: Holder, eventually: Any
) -> None:
    process = program("""
        consumer = read(managed())
        while True:
            consumer.consume()
        """)
    assert process.stdout.readline() == "read\n"
    lines = iter(process.stderr.readline, "")
    joins = [0]

    def seen() -> int:
        joins[0] += next(lines).startswith(JOINING)
        return joins[0]

    eventually(lambda: seen() == 1)
    other = holder.begin_joining()
    eventually(lambda: seen() == 2)
    me = holder.end_joining(other)
    (member,) = holder.members() - {me}
    holder.begin_joining()
    eventually(lambda: seen() == 3)
    process.send_signal(signal.SIGINT)
    status, said = ended(process, within=SOON_SECONDS)
    assert status == -signal.SIGINT
    assert "KeyboardInterrupt" in said
    assert member not in holder.members()


@pytest.mark.parametrize("ending", ["", "while True: consumer.consume()"], ids=["end", "Ctrl-C"])
@pytest.mark.parametrize("kind", ["simple", "managed"])
def test_the_end_of_a_program_commits_what_it_consumed_and_leaves_its_group(
    program: Any, holder: Holder, embedded_broker: Any, topic: str, group: str, kind: str, ending: str
) -> None:
    process = program(f"consumer = read({kind}(auto_commit_enable=True))\n{ending}\n")
    assert process.stdout.readline() == "read\n"
    if ending:
        process.send_signal(signal.SIGINT)
    status, _ = ended(process, within=SOON_SECONDS)
    assert status == (-signal.SIGINT if ending else 0)
    assert committed(embedded_broker, topic, group) == 5
    assert holder.members() == set()


@pytest.mark.integration
def test_ctrl_c_gives_up_what_a_broker_that_hangs_does_not_answer(make_topic: Callable[..., str]) -> None:
    with EmbeddedBroker() as broker:
        topic = make_topic(broker)
        with Producer(broker.bootstrap) as producer:
            for number in range(5):
                producer.send(topic, b"%d" % number)
        code = HEAD + dedent("""
            consumer = read(managed(auto_commit_enable=True))
            while True:
                consumer.consume()
            """)
        with running(started(code, broker.bootstrap, topic, "group")) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "read\n"
            broker.pause()
            try:
                process.send_signal(signal.SIGINT)
                status, said = ended(process, within=SOON_SECONDS)
            finally:
                broker.resume()
    assert status == -signal.SIGINT
    assert "What was consumed last is not committed" in said


def test_a_consumer_that_a_forked_child_drops_stays_in_its_group(program: Any, holder: Holder) -> None:
    process = program("""
        import os
        consumer = read(managed())
        child = os.fork()
        if child == 0:
            del consumer
            os._exit(0)
        os.waitpid(child, 0)
        print("dropped", flush=True)
        while True:
            consumer.consume()
        """)
    assert [process.stdout.readline() for _ in range(2)] == ["read\n", "dropped\n"]
    assert len(holder.members()) == 1
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == -signal.SIGINT


def test_stop_does_not_wait_for_a_join_of_another_thread(
    embedded_broker: Any, topic: str, group: str, holder: Holder, eventually: Any
) -> None:
    client = KafkaClient(embedded_broker.bootstrap, broker_version="0.10.2")
    consumer = client.topics[topic.encode()].get_balanced_consumer(
        group.encode(), managed=True, heartbeat_interval_ms=200
    )
    try:
        other = holder.begin_joining()
        me = holder.end_joining(other)
        (member,) = holder.members() - {me}
        eventually(lambda: not consumer._gate.is_wanted.is_set())
        holder.begin_joining()
        eventually(consumer._gate.is_wanted.is_set)
    finally:
        began_at = time.monotonic()
        consumer.stop()
    assert time.monotonic() - began_at < SOON_SECONDS
    assert member not in holder.members()
