"""The broker as a whole: its parts put together, started, kept up and stopped.

Owns the order of starting and stopping and the background tasks. Must not know any single API.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from barnabas import background
from barnabas.broker.acl_store import AclStore, configured_authorizer
from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.cluster import NODE_ID, Cluster
from barnabas.broker.consumer_groups.coordinator import ConsumerGroupCoordinator
from barnabas.broker.controller import Controller
from barnabas.broker.coordinator import GroupCoordinator
from barnabas.broker.data_directory import DataDirectory, DataDirectoryError, data_directory
from barnabas.broker.group_store import GroupStore
from barnabas.broker.handlers import HANDLERS, within_quotas
from barnabas.broker.handlers.api import BrokerParts, Call
from barnabas.broker.log.files import described
from barnabas.broker.quota_store import QuotaStore
from barnabas.broker.quotas.client_throttle import ClientThrottle
from barnabas.broker.transactions.transaction_manager import TransactionManager
from barnabas.broker.transactions.transaction_store import TransactionStore
from barnabas.broker_errors import UnknownTopicIdError
from barnabas.errors import ClosedError
from barnabas.net.server import CutShort, KafkaServer
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.schema import Request, Response

if TYPE_CHECKING:
    from barnabas.broker.faults.injector import FaultInjector
    from barnabas.broker.faults.upsets import BrokerUpsets

logger = logging.getLogger(__name__)

# Retention has its own, longer interval; this one bounds how late flush.ms is honoured.
FLUSH_INTERVAL_MS = 1_000


class Broker:
    """An embedded Kafka broker, node 1 of a cluster of one, with its log in `data_dir`.

    `port` 0 takes a free one. `config` holds Kafka's broker settings as strings (see `broker.settings`).

        broker = Broker("data", port=9092)
        await broker.start()
        ...
        await broker.stop()
    """

    def __init__(
        self,
        data_dir: Path | str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self._data_dir = data_directory(str(data_dir)) if isinstance(data_dir, str) else data_dir
        self._host = host
        self._port = port
        self._config = dict(config or {})
        self._directory: DataDirectory | None = None
        self._parts: BrokerParts | None = None
        self._server: KafkaServer | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._faults: FaultInjector | None = None

    @property
    def faults(self) -> FaultInjector:
        """Faults on demand. From the first look on, requests are recorded."""
        if self._faults is None:
            # Here and not above, since a broker that is never told of faults should not wait for the import.
            from barnabas.broker.faults.injector import FaultInjector

            self._faults = FaultInjector(topic_name=self._topic_name)
        return self._faults

    def upsets(self) -> BrokerUpsets:
        """What can be done to this broker's disk, clock and groups."""
        from barnabas.broker.faults.upsets import BrokerUpsets

        return BrokerUpsets(self._running_parts)

    def _running_parts(self) -> BrokerParts:
        if self._parts is None:
            raise ClosedError("the broker does not run; await start() first")
        return self._parts

    def _topic_name(self, topic_id: UUID) -> str | None:
        if self._parts is None:
            return None
        with contextlib.suppress(UnknownTopicIdError):
            return self._parts.cluster.topic_by_id(topic_id).name
        return None

    @property
    def port(self) -> int:
        """The port it listens on. Raises: ClosedError before `start`."""
        return self._running_parts().port

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients. Raises: ClosedError before `start`."""
        return f"{self._host}:{self.port}"

    async def start(self) -> None:
        """Opens the log, repairs it if need be, and serves.

        Raises: DataDirectoryError (in use, unreadable, full), ListenError (port in use), InvalidConfigError.
        """
        directory = DataDirectory(self._data_dir)
        cluster: Cluster | None = None
        try:
            cluster = Cluster(directory, self._config)
            store = GroupStore(cluster)
            groups = GroupCoordinator(cluster, store)
            consumer_groups = ConsumerGroupCoordinator(cluster, store, groups)
            entries = list(store.load())
            groups.load(entries)
            consumer_groups.load(entries)
            transaction_store = TransactionStore(cluster)
            transactions = TransactionManager(cluster, groups, transaction_store)
            transactions.load()
            authorizer = configured_authorizer(cluster.settings)
            throttle = ClientThrottle()
            parts = BrokerParts(
                *(cluster, Controller(), authorizer, AclStore(cluster, authorizer)),
                *(QuotaStore(cluster, throttle), throttle),
                *(groups, consumer_groups, store),
                *(transactions, transaction_store, self._host, self._port),
            )
            versions = {key: (handler.lowest, handler.highest) for key, handler in HANDLERS.items()}
            server = KafkaServer(
                self._handle,
                versions,
                max_request_bytes=cluster.settings.number("socket.request.max.bytes"),
                max_idle_ms=cluster.settings.number("connections.max.idle.ms"),
                make_context=ClientConnection,
            )
            self._parts = parts
            parts.port = await server.start(self._host, self._port)
        except BaseException as error:
            self._parts = None
            if cluster is not None:
                cluster.close()
            directory.release()
            if isinstance(error, OSError):
                raise DataDirectoryError(
                    f"the broker cannot start with the data in {self._data_dir}: {described(error)}"
                ) from error
            raise
        self._directory, self._server = directory, server
        self._start_upkeep(parts)
        logger.info("listening on %s, data in %s", self.bootstrap, self._data_dir)

    async def stop(self) -> None:
        """Hangs up, flushes and closes the log. Does nothing if the broker does not run."""
        if self._server is None or self._parts is None or self._directory is None:
            return
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()
        await self._server.stop()
        self._parts.consumer_groups.close()
        self._parts.groups.close()
        self._parts.cluster.close()
        self._directory.release()
        self._server = self._parts = self._directory = None

    async def _handle(
        self, connection: ClientConnection, header: RequestHeader, request: Request[Any]
    ) -> Response | CutShort | None:
        assert self._parts is not None
        call = Call(self._parts, header.request_api_version, header.client_id or "", connection)
        handle = HANDLERS[header.request_api_key].handle
        if self._faults is None:
            answering = handle(call, request)
        else:
            answering = self._faults.answer(
                NODE_ID, connection, header, request, lambda asked: handle(call, asked)
            )
        if self._parts.throttle.is_on:
            return await within_quotas.answer(call, request, answering)
        return await answering

    def _start_upkeep(self, parts: BrokerParts) -> None:
        cluster = parts.cluster
        number = cluster.settings.number

        async def write_checkpoints() -> None:
            cluster.logs.write_checkpoints()

        async def expire_offsets() -> None:
            parts.groups.expire_offsets()

        async def finish_decided() -> None:
            parts.transactions.finish_decided()

        async def abort_timed_out() -> None:
            parts.transactions.abort_timed_out()

        async def forget_unused() -> None:
            parts.transactions.forget_unused()

        jobs: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (FLUSH_INTERVAL_MS, cluster.logs.flush_due),
            (number("log.retention.check.interval.ms"), cluster.logs.enforce_retention),
            (number("log.cleaner.backoff.ms"), cluster.logs.compact_all),
            (number("log.flush.offset.checkpoint.interval.ms"), write_checkpoints),
            (number("offsets.retention.check.interval.ms"), expire_offsets),
            (FLUSH_INTERVAL_MS, finish_decided),
            (number("transaction.abort.timed.out.transaction.cleanup.interval.ms"), abort_timed_out),
            (number("transaction.remove.expired.transaction.cleanup.interval.ms"), forget_unused),
        ]
        self._tasks = [
            background.start(_repeat(interval_ms, job), what="upkeep of the log") for interval_ms, job in jobs
        ]


async def _repeat(interval_ms: int, job: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(interval_ms / 1000)
        try:
            await job()
        except OSError as error:
            logger.error("upkeep failed, to be tried again: %s", error)
        except Exception:
            logger.exception("upkeep failed, to be tried again")
