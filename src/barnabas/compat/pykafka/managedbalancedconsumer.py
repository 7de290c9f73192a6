"""ManagedBalancedConsumer, whose group divides a topic's partitions by Kafka's group membership.

Owns joining, syncing and heartbeats in pykafka's order, and what is done about each error of the coordinator.
What it hands out, and when, is as in `balancedconsumer`. Knows nothing of ZooKeeper.
"""

from __future__ import annotations

import logging
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from barnabas.compat.pykafka._balance.heartbeats import Heartbeats
from barnabas.compat.pykafka._balance.inner import is_running
from barnabas.compat.pykafka._balance.member import Callback, RebalancingConsumer
from barnabas.compat.pykafka.balancedconsumer import BalancedConsumer
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import (
    ERROR_CODES,
    ConsumerStoppedException,
    GroupCoordinatorNotAvailable,
    GroupLoadInProgress,
    IllegalGeneration,
    KafkaException,
    NotCoordinatorForGroup,
    RebalanceInProgress,
    SocketDisconnectedError,
)
from barnabas.compat.pykafka.membershipprotocol import GroupMembershipProtocol, RangeProtocol
from barnabas.compat.pykafka.protocol import HeartbeatResponse, MemberAssignment
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.loop_thread import Steps, loop_thread

__all__ = ["ManagedBalancedConsumer"]

log = logging.getLogger("pykafka.managedbalancedconsumer")


