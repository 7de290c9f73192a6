from __future__ import annotations

import gc
import os
import threading
from typing import Any

import pytest

from barnabas.compat.pykafka import KafkaClient
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.connection import BrokerConnection
from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.compat.pykafka.handlers import (
    Handler,
    RequestHandler,
    ResponseFuture,
    ThreadingHandler,
)
from barnabas.compat.pykafka.protocol import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    Message,
    MetadataRequest,
    MetadataRequestV1,
    MetadataResponse,
    MetadataResponseV1,
    ProduceRequest,
)
from barnabas.testing import ApacheKafka

TIMEOUT_MS = 10_000


@pytest.fixture
def connection(kafka: ApacheKafka) -> BrokerConnection:
    return connected(kafka)


def connected(kafka: ApacheKafka) -> BrokerConnection:
    host, _, port = kafka.bootstrap.partition(":")
    made = BrokerConnection(host, int(port), ThreadingHandler())
    made.connect(TIMEOUT_MS)
    return made


def test_requests_are_answered_in_their_order_and_in_their_versions(connection: BrokerConnection) -> None:
    connection.request(MetadataRequest())
    connection.request(ApiVersionsRequest())
    connection.request(MetadataRequestV1())
    assert MetadataResponse(connection.response()).controller_id is None
    assert ApiVersionsResponse(connection.response()).api_versions[3].max > 5
    assert MetadataResponseV1(connection.response()).controller_id == 1


def test_a_request_without_an_answer_is_not_waited_for(
    kafka: ApacheKafka, connection: BrokerConnection
) -> None:
    client = KafkaClient(kafka.bootstrap)
    topic = client.topics["topic"]
    # A broker hears of what it leads a moment after others tell of it, and hangs up on who writes before.
    assert topic.partitions[0].fetch_offset_limit(OffsetType.LATEST) == [0]
    produce = ProduceRequest(required_acks=0)
    produce.add_message(Message(b"v"), b"topic", 0)
    connection.request(produce)
    connection.request(MetadataRequest())
    assert 1 in MetadataResponse(connection.response()).brokers


def test_a_connection_is_closed_and_opened_again(connection: BrokerConnection) -> None:
    assert connection.connected
    connection.disconnect()
    assert not connection.connected
    with pytest.raises(SocketDisconnectedError, match=r"<broker 127\.0\.0\.1:"):
        connection.request(MetadataRequest())
    with pytest.raises(SocketDisconnectedError):
        connection.response()
    connection.reconnect()
    connection.request(MetadataRequest())
    assert 1 in MetadataResponse(connection.response()).brokers


def test_where_nobody_is_there_is_no_connection() -> None:
    connection = BrokerConnection(b"127.0.0.1", 1, ThreadingHandler())
    with pytest.raises(SocketDisconnectedError):
        connection.connect(TIMEOUT_MS)
    assert not connection.connected


def test_a_name_that_is_none_is_no_connection() -> None:
    with pytest.raises(SocketDisconnectedError):
        BrokerConnection("no-such-host.invalid", 9092, ThreadingHandler()).connect(TIMEOUT_MS)


def test_in_the_child_of_a_fork_a_connection_is_closed(connection: BrokerConnection) -> None:
    child = os.fork()
    if not child:
        os._exit(int(connection.connected))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert connection.connected


def test_a_handler_asks_without_waiting(connection: BrokerConnection) -> None:
    requests = RequestHandler(ThreadingHandler(), connection)
    early = requests.request(MetadataRequest())
    requests.start()
    late = requests.request(ApiVersionsRequest())
    assert 1 in early.get(MetadataResponse).brokers
    assert ApiVersionsResponse(late.get()).api_versions
    requests.stop()
    assert requests.shared is None


def test_a_handler_tells_that_the_connection_broke(connection: BrokerConnection) -> None:
    requests = RequestHandler(ThreadingHandler(), connection)
    requests.start()
    connection.disconnect()
    with pytest.raises(SocketDisconnectedError):
        requests.request(MetadataRequest()).get(MetadataResponse)
    assert requests.request(MetadataRequest(), has_response=False) is None


def test_stopping_waits_for_answers_that_are_to_come(connection: BrokerConnection) -> None:
    requests = RequestHandler(ThreadingHandler(), connection)
    requests.start()
    answers = [requests.request(MetadataRequest()) for _ in range(20)]
    requests.stop()
    assert all(len(each.response) for each in answers)


class OwnConnection:
    """A program's, for its tests."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def request(self, request: Any) -> None:
        self.asked.append(request)

    def response(self) -> Any:
        if self.asked == ["wrong"]:
            raise SocketDisconnectedError
        return b"answer"


def test_a_connection_may_be_the_programs_own() -> None:
    requests = RequestHandler(ThreadingHandler(), OwnConnection())
    requests.start()
    with pytest.raises(SocketDisconnectedError):
        requests.request("wrong").get()
    assert requests.request("right").get() == b"answer"


def test_a_future_gives_what_it_is_told() -> None:
    future = ResponseFuture(ThreadingHandler())
    timer = threading.Timer(0.01, future.set_response, [b"ab"])
    timer.start()
    assert future.get(lambda data, repeat: data * repeat, repeat=2) == b"abab"
    failed = ResponseFuture(ThreadingHandler())
    failed.set_error(KeyError("why"))
    with pytest.raises(KeyError, match="why"):
        failed.get()


def test_threads_are_spawned_with_numbers_in_their_names() -> None:
    handler = ThreadingHandler()
    done = handler.Event()
    thread = handler.spawn(done.set, name="worker")
    thread.join()
    assert done.is_set()
    assert thread.daemon
    assert thread.name.endswith(": worker")
    with handler.RLock(), handler.Lock():
        handler.sleep()
    with pytest.raises(NotImplementedError):
        Handler().spawn(print)


def test_a_connection_that_nobody_knows_any_more_is_closed(kafka: ApacheKafka) -> None:
    connection = connected(kafka)
    channel: Any = connection._channel
    closed = threading.Event()
    channel.close = lambda close=channel.close: (close(), closed.set())
    del connection
    gc.collect()
    assert closed.wait(10)
