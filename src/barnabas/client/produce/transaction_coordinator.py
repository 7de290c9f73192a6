"""Brings a producer's transactions to their coordinator: producer ids, partitions, offsets, and their end.

Owns the order of requests (`transaction_requests`), what their errors mean for the transaction, and
operations that outlive the call that began them: a commit goes on when its caller's time is up, and is waited
for by the next call. Which calls are allowed is in `barnabas.client.produce.transactions`; records are the
sender's.
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
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.produce.sender import Sender
from barnabas.client.produce.transaction_requests import TransactionRequests
from barnabas.client.produce.transactions import State, Transactions
from barnabas.error_codes import ErrorCode
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    ClosedError,
    KafkaTimeoutError,
    NoCommonVersionError,
    TransactionAbortedError,
    TransactionStateError,
)
from barnabas.events import FatalError
from barnabas.protocol.codec import Response
from barnabas.settings.table import ProducerConfig
from barnabas.steps import TransactionPartitionsAdded, TransactionPhaseChanged
from barnabas.types import GroupIdentity, OffsetAndMetadata, PreparedTransaction, TopicPartition
from barnabas.values import mutable
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.producer")

ResponseT = TypeVar("ResponseT", bound=Response)

# The transaction before is being ended, which takes moments, as in Java.
CONCURRENT_BACKOFF_MS = 20.0

# Any other code that is not retriable ends the producer as well.
ABORTABLE = errors_with(Consequence.ABORT)


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
        self._requests = TransactionRequests(
            client, sender.identity, transactions, config.transaction_timeout_ms
        )
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
            await self._until_answered(self._requests.get_producer_id)
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
                self._sender.identity.producer_id,
                self._sender.identity.producer_epoch,
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
                await self._until_answered(partial(self._requests.end_transaction, is_commit=is_commit))
                transactions.is_begun = False
            if transactions.needs_epoch_bump:
                await self._until_answered(self._requests.get_producer_id)
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
            await self._until_answered(partial(self._requests.end_transaction, is_commit=False))
            transactions.is_begun = False

    async def _add_to_fence(self, partition: TopicPartition) -> None:
        try:
            await self._requests.add_partitions({partition})
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
                add = partial(self._requests.add_partitions, partitions)
                await self._within_delivery_timeout(names, add)
                transactions.registered(partitions)
                steps = self._client.steps
                if steps:
                    steps.emit(TransactionPartitionsAdded(self._id, tuple(sorted(partitions))))
                self._sender.wake()
        except BarnabasError as error:
            self._judge(error)
        finally:
            self._registering = None

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
                    await self._within_delivery_timeout(
                        what, partial(self._requests.add_group, group.group_id)
                    )
                    transactions.is_begun = True
                await self._within_delivery_timeout(
                    what, partial(self._requests.commit_offsets, offsets, group)
                )
            except NoCommonVersionError as error:
                transactions.failed(error)
                return error
            except BarnabasError as error:
                self._judge(error)
                return error
        return None

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
