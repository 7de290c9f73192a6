"""Managed members of the genuine package and of ours in one group, each of them its leader once."""

import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest
from tests.compat.pykafka.packages import genuine

import barnabas
from barnabas.compat.pykafka.client import KafkaClient
from barnabas.testing import ApacheKafka

MEMBER = Path(__file__).with_name("genuine_member.py")
PARTITIONS = 4


class GenuineMember:
    def __init__(self, hosts, topic, group):
        self.partitions = []
        self.messages = []
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(MEMBER), hosts, topic, group],
            env={**os.environ, "PYTHONPATH": str(genuine())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            kind, _, rest = line.strip().partition(" ")
            if kind == "partitions":
                self.partitions = [int(each) for each in rest.strip("[]").split(", ") if each]
            elif kind == "message":
                self.messages.append(tuple(map(int, rest.split())))

    def leave(self):
        self._process.stdin.close()
        self._process.wait(30)
        self._reader.join()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def old_kafka():
    with ApacheKafka("2.8.2") as kafka:
        yield kafka


@pytest.fixture
def topic(old_kafka):
    name = f"mixed-{uuid.uuid4().hex}"
    with barnabas.Admin(old_kafka.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(name, num_partitions=PARTITIONS)])
    return name


def fill(hosts, topic, count):
    with barnabas.Producer(hosts) as producer:
        for number in range(count):
            for partition in range(PARTITIONS):
                producer.send(topic, b"%d" % number, partition=partition)


@pytest.mark.parametrize("first", ["genuine", "ours"])
def test_a_genuine_member_and_ours_share_a_group_whichever_leads(old_kafka, topic, eventually, first):
    hosts, group = old_kafka.bootstrap, f"group-{topic}"
    client = KafkaClient(hosts=hosts, broker_version="0.9.0")

    def ours():
        return client.topics[topic.encode()].get_balanced_consumer(
            group.encode(), managed=True, heartbeat_interval_ms=200, consumer_timeout_ms=200
        )

    def one_genuine():
        member = GenuineMember(hosts, topic, group)
        eventually(lambda: member.partitions)
        return member

    fill(hosts, topic, 5)
    mine = ours() if first == "ours" else None
    genuine_member = one_genuine()
    mine = mine or ours()
    eventually(lambda: len(mine.partitions) == 2 and len(genuine_member.partitions) == 2)
    assert sorted([*mine.partitions, *genuine_member.partitions]) == list(range(PARTITIONS))
    seen = {(message.partition_id, message.offset) for message in mine}
    fill(hosts, topic, 5)
    expected = {(partition, offset) for partition in range(PARTITIONS) for offset in range(10)}

    def all_are_given():
        seen.update((message.partition_id, message.offset) for message in mine)
        return seen | set(genuine_member.messages) == expected

    eventually(all_are_given)
    genuine_member.leave()
    eventually(lambda: len(mine.partitions) == PARTITIONS)
    mine.stop()
