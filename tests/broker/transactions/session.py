"""The requests of transactional producers, one by one and in any version, and what answers say.

That is in words which are the same for every broker: producers are numbered in the order in which they come
up, times are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.waiting import Patience

from barnabas import _kernel
from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

TIMEOUT_MS = 60_000
NOT_READY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
SETTLED = ("Empty", "CompleteCommit", "CompleteAbort", "Ongoing")
OFFSETS_TOPIC = "__consumer_offsets"

Producer = tuple[int, int]


def error(code: int) -> str:
    return ErrorCode(code).name


class Session:
    """A connection to a broker. `said` is what was answered so far."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names: dict[int, str] = {-1: "nobody"}
        self.said: list[Any] = []

    @classmethod
    async def open(cls, bootstrap: str) -> Session:
        host, port = bootstrap.split(":")
        return cls(await Connection.open(host, int(port), client_id="session"))

    def close(self) -> None:
        self._connection.close()

    async def send(self, request: Any, version: int | None = None) -> Any:
        return await self._connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    def tell(self, *facts: Any) -> None:
        self.said.append(facts)

    def name_of(self, producer_id: int) -> str:
        return self._names.setdefault(producer_id, f"producer {len(self._names)}")

    # Getting ready

    async def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        settings = [
            CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
            for key, value in configs.items()
        ]
        topic = CreateTopicsRequest.CreatableTopic(name, partitions, 1, configs=settings)
        created = await self.send(CreateTopicsRequest(topics=[topic]))
        assert created.topics[0].error_code == 0
        patience = Patience()
        while True:
            asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
            answer = await self.send(asked, 8)
            ready = [part.leader_id >= 0 for part in answer.topics[0].partitions]
            offsets = [await self._earliest(name, index) for index in range(partitions)]
            if len(ready) == partitions and all(ready) and not any(offsets):
                return
            await patience.pause_async()

    async def _earliest(self, topic: str, index: int) -> int:
        partition = ListOffsetsRequest.ListOffsetsPartition(index, timestamp=-2)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(topic, [partition])])
        return (await self.send(request, 5)).topics[0].partitions[0].error_code

    async def find_coordinators(self, transactional_id: str, group_id: str = "") -> None:
        for key_type, key in ((1, transactional_id), (0, group_id)):
            patience = Patience()
            while key:
                request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
                if (await self.send(request, 4)).coordinators[0].error_code == 0:
                    break
                await patience.pause_async()

    # Producers

    async def init(
        self,
        transactional_id: str | None,
        expected: Producer = (-1, -1),
        *,
        timeout_ms: int = 60_000,
        version: int = 5,
    ) -> Producer:
        request = InitProducerIdRequest(transactional_id, timeout_ms)
        if version >= 3:
            request.producer_id, request.producer_epoch = expected
        answer = await self.send(request, version)
        patience = Patience()
        while answer.error_code in NOT_READY:
            await patience.pause_async()
            answer = await self.send(request, version)
        self.tell("init", error(answer.error_code), self.name_of(answer.producer_id), answer.producer_epoch)
        return answer.producer_id, answer.producer_epoch

    async def produce(
        self,
        topic: str,
        values: Iterable[str],
        producer: Producer,
        sequence: int,
        *,
        transactional_id: str | None = None,
        is_transactional: bool | None = None,
        partition: int = 0,
        version: int = 12,
        keys: Iterable[str] | None = None,
    ) -> None:
        builder = _kernel.BatchBuilder(max_bytes=1 << 20)
        named = [key.encode() for key in keys] if keys is not None else None
        for index, value in enumerate(values):
            builder.append(1_700_000_000_000, named[index] if named else None, value.encode())
        batch = builder.build(
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            is_transactional=transactional_id is not None if is_transactional is None else is_transactional,
        )
        data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
        topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
        request = ProduceRequest(transactional_id, acks=-1, timeout_ms=10_000, topic_data=topics)
        answer = (await self.send(request, version)).responses[0].partition_responses[0]
        self.tell("produce", error(answer.error_code), answer.base_offset)

    async def add_partitions(
        self, transactional_id: str, producer: Producer, *partitions: tuple[str, int], version: int = 3
    ) -> None:
        topics = [
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [index]) for name, index in partitions
        ]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
        answer = await self.send(request, version)
        results = answer.results_by_topic_v3_and_below
        self.tell("add partitions", *sorted(self._partition_errors(results)))

    async def add_many(
        self, *transactions: AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction, version: int = 4
    ) -> None:
        answer = await self.send(AddPartitionsToTxnRequest(transactions=list(transactions)), version)
        for result in answer.results_by_transaction:
            errors = sorted(self._partition_errors(result.topic_results))
            self.tell("add many", error(answer.error_code), result.transactional_id, *errors)

    @staticmethod
    def _partition_errors(results: Any) -> list[tuple[str, int, str]]:
        return [
            (result.name, partition.partition_index, error(partition.partition_error_code))
            for result in results
            for partition in result.results_by_partition
        ]

    async def add_offsets(
        self, transactional_id: str, producer: Producer, group_id: str, *, version: int = 3
    ) -> None:
        answer = await self.send(AddOffsetsToTxnRequest(transactional_id, *producer, group_id), version)
        self.tell("add offsets", error(answer.error_code))

    async def commit_offsets(
        self,
        transactional_id: str,
        producer: Producer,
        group_id: str,
        topic: str,
        offset: int,
        *,
        generation: int = -1,
        member_id: str = "",
        metadata: str = "",
        version: int = 5,
    ) -> None:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            0, offset, committed_metadata=metadata
        )
        request = TxnOffsetCommitRequest(
            transactional_id,
            group_id,
            *producer,
            topics=[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic, [partition])],
        )
        if version >= 3:
            request.generation_id, request.member_id = generation, member_id
        answer = await self.send(request, version)
        self.tell("commit offsets", error(answer.topics[0].partitions[0].error_code))

    async def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, version: int = 5
    ) -> Producer:
        """Asks once, and waits until the transaction has ended."""
        goes_on = await self.end_once(transactional_id, producer, commit=commit, version=version)
        await self.settle(transactional_id)
        return goes_on

    async def end_once(
        self, transactional_id: str, producer: Producer, *, commit: bool, version: int = 5
    ) -> Producer:
        answer = await self.send(EndTxnRequest(transactional_id, *producer, commit), version)
        goes_on = answer.producer_id, answer.producer_epoch
        self.tell("end", error(answer.error_code), self.name_of(goes_on[0]), goes_on[1])
        return goes_on if goes_on[0] >= 0 else producer

    async def settle(self, transactional_id: str) -> None:
        """Until no decision waits to be carried out."""
        patience = Patience()
        while True:
            answer = await self.send(DescribeTransactionsRequest([transactional_id]))
            state = answer.transaction_states[0]
            if state.error_code or state.transaction_state in SETTLED:
                return
            await patience.pause_async()

    # Looking

    async def describe(self, transactional_id: str) -> None:
        answer = await self.send(DescribeTransactionsRequest([transactional_id]))
        state = answer.transaction_states[0]
        partitions = sorted(
            (topic.topic, *(() if topic.topic == OFFSETS_TOPIC else sorted(topic.partitions)))
            for topic in state.topics
        )
        self.tell(
            "transaction",
            error(state.error_code),
            state.transaction_state,
            self.name_of(state.producer_id),
            state.producer_epoch,
            state.transaction_timeout_ms,
            state.transaction_start_time_ms > 0,
            *partitions,
        )

    async def describe_producers(self, topic: str, partition: int = 0) -> None:
        asked = DescribeProducersRequest.TopicRequest(topic, [partition])
        answer = (await self.send(DescribeProducersRequest([asked]))).topics[0].partitions[0]
        producers = sorted(
            (
                self.name_of(known.producer_id),
                known.producer_epoch,
                known.last_sequence,
                known.current_txn_start_offset,
                known.coordinator_epoch >= 0,
                known.last_timestamp > 0,
            )
            for known in answer.active_producers
        )
        self.tell("producers", error(answer.error_code), *producers)

    async def list_transactions(self, ours: str, **filters: Any) -> None:
        """Those whose ids begin with `ours`."""
        answer = await self.send(ListTransactionsRequest(**filters))
        found = sorted(
            (state.transactional_id, state.transaction_state, self.name_of(state.producer_id))
            for state in answer.transaction_states
            if state.transactional_id.startswith(ours)
        )
        self.tell("transactions", error(answer.error_code), *answer.unknown_state_filters, *found)

    async def fetch(
        self, topic: str, offset: int = 0, *, committed: bool = True, partition: int = 0, version: int = 12
    ) -> None:
        wanted = FetchRequest.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=int(committed),
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
        )
        data = (await self.send(request, version)).responses[0].partitions[0]
        aborted = data.aborted_transactions
        spans = (
            None
            if aborted is None
            else [(self.name_of(one.producer_id), one.first_offset) for one in aborted]
        )
        batches = [
            (
                batch.base_offset,
                batch.last_offset,
                batch.is_transactional,
                batch.is_control,
                self.name_of(batch.producer_id),
                batch.producer_epoch,
                batch.base_sequence,
            )
            for batch in _kernel.scan_batches(data.records or b"")
        ]
        self.tell(
            "fetch", error(data.error_code), data.high_watermark, data.last_stable_offset, spans, *batches
        )

    async def list_offset(self, topic: str, timestamp: int, *, committed: bool, partition: int = 0) -> None:
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition, timestamp=timestamp)
        topics = [ListOffsetsRequest.ListOffsetsTopic(topic, [wanted])]
        answer = await self.send(ListOffsetsRequest(-1, int(committed), topics), 7)
        found = answer.topics[0].partitions[0]
        self.tell("offset", error(found.error_code), found.offset)

    async def committed_offset(self, group_id: str, topic: str, *, stable: bool) -> None:
        asked = OffsetFetchRequest.OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
        groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id, topics=[asked])]
        answer = await self.send(OffsetFetchRequest(groups=groups, require_stable=stable), 8)
        found = answer.groups[0].topics[0].partitions[0]
        self.tell("committed", error(found.error_code), found.committed_offset, found.metadata)

    # Harming

    async def write_marker(
        self,
        producer: Producer,
        topic: str,
        *,
        commit: bool,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        version: int = 2,
    ) -> None:
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            *producer,
            commit,
            [WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, [0])],
            coordinator_epoch,
        )
        if version >= 2:
            marker.transaction_version = transaction_version
        answer = (await self.send(WriteTxnMarkersRequest([marker]), version)).markers[0]
        self.tell("marker", error(answer.topics[0].partitions[0].error_code))
