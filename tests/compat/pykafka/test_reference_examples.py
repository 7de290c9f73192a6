"""The examples of pykafka's documentation, as they stand: but for the address of the broker, for what Python
3 no longer parses, and for an end of loops that have none."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker

EXAMPLES = {
    "produce and consume": """
        from pykafka import KafkaClient
        client = KafkaClient(hosts="127.0.0.1:9092")
        client.topics
        topic = client.topics[b'my.test']
        with topic.get_sync_producer() as producer:
            for i in range(4):
                producer.produce(b'test message %d' % (i ** 2))
        consumer = topic.get_simple_consumer(consumer_timeout_ms=2000)
        for message in consumer:
            if message is not None:
                print(message.offset, message.value.decode())
    """,
    "delivery reports": """
        import queue
        from pykafka import KafkaClient
        client = KafkaClient(hosts="127.0.0.1:9092")
        topic = client.topics[b'reports']
        with topic.get_producer(delivery_reports=True, linger_ms=10) as producer:
            for count in range(1, 4):
                producer.produce(b'test msg', partition_key='{}'.format(count).encode())
            for count in range(1, 4):
                msg, exc = producer.get_delivery_report(timeout=20)
                print(msg.partition_key.decode(), repr(exc))
            try:
                producer.get_delivery_report(block=False)
            except queue.Empty:
                print('empty')
    """,
    "the initial offset": """
        from pykafka import KafkaClient
        from pykafka.common import OffsetType
        client = KafkaClient(hosts="127.0.0.1:9092")
        topic = client.topics[b'offsets']
        consumer = topic.get_simple_consumer(
            consumer_group=b"mygroup",
            auto_offset_reset=OffsetType.LATEST
        )
        with topic.get_sync_producer() as producer:
            producer.produce(b'one')
            producer.produce(b'two')
        print(consumer.consume().value.decode())
        consumer.commit_offsets()
        consumer_2 = topic.get_simple_consumer(
            consumer_group=b"mygroup"
        )
        print(consumer_2.consume().value.decode())
        consumer_3 = topic.get_simple_consumer(
            consumer_group=b"mygroup",
            auto_offset_reset=OffsetType.EARLIEST,
            reset_offset_on_start=True
        )
        print(consumer_3.consume().value.decode())
    """,
}
SHOWN = {
    "produce and consume": ["0 test message 0", "1 test message 1", "2 test message 4", "3 test message 9"],
    "delivery reports": ["1 None", "2 None", "3 None", "empty"],
    "the initial offset": ["one", "two", "one"],
}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_documentation_does_what_it_says(name: str, broker: EmbeddedBroker) -> None:
    source = textwrap.dedent(EXAMPLES[name]).replace("127.0.0.1:9092", broker.bootstrap)
    program = f'from barnabas.compat import install\ninstall("pykafka")\n{source}'
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == SHOWN[name]
