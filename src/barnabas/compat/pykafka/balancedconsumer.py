"""BalancedConsumer, whose group divides a topic's partitions through ZooKeeper.

Owns when a consumer rebalances and in which order: nothing is handed out from the moment that the session is
in doubt, a partition is given up only after its positions are committed, consumed once it is claimed.
What is in ZooKeeper is in `_balance/claims`. Knows nothing of Kafka's own group membership.
"""

from __future__ import annotations

import atexit
import logging
import socket
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.compat.pykafka._ask.ending import LastSteps, can_be_stopped, stop_dropped
from barnabas.compat.pykafka._balance.claims import Claims, NodeTakenError
from barnabas.compat.pykafka._balance.gate import RebalanceGate
from barnabas.compat.pykafka._balance.inner import (
    InnerConsumer,
    InnerSettings,
    consumer_class,
    group_name,
    is_running,
    stop_inner,
    untake,
)
from barnabas.compat.pykafka._balance.lease import SessionLease
from barnabas.compat.pykafka._balance.zookeeper import CONNECTED, ZooKeeperSession, connect, needs_kazoo
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import ConsumerStoppedException, KafkaException, PartitionOwnedError
from barnabas.compat.pykafka.membershipprotocol import GroupMembershipProtocol, RangeProtocol
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.fork import generation
from barnabas.loop_thread import Steps, loop_thread

__all__ = ["BalancedConsumer"]

log = logging.getLogger("pykafka.balancedconsumer")

UNSURE_WAIT_SECONDS = 0.1
"""How long a program that waits for a message sleeps before it looks whether claims are sure again."""

Callback = Callable[[Any, dict[int, int], dict[int, int]], Mapping[int, int] | None]


