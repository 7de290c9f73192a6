"""Writing exactly once: tasks prepare transactions, the driver commits them all, or none.

Each task writes in a transaction of its own and hands it to the driver unended. The driver writes its
decision down (`decisions`), then commits every transaction; a query that is started again first carries out
what was decided and not done, and passes over a batch that was committed already. What a read_committed
reader sees is every row of every batch once.

Spark makes the writer of a stream twice for each batch, in the process that plans it and in the one that
commits it, and hands a copy of the planned one to every task. That of a batch write it makes once.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from barnabas.broker_errors import (
    InvalidTxnStateError,
    ProducerFencedError,
    TransactionalIdNotFoundError,
    UnsupportedVersionError,
)
from barnabas.client.admin.types import TransactionDescription
from barnabas.errors import BarnabasError, NoCommonVersionError
from barnabas.spark.clients import producers
from barnabas.spark.errors import (
    InvalidOptionError,
    PartialCommitError,
    StaleTaskError,
    TransactionExpiredError,
)
from barnabas.spark.options import SinkOptions
from barnabas.spark.pyspark_features import DataSourceStreamArrowWriter
from barnabas.spark.short_errors import short_errors
from barnabas.spark.workers import begin_task
from barnabas.spark.writing.decisions import Decision, DecisionLog, decision_log
from barnabas.spark.writing.sink import check_columns, encoded, send_rows
from barnabas.types import PreparedTransaction
from barnabas.values import frozen

logger = logging.getLogger(__name__)

BATCH_ID_PROPERTY = "streaming.sql.batchId"
NO_BATCH = -1
# What the driver needs at least to commit what tasks have prepared.
COMMIT_MARGIN_SECONDS = 5.0
# What `Slots` puts behind the name of a run.
PROCESS_AND_NUMBER = "-[0-9a-f]{12}-[0-9]+"
ONGOING = "Ongoing"
EMPTY = "Empty"


@frozen
class Run:
    """One planned write. `prefix` begins the transactional ids of all runs of the same sink."""

    prefix: str
    planned_at_ns: int

    @property
    def mark_of_end(self) -> str:
        """The transactional id that brokers know once this run is over."""
        return f"{self.prefix}-over"


@frozen
class RowsPrepared(WriterCommitMessage):
    """What a task tells the driver. `transaction` is None where it had no rows; `expires_at` is in seconds
    since 1970."""

    rows: int
    transaction: PreparedTransaction | None
    expires_at: float


class Slots:
    """The transactional ids of this process. One is not used again before the run that used it is over: a
    task that begins a transaction aborts what was prepared under its id."""

    def __init__(self) -> None:
        self._process_id = 0
        self._name = ""
        self._runs: dict[str, tuple[int, int]] = {}

    def take(self, run: Run) -> str:
        """Raises: StaleTaskError where a later run of the same sink has begun here."""
        if self._process_id != os.getpid():
            self._process_id, self._name, self._runs = os.getpid(), uuid.uuid4().hex[:12], {}
        planned_at_ns, count = self._runs.get(run.prefix, (0, 0))
        if run.planned_at_ns < planned_at_ns:
            raise StaleTaskError(f"a later batch of {run.prefix!r} has begun: this task comes too late")
        if run.planned_at_ns > planned_at_ns:
            count = 0
        self._runs[run.prefix] = (run.planned_at_ns, count + 1)
        return f"{run.prefix}-{self._name}-{count}"


slots = Slots()


def prepare_rows(batches: Iterator[pa.RecordBatch], options: SinkOptions, run: Run) -> RowsPrepared:
    """The work of a task. Raises: DeliveryError, InvalidRowsError, StaleTaskError."""
    begin_task("write exactly once")
    settings = options.producer_settings | {"transactional_id": slots.take(run)}
    with producers.lend(settings) as producer:
        producer.init_transactions()
        timeout_seconds = int(settings["transaction_timeout_ms"]) / 1000
        expires_at = time.time() + timeout_seconds
        producer.begin_transaction()
        try:
            rows = send_rows(encoded(batches, options), options.topic, producer)
            transaction = producer.prepare_transaction(timeout_seconds)
        except BaseException:
            with suppress(BarnabasError):
                producer.abort_transaction()
            raise
    return RowsPrepared(rows, transaction, expires_at)


class Committer:
    """The driver's part. `sink_id` names the sink in the log of decisions."""

    def __init__(self, options: SinkOptions, sink_id: str) -> None:
        self._options = options
        self._sink_id = sink_id
        settings = {n: v for n, v in options.producer_settings.items() if n != "transaction_timeout_ms"}
        self._log: DecisionLog = decision_log(settings, options.decision_topic)

    def recover(self) -> int:
        """Carries out what was decided and not done. Returns the last batch that is committed.

        Raises: PartialCommitError.
        """
        decision = self._log.last(self._sink_id)
        if decision is None:
            return NO_BATCH
        if decision.is_done:
            return decision.batch_id
        logger.info("%s: committing batch %d, as was decided before", self._sink_id, decision.batch_id)
        try:
            self._carry_out(decision)
        except PartialCommitError as error:
            if self._options.on_partial_commit == "fail":
                raise
            logger.warning("%s; onPartialCommit is %s", error, self._options.on_partial_commit)
            is_to_be_skipped = self._options.on_partial_commit == "skip"
            batch_id = decision.batch_id if is_to_be_skipped else decision.batch_id - 1
            self._log.write(self._sink_id, Decision(batch_id, is_done=True))
            return batch_id
        return decision.batch_id

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        """Raises: TransactionExpiredError (nothing is committed), PartialCommitError."""
        prepared = _prepared(messages)
        decision = Decision(batch_id, False, tuple(prepared))
        if prepared:
            try:
                self._check_open(prepared, batch_id)
            except BarnabasError:
                self.abort(messages)
                raise
            self._log.write(self._sink_id, decision)
        self._carry_out(decision)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Raises nothing: what is not aborted here ends with its time-out."""
        try:
            self._log.admin.end_prepared_transactions(_prepared(messages), commit=False)
        except BarnabasError as error:
            logger.warning(
                "%s: transactions of a failed batch are left to time out: %s", self._sink_id, error
            )

    def abort_strays(
        self, prefix: str, messages: Sequence[WriterCommitMessage | None], states: Sequence[str] = (ONGOING,)
    ) -> None:
        """Ends what tasks that died have left open: readers of committed data would wait for its time-out."""
        own = {transaction.transactional_id for transaction in _prepared(messages)}
        # Not by the prefix alone: another sink's may go on where this one's ends.
        is_of_this_sink = re.compile(re.escape(prefix) + PROCESS_AND_NUMBER).fullmatch
        try:
            listings = self._log.admin.list_transactions(states=states)
            strays = {
                listing.transactional_id
                for found in listings.values()
                for listing in found
                if is_of_this_sink(listing.transactional_id)
            } - own
            if strays:
                self._log.admin.fence_producers(strays)
        except (NoCommonVersionError, UnsupportedVersionError):
            return  # before 3.0 nobody can tell
        except BarnabasError as error:
            logger.warning("%s: transactions of failed tasks are left to time out: %s", self._sink_id, error)

    def end_run(self, run: Run) -> None:
        """Has tasks that are not done yet, which Spark is killing or has no use for, end what they open."""
        try:
            self._log.admin.fence_producers([run.mark_of_end])
        except BarnabasError as error:
            logger.warning(
                "%s: late tasks will leave their transactions to time out: %s", self._sink_id, error
            )

    def check_not_over(self, run: Run, prepared: RowsPrepared) -> None:
        """For a task: what is open before the run's end the driver ends, and the task what comes later.

        Raises: StaleTaskError, where nothing is left open.
        """
        try:
            self._log.admin.describe_transactions([run.mark_of_end])
        except (TransactionalIdNotFoundError, NoCommonVersionError, UnsupportedVersionError):
            return  # not over; or, before 3.0, nobody can tell
        except BarnabasError:
            self.abort([prepared])
            raise
        self.abort([prepared])
        raise StaleTaskError(f"the write {run.prefix!r} was over before this task was done")

    def forget(self) -> None:
        self._log.forget(self._sink_id)

    def check_timeout(self) -> None:
        """Raises: InvalidOptionError where the broker would refuse every task's transaction."""
        wanted_ms = int(self._options.producer_settings["transaction_timeout_ms"])
        longest_ms = self._log.longest_transaction_ms
        if longest_ms is not None and wanted_ms > longest_ms:
            raise InvalidOptionError(
                f"kafka.transaction.timeout.ms is {wanted_ms}, and the brokers allow {longest_ms} at most "
                "(transaction.max.timeout.ms). A transaction is open from the start of its task to the end "
                "of its batch, so no batch may take longer: make batches smaller (maxOffsetsPerTrigger), or "
                "raise the brokers' setting"
            )

    def _check_open(self, prepared: Mapping[PreparedTransaction, float], batch_id: int) -> None:
        left = min(prepared.values()) - time.time()
        closed = 0
        with suppress(NoCommonVersionError, UnsupportedVersionError):  # before 3.0 only the clock tells
            states = self._log.admin.describe_transactions([each.transactional_id for each in prepared])
            closed = sum(not _is_open(each, states[each.transactional_id]) for each in prepared)
        if closed or left < COMMIT_MARGIN_SECONDS:
            raise TransactionExpiredError(
                f"batch {batch_id} took too long: {closed} of its {len(prepared)} transactions have "
                f"ended already, the others may until {max(0.0, left):.0f} s from now. Nothing of it is "
                "committed. Raise kafka.transaction.timeout.ms (and the brokers' "
                "transaction.max.timeout.ms), or make batches smaller (maxOffsetsPerTrigger)"
            )

    def _carry_out(self, decision: Decision) -> None:
        try:
            self._log.admin.end_prepared_transactions(decision.transactions, commit=True)
        except (ProducerFencedError, InvalidTxnStateError) as error:
            failed = error.outcome.errors if error.outcome is not None else {}
            raise PartialCommitError(
                f"{self._sink_id}: batch {decision.batch_id} was to be committed, and the brokers have "
                f"aborted {len(failed)} of its {len(decision.transactions)} transactions, as the driver was "
                "away for longer than kafka.transaction.timeout.ms: the rows of these tasks are missing, the "
                "others are there. Set the option onPartialCommit to rewrite, which writes the whole batch "
                "again (the others' rows twice), or to skip, which goes on without them"
            ) from error
        self._log.write(self._sink_id, Decision(decision.batch_id, is_done=True))


