"""The part of Admin that concerns producers and transactions.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin.arguments import check_type, items_of, names_of, partitions_of
from barnabas.client.admin.calls import AdminCalls, failure
from barnabas.client.admin.requests.common import by_topic
from barnabas.client.admin.types import (
    AbortTransactionSpec,
    ProducerIdAndEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from barnabas.client.arguments import as_partition
from barnabas.client.cluster.coordinators import TRANSACTION_COORDINATOR
from barnabas.client.cluster.error_table import MOVED_COORDINATOR
from barnabas.error_codes import ErrorCode
from barnabas.errors import BarnabasError, MisuseError
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from barnabas.types import PreparedTransaction, TopicPartition

HIGHEST_END_OF_VERSION_1 = 4
# Who asks is not the producer, which is what these errors advise otherwise.
_ADVICE: dict[int, str] = {
    ErrorCode.INVALID_PRODUCER_EPOCH: "describe_producers gives the epoch that the partition knows",
    ErrorCode.PRODUCER_FENCED: "or the broker has aborted it, as it was open for longer than "
    "transaction_timeout_ms",
}


class TransactionAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def describe_producers(
        self,
        partitions: Iterable[TopicPartition],
        *,
        node_id: int | None = None,
        timeout: float | None = None,
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """The producers that partitions remember, idempotent and transactional ones (KIP-664), as their
        leaders see them, or the replicas on the broker `node_id`.

        Raises: UnknownTopicOrPartitionError, TopicAuthorizationFailedError, ...
        """

        async def ask(
            leader: int, group: list[TopicPartition]
        ) -> dict[TopicPartition, tuple[ProducerState, ...] | BarnabasError]:
            request = DescribeProducersRequest(
                topics=[
                    DescribeProducersRequest.TopicRequest(
                        name=topic, partition_indexes=[p.partition for p in led]
                    )
                    for topic, led in by_topic(group).items()
                ]
            )
            found: dict[TopicPartition, tuple[ProducerState, ...] | BarnabasError] = {}
            for topic in (await self._send(leader, request)).topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    error = failure(result.error_code, str(partition), result.error_message)
                    found[partition] = error or tuple(_producer(state) for state in result.active_producers)
            return found

        wanted, what = partitions_of(partitions), "describing producers"
        if node_id is None:
            return await self._ask_leaders(wanted, ask, what=what, timeout=timeout)

        async def replica(_: TopicPartition) -> int:
            return await self._broker(node_id)

        return await self._ask_for_each(wanted, replica, ask, what=what, timeout=timeout)

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TransactionDescription]:
        """The state of transactional ids (KIP-664). Raises: TransactionalIdNotFoundError,
        TransactionalIdAuthorizationFailedError, ..."""

        async def ask(
            coordinator: int, group: list[str]
        ) -> dict[str, TransactionDescription | BarnabasError]:
            response = await self._send(coordinator, DescribeTransactionsRequest(transactional_ids=group))
            node = self._client.node(coordinator)
            return {
                state.transactional_id: failure(
                    state.error_code, f"transactional id {state.transactional_id!r}"
                )
                or _transaction(state, -1 if node is None else node.node_id)
                for state in response.transaction_states
            }

        return await self._ask_coordinators(
            names_of(transactional_ids, "transactional ids"),
            ask,
            what="describing transactions",
            timeout=timeout,
            key_type=TRANSACTION_COORDINATOR,
        )

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """The transactional ids that each broker coordinates, by node id (KIP-664): those in one of `states`,
        of one of `producer_ids`, whose transaction has been open for longer than `duration_ms` (KIP-994),
        whose id matches `pattern`, a regular expression of RE2 (KIP-1152).

        Raises: MisuseError (no broker knows such a state), InvalidRegularExpressionError,
        UnsupportedVersionError, ...
        """
        wanted_states = names_of(states, "states")
        request = ListTransactionsRequest(
            state_filters=wanted_states,
            producer_id_filters=items_of(producer_ids, "producer_ids", int),
            duration_filter=-1 if duration_ms is None else duration_ms,
            transactional_id_pattern=pattern,
        )

        async def ask(node_id: int, group: list[int]) -> dict[int, list[TransactionListing] | BarnabasError]:
            response = await self._send(node_id, request)
            if response.unknown_state_filters:
                raise MisuseError(f"there are no such states: {', '.join(response.unknown_state_filters)}")
            error = failure(response.error_code, f"listing the transactions of node {node_id}")
            return {
                node_id: error
                or [
                    TransactionListing(state.transactional_id, state.producer_id, state.transaction_state)
                    for state in response.transaction_states
                ]
            }

        return await self._ask_for_each(
            await self._all_nodes(timeout),
            self._client.known_node,
            ask,
            what="listing transactions",
            timeout=timeout,
            retried=MOVED_COORDINATOR,
        )

    async def abort_transaction(self, spec: AbortTransactionSpec, *, timeout: float | None = None) -> None:
        """Ends a transaction that hangs in one partition, one that its coordinator knows nothing of
        (KIP-664). To abort one that is just open, use `fence_producers`.

        Raises: InvalidProducerEpochError, TransactionCoordinatorFencedError,
        ClusterAuthorizationFailedError, ...
        """
        check_type(spec, AbortTransactionSpec, "spec")
        wanted = as_partition(spec.partition)

        async def ask(leader: int, group: list[TopicPartition]) -> dict[TopicPartition, BarnabasError | None]:
            marker = WriteTxnMarkersRequest.WritableTxnMarker(
                producer_id=spec.producer_id,
                producer_epoch=spec.producer_epoch,
                transaction_result=False,
                topics=[
                    WriteTxnMarkersRequest.WritableTxnMarkerTopic(
                        name=wanted.topic, partition_indexes=[wanted.partition]
                    )
                ],
                coordinator_epoch=spec.coordinator_epoch,
            )
            response = await self._send(leader, WriteTxnMarkersRequest(markers=[marker]))
            context = f"{wanted}, producer id {spec.producer_id}, epoch {spec.producer_epoch}"
            return {
                TopicPartition(topic.name, result.partition_index): failure(
                    result.error_code, context, advice=_ADVICE.get(result.error_code)
                )
                for marked in response.markers
                for topic in marked.topics
                for result in topic.partitions
            }

        await self._ask_leaders([wanted], ask, what=f"aborting a transaction in {wanted}", timeout=timeout)

    async def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ProducerIdAndEpoch]:
        """Shuts out the producers that use these transactional ids now, and aborts their transactions.

        Raises: TransactionalIdAuthorizationFailedError, ...
        """

        async def ask(coordinator: int, group: list[str]) -> dict[str, ProducerIdAndEpoch | BarnabasError]:
            found: dict[str, ProducerIdAndEpoch | BarnabasError] = {}
            for transactional_id in group:
                request = InitProducerIdRequest(
                    transactional_id=transactional_id,
                    transaction_timeout_ms=self.config.request_timeout_ms,
                )
                response = await self._send(coordinator, request)
                error = failure(response.error_code, f"transactional id {transactional_id!r}")
                found[transactional_id] = error or ProducerIdAndEpoch(
                    response.producer_id, response.producer_epoch
                )
            return found

        return await self._ask_coordinators(
            names_of(transactional_ids, "transactional ids"),
            ask,
            what="fencing producers",
            timeout=timeout,
            key_type=TRANSACTION_COORDINATOR,
        )

    async def end_prepared_transactions(
        self, transactions: Iterable[PreparedTransaction], *, commit: bool, timeout: float | None = None
    ) -> None:
        """Commits or aborts what `Producer.prepare_transaction` has left open. To do the same again, after a
        time-out for instance, is no error.

        Raises: ProducerFencedError (the broker has aborted it, as it was open for longer than
        transaction_timeout_ms, or a producer of the same transactional id began again), InvalidTxnStateError
        (it was ended the other way), TransactionalIdAuthorizationFailedError, ...; `outcome` tells of each.
        """
        found = items_of(transactions, "transactions", PreparedTransaction)
        by_id = {transaction.transactional_id: transaction for transaction in found}

        async def ask(coordinator: int, group: list[str]) -> dict[str, BarnabasError | None]:
            found: dict[str, BarnabasError | None] = {}
            for transactional_id in group:
                transaction = by_id[transactional_id]
                request = EndTxnRequest(
                    transactional_id=transactional_id,
                    producer_id=transaction.producer_id,
                    producer_epoch=transaction.producer_epoch,
                    committed=commit,
                )
                is_version_2 = transaction.transaction_version >= 2
                response = await self._send(
                    coordinator, request, max_version=None if is_version_2 else HIGHEST_END_OF_VERSION_1
                )
                code = response.error_code
                if code == ErrorCode.INVALID_PRODUCER_EPOCH:
                    code = ErrorCode.PRODUCER_FENCED
                advice = _ADVICE.get(code)
                context = f"transactional id {transactional_id!r}"
                found[transactional_id] = failure(code, context, advice=advice)
            return found

        await self._ask_coordinators(
            by_id,
            ask,
            what="ending prepared transactions",
            timeout=timeout,
            key_type=TRANSACTION_COORDINATOR,
        )

    async def force_terminate_transaction(
        self, transactional_id: str, *, timeout: float | None = None
    ) -> None:
        """Aborts the transaction that is open under a transactional id, prepared or not (KIP-939), and shuts
        out its producer. Raises: TransactionalIdAuthorizationFailedError, ..."""
        await self.fence_producers([transactional_id], timeout=timeout)


def _producer(state: DescribeProducersResponse.ProducerState) -> ProducerState:
    return ProducerState(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        None if state.coordinator_epoch < 0 else state.coordinator_epoch,
        None if state.current_txn_start_offset < 0 else state.current_txn_start_offset,
    )


def _transaction(
    state: DescribeTransactionsResponse.TransactionState, coordinator_id: int
) -> TransactionDescription:
    started = state.transaction_start_time_ms
    return TransactionDescription(
        state.transactional_id,
        coordinator_id,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        None if started < 0 else started,
        tuple(TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions),
    )