class BalancedConsumer:
    """A consumer of those partitions of a topic that its group leaves to it."""

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
        needs_kazoo()
        self._prepare(
            topic,
            cluster,
            InnerSettings(
                consumer_group=group_name(consumer_group),
                fetch_message_max_bytes=fetch_message_max_bytes,
                num_consumer_fetchers=num_consumer_fetchers,
                auto_commit_enable=auto_commit_enable,
                auto_commit_interval_ms=auto_commit_interval_ms,
                queued_max_messages=queued_max_messages,
                fetch_min_bytes=fetch_min_bytes,
                fetch_error_backoff_ms=fetch_error_backoff_ms,
                fetch_wait_max_ms=fetch_wait_max_ms,
                offsets_channel_backoff_ms=offsets_channel_backoff_ms,
                offsets_commit_max_retries=offsets_commit_max_retries,
                auto_offset_reset=auto_offset_reset,
                consumer_timeout_ms=consumer_timeout_ms,
                compacted_topic=compacted_topic,
                deserializer=deserializer,
                reset_offset_on_fetch=reset_offset_on_fetch,
            ),
            rebalance_max_retries=rebalance_max_retries,
            rebalance_backoff_ms=rebalance_backoff_ms,
            reset_offset_on_start=reset_offset_on_start,
            post_rebalance_callback=post_rebalance_callback,
            membership_protocol=membership_protocol,
            consumer_id=f"{socket.gethostname()}:{uuid4()}".encode(),
            use_rdkafka=use_rdkafka,
        )
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

    def _prepare(
        self,
        topic: Any,
        cluster: Any,
        settings: InnerSettings,
        *,
        rebalance_max_retries: int,
        rebalance_backoff_ms: int,
        reset_offset_on_start: bool,
        post_rebalance_callback: Callback | None,
        membership_protocol: GroupMembershipProtocol,
        consumer_id: bytes,
        use_rdkafka: bool,
    ) -> None:
        """Sets what both kinds of balanced consumers have."""
        self._running = False
        self._generation = generation()
        self._life: Lifetime | None = None
        self._last_steps = LastSteps(settings.consumer_group.decode(), 2)
        self._exit_call = partial(_end_at_exit, weakref.ref(self))
        self._topic = topic
        self._cluster = cluster
        self._settings = settings
        self._consumer_group = settings.consumer_group
        self._consumer_timeout_ms = settings.consumer_timeout_ms
        self._rebalance_max_retries = valid_int(rebalance_max_retries, allow_zero=True)
        self._rebalance_backoff_ms = valid_int(rebalance_backoff_ms)
        self._reset_offset_on_start = reset_offset_on_start
        self._post_rebalance_callback = post_rebalance_callback
        self._membership_protocol = membership_protocol
        self._consumer_id = consumer_id
        self._generation_id = -1
        self._use_rdkafka = use_rdkafka
        self._consumer: InnerConsumer | None = None
        self._worker_exception: BaseException | None = None
        self._start_error: Exception | None = None
        self._gate = RebalanceGate(cluster.handler)
        self._stopping = cluster.handler.Event()

    def __del__(self) -> None:
        if getattr(self, "_running", False) and can_be_stopped(self._generation):
            stop_dropped(self, log)

    def __repr__(self) -> str:
        name = f"pykafka.{type(self).__module__.rpartition('.')[2]}.{type(self).__name__}"
        return f"<{name} at {hex(id(self))} (consumer_group={self._consumer_group.decode()})>"

    @property
    def topic(self) -> Any:
        """The topic this consumer consumes"""
        return self._topic

    @property
    def partitions(self) -> dict[int, Any]:
        """The partitions that this consumer consumes, by their ids."""
        return self._consumer.partitions if self._consumer else {}

    @property
    def _partitions(self) -> set[Any]:
        return set(self.partitions.values())

    @property
    def held_offsets(self) -> dict[int, int] | None:
        """The last offset that was consumed of each partition; None before the first rebalance."""
        return self._consumer.held_offsets if self._consumer else None

    def start(self) -> None:
        """Joins the group. What goes wrong is logged, and stops the consumer."""
        self._stopping.clear()
        self._start_error = None
        try:
            if self._zookeeper is None:
                self._setup_zookeeper(self._zookeeper_connect, self._zookeeper_connection_timeout_ms)
            self._open_session()
            self._begin_life()
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
        """Stops consuming, commits if commits are automatic, and gives up its place in the group."""
        self._running = False
        self._stopping.set()
        is_gone = self._is_session_gone()
        with self._gate.rebalance(self._let_go, self._hurry):
            if self._consumer is not None:
                self._halt_inner(commits=not is_gone)
        # Outside: kazoo's thread, which is waited for, may wait for the gate.
        self._leave()
        atexit.unregister(self._exit_call)
        if self._life is not None:
            self._life.end()
            self._life = None

    def _begin_life(self) -> None:
        """From now on the end of the interpreter has this consumer commit and leave."""
        if self._life is None:
            what = f"consumer of group {self._consumer_group.decode()!r}"
            self._life = Lifetime(self._steps_at_exit, what, loop_thread(), self._last_steps)

    def _steps_at_exit(self) -> Steps:
        """As `stop`, but without waiting for a rebalance under way, nor for anything else in this thread."""
        self._running = False
        self._stopping.set()
        if is_running(self._consumer):
            yield from self._consumer.steps_at_exit(commits=not self._is_session_gone())
        self._last_steps.done()
        yield from self._leaving_at_exit()
        self._last_steps.done()

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

    def _let_go(self) -> None:
        """Has a program that waits for a message look whether it may go on waiting."""
        consumer = self._consumer
        if is_running(consumer):
            consumer.cleanup()

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

    def _fail(self, error: Exception) -> None:
        """Ends consumption for good, and lets the others have the partitions."""
        if not self._running:
            return
        self._worker_exception = error
        with self._gate.rebalance(self._let_go):
            if self._consumer is not None:
                self._halt_inner(commits=False)
            self._give_up()

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

    def _rebalance_once(self) -> None:
        log.info('Rebalancing consumer "%s" for topic "%s".', self._consumer_id, self._topic.name)
        doubts = self._gate.doubts
        if self._consumer is not None and not self._is_session_gone():
            self._commit_before_rebalance()
        self._update_member_assignment()
        self._gate.trust(doubts)

    def _commit_before_rebalance(self) -> None:
        try:
            self.commit_offsets()
        except KafkaException:
            # Who consumes the partitions next begins where the last commit was: nothing is lost.
            log.exception("Offsets could not be committed before a rebalance")

    def _wait_to_retry(self, seconds: float) -> None:
        """Raises: ConsumerStoppedException if the consumer is stopped meanwhile."""
        if seconds > 0:
            self._stopping.wait(seconds)
        if self._stopping.is_set():
            raise ConsumerStoppedException

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

    def _decide_partitions(self, participants: Iterable[bytes], consumer_id: bytes | None = None) -> set[Any]:
        """The partitions of `consumer_id`, or of this consumer, among `participants`."""
        return self._membership_protocol.decide_partitions(
            participants, self._topic.partitions, consumer_id or self._consumer_id
        )

    def _setup_internal_consumer(self, partitions: Iterable[Any] | None = None, start: bool = True) -> bool:
        """Has a consumer inside for `partitions`; a new one, unless the one that there is has them already.

        Returns whether the program's callback went well.
        """
        wanted = set(partitions or ())
        if self._needs_another_inner(wanted):
            consumer = self._get_internal_consumer(list(wanted), start=start)
            if self._post_rebalance_callback is not None:
                before = (self._consumer.held_offsets if self._consumer else None) or {}
                try:
                    resets = self._post_rebalance_callback(self, before, consumer.held_offsets)
                except Exception as error:
                    log.exception("post rebalance callback threw an exception")
                    self._worker_exception = error
                    stop_inner(consumer, commits=False)
                    return False
                if resets:
                    consumer.reset_offsets(
                        partition_offsets=[
                            (consumer.partitions[id_], offset) for id_, offset in resets.items()
                        ]
                    )
            self._consumer = consumer
        self._gate.set_occupied(is_running(self._consumer))
        return True

    def _needs_another_inner(self, partitions: set[Any]) -> bool:
        """One that was halted is not used again; who never had a partition has no consumer inside."""
        is_halted = self._consumer is not None and not is_running(self._consumer)
        return is_halted or partitions != self._partitions

    def _get_internal_consumer(
        self, partitions: Iterable[Any] | None = None, start: bool = True
    ) -> InnerConsumer:
        """A new consumer for `partitions`; one that there is stops first."""
        # Only the first one begins anew: later ones go on where the group is.
        resets = self._reset_offset_on_start and self._consumer is None
        if is_running(self._consumer):
            self._halt_inner(commits=True)
        consumer = self._settings.consumer(
            consumer_class(use_rdkafka=self._use_rdkafka),
            self._topic,
            self._cluster,
            partitions or (),
            reset_offset_on_start=resets,
            generation_id=self._generation_id,
            consumer_id=self._consumer_id,
        )
        if start:
            consumer.start()
        return consumer

    def _halt_inner(self, *, commits: bool) -> None:
        """Stops the consumer inside, and hands nothing out until there is another."""
        assert self._consumer is not None
        self._gate.set_occupied(False)
        stop_inner(self._consumer, commits=commits)

    def _get_participants(self) -> list[bytes]:
        """The consumers of this topic in the group, in order."""
        assert self._claims is not None
        return self._claims.participants()

    def _add_self(self) -> None:
        """Registers this consumer in ZooKeeper."""
        assert self._claims is not None
        self._claims.register()

    @property
    def _path_self(self) -> str:
        """Where this consumer is registered in ZooKeeper."""
        return f"/consumers/{self._consumer_group.decode()}/ids/{self._consumer_id.decode()}"

    def _path_from_partition(self, p: Any) -> str:
        """Where a partition's owner is in ZooKeeper."""
        return f"/consumers/{self._consumer_group.decode()}/owners/{self._topic.name}/{p.leader.id}-{p.id}"

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

    def _raise_worker_exceptions(self) -> None:
        """Raises what went wrong in a rebalance that the program did not ask for."""
        if self._worker_exception is not None:
            raise self._worker_exception

    def reset_offsets(self, partition_offsets: Sequence[tuple[Any, Any]] | None = None) -> None:
        """Goes to other offsets, or to where partitions were at a time; see SimpleConsumer."""
        self._raise_worker_exceptions()
        if not self._consumer:
            raise ConsumerStoppedException("Internal consumer is stopped")
        self._consumer.reset_offsets(partition_offsets=partition_offsets)

    def consume(self, block: bool = True) -> Any:
        """The next message; None when there is none, at once or within `consumer_timeout_ms`.

        Raises: ConsumerStoppedException; what went wrong in a rebalance.
        """
        timeout_ms = self._consumer_timeout_ms
        deadline = None if timeout_ms == -1 else time.monotonic() + timeout_ms / 1000
        while True:
            self._raise_worker_exceptions()
            if not self._running:
                raise ConsumerStoppedException from self._start_error
            message = None
            if self._gate.is_open:
                message = self._consume_inner(block)
            elif block:
                self._gate.wait_open(UNSURE_WAIT_SECONDS)
            if message is not None or not block:
                return message
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def _consume_inner(self, block: bool) -> Any:
        with self._gate.lock:
            consumer = self._consumer
            if consumer is None or not self._gate.is_open:
                return None
            if not self._is_sure():
                self._stopping.wait(UNSURE_WAIT_SECONDS if block else 0)
                return None
            try:
                message = consumer.consume(block=block, unblock_event=self._gate.is_wanted)
            except ConsumerStoppedException:
                if not self._running:
                    raise
                return None
            if message is not None and not self._is_sure():
                # It was waited for while the process was stopped, or for longer than claims are sure.
                untake(consumer, message)
                return None
            return message

    def _is_sure(self) -> bool:
        """Whether what is claimed is this consumer's at this moment."""
        return self._lease is not None and self._lease.is_sure()

    def __iter__(self) -> Iterator[Any]:
        """Messages, until there is none within `consumer_timeout_ms`."""
        while (message := self.consume(block=True)) is not None:
            yield message

    def commit_offsets(self, partition_offsets: Sequence[tuple[Any, int]] | None = None) -> None:
        """Commits what was consumed, or these offsets of partitions."""
        self._raise_worker_exceptions()
        if not self._consumer:
            raise KafkaException("Cannot commit offsets - consumer not started")
        return self._consumer.commit_offsets(partition_offsets=partition_offsets)


def _end_at_exit(consumer_of: Callable[[], BalancedConsumer | None]) -> None:
    consumer = consumer_of()
    if consumer is not None:
        consumer.end_in_moments()
