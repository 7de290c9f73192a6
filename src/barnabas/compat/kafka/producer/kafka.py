"""KafkaProducer, in any generation.

What runs for each record is in the kernel (`TopicSender`, and `SentRecord`, its future). Owned here: how a
producer is set up, what a record meets that is not plain, what waits, and the end.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
import warnings
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Self, TypeVar

from barnabas import fork
from barnabas._kernel import FutureRecordMetadata as SentRecord
from barnabas._kernel import TopicSender
from barnabas.client.cluster.lifetimes import Lifetime, Owned
from barnabas.client.produce import producer as core_producer
from barnabas.client.produce.transactions import Transactions
from barnabas.clock import CLOCK
from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.metrics._client_metrics import ProducerMetrics
from barnabas.compat.kafka.partitioner.abc import Partitioner
from barnabas.compat.kafka.partitioner.default import DefaultPartitioner
from barnabas.compat.kafka.partitioner.sticky import StickyPartitioner
from barnabas.compat.kafka.producer._record_teller import record_teller
from barnabas.compat.kafka.producer.future import FutureProduceResult, FutureRecordMetadata
from barnabas.compat.kafka.serializer.abstract import Serializer
from barnabas.compat.kafka.serializer.wrapper import SerializeWrapper
from barnabas.compat.kafka.structs import TopicPartition
from barnabas.compat.kafka.util import ensure_valid_topic_name
from barnabas.compat.kafka_engine.config.api_versions import known_version, version_of_text, version_spoken
from barnabas.compat.kafka_engine.config.merging import merged
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.log.client_log import tell_log
from barnabas.compat.kafka_engine.network.bootstrap import reach
from barnabas.compat.kafka_engine.produce import transaction_calls
from barnabas.compat.kafka_engine.produce.cluster_view import ClusterView
from barnabas.compat.kafka_engine.produce.producer_remains import ProducerRemains
from barnabas.compat.kafka_engine.produce.producer_settings import (
    check_codec,
    check_times,
    producer_settings,
    settle_idempotence,
)
from barnabas.compat.kafka_engine.produce.send_refusals import (
    check_headers,
    check_payload,
    check_size,
    refusal,
)
from barnabas.compat.kafka_engine.values.failures import as_programs_know, failure_of
from barnabas.errors import (
    BarnabasError,
    BootstrapError,
    BrokerError,
    BufferFullError,
    ClosedError,
    KafkaTimeoutError,
    NoSuchPartitionError,
)
from barnabas.loop_thread import Steps, loop_thread

T = TypeVar("T")

log = logging.getLogger("kafka.producer.kafka")

_client_ids = itertools.count(1)
_BOOTSTRAP_MS = 2000
# In generations that have no settings of metrics.
_METRIC_SETTINGS = {"metrics_num_samples": 2, "metrics_sample_window_ms": 30000, "metric_reporters": ()}
# Of the end of the process, for callbacks: they run in a thread that does not keep it from ending.
_LAST_CALLS_SECONDS = 5.0

FutureRecordMetadata.register(SentRecord)


class KafkaProducer(TopicSender, Owned):
    """Sends records to a cluster; all threads may share one.

    Settings are keywords, by default as DEFAULT_CONFIG says. `send` gives a future of each record; callbacks
    that are added to it are called in a thread of the producer's own.

    Raises: ValueError (AssertionError before 3) for a setting that it does not know;
    KafkaConfigurationError for settings that exclude each other; NoBrokersAvailable, in generation 3
    KafkaTimeoutError, where no broker answers and api_version is not given.
    """

    DEFAULT_CONFIG = default_config("KafkaProducer", partitioner=DefaultPartitioner(), kafka_client=None)
    DEPRECATED_CONFIGS = generation().deprecated_producer_settings

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        for name in self.DEPRECATED_CONFIGS:
            if name in configs:
                del configs[name]
                warnings.warn(f"Deprecated Producer config: {name}", DeprecationWarning, stacklevel=2)
        self.config: dict[str, Any] = merged(
            "KafkaProducer", self.DEFAULT_CONFIG, configs, Errors.KafkaConfigurationError
        )
        self._wrap_serializers()
        if self.config["client_id"] is None:
            self.config["client_id"] = f"kafka-python-producer-{next(_client_ids)}"
        if self.config["acks"] == "all":
            self.config["acks"] = -1
        version = self._wished_version()
        log.debug("%s: Starting Kafka producer", self)
        if generation().codecs_are_checked_early:
            check_codec(self.config["compression_type"])
        settle_idempotence(self.config, configs, version, log, str(self))
        check_times(self.config)
        self._thread = loop_thread()
        self._core = self._made_core(as_programs_know(producer_settings)(self.config, configs))
        self._cluster = ClusterView(self._core.kafka_client)
        tell_log(self._core.kafka_client.events)
        self._metrics = None
        if self.config.get("metrics_enabled", True):
            settings = {**_METRIC_SETTINGS, **self.config}
            self._metrics = ProducerMetrics(settings, self._core.stats, self._core.delivered_batches)
        self._teller = record_teller()
        remains = ProducerRemains(self._core, self._teller, f"{self.config['client_id']}-network-thread")
        self._telling = remains.thread
        self._life = Lifetime(self._steps_at_exit, f"producer {self}", self._thread, remains)
        self._closed = False
        self._is_initialized = False
        fork.tell_in_child(self)
        try:
            self._find_version(version)
        except BaseException:
            self._end(0)
            raise
        self._begin_appending()
        log.debug("%s: Kafka producer started", self)

    def _wrap_serializers(self) -> None:
        if not generation().serializers_take_headers:
            return
        for name in ("key_serializer", "value_serializer"):
            serializer = self.config[name]
            if serializer is not None and not isinstance(serializer, Serializer):
                text = f"{name} does not implement kafka.serializer.Serializer"
                warnings.warn(text, DeprecationWarning, stacklevel=4)
                self.config[name] = SerializeWrapper(serializer)

    def _wished_version(self) -> Any:
        given = version = self.config["api_version"]
        if generation().broker_versions_are_texts:
            if given == "auto":
                return None
            version = tuple(map(int, given.split("."))) if isinstance(given, str) else ()
        elif isinstance(version, str):
            version = version_of_text(version, log)
        if version is None:
            return None
        known = known_version(version, log)
        if known is None:
            raise (
                AssertionError
                if generation().broker_versions_are_texts
                else (Errors.UnrecognizedBrokerVersion(given))
            )
        return known

    def _made_core(self, settings: dict[str, Any]) -> core_producer.Producer:
        async def make() -> core_producer.Producer:
            return core_producer.Producer(**settings)

        try:
            return self._thread.run(make(), what="producer")
        except BarnabasError as error:
            raise failure_of(error) from error

    def _find_version(self, version: Any) -> None:
        if version is None:
            setting = generation().producer_bootstrap_setting
            timeout_ms = _BOOTSTRAP_MS if setting is None else self.config[setting]
            spoken = reach(self._core.kafka_client, self.config["bootstrap_servers"], timeout_ms)
            version = version_spoken(spoken)
        self.config["api_version"] = version

    def _begin_appending(self) -> None:
        chooses = type(self.config["partitioner"]) in (DefaultPartitioner, StickyPartitioner)
        serializers = [_function(self.config[f"{part}_serializer"]) for part in ("key", "value")]
        self._is_plain = all(function is not NotImplemented for function in serializers)
        self._append_directly_to(
            self._core.accumulator,
            self._teller,
            key_serializer=serializers[0] if self._is_plain else None,
            value_serializer=serializers[1] if self._is_plain else None,
            chooses_partitions=chooses,
            takes_bytes_only=generation().payloads_are_bytes_only,
        )
        self._chooses_partitions = chooses
        if not self._is_plain or (
            self.config["compression_type"] is not None and not generation().codecs_are_checked_early
        ):
            self._stop_appending_directly()

    @classmethod
    def max_usable_produce_magic(cls, api_version: tuple[int, ...]) -> int:
        """The newest format of messages that brokers of a version take."""
        return 2 if api_version >= (0, 11) else 1 if api_version >= (0, 10, 0) else 0

    def bootstrap_connected(self) -> bool:
        """Whether a broker of the cluster was reached."""
        return bool(self._core.kafka_client.metadata.nodes)

    # Sending what is not plain

    if not generation().send_takes_headers:
        send: Any = TopicSender._send_without_headers  # pyright: ignore[reportPrivateUsage]

    def _send_slowly(
        self, topic: Any, value: Any, key: Any, headers: Any, partition: Any, timestamp_ms: Any
    ) -> Any:
        if self._closed and generation().close_flushes:
            raise refusal("producer is closed")
        if value is None and key is None:
            raise refusal("neither key nor value")
        raised = getattr(Errors, generation().errors_in_futures, Exception)
        # Serializers may add some.
        headers = [] if headers is None else headers
        try:
            if generation().close_flushes:
                ensure_valid_topic_name(topic)
            if generation().too_large_is_raised:
                check_headers(headers)
                key_bytes, value_bytes = self._serialized(topic, headers, key, value)
                check_payload("key", key_bytes)
                check_payload("value", value_bytes)
                self._wait_on_metadata(topic)
            else:
                self._wait_on_metadata(topic)
                key_bytes, value_bytes = self._serialized(topic, headers, key, value)
            return self._send_serialized(
                topic, value, key, key_bytes, value_bytes, headers, partition, timestamp_ms
            )
        except (Errors.KafkaTimeoutError, AssertionError):
            raise
        except raised as error:
            return self._failed(topic, partition, key, value, headers, error)

    def _failed(
        self, topic: Any, partition: Any, key: Any, value: Any, headers: Any, error: BaseException
    ) -> Any:
        is_too_large = isinstance(error, Errors.MessageSizeTooLargeError)
        if is_too_large and generation().too_large_is_raised:
            raise error
        result = FutureProduceResult(TopicPartition(topic, partition))
        if not generation().record_metadata_has_sizes:
            log.debug("Exception occurred during message send: %s", error)
            return FutureRecordMetadata(result, -1, None).failure(error)
        log.error("%s: Exception occurred during message send: %s", self, error)
        sizes = (_size(key), _size(value), _headers_size(headers))
        return FutureRecordMetadata(result, -1, None, None, *sizes).failure(error)

    def _serializer_raised(self, topic: str, partition: Any, error: BaseException) -> Any:
        if generation().errors_in_futures == "Exception" and isinstance(error, Exception):
            return self._failed(topic, partition, None, None, None, error)
        raise error

    def _send_serialized(
        self,
        topic: str,
        value: Any,
        key: Any,
        key_bytes: Any,
        value_bytes: Any,
        headers: Any,
        partition: Any,
        timestamp_ms: Any,
    ) -> Any:
        check_payload("key", key_bytes)
        check_payload("value", value_bytes)
        partition = self._partition(topic, partition, key, value, key_bytes, value_bytes)
        check_headers(headers)
        if timestamp_ms is not None and not isinstance(timestamp_ms, int):
            raise TypeError(timestamp_ms)
        check_size(self.config, key_bytes, value_bytes, headers)
        check_codec(self.config["compression_type"])
        deadline = CLOCK.monotonic() + self.config["max_block_ms"] / 1000
        while True:
            self._check_may_send()
            try:
                sent = self._append(topic, key_bytes, value_bytes, headers, partition, timestamp_ms)
            except NoSuchPartitionError:
                raise refusal("partition is unknown", given=partition, topic=topic) from None
            except BarnabasError as error:
                raise failure_of(error) from error
            if sent is not None:
                if self._core.is_closed:
                    self._after_late_append()
                return sent
            self._wait_for_room(topic, deadline)

    def _check_may_send(self) -> None:
        if self._closed:
            raise refusal("producer is closed")
        transactions = self._core.transactions
        if transactions is not None:
            transaction_calls.check_send(transactions)

    def _wait_for_room(self, topic: str, deadline: float) -> None:
        try:
            if self._core.accumulator.needs_metadata(topic):
                self._run(self._core.wait_for_partition_count(topic, deadline))
            else:
                self._run(self._core.wait_for_room(deadline))
        except BufferFullError as error:
            text = "Failed to allocate memory within the configured max blocking time"
            raise Errors.KafkaTimeoutError(text) from error
        except ClosedError as error:
            raise refusal("producer is closed") from error
        except BarnabasError as error:
            raise failure_of(error) from error

    def _after_late_append(self) -> None:
        # close() may have looked for the last time before this record came.
        if self._core.is_closed:
            self._thread.call(self._core.fail_leftovers)

    def _serialized(self, topic: str, headers: Any, key: Any, value: Any) -> tuple[Any, Any]:
        make_key, make_value = self.config["key_serializer"], self.config["value_serializer"]
        return _made(make_key, topic, headers, key), _made(make_value, topic, headers, value)

    def _partition(
        self, topic: str, partition: Any, key: Any, value: Any, key_bytes: Any, value_bytes: Any
    ) -> int | None:
        """The partition that is named or that a program's partitioner chooses; None leaves it to the
        kernel."""
        if partition is not None:
            if partition < 0:
                raise refusal("partition is negative")
            if partition not in (self._cluster.partitions_for_topic(topic) or ()):
                raise refusal("partition is unknown", given=partition, topic=topic)
            return partition
        if self._chooses_partitions:
            return None
        partitioner = self.config["partitioner"]
        if not generation().partitioners_see_cluster:
            every = sorted(self._cluster.partitions_for_topic(topic) or ())
            available = list(self._cluster.available_partitions_for_topic(topic) or ())
            return partitioner(key_bytes, every, available)
        if isinstance(partitioner, Partitioner):
            chosen = partitioner.partition(topic, key, key_bytes, value, value_bytes, self._cluster)
        else:
            text = "partitioner does not implement kafka.partitioner.Partitioner"
            warnings.warn(text, DeprecationWarning, stacklevel=4)
            chosen = partitioner.partition(topic, key_bytes, self._cluster)
        if chosen is None:
            raise ValueError(f"Partitioner did not assign a partition for topic {topic}!")
        return chosen

    def _wait_on_metadata(self, topic: str) -> None:
        """Raises: KafkaTimeoutError, TopicAuthorizationFailedError."""
        if self._core.accumulator.needs_metadata(topic):
            self._run_for_topic(topic)

    def _run_for_topic(self, topic: str) -> None:
        seconds = self.config["max_block_ms"] / 1000
        try:
            self._run(self._core.find_topic(topic, CLOCK.monotonic() + seconds))
        except (BootstrapError, KafkaTimeoutError) as error:
            raise _metadata_timeout(seconds) from error
        except ClosedError as error:
            raise refusal("producer is closed") from error
        except BrokerError as error:
            failure = failure_of(error)
            if isinstance(failure, Errors.TopicAuthorizationFailedError):
                named = {topic} if generation().close_flushes else topic
                raise Errors.TopicAuthorizationFailedError(named) from error
            raise _metadata_timeout(seconds) from error

    # What waits

    def flush(self, timeout: float | None = None) -> None:
        """Returns when all that was sent before is delivered or has failed, and its callbacks have returned;
        a callback that calls it does not wait for itself.

        Raises: KafkaTimeoutError (AssertionError in 1.2) after `timeout` seconds.
        """
        log.debug("%s: Flushing accumulated records in producer.", self)
        if self._core.is_closed:
            return
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            self._run(self._core.flush(None if timeout is None else max(timeout, 0)))
        except KafkaTimeoutError as error:
            raise _flush_timeout() from error
        except BarnabasError as error:
            raise failure_of(error) from error
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if threading.current_thread() is not self._telling and not self._teller.wait(left):
            raise _flush_timeout()

    def partitions_for(self, topic: str) -> set[int]:
        """The numbers of a topic's partitions. Raises: KafkaTimeoutError."""
        if self._core.accumulator.needs_metadata(topic):
            if generation().close_flushes:
                ensure_valid_topic_name(topic)
            self._run_for_topic(topic)
        return self._cluster.partitions_for_topic(topic) or set()

    def metrics(self, raw: bool = False) -> dict[Any, Any] | None:
        """Figures by group and name; with `raw`, KafkaMetric by MetricName. None without metrics_enabled."""
        return None if self._metrics is None else self._metrics.metrics(raw)

    def close(self, timeout: float | None = None, null_logger: bool = False) -> None:
        """Delivers what was sent, for at most `timeout` seconds, and closes.

        Raises: KafkaTimeoutError where that is not enough, and stays open (in 1.2 what is left fails).
        """
        quiet = logging.DEBUG if null_logger else logging.INFO
        if self._closed:
            log.log(quiet, "%s: Kafka producer closed", self)
            return
        if timeout is not None and not 0 <= timeout <= threading.TIMEOUT_MAX:
            raise refusal("timeout is out of range", given=timeout)
        log.log(quiet, "%s: Closing the Kafka producer with %s secs timeout.", self, timeout)
        if threading.current_thread() is self._telling and timeout != 0:
            log.warning(
                "%s: Overriding close timeout %s secs to 0 in order to prevent useless blocking due to "
                "self-join. This means you have incorrectly invoked close with a non-zero timeout from the "
                "producer call-back.",
                self,
                timeout,
            )
            timeout = 0
        elif generation().close_flushes:
            self.flush(timeout)
        self._end(threading.TIMEOUT_MAX if timeout is None else timeout)
        if self._metrics is not None:
            self._metrics.close()
        for name in ("key_serializer", "value_serializer"):
            close = getattr(self.config[name], "close", None)
            if close is not None:
                close()
        log.debug("%s: The Kafka producer has closed.", self)

    def _end(self, timeout: float) -> None:
        self._thread.run_steps(self._closing(self._core.close(max(timeout, 0)), timeout), what="producer")

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        return self._closing(self._core.close_unattended(), _LAST_CALLS_SECONDS)

    def _closing(self, work: Coroutine[Any, Any, None], call_seconds: float) -> Steps:
        """`call_seconds`: how long callbacks may take after all is delivered or has failed."""
        self._closed = True
        self._stop_appending_directly()
        try:
            yield work
        finally:
            self._teller.end()
            if threading.current_thread() is not self._telling:
                self._telling.join(call_seconds)
            self._life.end()

    def forked(self) -> None:
        """In the child of a fork there is nobody who would send."""
        self._closed = True
        self._stop_appending_directly()

    # Transactions

    def init_transactions(self) -> None:
        """Makes the producer ready for transactions: earlier ones of the same transactional_id are fenced.

        Raises: KafkaTimeoutError after max_block_ms, when the call may be made again to wait on;
        IllegalStateError, KafkaError.
        """
        call = "init_transactions"
        if self._is_initialized:
            return
        self._transact(call, partial(self._core.init_transactions, None))
        self._is_initialized = True

    def begin_transaction(self) -> None:
        """Opens a transaction: what is sent from now on belongs to it.

        Raises: IllegalStateError, KafkaError."""
        self._transact("begin_transaction", self._core.begin_transaction)

    if generation().transactions_take_group_metadata:

        def send_offsets_to_transaction(  # pyright: ignore[reportRedeclaration] each generation has its own
            self, offsets: Mapping[Any, Any], group_metadata: Any
        ) -> None:
            """Commits positions of a consumer's group if and when the transaction commits. `offsets`:
            OffsetAndMetadata by TopicPartition. `group_metadata`: the consumer's, or the group's name.

            Raises: IllegalStateError, KafkaError, TypeError, ValueError.
            """
            self._send_offsets(offsets, group_metadata)
    else:

        def send_offsets_to_transaction(self, offsets: Mapping[Any, Any], consumer_group_id: Any) -> None:
            """Commits positions of a consumer's group if and when the transaction commits. `offsets`:
            OffsetAndMetadata by TopicPartition.

            Raises: IllegalStateError, KafkaError, TypeError.
            """
            self._send_offsets(offsets, consumer_group_id)

    def _send_offsets(self, offsets: Mapping[Any, Any], group: Any) -> None:
        if self._core.transactions is None:
            self._transact("send_offsets_to_transaction", self._core.begin_transaction)
        identity = transaction_calls.group_identity(group)
        positions = transaction_calls.core_offsets(offsets)
        work = partial(self._core.send_offsets_to_transaction, positions, identity, threading.TIMEOUT_MAX)
        self._transact("send_offsets_to_transaction", work)

    def commit_transaction(self) -> None:
        """Delivers all that was sent, and commits. Raises: IllegalStateError, KafkaError, and what a record
        or offsets failed with."""
        self._transact("commit_transaction", partial(self._core.commit_transaction, threading.TIMEOUT_MAX))

    def abort_transaction(self) -> None:
        """Ends the transaction so that nobody who reads committed records sees it. Raises: IllegalStateError,
        KafkaError."""
        self._transact("abort_transaction", partial(self._core.abort_transaction, threading.TIMEOUT_MAX))

    def _transact(self, call: str, work: Any) -> None:
        transactions: Transactions | None = self._core.transactions
        if transactions is None:
            is_idempotent = bool(self.config.get("enable_idempotence"))
            raise transaction_calls.not_transactional(call, is_idempotent=is_idempotent)
        transaction_calls.check_call(transactions, call)
        try:
            self._run(work())
        except BarnabasError as error:
            raise transaction_calls.call_failure(error, call, self.config["max_block_ms"]) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        client_id, identity = self.config.get("client_id"), self.config.get("transactional_id")
        return f"<KafkaProducer client_id={client_id} transactional_id={identity}>"

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, what="producer")


