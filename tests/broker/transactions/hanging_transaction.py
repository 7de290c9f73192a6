"""A transaction that hangs: a producer's records in a partition, and no coordinator knows of them.

Apache Kafka takes them while it does not verify partitions (KIP-890), as releases before 3.6 did.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from barnabas import TopicPartition, _kernel
from barnabas.client.cluster.error_table import MOVED_LEADER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.error_codes import ErrorCode
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.settings.table import CommonConfig, load

TAKES_ANY_TRANSACTION: Mapping[str, str] = {"transaction.partition.verification.enable": "false"}
PRODUCER_ID, PRODUCER_EPOCH = 777_777, 3


async def _error_code(client: KafkaClient, partition: TopicPartition, request: ProduceRequest) -> int:
    await client.wait_for_topics([partition.topic], time.monotonic() + 60)
    leader = client.metadata.leader(partition)
    if leader < 0:
        return ErrorCode.LEADER_NOT_AVAILABLE
    # From version 12 on, the broker adds the partition to the transaction at the coordinator (KIP-890).
    answer = await client.send(leader, request, 5_000, max_version=11)
    [[written]] = [topic.partition_responses for topic in answer.responses]
    assert written.error_code in {ErrorCode.NONE, *MOVED_LEADER}, written
    return written.error_code


async def write_without_a_coordinator(bootstrap: str, partition: TopicPartition, timestamp_ms: int) -> None:
    builder = _kernel.BatchBuilder(max_bytes=1 << 16)
    builder.append(timestamp_ms, b"key", b"lost")
    batch = builder.build(
        producer_id=PRODUCER_ID, producer_epoch=PRODUCER_EPOCH, base_sequence=0, is_transactional=True
    )
    data = ProduceRequest.PartitionProduceData(index=partition.partition, records=batch)
    topics = [ProduceRequest.TopicProduceData(name=partition.topic, partition_data=[data])]
    request = ProduceRequest("lost", acks=-1, timeout_ms=5_000, topic_data=topics)
    client = KafkaClient(load(CommonConfig, {"bootstrap_servers": bootstrap}))
    try:
        async with asyncio.timeout(60):
            # A new topic's leader may not know yet that it is.
            while await _error_code(client, partition, request) in MOVED_LEADER:
                await client.refresh_metadata([partition.topic])
    finally:
        await client.close()
