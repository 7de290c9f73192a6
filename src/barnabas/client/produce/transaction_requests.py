"""What a producer's transactions ask their coordinator, and brokers of groups, for: one try each.

Owns the requests, their versions, and what the codes in the answers are called. When they are made, and made
again, is for `transaction_coordinator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from barnabas.client.cluster.coordinators import GROUP_COORDINATOR, TRANSACTION_COORDINATOR
from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.group_coordinator import note_coordinator_error, send_to_group_coordinator
from barnabas.client.produce.producer_identity import ProducerIdentity
from barnabas.client.produce.transactions import RefusedOffsets, State, Transactions
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BrokerError, KafkaConnectionError, KafkaTimeoutError, NoCommonVersionError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition

ResponseT = TypeVar("ResponseT", bound=Response)

# KIP-890: level 2 of this feature is what Produce 12, TxnOffsetCommit 5 and EndTxn 5 rely on.
TRANSACTION_VERSION = "transaction.version"
HIGHEST_ADD_PARTITIONS_FOR_CLIENTS = 3
HIGHEST_OFFSET_COMMIT_OF_VERSION_1 = 4
HIGHEST_END_OF_VERSION_1 = 4
FIRST_END_OF_VERSION_2 = 5
FIRST_INIT_THAT_BUMPS_EPOCHS = 3
FIRST_OFFSET_COMMIT_WITH_MEMBERS = 3


FENCED = errors_with(Consequence.FENCED)
MOVED = errors_with(Consequence.FIND_COORDINATOR)
_MEMBERSHIP_ADVICE = "abort, and go on from what the group has committed"
_ADVICE = {
    ErrorCode.UNKNOWN_MEMBER_ID: _MEMBERSHIP_ADVICE,
    ErrorCode.ILLEGAL_GENERATION: _MEMBERSHIP_ADVICE,
    ErrorCode.STALE_MEMBER_EPOCH: _MEMBERSHIP_ADVICE,
    ErrorCode.FENCED_INSTANCE_ID: _MEMBERSHIP_ADVICE,
    ErrorCode.INVALID_TXN_STATE: "the coordinator has ended it already, as it was open for longer than "
    "transaction_timeout_ms for instance; make a new producer",
    ErrorCode.PRODUCER_FENCED: "or the coordinator has aborted what was open for longer than "
    "transaction_timeout_ms; close this producer, and give each producer a transactional_id of its own",
}


class TransactionRequests:
    """Of one transactional id. Belongs to the event loop. What an answer tells goes into `transactions` and
    `identity`."""

    def __init__(
        self,
        client: KafkaClient,
        identity: ProducerIdentity,
        transactions: Transactions,
        transaction_timeout_ms: int,
    ) -> None:
        self._client = client
        self._identity = identity
        self._transactions = transactions
        self._transaction_timeout_ms = transaction_timeout_ms
        self._id = transactions.transactional_id

    async def add_partitions(self, partitions: set[TopicPartition]) -> None:
        """Tells the coordinator of partitions before records go there. Raises: BrokerError."""
        by_topic: dict[str, list[int]] = {}
        for topic, number in sorted(partitions):
            by_topic.setdefault(topic, []).append(number)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in by_topic.items()
            ],
        )
        response = await self._ask(request, max_version=HIGHEST_ADD_PARTITIONS_FOR_CLIENTS)
        errors = [
            self._coordinator_error(
                result.partition_error_code, f"adding {topic.name}-{result.partition_index}"
            )
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
            if result.partition_error_code
        ]
        # All or none are added: what says why comes before what was refused for the others' sake.
        errors.sort(key=lambda error: (error.retriable, error.code == ErrorCode.OPERATION_NOT_ATTEMPTED))
        for error in errors:
            raise error

    async def add_group(self, group_id: str) -> None:
        """Tells the coordinator of a group before offsets go there. Raises: BrokerError."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            group_id=group_id,
        )
        response = await self._ask(request)
        if response.error_code:
            raise self._coordinator_error(response.error_code, f"adding the offsets of group {group_id!r}")

    async def commit_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupIdentity
    ) -> None:
        topics: dict[str, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = {}
        for partition, offset in offsets.items():
            topic = topics.setdefault(
                partition.topic, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=partition.topic)
            )
            topic.partitions.append(
                TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                    partition_index=partition.partition,
                    committed_offset=offset.offset,
                    committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                    committed_metadata=offset.metadata,
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group.group_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            generation_id=group.generation,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=list(topics.values()),
        )
        is_version_2 = self._transactions.is_version_2
        coordinator = await self._group_coordinator_name(group.group_id)
        began_at = CLOCK.monotonic()
        response = await send_to_group_coordinator(
            self._client,
            group.group_id,
            request,
            max_version=None if is_version_2 else await self._offset_commit_version(group),
        )
        errors: list[BrokerError] = []
        codes: dict[TopicPartition, int] = {}
        for topic in response.topics:
            for answer in topic.partitions:
                if answer.error_code:
                    note_coordinator_error(self._client, group.group_id, answer.error_code)
                    partition = TopicPartition(topic.name, answer.partition_index)
                    codes[partition] = answer.error_code
                    where = f"offset of {partition} in group {group.group_id!r}"
                    errors.append(self._error(answer.error_code, where))
        refused: RefusedOffsets | None = None
        if errors:
            error = min(errors, key=lambda error: error.retriable)
            answer_time_ms = (CLOCK.monotonic() - began_at) * 1000
            refused = RefusedOffsets(error, codes, coordinator, answer_time_ms)
        # What ended the transaction stays what it was, though this attempt was under way then.
        if self._transactions.error is None:
            self._transactions.refused_offsets = refused
        if refused is not None:
            raise refused.error

    async def _group_coordinator_name(self, group_id: str) -> str:
        node_id = await self._client.coordinators.find(GROUP_COORDINATOR, group_id)
        node = self._client.node(node_id)
        return str(node_id) if node is None else f"{node.host}:{node.port}/{node.node_id}"

    async def _offset_commit_version(self, group: GroupIdentity) -> int:
        node_id = await self._client.coordinators.find(GROUP_COORDINATOR, group.group_id)
        connection = await self._client.connect(node_id)
        version = connection.version_of(TxnOffsetCommitRequest, HIGHEST_OFFSET_COMMIT_OF_VERSION_1)
        if version < FIRST_OFFSET_COMMIT_WITH_MEMBERS and group != GroupIdentity(group.group_id):
            raise NoCommonVersionError(
                f"{connection.name} is older than 2.5 and cannot check the membership of {group.member_id!r} "
                f"(KIP-447): give send_offsets_to_transaction GroupIdentity({group.group_id!r}) alone, with "
                "a producer of its own for each input partition"
            )
        return version

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Raises: BrokerError."""
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            committed=is_commit,
        )
        was_version_2 = self._transactions.is_version_2
        connection = await self._connection()
        response = await self._ask(request, max_version=None if was_version_2 else HIGHEST_END_OF_VERSION_1)
        if response.error_code == ErrorCode.INVALID_TXN_STATE and self._transactions.is_uncertain:
            return
        if response.error_code:
            raise self._coordinator_error(response.error_code, "committing" if is_commit else "aborting")
        if response.producer_id >= 0:
            # KIP-890: each transaction has an epoch of its own, so that nothing late gets into the next one.
            self._identity.use(response.producer_id, response.producer_epoch)
            self._transactions.needs_epoch_bump = False
        self._learn_version(connection)
        if self._transactions.is_version_2 and not was_version_2:
            self._transactions.needs_epoch_bump = True

    async def get_producer_id(self) -> None:
        """A producer id and epoch, which fence all earlier ones of this transactional id and abort what they
        left open; with an id already, the next epoch of it (KIP-360)."""
        connection = await self._connection()
        self._learn_version(connection)
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=self._transaction_timeout_ms
        )
        if self._transactions.state is not State.INITIALIZING:
            request.producer_id = self._identity.producer_id
            request.producer_epoch = self._identity.producer_epoch
        response = await self._ask(request)
        if response.error_code:
            raise self._coordinator_error(response.error_code, "getting a producer id")
        self._identity.use(response.producer_id, response.producer_epoch)
        self._transactions.needs_epoch_bump = False

    def _learn_version(self, connection: Connection) -> None:
        transactions = self._transactions
        transactions.is_version_2 = (
            connection.finalized_features.get(TRANSACTION_VERSION, 0) >= 2
            and connection.version_of(EndTxnRequest) >= FIRST_END_OF_VERSION_2
        )
        init_version = connection.version_of(InitProducerIdRequest)
        transactions.can_bump_epoch = init_version >= FIRST_INIT_THAT_BUMPS_EPOCHS

    async def _connection(self) -> Connection:
        node_id = await self._client.coordinators.find(TRANSACTION_COORDINATOR, self._id)
        try:
            return await self._client.connect(node_id)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.coordinators.forget(TRANSACTION_COORDINATOR, self._id)
            raise

    async def _ask(self, request: Request[ResponseT], *, max_version: int | None = None) -> ResponseT:
        """One try at the coordinator; one that cannot be reached is looked up again by the next."""
        node_id = await self._client.coordinators.find(TRANSACTION_COORDINATOR, self._id)
        try:
            return await self._client.send(node_id, request, max_version=max_version)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.coordinators.forget(TRANSACTION_COORDINATOR, self._id)
            raise

    def _coordinator_error(self, code: int, what: str) -> BrokerError:
        if code in MOVED:
            self._client.coordinators.forget(TRANSACTION_COORDINATOR, self._id)
        return self._error(code, what)

    def _error(self, code: int, what: str) -> BrokerError:
        if code in FENCED:
            code = ErrorCode.PRODUCER_FENCED
        advice = _ADVICE[ErrorCode(code)] if code in _ADVICE else None
        return error_for(code, f"transactional_id {self._id!r}: {what}", advice=advice)