def _function(serializer: Any) -> Any:
    """What the kernel is to call with a key or value; None for nothing, NotImplemented where it takes
    more."""
    if serializer is None or type(serializer) is SerializeWrapper:
        return None if serializer is None else serializer.fn
    return NotImplemented if isinstance(serializer, Serializer) else serializer


def _made(serializer: Any, topic: str, headers: Any, data: Any) -> Any:
    if serializer is None:
        return data
    if not isinstance(serializer, Serializer):
        return serializer(data)
    serialize: Any = serializer.serialize
    if not generation().serializers_take_headers:
        return serialize(topic, data)
    try:
        return serialize(topic, headers, data)
    except TypeError:
        text = "serializer does not implement serialize(topic, headers, data)"
        warnings.warn(text, DeprecationWarning, stacklevel=4)
        return serialize(topic, data)


def _size(part: Any) -> int:
    return -1 if part is None else len(part)


def _headers_size(headers: Any) -> int:
    return sum(len(name.encode()) + len(value) for name, value in headers) if headers else -1


def _metadata_timeout(seconds: float) -> Exception:
    return Errors.KafkaTimeoutError(
        *(
            seconds if text == "{seconds}" else text.format(seconds=seconds)
            for text in generation().metadata_timeout_texts
        )
    )


def _flush_timeout() -> Exception:
    if generation().flush_timeout == "AssertionError":
        return AssertionError("Timeout waiting for future")
    return Errors.KafkaTimeoutError("Timeout waiting for future")
