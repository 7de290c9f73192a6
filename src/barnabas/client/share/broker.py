"""The conversation with one broker that shares partitions with us: ShareFetch, ShareAcknowledge, the session.

Owns the order of requests, one at a time since each carries the session's next epoch, and what their errors
mean. Must not know groups, callers, or when there is something to fetch.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from barnabas.broker_errors import ShareSessionNotFoundError
from barnabas.client.cluster.connections import ConnectionPool
from barnabas.client.cluster.error_table import FETCHED_AGAIN, Consequence, errors_with
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.deserializing import Deserializing
from barnabas.client.share.acknowledgements import (
    RENEW,
    AcknowledgementResult,
    PartitionAcknowledgements,
    ShareLedger,
)
from barnabas.client.share.records import Acquisition, ShareRecord, read_acquired
from barnabas.client.share.session import FINAL_EPOCH, ShareSession
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.clock import CLOCK
from barnabas.error_codes import error_for
from barnabas.errors import BarnabasError, BrokenProtocolError, KafkaConnectionError, NoCommonVersionError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from barnabas.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from barnabas.settings.table import ShareConsumerConfig
from barnabas.steps import AcknowledgementsSent, RecordsAcquired, ShareFetchSent
from barnabas.types import Node, TopicPartition

logger = logging.getLogger("barnabas.client")

VERSION_WITH_RENEWAL = 2
ACQUIRE_MODES = {"batch_optimized": 0, "record_limit": 1}

# Not taken, and nothing lost: the same acknowledgement may be sent again.
_REPEATED = errors_with(
    Consequence.FIND_COORDINATOR | Consequence.AWAIT_COORDINATOR | Consequence.SUSPECT_COORDINATOR
)
_TRANSIENT = _REPEATED | FETCHED_AGAIN


class ShareListener(Protocol):
    """What a conversation tells: called on the event loop."""

    def acquired(self, records: Sequence[ShareRecord[Any, Any]]) -> None: ...
    def renewed(self, records: Sequence[ShareRecord[Any, Any]]) -> None: ...
    def acknowledged(self, result: AcknowledgementResult) -> None: ...
    def session_lost(self, node_id: int) -> None:
        """What was acquired from this broker is another member's to get."""

    def failed(self, error: BarnabasError) -> None:
        """The caller has to be told."""


class _LeaderIdAndEpoch(Protocol):
    leader_id: int
    leader_epoch: int


class _Endpoint(Protocol):
    node_id: int
    host: str
    port: int
    rack: str | None


