"""The broker's end of a connection that is lent for sending directly, and the accumulator it is lent to."""

from __future__ import annotations

import select
import socket
import sys
import uuid
from typing import Any

import pytest

from barnabas._kernel import Accumulator, Waker
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.protocol.server_frame import decode_request, encode_response

if sys.platform == "win32":
    pytest.skip("there is no direct sending on Windows", allow_module_level=True)

from barnabas._kernel import DirectTarget

TOPIC = "t"
TOPIC_ID = bytes(range(16))
LAST_SEQUENCE = 2**31 - 1
SECONDS = 30.0
LEADER_ID = 4


class Broker:
    """The other end of a connection that the batches of one leader's partitions leave on."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.ours, self.socket = socket.socketpair()
        self.socket.settimeout(SECONDS)

    def target(self, partition: int) -> DirectTarget:
        data = ProduceRequest.PartitionProduceData(index=partition, records=b"")
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
        frame = encode_request(request, self.version, 0, "client")
        return DirectTarget(frame, TOPIC, partition, TOPIC_ID if self.version == 13 else None)

    def close(self) -> None:
        self.socket.close()
        self.ours.close()

    def receive(self) -> tuple[int, ProduceRequest]:
        """A request and its correlation id."""
        length = int.from_bytes(self._receive(4))
        header, request = decode_request(self._receive(length))
        assert isinstance(request, ProduceRequest)
        return header.correlation_id, request

    def answer(self, correlation_id: int, base_offset: int, **fields: Any) -> None:
        """That the batch was taken, where `fields` of the partition say nothing else."""
        self.socket.sendall(self.answer_frame(correlation_id, base_offset, **fields))

    def answer_frame(
        self, correlation_id: int, base_offset: int, throttle_time_ms: int = 0, **fields: Any
    ) -> bytes:
        partition = ProduceResponse.PartitionProduceResponse(
            **{"index": 0, "error_code": 0, "base_offset": base_offset, "log_append_time_ms": -1} | fields
        )
        topic = ProduceResponse.TopicProduceResponse(partition_responses=[partition])
        if self.version == 13:
            topic.topic_id = uuid.UUID(bytes=TOPIC_ID)
        else:
            topic.name = TOPIC
        response = ProduceResponse(responses=[topic], throttle_time_ms=throttle_time_ms)
        return encode_response(response, ProduceRequest.API_KEY, self.version, correlation_id)

    def _receive(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            part = self.socket.recv(count - len(received))
            assert part, "the connection has ended"
            received += part
        return received


def accumulator_with(waker: Waker, *, lingers: bool = False) -> Accumulator:
    made = Accumulator(
        batch_size=1000,
        buffer_memory=1 << 20,
        max_record_bytes=1 << 20,
        compression="none",
        compression_level=None,
        partitioner="murmur2",
        wake=waker,
        lingers=lingers,
    )
    made.set_partition_count(TOPIC, 3)
    return made


def lend(
    accumulator: Accumulator,
    broker: Broker,
    *,
    sequence: int = 0,
    max_in_flight: int = 5,
    partitions: tuple[int, ...] = (0,),
    leader_id: int = LEADER_ID,
) -> None:
    seats = [(broker.target(partition), (7, 1, sequence)) for partition in partitions]
    accumulator.lend(
        leader_id, broker.ours.fileno(), seats, 10, max_in_flight=max_in_flight, reads_answers=True
    )


def wait_until_woken(waker: Waker) -> None:
    assert select.select([waker.fileno()], [], [], SECONDS)[0]