class ManagedBalancedConsumer(BalancedConsumer):
    """A consumer of those partitions of a topic that its group's coordinator and leader leave to it."""

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
        auto_start: bool = True,
        reset_offset_on_start: bool = False,
        post_rebalance_callback: Callback | None = None,
        use_rdkafka: bool = False,
        compacted_topic: bool = True,
        heartbeat_interval_ms: int = 3000,
        membership_protocol: GroupMembershipProtocol = RangeProtocol,
        deserializer: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        reset_offset_on_fetch: bool = True,
    ) -> None:
        """A member of `consumer_group`.

        Raises: UnicodeException for a group's name that is not ASCII; TypeError and ValueError for what is no
        fit number; ImportError for `use_rdkafka`. A start that fails is logged, and consume() raises then.
        """
        RebalancingConsumer.__init__(self, locals(), b"", use_rdkafka=False)
        membership_protocol.metadata.topic_names = [self._topic.name]
        self._heartbeat_interval_ms = valid_int(heartbeat_interval_ms)
        if use_rdkafka is True:
            raise ImportError(f"use_rdkafka is not available for {type(self).__name__}")
        # A coordinator answers requests of one connection in turn, and a join may wait long.
        self._connection_id = uuid.uuid4()
        self._group_coordinator: Any = None
        self._heartbeats: Heartbeats | None = None
        self._default_error_handlers = self._build_default_error_handlers()
        if auto_start is True:
            self.start()

    def start(self) -> None:
        """Joins the group. What goes wrong is logged, and stops the consumer."""
        self._stopping.clear()
        self._start_error = None
        try:
            self._running = True
            self._begin_life()
            self._group_coordinator = self._cluster.get_group_coordinator(self._consumer_group)
            self._rebalance()
            self._setup_heartbeat_worker()
        except Exception as error:
            log.exception("Stopping consumer in response to error")
            self._start_error = error
            self.stop()

    def _leave(self) -> None:
        coordinator = self._end_membership()
        if coordinator is None:
            return
        try:
            if self._consumer_id:
                coordinator.leave_group(self._connection_id, self._consumer_group, self._consumer_id)
        finally:
            coordinator.drop_member_connection(self._connection_id)

    def _end_membership(self) -> Any:
        """Ends the heartbeats. Returns the coordinator of the group, which the member has yet to leave."""
        heartbeats, self._heartbeats = self._heartbeats, None
        if heartbeats is not None:
            heartbeats.end()
        coordinator, self._group_coordinator = self._group_coordinator, None
        return coordinator

    def _leaving_at_exit(self) -> Steps:
        coordinator = self._end_membership()
        if coordinator is None or not self._consumer_id:
            return
        try:
            yield coordinator.begin_leaving(self._consumer_group, self._consumer_id)
        except (KafkaException, OSError):
            log.warning("The coordinator will miss %s by its heartbeats", self._consumer_id)

    def _give_up(self) -> None:
        coordinator = self._group_coordinator
        if coordinator is not None and self._consumer_id:
            try:
                coordinator.leave_group(self._connection_id, self._consumer_group, self._consumer_id)
            except KafkaException:
                log.warning("The coordinator will miss %s by its heartbeats", self._consumer_id)

    def _hurry(self) -> None:
        # A join waits for all members. The first is waited for: whoever has no id yet could not leave.
        coordinator = self._group_coordinator
        if coordinator is not None and self._consumer_id:
            coordinator.drop_member_connection(self._connection_id)

    def _needs_another_inner(self, partitions: set[Any]) -> bool:
        # Each generation has its own.
        return True

    def _is_session_gone(self) -> bool:
        # What a coordinator no longer knows it refuses by itself: commits carry the generation.
        return False

    def _is_sure(self) -> bool:
        return True

    def _setup_heartbeat_worker(self) -> None:
        """Starts the heartbeats, which end with this object."""
        if type(self._cluster.handler).__name__ == "GEventHandler":
            # What mends what they tell of is a greenlet, which no other thread can begin.
            self._cluster.handler.spawn(
                _beat_in_turn, weakref.ref(self), self._stopping, self._heartbeat_interval_ms / 1000
            )
            return
        self._heartbeats = Heartbeats(
            loop_thread(),
            self._heartbeat_interval_ms / 1000,
            partial(_begin_heartbeat, weakref.ref(self)),
            lambda answer: answer.get(HeartbeatResponse),
            partial(_mend_beside, weakref.ref(self), self._cluster.handler),
        )
        self._heartbeats.go_on()

    def begin_heartbeat(self) -> Any:
        """A ResponseFuture, or None where a connection has to be opened first."""
        coordinator = self._group_coordinator
        if coordinator is None:
            return None
        return coordinator.begin_heartbeat(
            self._connection_id, self._consumer_group, self._generation_id, self._consumer_id
        )

    def mend(self, answer: Any) -> bool:
        """Does what the answer to a heartbeat asks for; asks by itself where there is none. Returns whether
        there is to be another."""
        try:
            if answer is None:
                answer = self._heartbeat()
            if answer is not None and answer.error_code != 0:
                log.info("Error code %d encountered on heartbeat.", answer.error_code)
                self._handle_error(answer.error_code)
                self._rebalance()
        except Exception as error:
            self._fail(error)
        goes_on = self._running and self._worker_exception is None
        heartbeats = self._heartbeats
        if goes_on and heartbeats is not None:
            heartbeats.go_on()
        return goes_on

    def _heartbeat(self) -> Any:
        """The answer; None where the coordinator had to be looked for."""
        try:
            return self._group_coordinator.heartbeat(
                self._connection_id, self._consumer_group, self._generation_id, self._consumer_id
            )
        except SocketDisconnectedError:
            # The broker may have gone, and with it the group to another.
            log.info("Lost the coordinator of %s, looking for it", self._consumer_group)
            self._group_coordinator = self._cluster.get_group_coordinator(self._consumer_group)
            return None

    def _rebalance(self) -> None:
        """Joins the group's next generation, and goes on with the partitions that are its own in it."""
        with self._gate.rebalance(self._let_go):
            if not self._running:
                raise ConsumerStoppedException
            self._rebalance_once()

    def _update_member_assignment(self) -> None:
        """Joins the group, divides the partitions if this member leads it, and takes what is its own."""
        for attempt in range(self._rebalance_max_retries):
            try:
                members = self._join_group()
                assignment = self._sync_group(
                    [(member, self._assignment_of(member, members)) for member in members]
                )
                if is_running(self._consumer):
                    # What it consumed was committed before the group went on to its next generation.
                    self._halt_inner(commits=False)
                self._setup_internal_consumer([self._topic.partitions[id_] for id_ in assignment[0][1]])
                log.debug("Successfully rebalanced consumer '%s'", self._consumer_id)
                break
            except ConsumerStoppedException:
                raise
            except Exception as error:
                if self._stopping.is_set():
                    raise ConsumerStoppedException from None
                if attempt == self._rebalance_max_retries - 1:
                    log.warning("Failed to rebalance after %d retries.", attempt)
                    raise
                log.exception(error)
                log.info("Unable to complete rebalancing. Retrying")
                self._wait_to_retry(attempt * self._rebalance_backoff_ms / 1000)
        self._raise_worker_exceptions()

    def _assignment_of(self, member: bytes, members: Mapping[bytes, Any]) -> MemberAssignment:
        decided = self._membership_protocol.decide_partitions(members, self._topic.partitions, member)
        return MemberAssignment([(self._topic.name, [partition.id for partition in decided])])

    def _build_default_error_handlers(self) -> dict[int | None, Callable[[], None] | None]:
        """What is done about each error of the coordinator before the group is joined again.

        Errors that are not in it are raised.
        """
        weak = weakref.ref(self)

        def find_coordinator() -> None:
            consumer = weak()
            if consumer is not None:
                consumer._group_coordinator = consumer._cluster.get_group_coordinator(
                    consumer._consumer_group
                )

        return {
            GroupCoordinatorNotAvailable.ERROR_CODE: find_coordinator,
            NotCoordinatorForGroup.ERROR_CODE: find_coordinator,
            GroupLoadInProgress.ERROR_CODE: None,
            RebalanceInProgress.ERROR_CODE: None,
            IllegalGeneration.ERROR_CODE: None,
        }

    def _handle_error(self, error_code: int) -> None:
        """Raises: the exception of an error that there is nothing to be done about."""
        if error_code not in self._default_error_handlers:
            raise ERROR_CODES[error_code]()
        handler = self._default_error_handlers[error_code]
        if handler is not None:
            handler()

    def _join_group(self) -> Mapping[bytes, Any]:
        """The members of the generation that this consumer is in now; none unless it leads the group."""
        log.info("Sending JoinGroupRequest for consumer id '%s'", self._consumer_id)
        answer = self._insist(
            lambda: self._group_coordinator.join_group(
                self._connection_id,
                self._consumer_group,
                self._consumer_id,
                self._topic.name,
                self._membership_protocol,
            ),
            "JoinGroupRequest",
        )
        self._generation_id = answer.generation_id
        self._consumer_id = answer.member_id
        return answer.members

    def _sync_group(self, group_assignments: Sequence[tuple[bytes, MemberAssignment]]) -> Any:
        """Topics with ids of partitions that are this consumer's. A leader brings what is everyone's."""
        log.info("Sending SyncGroupRequest for consumer id '%s'", self._consumer_id)
        answer = self._insist(
            lambda: self._group_coordinator.sync_group(
                self._connection_id,
                self._consumer_group,
                self._generation_id,
                self._consumer_id,
                group_assignments,
            ),
            "SyncGroupRequest",
        )
        return answer.member_assignment.partition_assignment

    def _insist(self, ask: Callable[[], Any], name: str) -> Any:
        """The first answer of `ask` without an error. Raises: the last error, or one that is not handled."""
        attempts = self._cluster._max_connection_retries
        for attempt in range(attempts):
            answer = ask()
            if answer.error_code == 0:
                return answer
            log.info("Error code %d encountered during %s", answer.error_code, name)
            if attempt == attempts - 1:
                raise ERROR_CODES[answer.error_code]
            self._handle_error(answer.error_code)
            self._wait_to_retry(attempt * 2)
        raise KafkaException(f"{name} was not sent: there are no retries of connections")


def _begin_heartbeat(consumer_of: Callable[[], ManagedBalancedConsumer | None]) -> Any:
    consumer = consumer_of()
    return None if consumer is None else consumer.begin_heartbeat()


def _mend_beside(
    consumer_of: Callable[[], ManagedBalancedConsumer | None], handler: Any, answer: Any
) -> None:
    def mend() -> None:
        consumer = consumer_of()
        if consumer is not None:
            consumer.mend(answer)

    if consumer_of() is not None:
        handler.spawn(mend, name="pykafka.ManagedBalancedConsumer.rebalance")


def _beat_in_turn(
    consumer_of: Callable[[], ManagedBalancedConsumer | None], stopping: Any, interval_seconds: float
) -> None:
    while not stopping.wait(interval_seconds):
        consumer = consumer_of()
        if consumer is None or not consumer.mend(None):
            return
        del consumer
