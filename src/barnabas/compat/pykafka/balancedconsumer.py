"""BalancedConsumer, whose group divides a topic's partitions through ZooKeeper.

Owns when it rebalances: when its session, brokers, topics or members change. Nothing is handed out from the
moment that the session is in doubt, and a partition is consumed once it is claimed. What is in ZooKeeper is
in `_balance/claims`, the order of a rebalance in `_balance/member`. Knows nothing of Kafka's own membership.
"""

from __future__ import annotations

import atexit
import logging
import socket
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from barnabas.compat.pykafka._balance.claims import Claims, NodeTakenError
from barnabas.compat.pykafka._balance.lease import SessionLease
from barnabas.compat.pykafka._balance.member import Callback, RebalancingConsumer
from barnabas.compat.pykafka._balance.zookeeper import CONNECTED, ZooKeeperSession, connect, needs_kazoo
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import ConsumerStoppedException, PartitionOwnedError
from barnabas.compat.pykafka.membershipprotocol import GroupMembershipProtocol, RangeProtocol
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.loop_thread import Steps

__all__ = ["BalancedConsumer"]

log = logging.getLogger("pykafka.balancedconsumer")


class BalancedConsumer(RebalancingConsumer):
    """A consumer of those partitions of a topic that its group leaves to it."""

    _exit_call: Callable[[], None] | None = None
    """What ends it with kazoo's threads; managed consumers need none."""

    def __init__(
        self,
        topic: Any,
        cluster: Any,
        consumer_group: bytes | str,
        fetch_message_max_bytes: int = 1024 * 1024,
        num_consumer_fetchers: int = 1,
        auto_commit_enable: bool = False,
        auto_commit_interval_ms: int = 60 * 1000,
        queued_max_messages: int = 2000,
        fetch_min_bytes: int = 1,
        fetch_error_backoff_ms: int = 500,
        fetch_wait_max_ms: int = 100,
        offsets_channel_backoff_ms: int = 1000,
        offsets_commit_max_retries: int = 5,
        auto_offset_reset: int = OffsetType.EARLIEST,
        consumer_timeout_ms: int = -1,
        rebalance_max_retries: int = 5,
        rebalance_backoff_ms: int = 2 * 1000,
        zookeeper_connection_timeout_ms: int = 6 * 1000,
        zookeeper_connect: str | None = None,
        zookeeper_hosts: str = "127.0.0.1:2181",
        zookeeper: Any = None,
        auto_start: bool = True,
        reset_offset_on_start: bool = False,
        post_rebalance_callback: Callback | None = None,
        use_rdkafka: bool = False,
        compacted_topic: bool = False,
        membership_protocol: GroupMembershipProtocol = RangeProtocol,
        deserializer: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        reset_offset_on_fetch: bool = True,
    ) -> None:
        """A member of `consumer_group`, in the session of the KazooClient `zookeeper` or of one of its own.

        Raises: ImportError without kazoo; UnicodeException for a group's name that is not ASCII; TypeError or
        ValueError for what is no fit number. A start that fails is logged, and consume() raises then.
        """
        arguments = locals()
        needs_kazoo()
        consumer_id = f"{socket.gethostname()}:{uuid4()}".encode()
        super().__init__(arguments, consumer_id, use_rdkafka=use_rdkafka)
        self._exit_call = partial(_end_at_exit, weakref.ref(self))
        self._zookeeper_connect = zookeeper_connect or zookeeper_hosts
        self._zookeeper_connection_timeout_ms = valid_int(zookeeper_connection_timeout_ms, allow_zero=True)
        self._zookeeper = zookeeper
        self._owns_zookeeper = zookeeper is None
        self._session: ZooKeeperSession | None = None
        self._claims: Claims | None = None
        self._claimed_in: int | None = None
        self._lease: SessionLease | None = None
        self._end_listening: Callable[[], None] | None = None
        self._setting_watches = True
        if auto_start is True:
            self.start()

    def start(self) -> None:
        """Joins the group. What goes wrong is logged, and stops the consumer."""
        self._stopping.clear()
        self._start_error = None
        try:
            if self._zookeeper is None:
                self._setup_zookeeper(self._zookeeper_connect, self._zookeeper_connection_timeout_ms)
            self._open_session()
            self._begin_life()
            assert self._exit_call is not None
            # Before what kazoo has called at exit, which ends its threads: the last one is called first.
            atexit.register(self._exit_call)
            self._add_self()
            self._running = True
            self._set_watches()
            with self._gate.rebalance(self._let_go):
                self._rebalance_once()
        except Exception as error:
            log.exception("Stopping consumer in response to error")
            self._start_error = error
            self.stop()

    def stop(self) -> None:
        super().stop()
        if self._exit_call is not None:
            atexit.unregister(self._exit_call)

    def end_in_moments(self) -> None:
        """Commits and leaves for only as long as that comes further: kazoo's threads end next."""
        life = self._life
        if life is not None:
            life.close_in_moments(self._steps_at_exit())

    def _leaving_at_exit(self) -> Steps:
        try:
            self._leave()
        except Exception as error:
            log.warning("Claims of %s end with its session: %r", self._consumer_id, error)
        yield from ()

    def _hurry(self) -> None:
        """Ends what a rebalance under way waits for, if it may be for long."""
        if self._owns_zookeeper and self._session is not None and not self._session.client.connected:
            self._session.close()

    def _leave(self) -> None:
        """Gives up all nodes. Consumption is over by then, so whoever claims a partition next is alone."""
        end_listening, self._end_listening = self._end_listening, None
        session, self._session = self._session, None
        claims, self._claims = self._claims, None
        self._lease = None
        if end_listening is not None:
            end_listening()
        if self._owns_zookeeper:
            self._zookeeper = None
            if session is not None:
                session.close()
        elif claims is not None:
            claims.release_all()
            claims.unregister()

    def _setup_zookeeper(self, zookeeper_connect: str, timeout: int) -> None:
        """Opens a session of this consumer's own; `timeout` in milliseconds is how long it lasts unheard."""
        self._zookeeper = connect(
            zookeeper_connect,
            session_timeout_seconds=timeout / 1000,
            uses_gevent=type(self._cluster.handler).__name__ == "GEventHandler",
        )

    def _open_session(self) -> None:
        session = ZooKeeperSession(self._zookeeper)
        claims = Claims(
            session,
            group=self._consumer_group.decode(),
            topic=self._topic.name,
            consumer_id=self._consumer_id,
        )
        self._session = session
        self._claims = claims
        self._lease = SessionLease(session.timeout_seconds, lambda: session.has_own(claims.own_path))
        self._end_listening = session.listen(self._session_changed)

    def _is_session_gone(self) -> bool:
        """Whether claims that were made are of a session that is no more: partitions may be another's."""
        return self._claimed_in is not None and (
            self._session is None or self._session.id != self._claimed_in
        )

    def _session_changed(self, state: str) -> None:
        """In kazoo's thread, which must not wait for anything."""
        if state != CONNECTED:
            self._gate.doubt()
            self._let_go()
        elif self._gate.is_in_doubt and self._running:
            weak = weakref.ref(self)

            def rebalance() -> None:
                consumer = weak()
                if consumer is not None:
                    consumer._changed("session")

            self._cluster.handler.spawn(rebalance, name="pykafka.BalancedConsumer.session")

    def _set_watches(self) -> None:
        """Has changes of brokers, topics and members lead to rebalances."""
        assert self._session is not None
        assert self._claims is not None
        proxy = weakref.proxy(self)
        self._setting_watches = True
        for path, changed in (
            ("/brokers/ids", BalancedConsumer._brokers_changed),
            ("/brokers/topics", BalancedConsumer._topics_changed),
            (self._claims.ids_path, BalancedConsumer._consumers_changed),
        ):
            self._session.watch_children(path, self._build_watch_callback(changed, proxy))
        self._setting_watches = False

    def _build_watch_callback(
        self, fn: Callable[[Any, Sequence[str]], Any], proxy: Any
    ) -> Callable[[Sequence[str]], Any]:
        """`fn` for a watch, which ends with the object that `proxy` stands for."""

        def watch_callback(children: Sequence[str]) -> Any:
            try:
                proxy.__repr__()
            except ReferenceError:
                return False
            return fn(proxy, children)

        return watch_callback

    def _brokers_changed(self, brokers: Sequence[str]) -> bool | None:
        return self._changed("broker")

    def _topics_changed(self, topics: Sequence[str]) -> bool | None:
        return self._changed("topic")

    def _consumers_changed(self, consumers: Sequence[str]) -> bool | None:
        return self._changed("consumer")

    def _changed(self, what: str) -> bool | None:
        """Rebalances; what goes wrong is what the program's next call raises. False ends the watch."""
        if not self._running or self._worker_exception is not None:
            return False
        if self._setting_watches:
            return None
        log.debug("Rebalance triggered by %s change (%s)", what, self._consumer_id)
        try:
            self._rebalance()
        except Exception as error:
            self._fail(error)
        return None

    def _give_up(self) -> None:
        if self._claims is None or self._session is None:
            return
        try:
            self._claims.release_all()
            self._claims.unregister()
        except self._session.connection_errors:
            log.warning("Claims of %s end with its session", self._consumer_id)

    def _rebalance(self) -> None:
        """Settles which partitions are this consumer's, and goes on with those.

        While ZooKeeper is away it tries again, and nothing is handed out.
        """
        while True:
            with self._gate.rebalance(self._let_go):
                if not self._running:
                    raise ConsumerStoppedException
                session = self._session
                assert session is not None
                try:
                    self._rebalance_once()
                except session.connection_errors as error:
                    log.warning("Lost ZooKeeper while rebalancing: %r", error)
                    self._gate.doubt()
                else:
                    return
            self._wait_to_retry(self._rebalance_backoff_ms / 1000)

    def _update_member_assignment(self) -> None:
        """Claims what is this consumer's, and gives up what is not.

        Raises: PartitionOwnedError if others do not give up theirs in time.
        """
        assert self._session is not None
        for attempt in range(self._rebalance_max_retries):
            try:
                participants = self._get_participants()
                if self._consumer_id not in participants:
                    self._add_self()
                    participants.append(self._consumer_id)
                partitions = self._membership_protocol.decide_partitions(
                    participants, self._topic.partitions, self._consumer_id
                )
                if not partitions:
                    log.warning("No partitions assigned to consumer %s", self._consumer_id)
                is_gone = self._is_session_gone()
                if self._consumer is not None and (is_gone or partitions != self._partitions):
                    # Before anything is given up: what is stopped later would commit over the next owner.
                    self._halt_inner(commits=False)
                held = self._get_held_partitions()
                self._remove_partitions(held - partitions)
                self._add_partitions(partitions - held)
                self._claimed_in = self._session.id
                if self._setup_internal_consumer(partitions):
                    log.info("Rebalancing Complete.")
                return
            except PartitionOwnedError as error:
                if attempt == self._rebalance_max_retries - 1:
                    log.warning("Failed to acquire partition %s after %d retries.", error.partition, attempt)
                    raise
                log.info("Unable to acquire partition %s. Retrying", error.partition)
                self._wait_to_retry(attempt * self._rebalance_backoff_ms / 1000)

    def _get_participants(self) -> list[bytes]:
        """The consumers of this topic in the group, in order."""
        assert self._claims is not None
        return self._claims.participants()

    def _add_self(self) -> None:
        """Registers this consumer in ZooKeeper."""
        assert self._claims is not None
        self._claims.register()

    def _remove_partitions(self, partitions: Iterable[Any]) -> None:
        """Gives up partitions in ZooKeeper."""
        given_up = [partition.id for partition in partitions]
        if given_up:
            assert self._claims is not None
            self._claims.release(given_up)

    def _add_partitions(self, partitions: Iterable[Any]) -> None:
        """Claims partitions in ZooKeeper. Raises: PartitionOwnedError for the first that is another's."""
        assert self._claims is not None
        wanted = {partition.id: partition for partition in partitions}
        try:
            self._claims.claim({id_: wanted[id_].leader.id for id_ in sorted(wanted)})
        except NodeTakenError as error:
            raise PartitionOwnedError(wanted[error.partition_id]) from None

    def _get_held_partitions(self) -> set[Any]:
        """The partitions that are this consumer's in ZooKeeper."""
        assert self._claims is not None
        known = self._topic.partitions
        return {known[id_] for id_ in self._claims.held() if id_ in known}

    def _is_sure(self) -> bool:
        """Whether what is claimed is this consumer's at this moment."""
        return self._lease is not None and self._lease.is_sure()


def _end_at_exit(consumer_of: Callable[[], BalancedConsumer | None]) -> None:
    consumer = consumer_of()
    if consumer is not None:
        consumer.end_in_moments()
