"""Batches of records written to one partition by a producer whose id and epoch are given.

Owns sequence numbers and repeating what may not have arrived. It is not a `Producer`, which gets ids and
epochs of its own, and gives itself a newer epoch after errors: here an epoch stands for the right to write.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from barnabas._kernel import BatchBuilder
from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.cluster.error_table import MOVED_LEADER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID
from barnabas.client.produce.produce_requests import HIGHEST_VERSION_WITH_NAMES
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.registry_server.journal.journal import Record
from barnabas.registry_server.journal.terms import ProducerEpoch
from barnabas.types import TopicPartition

ALL_REPLICAS = -1
# What a batch may be is the topic's to say: max.message.bytes.
LARGEST_BATCH_BYTES = (1 << 31) - 1


class PartitionWriter:
    """For one caller at a time."""

    def __init__(self, client: KafkaClient, partition: TopicPartition, timeout_ms: float) -> None:
        self._client = client
        self._partition = partition
        self._timeout_ms = timeout_ms
        self._producer: ProducerEpoch | None = None
        self._next_sequence = 0

    async def write(self, producer: ProducerEpoch, records: Sequence[Record]) -> int:
        """Writes the records as one batch, all or none of them; the offset of the first. Whoever was written
        for before begins again with sequence 0.

        Raises: BrokerError, of which InvalidProducerEpochError and OutOfOrderSequenceNumberError say that the
        epoch is somebody else's or over, and MessageTooLargeError that nothing was written;
        KafkaTimeoutError, after which it is not known whether they were.
        """
        if producer != self._producer:
            self._producer, self._next_sequence = producer, 0
        builder = BatchBuilder(max_bytes=LARGEST_BATCH_BYTES)
        now_ms = time.time_ns() // 1_000_000
        for key, value in records:
            builder.append(now_ms, key, value)
        batch = builder.build(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=self._next_sequence,
        )
        offset = await self._deliver(batch)
        self._next_sequence += len(records)
        return offset

    async def _deliver(self, batch: bytes) -> int:
        """Repeats the same batch until a broker says what became of it; one that has it says where."""
        deadline = time.monotonic() + self._timeout_ms / 1000
        failures = 0
        while True:
            try:
                return await self._try(batch, (deadline - time.monotonic()) * 1000)
            except BarnabasError as error:
                if not error.retriable:
                    raise
                if isinstance(error, KafkaConnectionError) or (
                    isinstance(error, BrokerError) and error.code in MOVED_LEADER
                ):
                    self._client.request_metadata_update()
                failures += 1
                pause_ms = self._client.backoff.delay_ms(failures)
                if time.monotonic() + pause_ms / 1000 >= deadline:
                    raise KafkaTimeoutError(
                        f"writing to {self._partition} did not succeed in {self._timeout_ms:.0f} ms: {error}"
                    ) from error
            await asyncio.sleep(pause_ms / 1000)

    async def _try(self, batch: bytes, remaining_ms: float) -> int:
        topic, number = self._partition
        leader = self._client.metadata.leader(self._partition)
        if leader < 0:
            await self._client.refresh_metadata([topic], timeout_ms=max(remaining_ms, 1))
            leader = self._client.metadata.leader(self._partition)
            if leader < 0:
                raise KafkaConnectionError(f"{self._partition} has no leader at present")
        topic_id = self._client.metadata.topic_id(topic)
        request = ProduceRequest(
            acks=ALL_REPLICAS,
            timeout_ms=round(self._timeout_ms),
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=topic,
                    topic_id=topic_id,
                    partition_data=[ProduceRequest.PartitionProduceData(index=number, records=batch)],
                )
            ],
        )
        max_version = HIGHEST_VERSION_WITH_NAMES if topic_id == NO_TOPIC_ID else None
        response = await self._client.send(leader, request, max(remaining_ms, 1), max_version=max_version)
        return self._offset_in(response)

    def _offset_in(self, response: ProduceResponse) -> int:
        answers = [answer for topic in response.responses for answer in topic.partition_responses]
        if len(answers) != 1:
            raise BrokenProtocolError(f"a batch for one partition has {len(answers)} answers")
        if answers[0].error_code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            raise error_for(answers[0].error_code, f"writing to {self._partition}")
        return answers[0].base_offset