def _prepared(messages: Sequence[WriterCommitMessage | None]) -> dict[PreparedTransaction, float]:
    """What tasks have prepared, with the time when it expires; tasks that failed have no message."""
    return {
        each.transaction: each.expires_at
        for each in messages
        if isinstance(each, RowsPrepared) and each.transaction is not None
    }


def _is_open(transaction: PreparedTransaction, state: TransactionDescription) -> bool:
    now = (state.state, state.producer_id, state.producer_epoch)
    return now == (ONGOING, transaction.producer_id, transaction.producer_epoch)


class ExactlyOnceStreamWriter(DataSourceStreamArrowWriter):
    """A streaming write. Spark numbers the batches of a query, and repeats one under its number."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options
        self._sink_id = _sink_id(options)
        committer = Committer(options, self._sink_id)
        committer.check_timeout()
        self._last_batch = committer.recover()
        self._run = Run(self._sink_id, time.time_ns())

    @short_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsPrepared:
        context = TaskContext.get()
        text = None if context is None else context.getLocalProperty(BATCH_ID_PROPERTY)
        if text is not None and int(text) <= self._last_batch:
            return RowsPrepared(sum(batch.num_rows for batch in iterator), None, 0.0)
        return prepare_rows(iterator, self._options, self._run)

    @short_errors
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        committer = Committer(self._options, self._sink_id)
        if batchId > self._last_batch:
            committer.commit(messages, batchId)
        committer.abort_strays(self._sink_id, messages)

    @short_errors
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        committer = Committer(self._options, self._sink_id)
        committer.abort(messages)
        # Tasks that are being killed may just be about to write.
        committer.abort_strays(self._sink_id, messages, (ONGOING, EMPTY))


class ExactlyOnceWriter(DataSourceArrowWriter):
    """A batch write: all rows, or none."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options
        name = options.transactional_id_prefix or "barnabas-batch"
        self._run = Run(f"{name}-{uuid.uuid4().hex[:12]}", time.time_ns())
        self._sink_id = options.transactional_id_prefix or self._run.prefix
        Committer(options, self._sink_id).check_timeout()

    @short_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsPrepared:
        prepared = prepare_rows(iterator, self._options, self._run)
        if prepared.transaction is not None:
            Committer(self._options, self._sink_id).check_not_over(self._run, prepared)
        return prepared

    @short_errors
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        committer = Committer(self._options, self._sink_id)
        committer.recover()
        committer.commit(messages, 0)
        committer.forget()
        committer.end_run(self._run)
        committer.abort_strays(self._run.prefix, messages)

    @short_errors
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        committer = Committer(self._options, self._sink_id)
        committer.end_run(self._run)
        committer.abort(messages)
        committer.abort_strays(self._run.prefix, messages, (ONGOING, EMPTY))


def _sink_id(options: SinkOptions) -> str:
    """What a streaming query's sink has for a name, the same whenever it is started."""
    if options.transactional_id_prefix is not None:
        return options.transactional_id_prefix
    if options.checkpoint_location is None:
        raise InvalidOptionError(
            "exactly-once needs a name for this sink that stays the same when the query is started again: "
            "set the option checkpointLocation on this query, or transactionalIdPrefix"
        )
    return f"barnabas-{hashlib.sha256(options.checkpoint_location.encode()).hexdigest()[:16]}"
