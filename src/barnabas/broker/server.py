"""The broker as a whole: its parts put together, started, kept up and stopped.

Owns the order of starting and stopping and the background tasks. Must not know any single API.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from uuid import UUID

from barnabas import background
from barnabas.broker.authorization.acl_store import AclStore, configured_authorizer
from barnabas.broker.broker_node import BrokerNode
from barnabas.broker.classic_groups.coordinator import ClassicGroupCoordinator
from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.broker_settings import LISTENERS, PROTOCOL_MAP
from barnabas.broker.consumer_groups.coordinator import ConsumerGroupCoordinator
from barnabas.broker.controller import Controller
from barnabas.broker.data_directory import DataDirectory, DataDirectoryError, data_directory
from barnabas.broker.delegation_tokens.token_store import DelegationTokenStore
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.offset_coordinator import OffsetCoordinator
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.handlers import HANDLERS, large_requests, offered_versions, within_quotas
from barnabas.broker.handlers.api import BrokerParts, Call
from barnabas.broker.handlers.coordination import handle_coordinated
from barnabas.broker.handlers.coordinator_moves import CoordinatorMoves
from barnabas.broker.handlers.forwarded import FORWARDED
from barnabas.broker.log.files import described
from barnabas.broker.log.memory_files import AnyPath, MemoryFolder
from barnabas.broker.login.door import Door
from barnabas.broker.login.listeners import BrokerListener, configured_listeners
from barnabas.broker.older_release import (
    FIRST_THAT_TELLS_VERSIONS_IN_REFUSALS,
    FIRST_WITH_FEATURES,
    FIRST_WITH_LARGE_SEGMENTS,
    Release,
)
from barnabas.broker.quotas.client_throttle import ClientThrottle
from barnabas.broker.quotas.connection_limits import ConnectionLimits
from barnabas.broker.quotas.quota_store import QuotaStore
from barnabas.broker.replication.node import NODE_ID
from barnabas.broker.settings import LEAST_SEGMENT_BYTES_BEFORE_4
from barnabas.broker.share_groups.coordinator import ShareGroupCoordinator
from barnabas.broker.share_groups.lending import ShareLending
from barnabas.broker.share_groups.share_state_store import ShareStateStore
from barnabas.broker.streams_groups.coordinator import StreamsGroupCoordinator
from barnabas.broker.topics.topic_changes import TopicChanges
from barnabas.broker.transactions.transaction_manager import TransactionManager
from barnabas.broker.transactions.transaction_store import TransactionStore
from barnabas.broker.upkeep import Upkeep
from barnabas.broker_errors import InvalidConfigError, UnknownTopicIdError
from barnabas.errors import ClosedError, MisuseError
from barnabas.net.server import CutShort, DisconnectError, KafkaServer
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.schema import Request, Response

if TYPE_CHECKING:
    from barnabas.broker.faults.injector import FaultInjector
    from barnabas.broker.faults.upsets import BrokerUpsets

logger = logging.getLogger(__name__)

# Retention has its own, longer interval; this one bounds how late flush.ms is honoured.
FLUSH_INTERVAL_MS = 1_000

Storage = Literal["disk", "memory"]


class Broker:
    """An embedded Kafka broker, with its log in `data_dir`; with `nodes` a cluster in one process.

    `port` 0 takes a free one; several nodes have it and those that follow, or those that a list names.
    `racks`: one for each node. `config` holds Kafka's broker settings as strings (see `broker.settings`).

        broker = Broker("data", port=9092)
        await broker.start()
        ...
        await broker.stop()

    `users`: passwords by name, for the listeners with SASL that `config` names (docs/security.md).

    `storage="memory"`: nothing is on a disk, and lasts as long as this object does, over `stop` and `start`.

    `as_version`: passes for this release, such as "2.8" or "0.10", by offering its APIs in its versions.

    Several nodes have topics of as many replicas by default, and min.insync.replicas one less. Each can be
    stopped, started, paused and resumed by itself: `await broker.nodes[2].stop()`.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        host: str = "127.0.0.1",
        port: int | Sequence[int] = 0,
        *,
        config: Mapping[str, str] | None = None,
        nodes: int = 1,
        racks: Sequence[str | None] | None = None,
        users: Mapping[str, str] | None = None,
        as_version: str | None = None,
        storage: Storage = "disk",
    ) -> None:
        if nodes < 1:
            raise MisuseError(f"nodes={nodes}: a cluster has at least one")
        ports = [port + place if port else 0 for place in range(nodes)] if isinstance(port, int) else port
        if len(ports) != nodes:
            raise MisuseError(f"port={list(ports)!r}: there are {nodes} nodes, name a port for each")
        if racks is not None and len(racks) != nodes:
            raise MisuseError(f"racks={list(racks)!r}: there are {nodes} nodes, name a rack for each")
        self._memory: MemoryFolder | None = None
        self._data_dir = self._folder(data_dir, storage)
        self._host = host
        self._ports = list(ports)
        self._config = dict(config or {})
        if nodes > 1:
            defaults = {
                "default.replication.factor": str(nodes),
                "min.insync.replicas": str(nodes - 1),
                # Each node coordinates something.
                "offsets.topic.num.partitions": str(nodes),
                "transaction.state.log.num.partitions": str(nodes),
            }
            self._config = defaults | self._config
        self._users = dict(users or {})
        self._release = None if as_version is None else Release.named(as_version)
        self._doors: dict[tuple[int, str], Door] = {}
        """By node and name."""
        self._limits: dict[int, ConnectionLimits] = {}
        self._racks = [None] * nodes if racks is None else list(racks)
        self._nodes: dict[int, BrokerNode] = {}
        self._directory: DataDirectory | None = None
        self._parts: BrokerParts | None = None
        self._upkeep: Upkeep | None = None
        self._faults: FaultInjector | None = None

    def _folder(self, data_dir: Path | str | None, storage: Storage) -> AnyPath:
        if storage not in get_args(Storage):
            raise MisuseError(f"storage={storage!r}: it is one of {', '.join(get_args(Storage))}")
        if storage == "memory":
            if data_dir is not None:
                raise MisuseError(f"data_dir={str(data_dir)!r}: what is in memory has no folder")
            self._memory = MemoryFolder()
            return self._memory.path
        if data_dir is None:
            raise MisuseError('a broker needs a data_dir, or storage="memory"')
        return data_directory(data_dir) if isinstance(data_dir, str) else data_dir

    @property
    def faults(self) -> FaultInjector:
        """Faults on demand. From the first look on, requests are recorded."""
        if self._faults is None:
            # Here and not above, since a broker that is never told of faults should not wait for the import.
            from barnabas.broker.faults.injector import FaultInjector

            self._faults = FaultInjector(topic_name=self._topic_name)
        return self._faults

    def upsets(self) -> BrokerUpsets:
        """What can be done to this broker's disk, clock, nodes, leaders and groups."""
        from barnabas.broker.faults.upsets import BrokerUpsets

        return BrokerUpsets(self._running_parts, lambda: self.nodes)

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
        """The port it listens on, of several nodes the first. Raises: ClosedError before `start`."""
        return self.nodes[NODE_ID].port

    @property
    def nodes(self) -> Mapping[int, BrokerNode]:
        """By their ids, from 1 on. Raises: ClosedError before `start`."""
        if not self._nodes:
            raise ClosedError("the broker does not run; await start() first")
        return self._nodes

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients, of all nodes. Raises: ClosedError before `start`."""
        return ",".join(node.bootstrap for node in self.nodes.values())

    async def start(self) -> None:
        """Opens the log, repairs it if need be, and serves.

        Raises: DataDirectoryError (in use, unreadable, full), ListenError (port in use), InvalidConfigError.
        """
        directory = DataDirectory(self._data_dir)
        cluster: Cluster | None = None
        try:
            cluster = Cluster(directory, self._config, self._racks)
            if self._release is not None and not self._release.is_at_least(FIRST_WITH_LARGE_SEGMENTS):
                cluster.least_segment_bytes = LEAST_SEGMENT_BYTES_BEFORE_4
            controller = Controller(cluster)
            store = GroupStore(cluster)
            groups = GroupDirectory(store)
            classic_groups = ClassicGroupCoordinator(cluster, store, groups)
            offsets = OffsetCoordinator(cluster, store, groups, classic_groups)
            consumer_groups = ConsumerGroupCoordinator(cluster, store, groups, classic_groups)
            share_groups = ShareGroupCoordinator(cluster, store, groups)
            streams_groups = StreamsGroupCoordinator(cluster, store, groups)
            kept_with_groups = (offsets, classic_groups, consumer_groups, share_groups, streams_groups)
            entries = list(store.load())
            for part in kept_with_groups:
                part.load(entries)
            share_states = ShareStateStore(cluster)
            share_states.load()
            share_lending = ShareLending(cluster, share_states, share_groups)
            transaction_store = TransactionStore(cluster)
            transactions = TransactionManager(cluster, offsets, transaction_store)
            transactions.load()
            moves = CoordinatorMoves(
                cluster=cluster,
                groups=groups,
                kept_with_groups=kept_with_groups,
                group_store=store,
                transactions=transactions,
                transaction_store=transaction_store,
                share_states=share_states,
                share_lending=share_lending,
            )
            controller.on_led.append(moves.note_led)
            authorizer = configured_authorizer(cluster.settings)
            throttle = ClientThrottle()
            parts = BrokerParts(
                cluster=cluster,
                topic_changes=TopicChanges(cluster),
                controller=controller,
                authorizer=authorizer,
                acls=AclStore(cluster.metadata.acls, authorizer),
                tokens=DelegationTokenStore(cluster.metadata.delegation_tokens, cluster.settings),
                quotas=QuotaStore(cluster.metadata.client_quotas, throttle),
                throttle=throttle,
                groups=groups,
                offsets=offsets,
                classic_groups=classic_groups,
                consumer_groups=consumer_groups,
                share_groups=share_groups,
                share_states=share_states,
                share_lending=share_lending,
                streams_groups=streams_groups,
                group_store=store,
                transactions=transactions,
                transaction_store=transaction_store,
                offered=offered_versions(self._release),
                tells_features=self._release is None or self._release.is_at_least(FIRST_WITH_FEATURES),
            )
            self._parts = parts
            self._doors = {}
            self._limits = {
                node_id: ConnectionLimits(cluster.settings.of_node(node_id)) for node_id in cluster.nodes
            }
            self._nodes = {
                node_id: BrokerNode(
                    node_id,
                    cluster,
                    controller,
                    self._make_server,
                    configured_listeners(
                        cluster.settings.of_node(node_id), self._host, self._ports[place], place
                    ),
                )
                for place, node_id in enumerate(cluster.nodes)
            }
            for node in self._nodes.values():
                await node.bind()
            cluster.on_broker_settings_changed.append(self._settings_changed)
            # All at once: a client that is let in takes it that the other listeners are there.
            await asyncio.gather(*(node.accept() for node in self._nodes.values()))
        except BaseException as error:
            for node in self._nodes.values():
                await node.hang_up()
            self._parts, self._nodes = None, {}
            if cluster is not None:
                cluster.close()
            directory.release()
            if isinstance(error, OSError):
                raise DataDirectoryError(
                    f"the broker cannot start with the data in {self._data_dir}: {described(error)}"
                ) from error
            raise
        self._directory = directory
        for node_id in self._nodes:
            controller.start_catching_up(node_id)
        self._start_upkeep(parts, moves)
        logger.info("listening on %s, data in %s", self.bootstrap, self._data_dir)

    async def stop(self) -> None:
        """Hangs up, flushes and closes the log. Does nothing if the broker does not run."""
        if self._parts is None or self._directory is None:
            return
        if self._upkeep is not None:
            await self._upkeep.stop()
            self._upkeep = None
        for node in self._nodes.values():
            await node.hang_up()
        await self._parts.topic_changes.close()
        self._parts.controller.close()
        self._parts.share_lending.close()
        self._parts.share_groups.close()
        self._parts.streams_groups.close()
        self._parts.consumer_groups.close()
        self._parts.classic_groups.close()
        self._parts.cluster.close()
        self._directory.release()
        self._parts = self._directory = None
        self._nodes = {}

    def _make_server(self, node_id: int, listener: BrokerListener) -> KafkaServer:
        assert self._parts is not None
        number = self._parts.cluster.settings.number
        door = self._doors.get((node_id, listener.name))
        if door is None:
            door = Door(listener, node_id, self._parts.cluster, self._parts.tokens, self._users)
            self._doors[node_id, listener.name] = door
        return KafkaServer(
            self._handle,
            self._parts.offered,
            max_request_bytes=number("socket.request.max.bytes"),
            max_idle_ms=number("connections.max.idle.ms"),
            make_context=partial(self._connected, door),
            make_doorkeeper=door.doorkeeper if listener.has_sasl else None,
            get_tls=lambda: door.tls,
            tells_versions_in_refusals=self._release is None
            or self._release.is_at_least(FIRST_THAT_TELLS_VERSIONS_IN_REFUSALS),
        )

    def _settings_changed(self, node_id: int | None, names: Set[str]) -> None:
        """`names`: of all that was set before or is now, as a file may have changed that keeps its name."""
        if self._upkeep is not None:
            self._upkeep.intervals_changed()
        for limits in self._limits.values():
            limits.seat()
        for (of_node, listener), door in self._doors.items():
            prefixes = (f"listener.name.{listener.lower()}.", "ssl.", "sasl.")
            if node_id in (None, of_node) and any(name.startswith(prefixes) for name in names):
                try:
                    door.renew()
                except InvalidConfigError as error:
                    logger.warning("listener %s stays as it was: %s", listener, error)
        if node_id is not None and not names.isdisjoint((LISTENERS, PROTOCOL_MAP)):
            settings = self._running_parts().cluster.settings.of_node(node_id)
            listeners = configured_listeners(settings, self._host, 0)
            background.start(self._nodes[node_id].listen_on(listeners), what="a change of listeners")

    def _connected(
        self, door: Door, host: str, port: int, certificate: Mapping[str, Any] | None
    ) -> ClientConnection:
        connection = door.connection(host, port, certificate)
        node_id = connection.node
        self._limits[node_id].admit(connection)
        if self._parts is not None and self._parts.throttle.is_on:
            connection.refused_for_ms = self._parts.throttle.charge_connection(host, node_id)
        return connection

    async def _handle(
        self, connection: ClientConnection, header: RequestHeader, request: Request[Any]
    ) -> Response | CutShort | None:
        assert self._parts is not None
        node = self._nodes[connection.node]
        if connection.place is not None:
            await connection.place
        if connection.refused_for_ms:
            await within_quotas.refuse(connection)
        if node.is_paused:
            await node.wait_until_resumed()
        if node.is_parted and header.request_api_key in FORWARDED:
            await node.wait_until_joined()
        if node.is_dead:
            raise DisconnectError("the node was killed")
        call = Call(self._parts, header.request_api_version, header.client_id or "", connection)
        handle = HANDLERS[header.request_api_key].handle
        if not self._parts.cluster.has_one_node:
            handle = partial(handle_coordinated, handle)
        if large_requests.is_large(request):
            handle = partial(large_requests.in_pieces, handle)
        if self._faults is None:
            answering = handle(call, request)
        else:
            # They may have to harm what is in the answer.
            connection.sends_files = False
            answering = self._faults.answer(
                node.node_id, connection, header, request, lambda asked: handle(call, asked)
            )
        if self._parts.throttle.is_on:
            answering = within_quotas.answer(call, request, answering)
        response = await answering
        if node.is_paused:
            await node.wait_until_resumed()
        return response

    def _start_upkeep(self, parts: BrokerParts, moves: CoordinatorMoves) -> None:
        cluster = parts.cluster
        number = cluster.settings.number

        async def flush_due() -> None:
            for logs in cluster.node_logs.managers:
                await logs.flush_due()

        async def enforce_retention() -> None:
            for logs in cluster.node_logs.managers:
                await logs.enforce_retention()

        async def compact_all() -> None:
            for logs in cluster.node_logs.managers:
                await logs.compact_all()

        async def write_checkpoints() -> None:
            for logs in cluster.node_logs.managers:
                logs.write_checkpoints()

        async def elect_preferred() -> None:
            if cluster.settings.flag("auto.leader.rebalance.enable"):
                parts.controller.elect_all_preferred()

        async def elect_unclean() -> None:
            parts.controller.elect_unclean()

        async def shrink_in_sync() -> None:
            parts.controller.shrink_in_sync()

        async def keep_registrations() -> None:
            parts.controller.save()

        async def expire_offsets() -> None:
            parts.offsets.expire()

        async def prune_share_states() -> None:
            parts.share_states.prune()

        async def sweep_tokens() -> None:
            parts.tokens.sweep()

        async def finish_decided() -> None:
            parts.transactions.finish_decided()

        async def read_coordinators_state() -> None:
            moves.try_again()

        async def abort_timed_out() -> None:
            parts.transactions.abort_timed_out()

        async def forget_unused() -> None:
            parts.transactions.forget_unused()

        def every(name: str, unit_ms: int = 1) -> Callable[[], float]:
            """As often as a setting says, which may change."""
            return lambda: max(1, number(name) * unit_ms)

        def every_second() -> float:
            return FLUSH_INTERVAL_MS

        jobs: list[tuple[Callable[[], float], Callable[[], Awaitable[None]]]] = [
            (every_second, flush_due),
            (every("log.retention.check.interval.ms"), enforce_retention),
            (every("log.cleaner.backoff.ms"), compact_all),
            (every("log.flush.offset.checkpoint.interval.ms"), write_checkpoints),
            (every("offsets.retention.check.interval.ms"), expire_offsets),
            (every("share.coordinator.state.topic.prune.interval.ms"), prune_share_states),
            (every("delegation.token.expiry.check.interval.ms"), sweep_tokens),
            (every_second, finish_decided),
            (every_second, read_coordinators_state),
            (every_second, keep_registrations),
            # As often as Kafka looks.
            (lambda: max(1, number("replica.lag.time.max.ms") // 2), shrink_in_sync),
            (every("leader.imbalance.check.interval.seconds", 1000), elect_preferred),
            (every("unclean.leader.election.interval.ms"), elect_unclean),
            (every("transaction.abort.timed.out.transaction.cleanup.interval.ms"), abort_timed_out),
            (every("transaction.remove.expired.transaction.cleanup.interval.ms"), forget_unused),
        ]
        self._upkeep = Upkeep()
        for interval_ms, job in jobs:
            self._upkeep.start(interval_ms, job)
