"""Brings a producer's transactions to their coordinator: producer ids, partitions, offsets, and their end.

Owns the requests, what their error codes mean, and operations that outlive the call that began them: a commit
goes on when its caller's time is up, and is waited for by the next call. Which calls are allowed is in
`barnabas.client.produce.transactions`; records are the sender's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from barnabas.background import detached
from barnabas.broker_errors import (
    ClusterAuthorizationFailedError,
    ConcurrentTransactionsError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.client.cluster.kafka_client import GROUP_COORDINATOR, TRANSACTION_COORDINATOR, KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.groups.group_coordinator import note_coordinator_error, send_to_group_coordinator
from barnabas.client.produce.sender import Sender
from barnabas.client.produce.transactions import RefusedOffsets, State, Transactions
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    ClosedError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
    TransactionAbortedError,
    TransactionStateError,
)
from barnabas.events import FatalError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.settings.table import ProducerConfig
from barnabas.steps import TransactionPartitionsAdded, TransactionPhaseChanged
from barnabas.time_limits import time_limit
from barnabas.types import GroupIdentity, OffsetAndMetadata, PreparedTransaction, TopicPartition
from barnabas.values import mutable

logger = logging.getLogger("barnabas.producer")

ResponseT = TypeVar("ResponseT", bound=Response)

# KIP-890: level 2 of this feature is what Produce 12, TxnOffsetCommit 5 and EndTxn 5 rely on.
TRANSACTION_VERSION = "transaction.version"
HIGHEST_ADD_PARTITIONS_FOR_CLIENTS = 3
HIGHEST_OFFSET_COMMIT_OF_VERSION_1 = 4
HIGHEST_END_OF_VERSION_1 = 4
FIRST_END_OF_VERSION_2 = 5
FIRST_INIT_THAT_BUMPS_EPOCHS = 3
FIRST_OFFSET_COMMIT_WITH_MEMBERS = 3

# The transaction before is being ended, which takes moments, as in Java.
CONCURRENT_BACKOFF_MS = 20.0

FENCED = errors_with(Consequence.FENCED)
MOVED = errors_with(Consequence.FIND_COORDINATOR)
# Any other code that is not retriable ends the producer as well.
ABORTABLE = errors_with(Consequence.ABORT)
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


@mutable
class _Operation:
    """What goes on until it is done, whoever waits. Its result is the error of its failure."""

    call: str
    task: asyncio.Task[BarnabasError | None]


class TransactionCoordinator:
    """Belongs to the event loop. Every call that waits takes its deadline in seconds."""

    def __init__(
        self, config: ProducerConfig, client: KafkaClient, sender: Sender, transactions: Transactions
    ) -> None:
        self._config = config
        self._client = client
        self._sender = sender
        self._transactions = transactions
        self._id = transactions.transactional_id
        self._operation: _Operation | None = None
        self._registering: asyncio.Task[None] | None = None
        self._offset_commits = Tasks[BarnabasError | None]()
        self._offsets_lock = asyncio.Lock()
        self._last_error: BarnabasError | None = None
        self._prepared: PreparedTransaction | None = None
        self._sender.accumulator.set_shut(True)
        transactions.on_change = self._follow_up
        transactions.on_state = self._tell_state

    async def initialize(self, timeout: float) -> None:
        await self._run("init_transactions", self._transactions.begin_initializing, self._initialize, timeout)

    def begin(self) -> None:
        self._check_no_other("begin_transaction")
        self._transactions.begin()
        self._sender.accumulator.set_shut(False)

    async def commit(self, timeout: float) -> None:
        await self._run("commit_transaction", self._transactions.begin_committing, self._commit, timeout)

    async def prepare(self, timeout: float) -> PreparedTransaction | None:
        await self._run("prepare_transaction", self._transactions.begin_committing, self._prepare, timeout)
        prepared, self._prepared = self._prepared, None
        return prepared

    async def abort(self, timeout: float) -> None:
        await self._run("abort_transaction", self._transactions.begin_aborting, self._abort, timeout)

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupIdentity, timeout: float
    ) -> None:
        self._check_no_other("send_offsets_to_transaction")
        self._transactions.check_open("send_offsets_to_transaction")
        if not offsets:
            return
        task = self._offset_commits.start(self._add_offsets(offsets, group))
        done, _ = await asyncio.wait([task], timeout=timeout)
        if not done:
            raise KafkaTimeoutError(
                f"the offsets of group {group.group_id!r} are not in the transaction of {self._id!r} after "
                f"{self._limit(timeout)}; commit_transaction waits for them, abort_transaction gives them up"
            )
        error = self._result(task)
        if error is not None:
            self._transactions.raise_error()
            raise error

    async def end_open_transaction(self) -> None:
        """Waits for what is under way, and aborts what is open then. Raises nothing: it is for closing."""
        if self._operation is not None:
            await asyncio.wait([self._operation.task])
        if self._transactions.is_open:
            logger.info(
                "client %s: aborting the open transaction of %r, since the producer is closed",
                self._config.client_id,
                self._id,
            )
            self._transactions.begin_aborting()
            error = await self._abort()
            if error is not None:
                logger.warning("client %s: %s", self._config.client_id, error)

    async def stop(self) -> None:
        """Gives up all that is under way."""
        tasks: list[asyncio.Task[Any]] = list(self._offset_commits)
        if self._registering is not None:
            tasks.append(self._registering)
        if self._operation is not None:
            tasks.append(self._operation.task)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _limit(self, timeout: float) -> str:
        return time_limit(timeout * 1000, "max_block_ms", self._config.max_block_ms)

    # Operations that outlive their calls

    async def _run(
        self,
        call: str,
        begin: Callable[[], None],
        work: Callable[[], Coroutine[Any, Any, BarnabasError | None]],
        timeout: float,
    ) -> None:
        self._check_no_other(call)
        operation = self._operation
        if operation is None:
            begin()
            self._sender.accumulator.set_shut(True)
            operation = self._operation = _Operation(call, detached(work()))
        done, _ = await asyncio.wait([operation.task], timeout=timeout)
        if not done:
            reason = "" if self._last_error is None else f"; the last error was: {self._last_error}"
            raise KafkaTimeoutError(
                f"{call} of {self._id!r} is not done after {self._limit(timeout)}, and goes on: call it "
                f"again to wait for it{reason}"
            )
        if self._operation is operation:
            self._operation = None
        error = self._result(operation.task)
        if error is not None:
            self._transactions.raise_error()
            raise error

    @staticmethod
    def _result(task: asyncio.Task[BarnabasError | None]) -> BarnabasError | None:
        return ClosedError("the producer was closed during the call") if task.cancelled() else task.result()

    def _check_no_other(self, call: str) -> None:
        other = self._operation
        if other is not None and other.call != call:
            raise TransactionStateError(
                f"{call}: {other.call} of {self._id!r} has timed out or is still under way: call "
                f"{other.call} again first, to learn its result"
            )

    async def _initialize(self) -> BarnabasError | None:
        try:
            await self._until_answered(self._get_producer_id)
        except (TransactionalIdAuthorizationFailedError, ClusterAuthorizationFailedError) as error:
            self._transactions.not_initialized()
            return error
        except BarnabasError as error:
            self._transactions.failed_for_good(error)
            return error
        self._transactions.initialized()
        return None

    async def _commit(self) -> BarnabasError | None:
        if not await self._complete():
            return self._transactions.error
        return await self._end(is_commit=True)

    async def _prepare(self) -> BarnabasError | None:
        if not await self._complete():
            return self._transactions.error
        if self._transactions.is_begun:
            self._prepared = PreparedTransaction(
                self._id,
                self._sender.producer_id,
                self._sender.producer_epoch,
                2 if self._transactions.is_version_2 else 1,
            )
        self._transactions.handed_over()
        return None

    async def _complete(self) -> bool:
        """Waits until all that was sent is stored; False if something failed."""
        await self._sender.flush()
        if self._offset_commits:
            await asyncio.wait(list(self._offset_commits))
        return self._transactions.state is State.COMMITTING

    async def _abort(self) -> BarnabasError | None:
        self._sender.accumulator.set_shut(True)
        self._sender.fail_unsent(
            TransactionAbortedError(f"the transaction of {self._id!r} was aborted before the record was sent")
        )
        # What is under way may still be written: it has to be before the marker, not in the next transaction.
        await self._sender.flush()
        await self._give_up_additions()
        if self._transactions.state is not State.ABORTING:
            return self._transactions.error
        return await self._end(is_commit=False)

    async def _give_up_additions(self) -> None:
        """Waits until nothing adds to the transaction any more; what the coordinator refuses is not repeated
        once the transaction is being aborted."""
        under_way: list[asyncio.Task[Any]] = list(self._offset_commits)
        if self._registering is not None:
            under_way.append(self._registering)
        if under_way:
            await asyncio.wait(under_way)

    async def _end(self, *, is_commit: bool) -> BarnabasError | None:
        transactions = self._transactions
        try:
            if transactions.is_begun:
                await self._until_answered(partial(self._end_transaction, is_commit=is_commit))
                transactions.is_begun = False
            if transactions.needs_epoch_bump:
                await self._until_answered(self._get_producer_id)
            if transactions.unresolved and not transactions.is_version_2:
                await self._fence_late_batches()
        except BarnabasError as error:
            self._judge(error)
            return error
        transactions.ended()
        return None

    async def _fence_late_batches(self) -> None:
        """Ends an empty transaction of the new epoch where a batch of the old one may still arrive.

        A broker that was away may find that batch in an abandoned connection after the abort's marker, and
        before it has met the new epoch: it would become part of the next transaction (KIP-890's hanging
        transactions). The marker of the new epoch aborts what came before it, and refuses what comes later.
        """
        transactions = self._transactions
        for partition in sorted(transactions.unresolved):
            await self._until_answered(partial(self._add_to_fence, partition))
        if transactions.is_begun:
            await self._until_answered(partial(self._end_transaction, is_commit=False))
            transactions.is_begun = False

    async def _add_to_fence(self, partition: TopicPartition) -> None:
        try:
            await self._add_partitions({partition})
        except (UnknownTopicOrPartitionError, TopicAuthorizationFailedError):
            return  # nothing can be stored there
        self._transactions.is_begun = True

    def _judge(self, error: BarnabasError) -> None:
        """What an answer that cannot be repaired means for the transaction."""
        transactions = self._transactions
        code = error.code if isinstance(error, BrokerError) else None
        if error.retriable and transactions.state is State.ABORTING:
            return
        if code == ErrorCode.UNKNOWN_PRODUCER_ID or isinstance(error, KafkaTimeoutError):
            # What the coordinator knows of is not known here: only a new epoch makes a clean start (KIP-360).
            transactions.is_begun = transactions.is_uncertain = True
            if not transactions.is_version_2:
                transactions.needs_epoch_bump = True
                if not transactions.can_bump_epoch:
                    transactions.failed_for_good(error)
                    return
        elif code not in ABORTABLE:
            transactions.failed_for_good(error)
            return
        transactions.abort_failed(error)
        transactions.failed(error)

    def _tell_state(self, previous: State, state: State) -> None:
        if self._client.steps:
            error = self._transactions.error
            self._client.steps.emit(TransactionPhaseChanged(self._id, previous.name, state.name, error))

    def _follow_up(self) -> None:
        """The sender, or one of the operations, has changed the state."""
        transactions = self._transactions
        loop = asyncio.get_running_loop()
        if transactions.state is State.FATAL_ERROR and transactions.error is not None:
            # First of all: who is told must not be able to add a record any more.
            self._sender.accumulator.set_shut(True)
            self._client.events.emit(FatalError(self._client.config.client_id, transactions.error))
            loop.call_soon(self._sender.fail_all, transactions.error)
        elif transactions.state is State.ABORTABLE_ERROR and transactions.error is not None:
            self._sender.accumulator.set_shut(True)
            reason = TransactionAbortedError(
                f"the record was not sent, as its transaction failed before: {transactions.error}"
            )
            reason.__cause__ = transactions.error
            loop.call_soon(self._sender.fail_unsent, reason)
        elif transactions.unregistered and self._registering is None:
            self._registering = self._client.in_background(
                self._register(), "registering partitions of a transaction"
            )

    # Requests

    async def _register(self) -> None:
        """Tells the coordinator of partitions before records go there; brokers do so in version 2."""
        transactions = self._transactions
        try:
            while partitions := set(transactions.unregistered):
                names = ", ".join(map(str, sorted(partitions)))
                await self._within_delivery_timeout(names, partial(self._add_partitions, partitions))
                transactions.registered(partitions)
                steps = self._client.steps
                if steps:
                    steps.emit(TransactionPartitionsAdded(self._id, tuple(sorted(partitions))))
                self._sender.wake()
        except BarnabasError as error:
            self._judge(error)
        finally:
            self._registering = None

    async def _add_partitions(self, partitions: set[TopicPartition]) -> None:
        by_topic: dict[str, list[int]] = {}
        for topic, number in sorted(partitions):
            by_topic.setdefault(topic, []).append(number)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._sender.producer_id,
            v3_and_below_producer_epoch=self._sender.producer_epoch,
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

    async def _add_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupIdentity
    ) -> BarnabasError | None:
        async with self._offsets_lock:
            transactions = self._transactions
            what = f"group {group.group_id!r}"
            try:
                if transactions.is_version_2:
                    transactions.is_begun = True
                else:
                    await self._within_delivery_timeout(what, partial(self._add_group, group.group_id))
                    transactions.is_begun = True
                await self._within_delivery_timeout(what, partial(self._commit_offsets, offsets, group))
            except NoCommonVersionError as error:
                transactions.failed(error)
                return error
            except BarnabasError as error:
                self._judge(error)
                return error
        return None

    async def _add_group(self, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=self._sender.producer_id,
            producer_epoch=self._sender.producer_epoch,
            group_id=group_id,
        )
        response = await self._ask(request)
        if response.error_code:
            raise self._coordinator_error(response.error_code, f"adding the offsets of group {group_id!r}")

    async def _commit_offsets(
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
            producer_id=self._sender.producer_id,
            producer_epoch=self._sender.producer_epoch,
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
        node_id = await self._client.coordinator(GROUP_COORDINATOR, group_id)
        node = self._client.node(node_id)
        return str(node_id) if node is None else f"{node.host}:{node.port}/{node.node_id}"

    async def _offset_commit_version(self, group: GroupIdentity) -> int:
        node_id = await self._client.coordinator(GROUP_COORDINATOR, group.group_id)
        connection = await self._client.connect(node_id)
        version = connection.version_of(TxnOffsetCommitRequest, HIGHEST_OFFSET_COMMIT_OF_VERSION_1)
        if version < FIRST_OFFSET_COMMIT_WITH_MEMBERS and group != GroupIdentity(group.group_id):
            raise NoCommonVersionError(
                f"{connection.name} is older than 2.5 and cannot check the membership of {group.member_id!r} "
                f"(KIP-447): give send_offsets_to_transaction GroupIdentity({group.group_id!r}) alone, with "
                "a producer of its own for each input partition"
            )
        return version

    async def _end_transaction(self, *, is_commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._sender.producer_id,
            producer_epoch=self._sender.producer_epoch,
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
            self._sender.use_producer_id(response.producer_id, response.producer_epoch)
            self._transactions.needs_epoch_bump = False
        self._learn_version(connection)
        if self._transactions.is_version_2 and not was_version_2:
            self._transactions.needs_epoch_bump = True

    async def _get_producer_id(self) -> None:
        """A producer id and epoch, which fence all earlier ones of this transactional id and abort what they
        left open; with an id already, the next epoch of it (KIP-360)."""
        connection = await self._connection()
        self._learn_version(connection)
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=self._config.transaction_timeout_ms
        )
        if self._transactions.state is not State.INITIALIZING:
            request.producer_id = self._sender.producer_id
            request.producer_epoch = self._sender.producer_epoch
        response = await self._ask(request)
        if response.error_code:
            raise self._coordinator_error(response.error_code, "getting a producer id")
        self._sender.use_producer_id(response.producer_id, response.producer_epoch)
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
        node_id = await self._client.coordinator(TRANSACTION_COORDINATOR, self._id)
        try:
            return await self._client.connect(node_id)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.forget_coordinator(TRANSACTION_COORDINATOR, self._id)
            raise

    async def _ask(self, request: Request[ResponseT], *, max_version: int | None = None) -> ResponseT:
        """One try at the coordinator; one that cannot be reached is looked up again by the next."""
        node_id = await self._client.coordinator(TRANSACTION_COORDINATOR, self._id)
        try:
            return await self._client.send(node_id, request, max_version=max_version)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.forget_coordinator(TRANSACTION_COORDINATOR, self._id)
            raise

    def _coordinator_error(self, code: int, what: str) -> BrokerError:
        if code in MOVED:
            self._client.forget_coordinator(TRANSACTION_COORDINATOR, self._id)
        return self._error(code, what)

    def _error(self, code: int, what: str) -> BrokerError:
        if code in FENCED:
            code = ErrorCode.PRODUCER_FENCED
        advice = _ADVICE[ErrorCode(code)] if code in _ADVICE else None
        return error_for(code, f"transactional_id {self._id!r}: {what}", advice=advice)

    async def _within_delivery_timeout(self, what: str, attempt: Callable[[], Awaitable[None]]) -> None:
        """`_until_answered`, for as long as records may wait."""
        timeout_ms = self._config.delivery_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._until_answered(attempt, is_addition=True)
        except TimeoutError:
            reason = "" if self._last_error is None else f"; the last error was: {self._last_error}"
            raise KafkaTimeoutError(
                f"{what} was not added to the transaction of {self._id!r} within "
                f"delivery_timeout_ms={timeout_ms}{reason}"
            ) from self._last_error

    async def _until_answered(
        self, attempt: Callable[[], Awaitable[None]], *, is_addition: bool = False
    ) -> None:
        """Makes `attempt` again while it raises retriable errors: whoever waits has a deadline, while an end
        of a transaction that is not known helps nobody. `is_addition`: the attempt has become pointless once
        the transaction is being aborted, if it is certain that none before has succeeded."""
        failures = 0
        is_certain = True
        self._last_error = None
        while True:
            try:
                return await attempt()
            except BarnabasError as error:
                if not error.retriable:
                    raise
                if not isinstance(error, BrokerError) or error.code == ErrorCode.REQUEST_TIMED_OUT:
                    is_certain = False
                if is_addition and is_certain and self._transactions.state is State.ABORTING:
                    raise
                failures += 1
                self._last_error = error
                delay_ms = self._client.backoff.delay_ms(failures)
                if isinstance(error, ConcurrentTransactionsError):
                    delay_ms = min(delay_ms, CONCURRENT_BACKOFF_MS)
            await asyncio.sleep(delay_ms / 1000)
