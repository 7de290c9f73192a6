"""The least that any client has to do on a blocking socket: no record is made, looked at or checked.

What it reaches is the limit for a client that does one request after the other, as Kafka's clients do.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

from barnabas._kernel import BatchBuilder
from barnabas.protocol.frame import decode_response, encode_request
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.produce import ProduceRequest
from bench.works import PARTITIONS, Measure, Stopwatch, Task, keys, stopwatch_of_writing, values

# The last versions that name topics, so that no topic id has to be found out.
FETCH_VERSION = 12
PRODUCE_VERSION = 12
IN_FLIGHT = 5
# As Barnabas asks for.
PARTITION_BYTES = 4 << 20
BATCH_BYTES = 1 << 20
MAX_RESPONSE_BYTES = 64 << 20
_LENGTH = struct.Struct(">i")
_BATCH_START = struct.Struct(">qi")
_BATCH_LENGTH_BYTES = 12
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_POSITION = 23


class RawConnection:
    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._memory = memoryview(bytearray(MAX_RESPONSE_BYTES))

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> memoryview:
        self._fill(_LENGTH.size)
        (size,) = _LENGTH.unpack_from(self._memory)
        self._fill(size)
        return self._memory[:size]

    def close(self) -> None:
        self._socket.close()

    def _fill(self, size: int) -> None:
        received = 0
        while received < size:
            count = self._socket.recv_into(self._memory[received:size])
            if not count:
                raise ConnectionError("the broker hung up")
            received += count


def batches_of(records: memoryview) -> Iterator[tuple[int, int]]:
    """First and last offset of each batch that is there whole."""
    position = 0
    while position + _BATCH_LENGTH_BYTES < len(records):
        base_offset, size = _BATCH_START.unpack_from(records, position)
        if position + _BATCH_LENGTH_BYTES + size > len(records):
            return
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(records, position + _LAST_OFFSET_DELTA_POSITION)
        yield base_offset, base_offset + delta
        position += _BATCH_LENGTH_BYTES + size


def consume(task: Task) -> Measure:
    connection = RawConnection(task.bootstrap)
    offsets = [0] * PARTITIONS
    count = turn = 0
    watch = Stopwatch()
    while count < task.records:
        turn += 1
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=52_428_800,
            topics=[
                FetchRequest.FetchTopic(
                    topic=task.topic,
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=partition,
                            fetch_offset=offsets[partition],
                            partition_max_bytes=PARTITION_BYTES,
                        )
                        for partition in sorted(range(PARTITIONS), key=lambda p: (p + turn) % PARTITIONS)
                    ],
                )
            ],
        )
        connection.send(encode_request(request, FETCH_VERSION, turn, "raw"))
        response = decode_response(FetchRequest, FETCH_VERSION, connection.receive())
        for partition in (p for topic in response.responses for p in topic.partitions):
            for first, last in batches_of(memoryview(partition.records or b"")):
                count += last - max(first, offsets[partition.partition_index]) + 1
                offsets[partition.partition_index] = last + 1
    measure = watch.stop(count)
    connection.close()
    return measure


def full_batch(compression: str) -> tuple[bytes, int]:
    builder = BatchBuilder(compression=compression, max_bytes=BATCH_BYTES)
    now, key_pool, value_pool = int(time.time() * 1000), keys(), values()
    while builder.append(
        now,
        key_pool[builder.record_count % len(key_pool)],
        value_pool[builder.record_count % len(value_pool)],
    ):
        pass
    return builder.build(), builder.record_count


def produce(task: Task) -> Measure:
    connection = RawConnection(task.bootstrap)
    batch, batch_records = full_batch(task.compression)
    frames: list[bytes] = []
    for partition in range(PARTITIONS):
        data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
        topic = ProduceRequest.TopicProduceData(name=task.topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
        frames.append(encode_request(request, PRODUCE_VERSION, partition, "raw"))
    total = -(-task.records // batch_records)
    sent = answered = 0
    watch = stopwatch_of_writing()
    while answered < total:
        while sent < total and sent - answered < IN_FLIGHT:
            connection.send(frames[sent % PARTITIONS])
            sent += 1
        response = decode_response(ProduceRequest, PRODUCE_VERSION, connection.receive())
        code = response.responses[0].partition_responses[0].error_code
        if code:
            raise RuntimeError(f"the broker refused a batch with error code {code}")
        answered += 1
    measure = watch.stop(total * batch_records)
    connection.close()
    return measure


WORKS = {"consume/arrow": consume, "produce/arrow": produce}
