"""The end of a program that has not stopped its balanced consumer, on a real ZooKeeper."""

import signal

import pytest
from tests.programs import ended, running, started

from barnabas import Admin, Producer, TopicPartition

PROGRAM = """
import sys
from kazoo.client import KazooClient
from barnabas.compat.pykafka import KafkaClient
bootstrap, name, group, hosts, owner, ending = sys.argv[1:]
settings = {"zookeeper_connect": hosts}
if owner == "program":
    settings["zookeeper"] = KazooClient(hosts, timeout=30)
    settings["zookeeper"].start()
client = KafkaClient(bootstrap, broker_version="0.10.2")
topic = client.topics[name.encode()]
consumer = topic.get_balanced_consumer(group.encode(), auto_commit_enable=True, **settings)
for _ in range(5):
    consumer.consume()
print("read", flush=True)
while ending == "Ctrl-C":
    consumer.consume()
"""


@pytest.mark.parametrize("ending", ["end", "Ctrl-C"])
@pytest.mark.parametrize("owner", ["consumer", "program"])
def test_the_end_commits_and_gives_up_the_place_in_the_group_at_once(
    apache_kafka, make_topic, zookeeper, connect, owner, ending
):
    """`owner`: of the session in ZooKeeper."""
    topic = make_topic(apache_kafka)
    group = f"group-of-{topic}"
    with Producer(apache_kafka.bootstrap) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number)
    with running(started(PROGRAM, apache_kafka.bootstrap, topic, group, zookeeper, owner, ending)) as process:
        assert process.stdout.readline() == "read\n"
        if ending == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        status, _ = ended(process, within=20)
    assert status == (-signal.SIGINT if ending == "Ctrl-C" else 0)
    # The session of the program's own lasts for 30 seconds more.
    assert connect().get_children(f"/consumers/{group}/ids") == []
    with Admin(apache_kafka.bootstrap) as admin:
        assert admin.list_group_offsets(group)[TopicPartition(topic, 0)].offset == 5