class ShareBroker:
    """At most one request is under way; others wait for their turn. Errors of single partitions go to the
    listener; `fetch` and `acknowledge` do not raise for them."""

    def __init__(
        self,
        node_id: int,
        client: KafkaClient,
        pool: ConnectionPool,
        config: ShareConsumerConfig,
        member_id: str,
        ledger: ShareLedger,
        listener: ShareListener,
    ) -> None:
        self.node_id = node_id
        self.acquisition_lock_timeout_ms: int | None = None
        """As the broker's last answer has it."""
        self._client = client
        self._pool = pool
        self._config = config
        self._member_id = member_id
        self._ledger = ledger
        self._listener = listener
        self._session = ShareSession()
        self._deserializing = Deserializing.of(config)
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None

    # Fetching

    async def fetch(self, wanted: Mapping[TopicPartition, UUID]) -> bool:
        """Has the broker share exactly `wanted`, tells it what was decided meanwhile, and takes in the
        records that it lends. Whether all partitions were without errors.

        Raises: what keeps the request from being answered. Acknowledgements that were in it have failed.
        """
        async with self._turn:
            connection = await self._connected()
            pending = self._take_valid()
            # A renewal is not for a request that waits for records, and what is not shared any more has no
            # place in one either.
            apart = [e for e in pending if e.renewed or wanted.get(e.partition) != e.topic_id]
            if apart:
                await self._acknowledge(connection, apart)
                pending = self._without(pending, apart)
                if not self._session.is_open:
                    self._fail(pending, self._lost_error())
                    pending = []
            request = self._fetch_request(wanted, pending)
            timeout_ms = self._config.request_timeout_ms + self._config.fetch_max_wait_ms
            if self._client.steps:
                sent = (self.node_id, request.share_session_epoch, tuple(wanted), len(pending))
                self._client.steps.emit(ShareFetchSent(*sent))
            try:
                response = await connection.send(request, timeout_ms=timeout_ms)
                self._check(response.error_code, response.error_message, "share fetch")
            except BaseException as error:
                self._lose_session(pending, error)
                raise
            self._session.answered()
            return self._take_in(response, wanted, pending)

    def _fetch_request(
        self, wanted: Mapping[TopicPartition, UUID], pending: Sequence[PartitionAcknowledgements]
    ) -> ShareFetchRequest:
        told = self._session.next_fetch(wanted)
        config = self._config
        topics: dict[UUID, ShareFetchRequest.FetchTopic] = {}
        batches: defaultdict[tuple[UUID, int], list[tuple[int, int, list[int]]]] = defaultdict(list)
        for partition, topic_id in told.added.items():
            batches[topic_id, partition.partition] += []
        for entry in pending:
            batches[entry.topic_id, entry.partition.partition] += entry.batches()
        for (topic_id, index), of_partition in batches.items():
            topic = topics.setdefault(topic_id, ShareFetchRequest.FetchTopic(topic_id=topic_id))
            topic.partitions.append(
                ShareFetchRequest.FetchPartition(
                    partition_index=index,
                    acknowledgement_batches=[
                        ShareFetchRequest.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=codes
                        )
                        for first, last, codes in of_partition
                    ],
                )
            )
        forgotten: dict[UUID, ShareFetchRequest.ForgottenTopic] = {}
        for partition, topic_id in told.forgotten:
            gone = forgotten.setdefault(topic_id, ShareFetchRequest.ForgottenTopic(topic_id=topic_id))
            gone.partitions.append(partition.partition)
        return ShareFetchRequest(
            group_id=config.group_id,
            member_id=self._member_id,
            share_session_epoch=told.epoch,
            max_wait_ms=config.fetch_max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            max_records=config.max_poll_records,
            batch_size=config.max_poll_records,
            share_acquire_mode=ACQUIRE_MODES[config.share_acquire_mode],
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
        )

    def _take_in(
        self,
        response: ShareFetchResponse,
        wanted: Mapping[TopicPartition, UUID],
        pending: Sequence[PartitionAcknowledgements],
    ) -> bool:
        self.acquisition_lock_timeout_ms = response.acquisition_lock_timeout_ms
        locked_until = CLOCK.monotonic() + response.acquisition_lock_timeout_ms / 1000
        partitions = {(topic_id, p.partition): p for p, topic_id in wanted.items()}
        unanswered = {(entry.topic_id, entry.partition.partition): entry for entry in pending}
        is_good = True
        for topic in response.responses:
            for answer in topic.partitions:
                key = (topic.topic_id, answer.partition_index)
                partition = partitions.get(key)
                entry = unanswered.pop(key, None)
                if entry is not None:
                    code, text = answer.acknowledge_error_code, answer.acknowledge_error_message
                    self._done(entry, code, text)
                if partition is None:
                    continue
                if answer.error_code:
                    is_good = False
                    self._on_error(partition, answer.error_code, answer.error_message)
                    self._learn_leader(partition, answer.current_leader, response.node_endpoints)
                    continue
                acquisition = Acquisition(
                    self.node_id, self._session.number, partition, topic.topic_id, locked_until
                )
                self._on_records(acquisition, answer)
        for entry in unanswered.values():
            self._done(entry, 0, None)
        return is_good

    def _on_records(self, acquisition: Acquisition, answer: ShareFetchResponse.PartitionData) -> None:
        acquired = read_acquired(
            acquisition,
            answer.records,
            [(a.first_offset, a.last_offset, a.delivery_count) for a in answer.acquired_records],
            check_crcs=self._config.check_crcs,
            max_decompressed_bytes=most_unpacked_bytes(self._config.fetch_max_bytes),
            deserializing=self._deserializing,
        )
        if self._client.steps:
            for lent in answer.acquired_records:
                ends = (lent.first_offset, lent.last_offset, lent.delivery_count)
                self._client.steps.emit(RecordsAcquired(self.node_id, acquisition.partition, *ends))
        self._ledger.add_unreadable(acquisition, acquired.unreadable)
        if acquired.error is not None:
            self._listener.failed(acquired.error)
        if acquired.records:
            self._listener.acquired(acquired.records)

    def _on_error(self, partition: TopicPartition, code: int, message: str | None) -> None:
        said = "" if message is None else f" ({message})"
        error = error_for(code, f"share fetch of {partition}{said}")
        if code in _TRANSIENT:
            logger.info("%s", error)
            self._client.request_metadata_update()
        else:
            self._listener.failed(error)

    def _learn_leader(
        self, partition: TopicPartition, leader: _LeaderIdAndEpoch, endpoints: Iterable[_Endpoint]
    ) -> None:
        """The answer may name the new leader (KIP-951)."""
        if leader.leader_id >= 0:
            nodes = [Node(n.node_id, n.host, n.port, n.rack) for n in endpoints]
            self._client.update_leader(partition, leader.leader_id, leader.leader_epoch, nodes)

    # Acknowledging

    def acknowledge(self, deadline: float) -> Coroutine[Any, Any, list[AcknowledgementResult]]:
        """Tells the broker what is decided at the call, again where that can help until `deadline` (on the
        clock of `CLOCK.monotonic()`). The listener gets the same results. Does not raise."""
        # Taken before others that wait for their turn can do so: these results are this caller's.
        return self._tell(self._ledger.take(self.node_id), deadline)

    async def _tell(
        self, taken: Sequence[PartitionAcknowledgements], deadline: float
    ) -> list[AcknowledgementResult]:
        results: list[AcknowledgementResult] = []
        try:
            await self._turn.acquire()
        except BaseException:
            self._ledger.put_back(self.node_id, taken)
            raise
        try:
            pending = self._of_this_session(taken, results)
            failures = 0
            while pending:
                try:
                    connection = await self._connected()
                except BarnabasError as error:
                    self._fail(pending, error, results)
                    break
                # Connecting anew ends the session.
                pending = self._of_this_session(pending, results)
                try:
                    repeated = await self._acknowledge(connection, pending, results)
                except BarnabasError:
                    break
                failures += 1
                delay = self._client.backoff.delay_ms(failures) / 1000
                if not repeated or CLOCK.monotonic() + delay > deadline:
                    self._finish_repeated(repeated, results)
                    break
                pending = [entry for entry, _ in repeated]
                await asyncio.sleep(delay)
        finally:
            self._turn.release()
        return results

    async def _acknowledge(
        self,
        connection: Connection,
        pending: Sequence[PartitionAcknowledgements],
        results: list[AcknowledgementResult] | None = None,
    ) -> list[tuple[PartitionAcknowledgements, BarnabasError]]:
        """Those that should be sent again, if the caller wants `results`: they have none yet.

        Raises: what keeps the request from being answered; the acknowledgements have failed then.
        """
        if not pending:
            return []
        # A broker that lends records knows the request.
        version = connection.version_of(ShareAcknowledgeRequest)
        if version < VERSION_WITH_RENEWAL and any(entry.renewed for entry in pending):
            without = [entry for entry in pending if not entry.renewed]
            error = NoCommonVersionError("renewing an acquisition lock takes a broker of Kafka 4.2 or later")
            self._fail(self._without(pending, without), error, results)
            return await self._acknowledge(connection, without, results)
        request = self._acknowledge_request(pending, self._session.next_epoch())
        if self._client.steps:
            partitions = tuple(entry.partition for entry in pending)
            self._client.steps.emit(
                AcknowledgementsSent(self.node_id, request.share_session_epoch, partitions)
            )
        try:
            response = await connection.send(request, timeout_ms=self._config.request_timeout_ms)
            self._check(response.error_code, response.error_message, "share acknowledge")
        except BaseException as error:
            self._lose_session(pending, error, results)
            raise
        self._session.answered()
        return self._take_acknowledged(response, pending, results)

    def _acknowledge_request(
        self, pending: Sequence[PartitionAcknowledgements], epoch: int
    ) -> ShareAcknowledgeRequest:
        topics: dict[UUID, ShareAcknowledgeRequest.AcknowledgeTopic] = {}
        for entry in pending:
            topic = topics.setdefault(
                entry.topic_id, ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=entry.topic_id)
            )
            topic.partitions.append(
                ShareAcknowledgeRequest.AcknowledgePartition(
                    partition_index=entry.partition.partition,
                    acknowledgement_batches=[
                        ShareAcknowledgeRequest.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=codes
                        )
                        for first, last, codes in entry.batches()
                    ],
                )
            )
        return ShareAcknowledgeRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            share_session_epoch=epoch,
            is_renew_ack=any(RENEW in entry.codes.values() for entry in pending),
            topics=list(topics.values()),
        )

    def _take_acknowledged(
        self,
        response: ShareAcknowledgeResponse,
        pending: Sequence[PartitionAcknowledgements],
        results: list[AcknowledgementResult] | None,
    ) -> list[tuple[PartitionAcknowledgements, BarnabasError]]:
        if response.acquisition_lock_timeout_ms > 0:
            self.acquisition_lock_timeout_ms = response.acquisition_lock_timeout_ms
        unanswered = {(entry.topic_id, entry.partition.partition): entry for entry in pending}
        repeated: list[tuple[PartitionAcknowledgements, BarnabasError]] = []
        for topic in response.responses:
            for answer in topic.partitions:
                entry = unanswered.pop((topic.topic_id, answer.partition_index), None)
                if entry is None:
                    continue
                if answer.error_code in _REPEATED and results is not None:
                    repeated.append((entry, self._error(entry, answer.error_code, answer.error_message)))
                    continue
                self._done(entry, answer.error_code, answer.error_message, results)
                if answer.error_code:
                    self._learn_leader(entry.partition, answer.current_leader, response.node_endpoints)
        error = BrokenProtocolError("the broker's answer does not mention the partition")
        self._fail(unanswered.values(), error, results)
        return repeated

    def _finish_repeated(
        self,
        repeated: Iterable[tuple[PartitionAcknowledgements, BarnabasError]],
        results: list[AcknowledgementResult],
    ) -> None:
        for entry, error in repeated:
            self._fail([entry], error, results)

    # The end

    async def close(self, timeout_ms: float) -> None:
        """Tells the broker what was decided and ends the session, with which the rest is released. Does not
        raise: a broker that does not hear of it releases the records by itself, later."""
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._turn:
                pending = self._take_valid()
                connection = self._connection
                if not self._session.is_open or connection is None or connection.is_closed:
                    self._fail(pending, self._lost_error())
                    return
                request = self._acknowledge_request(pending, FINAL_EPOCH)
                limit_ms = min(timeout_ms, self._config.request_timeout_ms)
                try:
                    response = await connection.send(request, timeout_ms=limit_ms)
                    self._check(response.error_code, response.error_message, "share acknowledge")
                except BaseException as error:
                    self._lose_session(pending, error)
                    raise
                self._session.start_over()
                for entry, error in self._take_acknowledged(response, pending, None):
                    self._fail([entry], error)
        except (BarnabasError, TimeoutError) as error:
            logger.info("ending the share session with node %d failed: %s", self.node_id, error)

    # Sessions and results

    async def _connected(self) -> Connection:
        """The connection. A new one means a new session: the broker ended the old one with its connection.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError, AuthenticationError.
        """
        node = self._client.node(self.node_id)
        if node is None:
            self._client.request_metadata_update()
            raise KafkaConnectionError(f"node {self.node_id} is not in the cluster's metadata")
        connection = await self._pool.get(self.node_id, node)
        if connection is not self._connection:
            if self._connection is not None and self._session.is_open:
                self._session.start_over()
                self._listener.session_lost(self.node_id)
            self._connection = connection
        return connection

    def _take_valid(self) -> list[PartitionAcknowledgements]:
        """What was decided and can be sent; the rest, acquired in a session that is over, has failed."""
        return self._of_this_session(self._ledger.take(self.node_id))

    def _of_this_session(
        self,
        pending: Sequence[PartitionAcknowledgements],
        results: list[AcknowledgementResult] | None = None,
    ) -> list[PartitionAcknowledgements]:
        session = self._session
        valid = [e for e in pending if session.is_open and e.session_number == session.number]
        self._fail(self._without(pending, valid), self._lost_error(), results)
        return valid

    def _without(
        self, entries: Sequence[PartitionAcknowledgements], others: Sequence[PartitionAcknowledgements]
    ) -> list[PartitionAcknowledgements]:
        return [entry for entry in entries if not any(entry is other for other in others)]

    def _lose_session(
        self,
        pending: Iterable[PartitionAcknowledgements],
        error: BaseException,
        results: list[AcknowledgementResult] | None = None,
    ) -> None:
        self._session.start_over()
        self._listener.session_lost(self.node_id)
        self._fail(pending, error if isinstance(error, BarnabasError) else self._lost_error(), results)

    def _lost_error(self) -> BarnabasError:
        return ShareSessionNotFoundError(
            f"the share session with node {self.node_id} is over, and with it the records were released"
        )

    def _check(self, code: int, message: str | None, what: str) -> None:
        if code:
            said = "" if message is None else f" ({message})"
            raise error_for(code, f"{what}, group {self._config.group_id!r}, node {self.node_id}{said}")

    def _error(self, entry: PartitionAcknowledgements, code: int, message: str | None) -> BarnabasError:
        offsets = f"offsets {min(entry.codes)} to {max(entry.codes)}" if entry.codes else "gaps"
        return error_for(code, f"acknowledging {entry.partition}, {offsets}", message)

    def _done(
        self,
        entry: PartitionAcknowledgements,
        code: int,
        message: str | None,
        results: list[AcknowledgementResult] | None = None,
    ) -> None:
        if code:
            if code in _TRANSIENT:
                self._client.request_metadata_update()
            self._fail([entry], self._error(entry, code, message), results)
            return
        if entry.renewed:
            locked_until = CLOCK.monotonic() + (self.acquisition_lock_timeout_ms or 0) / 1000
            acquisition = Acquisition(
                self.node_id, entry.session_number, entry.partition, entry.topic_id, locked_until
            )
            self._listener.renewed(
                [ShareRecord(r.record, r.delivery_count, acquisition) for r in entry.renewed.values()]
            )
        self._report(entry, None, results)

    def _fail(
        self,
        entries: Iterable[PartitionAcknowledgements],
        error: BarnabasError,
        results: list[AcknowledgementResult] | None = None,
    ) -> None:
        for entry in entries:
            self._report(entry, error, results)

    def _report(
        self,
        entry: PartitionAcknowledgements,
        error: BarnabasError | None,
        results: list[AcknowledgementResult] | None,
    ) -> None:
        if entry.codes:
            result = entry.result(error)
            self._listener.acknowledged(result)
            if results is not None:
                results.append(result)
