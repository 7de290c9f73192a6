"""The Producer for callers without an event loop.

Records are appended in the caller's thread, by the kernel's RecordSender; only waiting crosses to the loop's
thread. Owns no delivery logic.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from barnabas import fork
from barnabas._kernel import Delivery, RecordMetadata, RecordSender
from barnabas.client.arguments import OffsetsLike, check_seconds
from barnabas.client.cluster.lifetimes import Lifetime, is_handling_ctrl_c
from barnabas.client.cluster.observed import Observed
from barnabas.client.column_formats import ColumnFormat, formats_of
from barnabas.client.produce import producer as core
from barnabas.client.produce.arrow_delivery import ArrowDelivery
from barnabas.client.produce.arrow_rows import ArrowRows
from barnabas.client.produce.producer import OnDelivery
from barnabas.client.produce.record_arguments import check_record
from barnabas.client.produce.send_hooks import SendHooks
from barnabas.client.produce.serializing import Serializing
from barnabas.errors import BarnabasError, TransactionFailedError
from barnabas.loop_thread import Steps, loop_thread
from barnabas.stats import ProducerStats
from barnabas.sync.crossing import OnLoopThread
from barnabas.types import (
    GroupIdentity,
    Headers,
    KeyIn,
    PartitionInfo,
    PreparedTransaction,
    ProducerRecord,
    ValueIn,
)
from barnabas.windows import WINDOW_SECONDS

if TYPE_CHECKING:
    from barnabas.formats import Form
    from barnabas.settings.keywords import ProducerSettings


class Producer(RecordSender[KeyIn, ValueIn], Observed, OnLoopThread):
    """Sends records to a cluster. For all threads; used with `with`, or closed by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.settings.table.ProducerConfig`. A producer that was dropped without `close`
    delivers what it took in the background, and the end of the interpreter waits for that, within
    delivery_timeout_ms; what is not delivered is an error in the log. After Ctrl-C that, and a `close`
    without `timeout`, take only for as long as records go out, a few seconds at most.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows at the first call. In the
    child of a fork every call but `close` raises ClosedError: make a new Producer there.
    """

    _what = "producer"

    def __init__(
        self, bootstrap_servers: str | Sequence[str], **settings: Unpack[ProducerSettings[KeyIn, ValueIn]]
    ) -> None:
        self._loop = loop_thread()
        given = (settings.get("key_serializer"), settings.get("value_serializer"))
        Serializing(*given).check(is_awaited=False)

        async def make() -> core.Producer[KeyIn, ValueIn]:
            return core.Producer(bootstrap_servers, **settings)

        self._core = self._run(make())
        self._client = self._core.kafka_client
        hooks = self._core.hooks
        if hooks is None:
            self._append_directly_to(self._core.accumulator)
        elif hooks.only_serializes:
            serializing = hooks.serializing
            self._append_directly_to(self._core.accumulator, serializing.key, serializing.value)
        fork.tell_in_child(self)
        self._life = Lifetime(
            self._steps_at_exit, f"producer {self._core.config.client_id!r}", self._loop, self._core
        )

    def forked(self) -> None:
        """Called in the child of a fork: from now on `send` raises."""
        self._stop_appending_directly()

    def _send_slowly(
        self,
        topic: str,
        value: ValueIn | None,
        key: KeyIn | None,
        headers: Headers | None,
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Delivery:
        self._core.check_may_send()
        record = ProducerRecord(topic, value, key, headers, partition, timestamp)
        if self._core.hooks is not None:
            return self._send_with(self._core.hooks, record, on_delivery)
        return self._run(self._core.append_later(record, on_delivery))

    def _send_with(
        self, hooks: SendHooks, record: ProducerRecord, on_delivery: OnDelivery | None
    ) -> Delivery:
        record = hooks.on_send(record)
        try:
            record = hooks.serializing.serialized(record)
            check_record(record)
            if self._core.accumulator.needs_metadata(record.topic):
                self._run(self._core.wait_for_metadata(record.topic))
            record = hooks.with_partition(record, self._client.metadata)
            told = hooks.reporting_to(on_delivery)
            arguments = (record.headers, record.partition, record.timestamp, told)
            delivery = self._core.append_now(record.topic, record.value, record.key, *arguments)
            if delivery is None:
                delivery = self._run(self._core.append_later(record, told))
            elif self._core.is_closed:
                self._after_late_append()
        except BarnabasError as error:
            hooks.acknowledged(None, error)
            raise
        return delivery

    def _doing(self) -> str:
        return core.waiting_records(self._core)

    def send_and_wait(
        self,
        topic: str,
        value: ValueIn | None = None,
        *,
        key: KeyIn | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        timeout: float | None = None,
    ) -> RecordMetadata:
        """Sends a record and waits until it is delivered: where it was stored. Arguments are those of `send`;
        `timeout` in seconds, None waits as long as it takes, which delivery_timeout_ms bounds. For more
        records at a time use `send`, which batches them.

        Raises: KafkaTimeoutError (the record may be delivered nevertheless), the error of the delivery, and
        what `send` raises.
        """
        delivery = self.send(topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp)
        return delivery.result(timeout)

    def _after_late_append(self) -> None:
        # close() may have looked for the last time before this record came.
        self._loop.call(self._core.fail_leftovers)

    def send_arrow(
        self,
        topic: str,
        table: Any,
        *,
        timeout: float | None = None,
        key: ColumnFormat | Form | None = None,
        value: ColumnFormat | Form | None = None,
    ) -> ArrowDelivery:
        """Sends the rows of an Arrow table, a record batch, or a data frame with Arrow's stream interface, as
        pandas' and Polars' have it: the columns `value` and, where they are there, `key`, `headers`,
        `timestamp` and `partition`.

        Returns when all rows are handed over; waits for room for at most `timeout` seconds, by default
        max_block_ms from one row that finds room to the next. `key` and `value`: formats that make bytes of
        these columns: a RegistryFormat, or one of `barnabas.formats`, such as `formats.json(type)` or
        `formats.text()`. Serializers are not called.

        Raises: as `send`. Rows handed over before the error may be delivered nevertheless; none is where a
        format raises: SerializationError (names the row), MisuseError, RegistryError, SchemaError.
        """
        for side, format in formats_of(key, value, is_awaited=False):
            table = format.run(format.encoded(table, side))
        rows = ArrowRows(self._core, topic, table, timeout)
        if self._core.accumulator.needs_metadata(topic):
            self._run(self._core.wait_for_partition_count(topic, rows.deadline()))
        while not rows.append():
            self._run(rows.wait())
        if self._core.is_closed:
            self._loop.call(self._core.fail_leftovers)
        return rows.delivery

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """`with producer.transaction():` begins one, and commits it at the end of the block, or aborts it if
        the block or the commit raises. Raises: as begin_transaction and commit_transaction."""
        self.begin_transaction()
        try:
            yield
        except BaseException:
            self._run(self._core.abort_after_error())
            raise
        try:
            self.commit_transaction()
        except TransactionFailedError:
            self._run(self._core.abort_after_error())
            raise

    def close(self, timeout: float | None = None) -> None:
        """Delivers what was sent, for at most `timeout` seconds (default_api_timeout_ms), and closes. Records
        that are not delivered by then fail with ClosedError. An open transaction is aborted. May be called
        twice. In the child of a fork it leaves all to the parent.

        Raises: MisuseError (`timeout` is below 0)."""
        if timeout is not None:
            check_seconds(timeout)
        if self._core.is_closed or self._core.generation != fork.current:
            return
        if timeout is None and is_handling_ctrl_c():
            self._life.close_in_moments(self._closing(self._core.close_unattended()))
        else:
            self._loop.run_steps(self._closing(self._core.close(timeout)), what=self._what)

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        return self._closing(self._core.close_unattended())

    def _closing(self, work: Coroutine[Any, Any, None]) -> Steps:
        self._stop_appending_directly()
        try:
            yield work
        finally:
            self._life.end()

    def stats(self, window_seconds: float = WINDOW_SECONDS) -> ProducerStats:
        """Figures of the producer, its brokers and its partitions, as they are now; windows are of the last
        `window_seconds`."""
        return self._core.stats(window_seconds)

    # From here on made by codegen/plain_calls.py, of barnabas/client/produce/producer.py

    def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        return self._run(self._core.client_instance_id(timeout=timeout))

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent before is delivered or has failed; its Delivery tells which.

        `timeout` in seconds; None waits as long as it takes, which delivery_timeout_ms bounds.
        Raises: MisuseError (`timeout` is below 0), KafkaTimeoutError, ClosedError.
        """
        self._run(self._core.flush(timeout))

    def purge(self, *, in_queue: bool = True, in_flight: bool = True) -> None:
        """Throws records away, whose deliveries fail with PurgedError: those that wait to be sent
        (`in_queue`), and those on their way (`in_flight`), which may be stored nevertheless.

        An open transaction has to be aborted after that. Raises: ClosedError.
        """
        self._on_loop(self._core.purge, in_queue=in_queue, in_flight=in_flight)

    def init_transactions(self, timeout: float | None = None) -> None:
        """Makes the producer ready for transactions: earlier producers of the same transactional_id are
        fenced, and what they left open is aborted. Once, before the first transaction.

        `timeout` in seconds, default max_block_ms; after it the same call waits on.
        Raises: KafkaTimeoutError, TransactionStateError (no transactional_id, or called before),
        TransactionalIdAuthorizationFailedError (the call may be made again), another BrokerError. KIP-98.
        """
        self._run(self._core.init_transactions(timeout))

    def begin_transaction(self) -> None:
        """Opens a transaction: all that is sent from now on belongs to it. Does not wait.

        Raises: TransactionStateError (one is open, or init_transactions was not called), ClosedError, and
        ProducerFencedError or another error after which only a new producer helps.
        """
        self._run(self._core.begin_transaction())

    def send_offsets_to_transaction(
        self,
        offsets: OffsetsLike,
        group_metadata: GroupIdentity,
        timeout: float | None = None,
    ) -> None:
        """Commits a consumer's positions, the offsets of the next records to read, if and when the
        transaction commits. `group_metadata`: what that consumer's `group_metadata()` says, by which a
        consumer that has lost its partitions is fenced (KIP-447). Turn off its enable_auto_commit.

        `timeout` in seconds, default max_block_ms.
        Raises: TransactionFailedError (with the reason, such as IllegalGenerationError, as its cause),
        TransactionStateError, KafkaTimeoutError, ProducerFencedError.
        """
        self._run(self._core.send_offsets_to_transaction(offsets, group_metadata, timeout))

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Delivers all that was sent, and makes the transaction visible to readers of committed data.

        `timeout` in seconds, default max_block_ms; after it the commit goes on, and the same call waits on.
        Raises: TransactionFailedError (a record was not delivered, for instance: abort_transaction is next),
        KafkaTimeoutError, TransactionStateError, ProducerFencedError or another error after which only a new
        producer helps.
        """
        self._run(self._core.commit_transaction(timeout))

    def prepare_transaction(self, timeout: float | None = None) -> PreparedTransaction | None:
        """Delivers all that was sent, and leaves the end of the transaction to whoever holds the result: its
        readers of committed data wait until `Admin.end_prepared_transactions` commits or aborts it, or until
        the broker aborts it after transaction_timeout_ms. None if nothing was sent. The next transaction
        needs init_transactions first, which aborts this one if it was not ended.

        `timeout` in seconds, default max_block_ms; after it the same call waits on.
        Raises: as commit_transaction.
        """
        return self._run(self._core.prepare_transaction(timeout))

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Ends the transaction so that nobody who reads committed data sees it. Records that were not yet
        sent fail with TransactionAbortedError.

        `timeout` in seconds, default max_block_ms; after it the abort goes on, and the same call waits on.
        Raises: KafkaTimeoutError, TransactionStateError, ProducerFencedError or another error after which
        only a new producer helps.
        """
        self._run(self._core.abort_transaction(timeout))

    def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """The partitions of a topic, by number. `timeout` in seconds, default max_block_ms.

        Raises: UnknownTopicOrPartitionError, BootstrapError, ClosedError.
        """
        return self._run(self._core.partitions_for(topic, timeout=timeout))
