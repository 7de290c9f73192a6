"""The asyncio Producer: what a caller hands over, its back-pressure, flushing and closing.

Owns the waiting of callers. The records themselves are in the kernel's accumulator, and what happens to them
is the sender's. `accumulator.append` is what any thread may call. `Producer` has more methods than other
classes, as each call of Kafka's producer is one, and the fronts over it need a few besides.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack

from barnabas import fork
from barnabas._kernel import Delivery, RecordMetadata
from barnabas.client.arguments import OffsetsLike, as_offsets, check_seconds
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.lifetimes import seconds_to_close
from barnabas.client.cluster.loop_lifetimes import OwnedByLoop
from barnabas.client.cluster.observed import Observed
from barnabas.client.cluster.telemetry_metrics import producer_metrics
from barnabas.client.column_formats import ColumnFormat, formats_of
from barnabas.client.produce.arrow_delivery import ArrowDelivery
from barnabas.client.produce.arrow_rows import ArrowRows
from barnabas.client.produce.counters import TopicBatches
from barnabas.client.produce.partition_search import PartitionSearch
from barnabas.client.produce.producer_stats import producer_stats
from barnabas.client.produce.record_arguments import check_record
from barnabas.client.produce.send_hooks import OnDelivery, SendHooks
from barnabas.client.produce.sender import Sender
from barnabas.clock import CLOCK
from barnabas.errors import (
    BarnabasError,
    BufferFullError,
    ClosedError,
    KafkaTimeoutError,
    NoSuchPartitionError,
    PurgedError,
    TransactionFailedError,
    TransactionStateError,
)
from barnabas.settings.table import ProducerConfig, load
from barnabas.stats import ProducerStats
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
from barnabas.wording import counted, records_were, time_limit

if TYPE_CHECKING:
    from barnabas.client.produce.transaction_coordinator import TransactionCoordinator
    from barnabas.client.produce.transactions import Transactions
    from barnabas.formats import Form
    from barnabas.settings.keywords import ProducerSettings

logger = logging.getLogger("barnabas.producer")


class Producer(OwnedByLoop, Observed, Generic[KeyIn, ValueIn]):
    """Sends records to a cluster. For one event loop, on which it is made; used with `async with`, or closed
    by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.settings.table.ProducerConfig`. A producer that was dropped without `close`
    delivers what it took in the background, and the end of the event loop waits for that, within
    delivery_timeout_ms; what is not delivered is an error in the log. After Ctrl-C that, and a `close`
    without `timeout`, take only for as long as records go out, a few seconds at most.

    Raises: UnknownSettingError, InvalidSettingError. An unreachable cluster shows at the first call. In the
    child of a fork every call but `close` raises ClosedError: make a new Producer there.
    """

    def __init__(
        self, bootstrap_servers: str | Sequence[str], **settings: Unpack[ProducerSettings[KeyIn, ValueIn]]
    ) -> None:
        self.config = load(ProducerConfig, {"bootstrap_servers": bootstrap_servers, **settings})
        self.is_closed = False
        self.generation = fork.current
        self._client = client = KafkaClient(
            self.config, allow_auto_topic_creation=self.config.allow_auto_create_topics
        )
        self._transactions: Transactions | None = None
        if self.config.transactional_id is not None:
            # Few producers have transactions, which take a tenth of the import.
            from barnabas.client.produce.transactions import Transactions

            self._transactions = Transactions(self.config.transactional_id)
        self._sender = sender = Sender(self.config, client, self._transactions)
        client.add_metadata_listener(sender.learn_partition_counts)
        self.accumulator = self._sender.accumulator
        self.hooks = SendHooks.of(self.config)
        """The user's Python to call for each record; None where there is none."""
        self._coordinator: TransactionCoordinator | None = None
        if self._transactions is not None:
            from barnabas.client.produce.transaction_coordinator import TransactionCoordinator

            self._coordinator = TransactionCoordinator(
                self.config, self._client, self._sender, self._transactions
            )
        client.telemetry.measure_with(
            lambda: producer_metrics(producer_stats(client, sender, WINDOW_SECONDS)), dict
        )
        self._begin_life(f"producer {self.config.client_id!r}")

    def _doing(self) -> str:
        return waiting_records(self)

    async def send(
        self,
        topic: str,
        value: ValueIn | None = None,
        *,
        key: KeyIn | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """Hands a record over; await the Delivery for the RecordMetadata, or the error, of the record.

        `partition` None lets the key choose, or spreads records without a key. `timestamp` in milliseconds
        since 1970, None is now. Waits at most max_block_ms for the topic's metadata and for room in
        buffer_memory, and 5 s of these for a partition that is not there yet. `on_delivery(error, metadata)`
        is called on the event loop.

        Raises: ClosedError, RecordTooLargeError, BufferFullError, UnknownTopicOrPartitionError (nobody
        created the topic in time), BootstrapError (no broker was reachable in time), NoSuchPartitionError,
        UnusableRecordError; with a transactional_id also TransactionStateError and TransactionFailedError.
        """
        if self.is_closed or self.generation != fork.current:
            self.check_usable()
        if self.hooks is not None:
            record = ProducerRecord(topic, value, key, headers, partition, timestamp)
            return await self._send_with(self.hooks, record, on_delivery)
        delivery = self.append_now(topic, value, key, headers, partition, timestamp, on_delivery)
        if delivery is None:
            record = ProducerRecord(topic, value, key, headers, partition, timestamp)
            return await self.append_later(record, on_delivery)
        if self._sender.wake_is_due:
            # A caller that only ever sends would keep the loop, and the sender with it, from running.
            await asyncio.sleep(0)
        return delivery

    async def send_and_wait(
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
        delivery = await self.send(
            topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp
        )
        try:
            async with asyncio.timeout(timeout):
                return await delivery
        except KafkaTimeoutError:
            raise
        except TimeoutError:
            message = f"a record for topic {topic!r} was not delivered within {timeout} s"
            raise KafkaTimeoutError(message) from None

    def append_now(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp: int | None,
        on_delivery: OnDelivery | None,
    ) -> Delivery | None:
        """Appends without waiting, on any thread; None if it takes waiting: `append_later`."""
        try:
            return self.accumulator.append(topic, partition, key, value, headers, timestamp, on_delivery)
        except NoSuchPartitionError:
            return None
        except (TypeError, ValueError, BufferError, OverflowError):
            check_record(ProducerRecord(topic, value, key, headers, partition, timestamp))
            raise

    async def _send_with(
        self, hooks: SendHooks, record: ProducerRecord, on_delivery: OnDelivery | None
    ) -> Delivery:
        record = hooks.on_send(record)
        try:
            record = await hooks.serializing.serialized_awaiting(record)
            check_record(record)
            await self.wait_for_metadata(record.topic)
            record = hooks.with_partition(record, self._client.metadata)
            return await self.append_later(record, hooks.reporting_to(on_delivery))
        except BarnabasError as error:
            hooks.acknowledged(None, error)
            raise

    async def append_later(self, record: ProducerRecord, on_delivery: OnDelivery | None) -> Delivery:
        """Waits until the record can be appended, at most max_block_ms, and appends it."""
        check_record(record)
        topic, value, key = record.topic, record.value, record.key
        deadline = self._block_deadline()
        search = self.search_for_partition(topic)
        while True:
            await self.wait_for_partition_count(topic, deadline)
            try:
                delivery = self.accumulator.append(
                    topic, record.partition, key, value, record.headers, record.timestamp, on_delivery
                )
            except NoSuchPartitionError as error:
                await search.ask_again(error, deadline)
                continue
            if delivery is not None:
                return delivery
            if not self.accumulator.needs_metadata(topic):
                await self.wait_for_room(deadline)

    async def send_arrow(
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
        for side, format in formats_of(key, value, is_awaited=True):
            table = await format.run(format.encoded(table, side))
        rows = ArrowRows(self, topic, table, timeout)
        await self.wait_for_partition_count(topic, rows.deadline())
        while not rows.append():
            await rows.wait()
        return rows.delivery

    async def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        self.check_usable()
        return await self._client.telemetry.client_instance_id(
            self.config.default_api_timeout_ms if timeout is None else timeout * 1000
        )

    async def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent before is delivered or has failed; its Delivery tells which.

        `timeout` in seconds; None waits as long as it takes, which delivery_timeout_ms bounds.
        Raises: MisuseError (`timeout` is below 0), KafkaTimeoutError, ClosedError.
        """
        self.check_usable()
        if timeout is not None:
            check_seconds(timeout)
        try:
            async with asyncio.timeout(timeout):
                await self._sender.flush()
        except TimeoutError:
            left = records_were(self.accumulator.buffered_records)
            raise KafkaTimeoutError(
                f"{left} not yet delivered after {timeout} s{self._sender.delay()}"
            ) from None

    def purge(self, *, in_queue: bool = True, in_flight: bool = True) -> None:
        """Throws records away, whose deliveries fail with PurgedError: those that wait to be sent
        (`in_queue`), and those on their way (`in_flight`), which may be stored nevertheless.

        An open transaction has to be aborted after that. Raises: ClosedError.
        """
        self.check_usable()
        waiting = PurgedError("the record was purged before it was sent")
        under_way = PurgedError(
            "the record was purged before it was known to be delivered", was_in_flight=True
        )
        self._sender.purge(waiting if in_queue else None, under_way if in_flight else None)

    async def init_transactions(self, timeout: float | None = None) -> None:
        """Makes the producer ready for transactions: earlier producers of the same transactional_id are
        fenced, and what they left open is aborted. Once, before the first transaction.

        `timeout` in seconds, default max_block_ms; after it the same call waits on.
        Raises: KafkaTimeoutError, TransactionStateError (no transactional_id, or called before),
        TransactionalIdAuthorizationFailedError (the call may be made again), another BrokerError. KIP-98.
        """
        await self._transactional("init_transactions").initialize(self._block_seconds(timeout))

    async def begin_transaction(self) -> None:
        """Opens a transaction: all that is sent from now on belongs to it. Does not wait.

        Raises: TransactionStateError (one is open, or init_transactions was not called), ClosedError, and
        ProducerFencedError or another error after which only a new producer helps.
        """
        self._transactional("begin_transaction").begin()

    async def send_offsets_to_transaction(
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
        coordinator = self._transactional("send_offsets_to_transaction")
        positions = as_offsets(offsets)
        await coordinator.send_offsets(positions, group_metadata, self._block_seconds(timeout))

    async def commit_transaction(self, timeout: float | None = None) -> None:
        """Delivers all that was sent, and makes the transaction visible to readers of committed data.

        `timeout` in seconds, default max_block_ms; after it the commit goes on, and the same call waits on.
        Raises: TransactionFailedError (a record was not delivered, for instance: abort_transaction is next),
        KafkaTimeoutError, TransactionStateError, ProducerFencedError or another error after which only a new
        producer helps.
        """
        await self._transactional("commit_transaction").commit(self._block_seconds(timeout))

    async def prepare_transaction(self, timeout: float | None = None) -> PreparedTransaction | None:
        """Delivers all that was sent, and leaves the end of the transaction to whoever holds the result: its
        readers of committed data wait until `Admin.end_prepared_transactions` commits or aborts it, or until
        the broker aborts it after transaction_timeout_ms. None if nothing was sent. The next transaction
        needs init_transactions first, which aborts this one if it was not ended.

        `timeout` in seconds, default max_block_ms; after it the same call waits on.
        Raises: as commit_transaction.
        """
        return await self._transactional("prepare_transaction").prepare(self._block_seconds(timeout))

    async def abort_transaction(self, timeout: float | None = None) -> None:
        """Ends the transaction so that nobody who reads committed data sees it. Records that were not yet
        sent fail with TransactionAbortedError.

        `timeout` in seconds, default max_block_ms; after it the abort goes on, and the same call waits on.
        Raises: KafkaTimeoutError, TransactionStateError, ProducerFencedError or another error after which
        only a new producer helps.
        """
        await self._transactional("abort_transaction").abort(self._block_seconds(timeout))

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncGenerator[None]:
        """`async with producer.transaction():` begins one, and commits it at the end of the block, or aborts
        it if the block or the commit raises. Raises: as begin_transaction and commit_transaction."""
        await self.begin_transaction()
        try:
            yield
        except BaseException:
            await self.abort_after_error()
            raise
        try:
            await self.commit_transaction()
        except TransactionFailedError:
            await self.abort_after_error()
            raise

    async def abort_after_error(self) -> None:
        """Aborts, where that is still possible; raises nothing, as the caller has an error to raise."""
        try:
            await self.abort_transaction()
        except BarnabasError as error:
            logger.warning("client %s: the transaction was not aborted: %s", self.config.client_id, error)

    async def close(self, timeout: float | None = None) -> None:
        """Delivers what was sent, for at most `timeout` seconds (default_api_timeout_ms), and closes. Records
        that are not delivered by then fail with ClosedError. An open transaction is aborted. May be called
        twice. In the child of a fork it leaves all to the parent.

        Raises: MisuseError (`timeout` is below 0)."""
        if timeout is not None:
            check_seconds(timeout)
        if self.is_closed or self.generation != fork.current:
            return
        self.is_closed = True
        timeout = seconds_to_close(timeout)
        limit = f"{timeout} s"
        if timeout is None:
            timeout = self.config.default_api_timeout_ms / 1000
            limit = f"default_api_timeout_ms={self.config.default_api_timeout_ms}"
        try:
            async with asyncio.timeout(timeout):
                if self._coordinator is not None:
                    await self._coordinator.end_open_transaction()
                await self._sender.flush()
        except TimeoutError:
            pass
        finally:
            delay = self._sender.delay()
            error = ClosedError(f"the producer was closed, the record not delivered within {limit}{delay}")
            if self._coordinator is not None:
                await self._coordinator.stop()
            await self._sender.close(error)
            if self.hooks is not None:
                self.hooks.close()
            await self._client.close()
            self._end_life()

    @property
    def _remains(self) -> Producer[KeyIn, ValueIn]:
        return self

    async def close_unattended(self) -> None:
        """Closes as `close` does, where nobody waits or looks at deliveries: each record has its
        delivery_timeout_ms, and what is not delivered is logged, with its count."""
        stats = self._sender.stats
        failed_before = stats.records_failed
        was_open = self._transactions is not None and self._transactions.is_open
        try:
            await self.close(self.config.delivery_timeout_ms / 1000)
        finally:
            lost = stats.records_failed - failed_before
            if lost and was_open:
                logger.error(
                    "client %s: the producer was not closed, and its open transaction was aborted: %s "
                    "not delivered",
                    self.config.client_id,
                    records_were(lost),
                )
            elif lost:
                logger.error(
                    "client %s: the producer was not closed, and %s not delivered",
                    self.config.client_id,
                    records_were(lost),
                )

    def unfinished(self) -> int:
        """How many records are neither delivered nor failed. Any thread."""
        return self.accumulator.buffered_records

    def waits_for(self) -> str:
        """What `close_unattended` waits for."""
        leaders = {
            self._client.metadata.leader(queue.partition) for queue in self._sender.queues() if queue.waiting
        }
        nodes = [str(node) for leader in sorted(leaders) if (node := self._client.node(leader)) is not None]
        brokers = ", ".join(nodes or self.config.bootstrap_servers)
        seconds = self._sender.seconds_until_expired()
        return f"{self.unfinished()} records to be delivered to {brokers}, for at most {seconds:.0f} s"

    def give_up(self, error: BarnabasError) -> None:
        """Fails all records that wait to be sent, again or for the first time."""
        self._sender.purge(error, None)

    def fail_leftovers(self) -> None:
        """Fails records that another thread appended while `close` was at work."""
        self._sender.fail_all(ClosedError("the producer was closed while the record was sent"))

    async def partitions_for(self, topic: str, *, timeout: float | None = None) -> list[PartitionInfo]:
        """The partitions of a topic, by number. `timeout` in seconds, default max_block_ms.

        Raises: UnknownTopicOrPartitionError, BootstrapError, ClosedError.
        """
        self.check_usable()
        deadline = CLOCK.monotonic() + self._block_seconds(timeout)
        self._sender.topics_in_use.use(topic, CLOCK.monotonic())
        await self._client.wait_for_topics([topic], deadline, limit=self._limit_at(deadline))
        return self._client.metadata.partitions_for(topic)

    def stats(self, window_seconds: float = WINDOW_SECONDS) -> ProducerStats:
        """Figures of the producer, its brokers and its partitions, as they are now; windows are of the last
        `window_seconds`."""
        return producer_stats(self._client, self._sender, window_seconds)

    def delivered_batches(self) -> dict[str, TopicBatches]:
        """What was delivered to each topic; it counts on. May be called on any thread."""
        return dict(self._sender.stats.delivered)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def wait_for_metadata(self, topic: str) -> None:
        """Waits until the topic's partitions are known, at most max_block_ms."""
        await self.wait_for_partition_count(topic, self._block_deadline())

    async def wait_for_partition_count(self, topic: str, deadline: float) -> None:
        """Returns when records of the topic can be given partitions. `deadline` as of `CLOCK.monotonic()`."""
        self.check_may_send()
        if self.accumulator.needs_metadata(topic):
            await self.find_topic(topic, deadline)

    def search_for_partition(self, topic: str) -> PartitionSearch:
        """Returns the steps by which a partition is chosen that is not known yet."""
        return PartitionSearch(self.config, self._client, topic)

    async def find_topic(self, topic: str, deadline: float) -> None:
        """Returns when the topic is known, and with it its partitions, which are looked up. Raises: as
        `KafkaClient.wait_for_topics`."""
        self._sender.topics_in_use.use(topic, CLOCK.monotonic())
        await self._client.wait_for_topics([topic], deadline, limit=self._limit_at(deadline))
        self._sender.learn_partition_count(topic, self._client.metadata.topic_metadata[topic])

    def hurry(self, reason: object) -> None:
        """Nothing lingers from now on, until `relax` with the same object. On any thread, at once."""
        self._sender.hurry(reason)

    def relax(self, reason: object) -> None:
        """Ends what `hurry` began. On any thread, at once."""
        self._sender.relax(reason)

    @property
    def producer_identity(self) -> tuple[int, int]:
        """The producer's id and epoch at the brokers, -1 while it has none (KIP-98)."""
        return self._sender.identity.producer_id, self._sender.identity.producer_epoch

    @property
    def transactions(self) -> Transactions | None:
        """The state of the transactions; None without a transactional_id."""
        return self._transactions

    async def wait_for_room(self, deadline: float) -> None:
        """Returns when memory has come free. Raises: BufferFullError at the deadline; as `check_may_send`."""
        self.check_may_send()
        if not self.accumulator.buffered_records:
            # All was delivered between the attempt, on another thread, and now.
            return
        try:
            async with asyncio.timeout(max(0.0, deadline - CLOCK.monotonic())):
                await self._sender.progress()
        except TimeoutError:
            raise BufferFullError(
                f"buffer_memory={self.config.buffer_memory} bytes stayed full for max_block_ms="
                f"{self.config.max_block_ms}: the brokers take records more slowly than they are sent; "
                f"{counted(self.accumulator.buffered_records, 'record')} waited{self._sender.delay()}"
            ) from None

    def _limit_at(self, deadline: float) -> str:
        remaining_ms = max(0.0, deadline - CLOCK.monotonic()) * 1000
        return time_limit(remaining_ms, "max_block_ms", self.config.max_block_ms)

    def _block_deadline(self) -> float:
        return CLOCK.monotonic() + self.config.max_block_ms / 1000

    def _block_seconds(self, timeout: float | None) -> float:
        return self.config.max_block_ms / 1000 if timeout is None else timeout

    def _transactional(self, call: str) -> TransactionCoordinator:
        self.check_usable()
        if self._coordinator is None:
            raise TransactionStateError(f"{call}: the producer has no transactional_id: make it with one")
        return self._coordinator

    def check_may_send(self) -> None:
        """Checks that records may be sent. Raises: ClosedError; with a transactional_id
        TransactionStateError outside of a transaction, and TransactionFailedError in one that can only be
        aborted."""
        self.check_usable()
        if self._transactions is not None:
            self._transactions.check_open("send")

    def check_usable(self) -> None:
        """Checks that the producer is open. Raises: ClosedError if the producer is closed, or was made
        before a fork."""
        if self.generation != fork.current:
            raise fork.forked_error("producer")
        if self.is_closed:
            raise ClosedError("the producer is closed")


def waiting_records(producer: Producer[Any, Any]) -> str:
    """What an open producer does, for its repr."""
    transactional_id = producer.config.transactional_id
    transactions = "" if transactional_id is None else f"transactional id {transactional_id!r}, "
    return f"{transactions}{counted(producer.accumulator.buffered_records, 'record')} to deliver"
