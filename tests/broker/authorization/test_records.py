"""Who may write, read and look for records: the same answers as Kafka's, with each right alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from barnabas import _kernel
from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import ApacheKafka

from .probe import probe
from .stage import Stage, same_on_both

TOPIC, CLUSTER, TRANSACTION = ResourceKind.TOPIC, ResourceKind.CLUSTER, ResourceKind.TRANSACTIONAL_ID


def batch(*, is_transactional: bool = False) -> bytes:
    builder = _kernel.BatchBuilder(max_bytes=1 << 16)
    builder.append(1_700_000_000_000, b"key", b"value")
    if not is_transactional:
        return builder.build()
    return builder.build(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)


async def producing(stage: Stage) -> None:
    topic, missing = stage.name("topic"), stage.name("missing")
    topic_id = await stage.create_topic(topic)

    def by_name(stage: Stage) -> tuple[ProduceRequest, int]:
        data = ProduceRequest.PartitionProduceData(index=0, records=batch())
        names = [
            ProduceRequest.TopicProduceData(name=name, partition_data=[data]) for name in (topic, missing)
        ]
        return ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=names), 12

    def by_id(stage: Stage) -> tuple[ProduceRequest, None]:
        data = ProduceRequest.PartitionProduceData(index=0, records=batch())
        topics = [ProduceRequest.TopicProduceData(topic_id=topic_id, partition_data=[data])]
        return ProduceRequest(acks=1, timeout_ms=5_000, topic_data=topics), None

    def transactional(stage: Stage) -> tuple[ProduceRequest, int]:
        data = ProduceRequest.PartitionProduceData(index=0, records=batch(is_transactional=True))
        topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
        return ProduceRequest(stage.name("id"), acks=-1, timeout_ms=5_000, topic_data=topics), 12

    write = Operation.WRITE, TOPIC, topic
    read = Operation.READ, TOPIC, topic
    use_id = Operation.WRITE, TRANSACTION, stage.name("id")
    everywhere = Operation.WRITE, TOPIC, "*"
    await probe(stage, "by name", by_name, write, read, everywhere, (Operation.ALL, TOPIC, topic))
    await probe(stage, "by id", by_id, write, read)
    await probe(stage, "in a transaction", transactional, write, use_id)


async def fetching(stage: Stage) -> None:
    topic, missing = stage.name("topic"), stage.name("missing")
    topic_id = await stage.create_topic(topic)
    wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 16)

    def by_name(stage: Stage) -> tuple[FetchRequest, int]:
        names = [FetchRequest.FetchTopic(topic=name, partitions=[wanted]) for name in (topic, missing)]
        return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 16, session_epoch=-1, topics=names), 12

    def by_id(stage: Stage) -> tuple[FetchRequest, None]:
        topics = [FetchRequest.FetchTopic(topic_id=topic_id, partitions=[wanted])]
        return FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 16, session_epoch=-1, topics=topics
        ), None

    needs = [(Operation.READ, TOPIC, topic), (Operation.WRITE, TOPIC, topic), (Operation.READ, TOPIC, "*")]
    await probe(stage, "by name", by_name, *needs)
    await probe(stage, "by id", by_id, *needs)


async def looking(stage: Stage) -> None:
    topic, missing = stage.name("topic"), stage.name("missing")
    await stage.create_topic(topic)

    def list_offsets(stage: Stage) -> tuple[ListOffsetsRequest, None]:
        asked = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=-1)
        names = [ListOffsetsRequest.ListOffsetsTopic(name, [asked]) for name in (topic, missing)]
        return ListOffsetsRequest(-1, 0, names), None

    def leader_epoch(stage: Stage) -> tuple[OffsetForLeaderEpochRequest, None]:
        asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
        names = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(name, [asked]) for name in (topic, missing)]
        return OffsetForLeaderEpochRequest(-2, names), None

    def delete_records(stage: Stage) -> tuple[DeleteRecordsRequest, None]:
        asked = DeleteRecordsRequest.DeleteRecordsPartition(0, 0)
        names = [DeleteRecordsRequest.DeleteRecordsTopic(name, [asked]) for name in (topic, missing)]
        return DeleteRecordsRequest(names, 5_000), None

    rights = [
        (operation, TOPIC, topic) for operation in (Operation.DESCRIBE, Operation.READ, Operation.DELETE)
    ]
    action = Operation.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME
    describe_all = Operation.DESCRIBE, TOPIC, "*"
    await probe(
        stage, "list offsets", list_offsets, *rights, describe_all, (Operation.DESCRIBE_CONFIGS, TOPIC, topic)
    )
    await probe(stage, "leader epoch", leader_epoch, *rights, describe_all, action)
    await probe(stage, "delete records", delete_records, *rights, (Operation.DELETE, TOPIC, "*"))


def test_writing_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, producing))


def test_fetching_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, fetching))


def test_looking_for_records_and_deleting_them_needs_the_rights_that_it_needs_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, looking))
