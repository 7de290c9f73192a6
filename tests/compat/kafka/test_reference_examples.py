"""The examples of kafka-python 1.2.1's documentation, as they stand: but for the addresses of brokers, for
what Python 3 no longer parses, and for an end of loops that have none, where the first record is all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.testing import EmbeddedBroker

# Consumers read what is there already, and stop where the examples would wait for ever.
_SETUP = """
import json, logging, pickle, time, types
import kafka
# Of msgpack, which is a package of its own, the examples only use that it makes bytes of values and back.
msgpack = types.SimpleNamespace(dumps=pickle.dumps, loads=pickle.loads, unpackb=pickle.loads)
kafka.KafkaConsumer.DEFAULT_CONFIG.update(
    bootstrap_servers={bootstrap!r}, auto_offset_reset="earliest", consumer_timeout_ms=3000
)
kafka.KafkaProducer.DEFAULT_CONFIG.update(bootstrap_servers={bootstrap!r})
"""
_ADDRESSES = ("localhost:9092", "localhost:1234", "broker1:1234", "my.server.com")

ENDING = {
    "consume": """
        from kafka import KafkaConsumer
        consumer = KafkaConsumer('my-topic', group_id='my-group', bootstrap_servers=['localhost:9092'])
        for message in consumer:
            print ("%s:%d:%d: key=%s value=%s" % (message.topic, message.partition,
                                                  message.offset, message.key,
                                                  message.value))
        KafkaConsumer(auto_offset_reset='earliest', enable_auto_commit=False)
        KafkaConsumer(value_deserializer=lambda m: json.loads(m.decode('ascii')))
        KafkaConsumer(value_deserializer=msgpack.unpackb)
        KafkaConsumer(consumer_timeout_ms=1000)
        consumer = KafkaConsumer()
        consumer.subscribe(pattern='^awesome.*')
        consumer1 = KafkaConsumer('my-topic', group_id='my-group', bootstrap_servers='my.server.com')
        consumer2 = KafkaConsumer('my-topic', group_id='my-group', bootstrap_servers='my.server.com')
    """,
    "assign": """
        from kafka import KafkaConsumer
        from kafka import TopicPartition
        consumer = KafkaConsumer(bootstrap_servers='localhost:1234')
        consumer.assign([TopicPartition('my-topic', 0)])
        msg = next(consumer)
        print(msg.value)
        consumer = KafkaConsumer(value_deserializer=msgpack.loads)
        consumer.subscribe(['msgpackfoo'])
        for msg in consumer:
            assert isinstance(msg.value, dict)
    """,
    "produce": """
        from kafka import KafkaProducer
        from kafka.errors import KafkaError
        producer = KafkaProducer(bootstrap_servers=['broker1:1234'])
        future = producer.send('my-topic', b'raw_bytes')
        try:
            record_metadata = future.get(timeout=10)
        except KafkaError:
            log.exception()
            pass
        print (record_metadata.topic)
        print (record_metadata.partition)
        print (record_metadata.offset)
        producer.send('my-topic', key=b'foo', value=b'bar')
        producer = KafkaProducer(value_serializer=msgpack.dumps)
        producer.send('msgpack-topic', {'key': 'value'})
        producer = KafkaProducer(value_serializer=lambda m: json.dumps(m).encode('ascii'))
        producer.send('json-topic', {'key': 'value'})
        for _ in range(100):
            producer.send('my-topic', b'msg')
        producer.flush()
        producer = KafkaProducer(retries=5)
    """,
    "front page": """
        from kafka import KafkaProducer
        producer = KafkaProducer(bootstrap_servers='localhost:1234')
        for _ in range(100):
            producer.send('foobar', b'some_message_bytes')
        producer.flush()
        producer.send('foobar', b'another_message').get(timeout=60)
        producer.send('foobar', key=b'foo', value=b'bar')
        import json
        producer = KafkaProducer(value_serializer=lambda v: json.dumps(v).encode('utf-8'))
        producer.send('fizzbuzz', {'foo': 'bar'})
        producer = KafkaProducer(key_serializer=str.encode)
        producer.send('flipflap', key='ping', value=b'1234')
        producer = KafkaProducer(compression_type='gzip')
        for i in range(1000):
            producer.send('foobar', b'msg %d' % i)
        producer.flush()
    """,
    "MultiProcessConsumer": """
        from kafka import SimpleClient
        client = SimpleClient('localhost:9092')
        from kafka import MultiProcessConsumer
        consumer = MultiProcessConsumer(client, "my-group", "my-topic",
                                        partitions_per_proc=2)
        for message in consumer.get_messages(count=5, block=True, timeout=4):
            print(message)
        client.close()
    """,
    "asynchronous SimpleProducer": """
        from kafka import SimpleProducer, SimpleClient
        client = SimpleClient('localhost:9092')
        producer = SimpleProducer(client, **{"async": True})
        producer.send_messages('my-topic', b'async message')
        producer.stop()
        producer = SimpleProducer(client, **{"async": True}, batch_send_every_n=20, batch_send_every_t=60)
        producer.stop()
    """,
    "synchronous SimpleProducer": """
        from kafka import SimpleProducer, SimpleClient
        client = SimpleClient('localhost:9092')
        producer = SimpleProducer(client, **{"async": False})
        producer.send_messages('my-topic', b'some message')
        producer.send_messages('my-topic', b'this method', b'is variadic')
        producer.send_messages('my-topic', u'\u4f60\u600e\u4e48\u6837?'.encode('utf-8'))
        producer = SimpleProducer(client,
                                  **{"async": False},
                                  req_acks=SimpleProducer.ACK_AFTER_LOCAL_WRITE,
                                  ack_timeout=2000,
                                  sync_fail_on_error=False)
        responses = producer.send_messages('my-topic', b'another message')
        for r in responses:
            logging.info(r.offset)
    """,
    "KeyedProducer": """
        from kafka import (
            SimpleClient, KeyedProducer,
            Murmur2Partitioner, RoundRobinPartitioner)
        kafka = SimpleClient('localhost:9092')
        producer = KeyedProducer(kafka)
        producer.send_messages(b'my-topic', b'key1', b'some message')
        producer.send_messages(b'my-topic', b'key2', b'this methode')
        producer = KeyedProducer(kafka, partitioner=Murmur2Partitioner)
        producer = KeyedProducer(kafka, partitioner=RoundRobinPartitioner)
    """,
    "SimpleClient": """
        import time
        from kafka import SimpleClient
        from kafka.errors import LeaderNotAvailableError, NotLeaderForPartitionError
        from kafka.protocol import create_message
        from kafka.structs import ProduceRequestPayload
        kafka = SimpleClient('localhost:9092')
        payload = ProduceRequestPayload(topic='my-topic', partition=0,
                                        messages=[create_message("some message")])
        retries = 5
        resps = []
        while retries and not resps:
            retries -= 1
            try:
                resps = kafka.send_produce_request(
                    payloads=[payload], fail_on_error=True)
            except (LeaderNotAvailableError, NotLeaderForPartitionError):
                kafka.load_metadata_for_topics()
                time.sleep(1)
        kafka.close()
        print(resps[0].topic, resps[0].partition, resps[0].error, resps[0].offset)
    """,
}
"""By name; each ends by itself."""

TOLD = {
    "consume": "my-topic:0:0: key=None value=b'first'",
    "assign": "b'first'",
    "produce": "my-topic\n0\n1\n",
    "MultiProcessConsumer": "value=b'first'",
    "SimpleClient": "my-topic 0 0 1",
}
"""What an example prints."""

ENDLESS = {
    "SimpleConsumer": """
        from kafka import SimpleConsumer, SimpleClient
        client = SimpleClient('localhost:9092')
        consumer = SimpleConsumer(client, "my-group", "my-topic")
        for message in consumer:
            print(message)
    """,
    "MultiProcessConsumer": """
        from kafka import SimpleClient
        client = SimpleClient('localhost:9092')
        from kafka import MultiProcessConsumer
        consumer = MultiProcessConsumer(client, "my-group", "my-topic", num_procs=2)
        for message in consumer:
            print(message)
    """,
}
"""By name; each prints the first record, and waits for more."""


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        with barnabas.Producer(broker.bootstrap) as producer:
            producer.send("my-topic", b"first").result()
        yield broker


def _program(code: str, broker: EmbeddedBroker, folder: Path) -> list[str]:
    program = textwrap.dedent(code)
    for address in _ADDRESSES:
        program = program.replace(address, broker.bootstrap)
    path = folder / "example.py"
    path.write_text(_SETUP.format(bootstrap=broker.bootstrap) + program)
    return [sys.executable, "-u", "-m", "barnabas.compat", "--kafka-python", "1.2", str(path)]


@pytest.mark.parametrize("name", ENDING)
def test_an_example_of_the_reference_runs_to_its_end(
    name: str, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    command = _program(ENDING[name], broker, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert TOLD.get(name, "") in done.stdout


@pytest.mark.parametrize("name", ENDLESS)
def test_an_example_without_an_end_reads_what_is_there(
    name: str, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    command = _program(ENDLESS[name], broker, tmp_path)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            assert "first" in process.stdout.readline()
        finally:
            # Its processes, too: one of the examples reads in several.
            os.killpg(process.pid, signal.SIGKILL)
