"""What the error of a record says that was not delivered: where it should have gone, and why it did not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Producer, TopicPartition
from barnabas.errors import BufferFullError, ClosedError, KafkaConnectionError, KafkaTimeoutError
from barnabas.testing import EmbeddedBroker

pytestmark = pytest.mark.integration

LARGEST_REQUEST = 100_000


@pytest.fixture
def narrow_broker() -> Iterator[EmbeddedBroker]:
    """A broker that hangs up on requests of more than 100 kB."""
    with EmbeddedBroker(config={"socket.request.max.bytes": str(LARGEST_REQUEST)}) as broker:
        yield broker


@pytest.fixture(params=[0, 5], ids=["at once", "lingering"])
def linger_ms(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_record_in_a_request_that_brokers_hang_up_on_names_its_size_and_the_settings(
    narrow_broker: EmbeddedBroker, linger_ms: int
) -> None:
    limits = {"delivery_timeout_ms": 1_500, "request_timeout_ms": 1_000}
    with Producer(narrow_broker.bootstrap, linger_ms=linger_ms, **limits) as producer:
        producer.send("t", b"small").result()
        delivery = producer.send("t", bytes(200_000))
        with pytest.raises(KafkaTimeoutError) as raised:
            delivery.result()
        assert producer.send("t", b"small").result().offset == 1
    text = str(raised.value)
    assert "(node 1) closed the connection" in text
    assert "when it was to answer a request of 200" in text
    assert "socket.request.max.bytes" in text
    assert "max_request_size" in text
    cause = raised.value.__cause__
    assert isinstance(cause, KafkaConnectionError)
    assert cause.request_bytes is not None
    assert 200_000 < cause.request_bytes < 201_000


@pytest.fixture
def impatient_producer(narrow_broker: EmbeddedBroker) -> Iterator[Producer]:
    with Producer(narrow_broker.bootstrap, retries=0, enable_idempotence=False) as producer:
        yield producer


def test_without_retries_the_size_of_a_request_that_brokers_hang_up_on_is_named(
    impatient_producer: Producer,
) -> None:
    delivery = impatient_producer.send("t", bytes(200_000))
    with pytest.raises(KafkaConnectionError, match=r"a request of 200\d+ bytes; .*socket\.request\.max\.b"):
        delivery.result()


def test_the_embedded_broker_logs_the_size_of_a_request_that_is_too_large(
    narrow_broker: EmbeddedBroker, impatient_producer: Producer
) -> None:
    delivery = impatient_producer.send("t", bytes(200_000))
    with pytest.raises(KafkaConnectionError):
        delivery.result()
    assert f"bytes is larger than socket.request.max.bytes ({LARGEST_REQUEST}) allows" in narrow_broker.log


def test_a_record_whose_leader_cannot_be_reached_names_its_address_and_why() -> None:
    limits = {"delivery_timeout_ms": 2_000, "request_timeout_ms": 1_000}
    with EmbeddedBroker(nodes=2) as cluster, Producer(cluster.bootstrap, **limits) as producer:
        leader = cluster.nodes[producer.partitions_for("t")[0].leader]
        # For the other one it is there until its session is over.
        leader.kill()
        with pytest.raises(KafkaTimeoutError) as raised:
            producer.send("t", b"lost", partition=0).result()
    assert f"{leader.bootstrap} (node {leader.node_id})" in str(raised.value)
    assert "refused" in str(raised.value)
    assert isinstance(raised.value.__cause__, KafkaConnectionError)


@pytest.fixture
def waiting_producer(
    own_broker: Any, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> Iterator[tuple[Producer, str]]:
    """One with a record for a topic whose leader was killed, and that topic."""
    topic = make_topic(own_broker)
    settings: dict[str, Any] = {"buffer_memory": 10_000, "max_block_ms": 300, "linger_ms": 0}
    producer = Producer(own_broker.bootstrap, **settings)
    producer.send(topic, b"first", partition=0).result(60)
    own_broker.kill()
    producer.send(topic, b"second", partition=0)
    client = producer._core._client
    eventually(lambda: client.connect_error(client.metadata.leader(TopicPartition(topic, 0))))
    yield producer, topic
    producer.close(0)


def test_a_flush_that_takes_too_long_says_which_leader_cannot_be_reached(
    waiting_producer: tuple[Producer, str],
) -> None:
    producer, topic = waiting_producer
    reason = rf"1 record was not yet delivered after 0 s; {topic}-0: .* cannot connect to the leader, "
    with pytest.raises(KafkaTimeoutError, match=reason):
        producer.flush(0)


def test_a_buffer_that_stays_full_says_which_leader_cannot_be_reached(
    waiting_producer: tuple[Producer, str],
) -> None:
    producer, topic = waiting_producer
    reason = rf"1 record waited; {topic}-0: the last error was: cannot connect to the leader, "
    with pytest.raises(BufferFullError, match=reason):
        producer.send(topic, bytes(9_960), partition=0)


def test_what_is_not_delivered_when_a_producer_is_closed_says_which_leader_cannot_be_reached(
    waiting_producer: tuple[Producer, str],
) -> None:
    producer, topic = waiting_producer
    delivery = producer.send(topic, b"third", partition=0)
    producer.close(0)
    with pytest.raises(ClosedError, match=rf"within 0 s; {topic}-0: .* cannot connect to the leader, "):
        delivery.result()
