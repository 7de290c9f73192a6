"""Faults of an embedded broker in a process of its own, told over HTTP, as several clients see them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.broker.faults.rules import FaultRuleError
from barnabas.broker_errors import ErrorCode, KafkaStorageError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.protocol.schema import Request, Response
from barnabas.testing import Disconnect, EmbeddedBroker, FaultControlError, RecordedRequest


@pytest.fixture(scope="module")
def faulty() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def broker(faulty: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    faulty.faults.clear()
    yield faulty
    faulty.faults.clear()


def test_a_producer_tries_again_and_every_attempt_is_recorded(
    broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker)
    fault = broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=3)
    with Producer(broker.bootstrap, retry_backoff_ms=10) as producer:
        assert producer.send(topic, b"a").result(30).offset == 0
    assert fault.hits == 3
    assert fault.is_used_up
    asked = broker.faults.requests("Produce", topic=topic)
    assert [each.partitions for each in asked] == [{topic: (0,)}] * 4
    assert [each.number for each in fault.requests] == [each.number for each in asked[:3]]


def test_confluent_kafka_hears_of_what_cannot_be_tried_again(
    broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker)
    broker.faults.error("Produce", "INVALID_RECORD", topic=topic)
    told: list[confluent_kafka.KafkaError] = []
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"a", on_delivery=lambda error, message: told.append(error))
    producer.flush(30)
    assert [each.code() for each in told] == [ErrorCode.INVALID_RECORD]


def test_a_fetch_is_held_until_it_is_released(broker: EmbeddedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker)
    with Producer(broker.bootstrap) as producer:
        producer.send(topic, b"a").result(30)
    barrier = broker.faults.hold("Fetch", topic=topic, partition=0, times=1)
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert not consumer.poll(0.2)
        barrier.wait(timeout=30)
        barrier.release()
        assert [record.value for record in consumer.poll(30)] == [b"a"]
    with pytest.raises(TimeoutError):
        barrier.wait(2, timeout=0.05)


def test_a_script_comes_in_its_order(broker: EmbeddedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker)
    steps = broker.faults.script(
        {"effect": "error", "apis": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 1, "topic": topic},
        {"effect": "disconnect", "apis": "Produce", "times": 1, "follows": "previous", "topic": topic},
        {"effect": "delay", "apis": "Produce", "delay_ms": 1, "times": 1, "follows": "previous"},
    )
    with Producer(broker.bootstrap, retry_backoff_ms=10) as producer:
        producer.send(topic, b"a").result(30)
    numbers = [step.requests[0].number for step in steps]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3


def test_a_full_disk_fails_what_is_written_until_there_is_room(
    broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker)
    broker.faults.disk_full()
    with Producer(broker.bootstrap, retries=0, enable_idempotence=False) as producer:
        with pytest.raises(KafkaStorageError):
            producer.send(topic, b"a").result(30)
        broker.faults.disk_full(False)
        assert producer.send(topic, b"a").result(30).offset == 0


def test_the_clock_is_moved(broker: EmbeddedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker, message_timestamp_type="LogAppendTime")
    with Producer(broker.bootstrap) as producer:
        first = producer.send(topic, b"a").result(30)
        broker.faults.move_clock(3_600_000)
        later = producer.send(topic, b"a").result(30)
    assert 3_600_000 <= later.timestamp - first.timestamp < 3_700_000


def test_time_passes_for_all_that_waits_without_waiting(
    broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker, message_timestamp_type="LogAppendTime")
    with Producer(broker.bootstrap, transactional_id=topic, transaction_timeout_ms=60_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        first = producer.send(topic, b"a").result(30)
        broker.faults.pass_time(120_000)
        with Admin(broker.bootstrap) as admin:
            assert admin.describe_transactions([topic])[topic].state == "CompleteAbort"
        with pytest.raises(BrokerError):
            producer.commit_transaction()
    with Producer(broker.bootstrap) as producer:
        later = producer.send(topic, b"b").result(30)
    assert 120_000 <= later.timestamp - first.timestamp < 220_000
    with pytest.raises(FaultControlError, match="time does not go back"):
        broker.faults.pass_time(-1)


def test_members_of_the_consumer_protocol_are_expelled_and_join_again(
    broker: EmbeddedBroker, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> None:
    topic = make_topic(broker)

    def joined() -> int:
        """Each joins with the whole of what it subscribes to, which says nothing in later heartbeats."""
        return len(broker.faults.requests("ConsumerGroupHeartbeat", group=f"g-{topic}"))

    settings = {"group_id": f"g-{topic}", "group_protocol": "consumer", "auto_offset_reset": "earliest"}
    with Consumer(broker.bootstrap, **settings) as consumer, Producer(broker.bootstrap) as producer:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.1) or consumer.assignment())
        before = joined()
        fenced = broker.faults.hold("ConsumerGroupHeartbeat", group=f"g-{topic}", times=1)
        broker.faults.rebalance(f"g-{topic}")
        fenced.wait()
        fenced.release()
        producer.send(topic, b"a").result(30)
        assert eventually(lambda: [record.value for record in consumer.poll(0.1)]) == [b"a"]
        eventually(lambda: consumer.poll(0.1) or joined() > before + 1)


def test_a_rebalance_is_forced(
    broker: EmbeddedBroker, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> None:
    topic = make_topic(broker)
    with Consumer(broker.bootstrap, group_id=f"g-{topic}", heartbeat_interval_ms=100) as consumer:
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.1) or consumer.assignment())
        joined = len(broker.faults.requests("JoinGroup", group=f"g-{topic}"))
        assert joined
        broker.faults.rebalance(f"g-{topic}")
        eventually(
            lambda: (
                consumer.poll(0.1) or len(broker.faults.requests("JoinGroup", group=f"g-{topic}")) > joined
            )
        )
    with pytest.raises(FaultControlError, match="no members"):
        broker.faults.rebalance("nobody")


def test_a_function_of_this_process_sees_requests_and_answers_them(
    broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(broker)
    threads: set[str] = set()
    seen: list[str] = []

    def hook(recorded: RecordedRequest, request: Request[Any]) -> Response | Disconnect | None:
        threads.add(threading.current_thread().name)
        seen.append(type(request).__name__)
        if len(seen) == 1:
            return Disconnect()
        if len(seen) == 2:
            answer = request.RESPONSE()
            part = answer.PartitionProduceResponse(index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
            asked: Any = request
            named = asked.topic_data[0]
            answer.responses = [answer.TopicProduceResponse(named.name, named.topic_id, [part])]
            return answer
        return None

    fault = broker.faults.hook(hook, "Produce", topic=topic)
    with Producer(broker.bootstrap, retry_backoff_ms=10) as producer:
        assert producer.send(topic, b"a").result(30).offset == 0
    assert seen == ["ProduceRequest"] * 3
    assert threads == {f"barnabas-hook-{fault.rule_id}"}
    fault.remove()


def test_a_hook_that_fails_lets_the_request_pass(
    broker: EmbeddedBroker, make_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(broker)

    def hook(recorded: RecordedRequest, request: Request[Any]) -> HeartbeatResponse:
        raise RuntimeError("of the hook")

    with broker.faults.hook(hook, "Produce"), Producer(broker.bootstrap) as producer:
        assert producer.send(topic, b"a").result(30).offset == 0
    assert "takes its way" in caplog.text


def test_what_cannot_be_is_refused_where_it_is_told(broker: EmbeddedBroker) -> None:
    for wrong, text in (
        ({"effect": "error", "apis": "Prodcue", "error": 6}, "Prodcue"),
        ({"effect": "error", "apis": "Produce", "error": "NOT_LEADER"}, "NOT_LEADER"),
        ({"effect": "explode"}, "explode"),
        ({"effect": "delay", "dealy_ms": 3}, "dealy_ms"),
        ({"effect": "corrupt", "apis": "Metadata"}, "record batches"),
        ({"effect": "hold", "follows": "f99"}, "f99"),
        ({"effect": "hold", "partition": 3}, "needs its topic"),
    ):
        with pytest.raises(FaultControlError, match=text):
            broker.faults.script({"effect": "delay"}, wrong)
    assert broker.faults.call("GET", "/faults") == {"faults": []}, "all or none"
    with pytest.raises(FaultRuleError):
        broker.faults.delay("Produce", 5, up_to_ms=3)


def test_no_page_of_a_browser_may_tell_faults(broker: EmbeddedBroker) -> None:
    for headers in ({"Origin": "http://example.com"}, {"Host": "example.com"}):
        connection = http.client.HTTPConnection("127.0.0.1", broker.faults.port, timeout=30)
        connection.request("POST", "/faults", json.dumps({"effect": "black_hole"}), headers)
        assert connection.getresponse().status == 403
        connection.close()


def test_faults_are_gone_with_a_restart(make_topic: Callable[..., str]) -> None:
    with EmbeddedBroker() as broker:
        url = broker.faults.url
        broker.faults.error("Metadata", "UNKNOWN_SERVER_ERROR")
        broker.restart()
        assert broker.faults.url == url
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("flights", 1, 1)])
            assert "flights" in admin.list_topics()
