"""An error by a fault is told as Apache Kafka tells it: Kafka is asked for what it refuses, and the embedded
broker for the same, with a fault of that error, which answers before the broker looks at the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.broker.conftest import batch_of, values
from tests.waiting import Patience

from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.schema import Struct, fields_of
from barnabas.testing import ApacheKafka, EmbeddedBroker

NO_TOPIC = "no-such-topic"
TOPIC = 2
NOBODYS_ID = 1 << 40
"""Of a producer: one that Kafka has not given, whoever asked it before."""

NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.value,
    ErrorCode.COORDINATOR_NOT_AVAILABLE.value,
    ErrorCode.NOT_COORDINATOR.value,
}

Make = Callable[[str], Any]
REFUSED: dict[str, tuple[Make, tuple[int, ...]]] = {
    "produce": (
        lambda topic: ProduceRequest(
            acks=-1,
            timeout_ms=1_000,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=topic,
                    partition_data=[
                        ProduceRequest.PartitionProduceData(index=9, records=batch_of(values("a")))
                    ],
                )
            ],
        ),
        (3, 7, 12),
    ),
    "fetch": (
        lambda topic: FetchRequest(
            max_bytes=1 << 20,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[FetchRequest.FetchPartition(9)])],
        ),
        (4, 11, 12),
    ),
    "fetch within a session": (lambda topic: FetchRequest(session_id=12345, session_epoch=5), (7, 12, 17)),
    "list offsets": (
        lambda topic: ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsRequest.ListOffsetsTopic(topic, [ListOffsetsRequest.ListOffsetsPartition(9)])],
        ),
        (1, 7, 11),
    ),
    "offset for leader epoch": (
        lambda topic: OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                    topic, [OffsetForLeaderEpochRequest.OffsetForLeaderPartition(9)]
                )
            ],
        ),
        (2, 4),
    ),
    "offset commit": (
        lambda topic: OffsetCommitRequest(
            group_id="refused",
            generation_id_or_member_epoch=5,
            member_id="nobody",
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, committed_metadata="")],
                )
            ],
        ),
        (2, 9),
    ),
    "offset delete": (
        lambda topic: OffsetDeleteRequest(
            "refused",
            [
                OffsetDeleteRequest.OffsetDeleteRequestTopic(
                    topic, [OffsetDeleteRequest.OffsetDeleteRequestPartition(0)]
                )
            ],
        ),
        (0,),
    ),
    "delete records": (
        lambda topic: DeleteRecordsRequest(
            [
                DeleteRecordsRequest.DeleteRecordsTopic(
                    topic, [DeleteRecordsRequest.DeleteRecordsPartition(9)]
                )
            ],
            1_000,
        ),
        (1, 2),
    ),
    "transactional offset commit": (
        lambda topic: TxnOffsetCommitRequest(
            transactional_id="refused",
            group_id="refused",
            producer_id=NOBODYS_ID,
            producer_epoch=0,
            generation_id=7,
            member_id="nobody",
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                    topic,
                    [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, committed_metadata="")],
                )
            ],
        ),
        (3,),
    ),
    "add partitions to transaction": (
        lambda topic: AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="refused",
            v3_and_below_producer_id=NOBODYS_ID,
            v3_and_below_topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(topic, [0])],
        ),
        (1, 3),
    ),
    "add offsets to transaction": (
        lambda topic: AddOffsetsToTxnRequest("refused", NOBODYS_ID, 0, "refused"),
        (3,),
    ),
    "end transaction": (lambda topic: EndTxnRequest("refused", NOBODYS_ID, 0, True), (3, 5)),
    "init producer id": (
        lambda topic: InitProducerIdRequest(transactional_id="refused", transaction_timeout_ms=1 << 30),
        (2, 5),
    ),
    "describe producers": (
        lambda topic: DescribeProducersRequest([DescribeProducersRequest.TopicRequest(topic, [9])]),
        (0,),
    ),
    "describe transactions": (lambda topic: DescribeTransactionsRequest(["never"]), (0,)),
    "metadata": (
        lambda topic: MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=NO_TOPIC)], allow_auto_topic_creation=False
        ),
        (4, 9, 12),
    ),
    "describe topic partitions": (
        lambda topic: DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(NO_TOPIC)]),
        (0,),
    ),
    "create topics": (
        lambda topic: CreateTopicsRequest(
            [CreateTopicsRequest.CreatableTopic(topic, num_partitions=1, replication_factor=1)], 1_000
        ),
        (2, 7),
    ),
    "delete topics": (
        lambda topic: DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=NO_TOPIC)], timeout_ms=1_000
        ),
        (6,),
    ),
    "delete topics by name alone": (
        lambda topic: DeleteTopicsRequest(topic_names=[NO_TOPIC], timeout_ms=1_000),
        (3, 5),
    ),
    "create partitions": (
        lambda topic: CreatePartitionsRequest(
            [CreatePartitionsRequest.CreatePartitionsTopic(topic, 1, None)], 1_000
        ),
        (0, 3),
    ),
    "join group": (
        lambda topic: JoinGroupRequest(
            group_id="refused",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id="nobody",
            protocol_type="consumer",
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol("range", b"")],
        ),
        (3, 6, 9),
    ),
    "sync group": (lambda topic: SyncGroupRequest("refused", 1, "nobody"), (2, 4)),
    "heartbeat": (lambda topic: HeartbeatRequest("refused", 1, "nobody"), (1, 4)),
    "leave group": (lambda topic: LeaveGroupRequest("refused", member_id="nobody"), (1, 2)),
    "describe groups": (lambda topic: DescribeGroupsRequest(["refused"]), (6,)),
    "describe consumer groups": (lambda topic: ConsumerGroupDescribeRequest(["refused"]), (0, 1)),
    "delete groups": (lambda topic: DeleteGroupsRequest(["refused"]), (1, 2)),
    "consumer group heartbeat": (
        lambda topic: ConsumerGroupHeartbeatRequest("refused", "nobody", 5),
        (0, 1),
    ),
    "find coordinator": (
        lambda topic: FindCoordinatorRequest(coordinator_keys=["refused"], key_type=9),
        (4, 5),
    ),
    "find a group's coordinator": (lambda topic: FindCoordinatorRequest(key="refused", key_type=9), (1, 3)),
    "describe configs": (
        lambda topic: DescribeConfigsRequest(
            [DescribeConfigsRequest.DescribeConfigsResource(TOPIC, NO_TOPIC, None)]
        ),
        (1, 4),
    ),
    "alter configs": (
        lambda topic: AlterConfigsRequest([AlterConfigsRequest.AlterConfigsResource(TOPIC, NO_TOPIC, [])]),
        (1, 2),
    ),
    "incremental alter configs": (
        lambda topic: IncrementalAlterConfigsRequest(
            [IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, NO_TOPIC, [])]
        ),
        (0, 1),
    ),
    "elect leaders": (
        lambda topic: ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions(topic, [9])]),
        (2,),
    ),
    "alter partition reassignments": (
        lambda topic: AlterPartitionReassignmentsRequest(
            topics=[
                AlterPartitionReassignmentsRequest.ReassignableTopic(
                    topic, [AlterPartitionReassignmentsRequest.ReassignablePartition(9, [1])]
                )
            ]
        ),
        (0, 1),
    ),
    "alter SCRAM credentials": (
        lambda topic: AlterUserScramCredentialsRequest(
            deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion("nobody", 1)]
        ),
        (0,),
    ),
}
# On purpose: Kafka tells the error in the partition, where a fault that names no topic is the whole answer's.
AT_PARTS = {"elect leaders", "alter partition reassignments"}
CASES = [(name, version) for name, (_, versions) in REFUSED.items() for version in versions]


@pytest.fixture(scope="module")
def topics(apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker) -> Iterator[str]:
    name = "refusals"
    create = CreateTopicsRequest(
        [CreateTopicsRequest.CreatableTopic(name, num_partitions=1, replication_factor=1)], 30_000
    )
    for broker in (apache_kafka, embedded_broker):
        asyncio.run(ask(broker, create, 7))
        for kind in (0, 1):
            asyncio.run(find_coordinator(broker, kind))
    yield name
    embedded_broker.faults.clear()


async def ask(broker: ApacheKafka | EmbeddedBroker, request: Any, version: int) -> Any:
    connection = await Connection.open("127.0.0.1", broker.port, client_id="refused")
    try:
        return await connection.submit(request, timeout_ms=30_000, max_version=version)
    finally:
        connection.close()


async def find_coordinator(broker: ApacheKafka | EmbeddedBroker, kind: int) -> None:
    """Returns when there is one, and it is ready."""
    probes: list[Any] = [
        FindCoordinatorRequest(coordinator_keys=["refused"], key_type=kind),
        InitProducerIdRequest("refused", 1_000) if kind else HeartbeatRequest("refused", 1, "nobody"),
    ]
    patience = Patience()
    while True:
        answers = [await ask(broker, probe, 4) for probe in probes]
        if not {code for answer in answers for code in codes_of(answer)} & NOT_READY:
            return
        await patience.pause_async()


def codes_of(answer: Any) -> list[int]:
    return [value for name, value in _facts(answer) if name.endswith("error_code") and value]


def messages_of(answer: Any) -> list[str]:
    return [value for name, value in _facts(answer) if name == "error_message" and value]


def _facts(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields_of(type(value)):
        inner = getattr(value, field.name)
        yield field.name, inner
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, Struct):
                yield from _facts(each)


@pytest.mark.parametrize(("name", "version"), CASES)
def test_an_error_is_told_as_kafka_tells_it(
    name: str, version: int, topics: str, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    make, _ = REFUSED[name]
    request = make(topics)
    expected = asyncio.run(ask(apache_kafka, request, version))
    (code,) = set(codes_of(expected))
    message = next(iter(messages_of(expected)), None)
    embedded_broker.faults.clear()
    at_top = False if name in AT_PARTS else None
    fault = embedded_broker.faults.error(request.NAME, code, message, at_top=at_top)
    answer = asyncio.run(ask(embedded_broker, request, version))
    assert fault.hits == 1
    if request.NAME == "Metadata":
        # Who the brokers are is each cluster's own.
        expected.brokers, expected.cluster_id, expected.controller_id = (
            answer.brokers,
            answer.cluster_id,
            answer.controller_id,
        )
    if request.NAME == "DescribeTopicPartitions":
        # What a client may do with a topic that is not there, Kafka says; a fault does not.
        expected.topics[0].topic_authorized_operations = answer.topics[0].topic_authorized_operations
    assert answer == expected
