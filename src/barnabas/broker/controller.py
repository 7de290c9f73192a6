"""Carries out what is decided about partitions' replicas: nodes that come and go, elections, reassignments.

Owns the order in which registrations change, logs follow, and both are kept. What a decision makes of a
registration is `registration`'s, how logs follow is `replica_logs`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from barnabas import background
from barnabas.broker.cluster import Cluster
from barnabas.broker.features import ELIGIBLE_LEADERS_VERSION
from barnabas.broker.replication.assignments import check_assignment
from barnabas.broker.replication.registration import (
    NO_LEADER,
    PartitionRegistration,
    reassigned,
    reassignment_cancelled,
    with_any_leader,
    with_in_sync,
    with_leader,
    with_node,
    with_preferred_leader,
    without_node,
)
from barnabas.broker.topic import Partition, Topic
from barnabas.broker_errors import (
    BrokerIdNotRegisteredError,
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    KafkaStorageError,
    PreferredLeaderNotAvailableError,
)

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.5


class Controller:
    """The controller of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._is_unsaved = False
        self._catching_up: dict[int, asyncio.Task[None]] = {}
        self.on_led: list[Callable[[Partition], None]] = []
        """Called with each partition that has got another leader."""
        cluster.on_replica_failed = self._replica_failed
        cluster.on_min_in_sync_changed.append(self._forget_eligible)

    def close(self) -> None:
        for task in self._catching_up.values():
            task.cancel()

    # Nodes

    def node_came(self, node_id: int) -> None:
        """A node whose logs are open is heard of: its replicas follow, or lead where nobody does."""
        cluster = self._cluster
        cluster.registered.add(node_id)
        cluster.alive.add(node_id)
        for partition in cluster.partitions_on(node_id):
            after = with_node(
                partition.registration, cluster.alive, may_be_unclean=_may_be_unclean(partition)
            )
            self._apply(partition, after)
            if partition.replicas is not None and after.leader not in (NO_LEADER, node_id):
                partition.replicas.follow(node_id)
                partition.hold()
                partition.wake()
        self.save()
        self.start_catching_up(node_id)

    def node_is_back(self, node_id: int) -> None:
        """A node that was parted, and is not missed yet: it leads on what it led."""
        for partition in self._cluster.partitions_on(node_id):
            registration, replicas = partition.registration, partition.replicas
            if replicas is not None and registration.leader == node_id:
                partition.log = replicas.lead(node_id, registration.leader_epoch)
                partition.hold()
                partition.wake()
                for notify in self.on_led:
                    notify(partition)
        self.node_came(node_id)
        for other in self._cluster.alive:
            self.start_catching_up(other)

    def node_went(self, node_id: int) -> None:
        """A node is not heard of any more, or about to close its logs."""
        cluster = self._cluster
        cluster.alive.discard(node_id)
        for partition in cluster.partitions_on(node_id):
            if partition.replicas is not None:
                partition.replicas.fall_behind(node_id)
            self._lose(partition, node_id)
        self.save()

    def node_fell_silent(self, node_id: int) -> None:
        """It was paused, parted or killed, or lags: it takes nothing any more, and is still held to be alive
        and in sync, so that high watermarks wait for it."""
        for partition in self._cluster.partitions_on(node_id):
            if partition.replicas is not None:
                partition.replicas.fall_behind(node_id)
                partition.hold()

    def shrink_in_sync(self) -> None:
        """Leaders do without followers that have not caught up within replica.lag.time.max.ms."""
        max_lag_ms = self._cluster.settings.number("replica.lag.time.max.ms")
        for topic in self._cluster.topics.values():
            for partition in topic.partitions:
                replicas, leader = partition.replicas, partition.registration.leader
                if replicas is None or not partition.has_leader or not self._cluster.nodes[leader].is_heard:
                    continue
                for node_id in replicas.too_long_behind(partition.registration.in_sync, max_lag_ms):
                    logger.info("%s: node %d lags, and is not in sync any more", partition.name, node_id)
                    self._lose(partition, node_id)
        self.save()

    def start_catching_up(self, node_id: int) -> None:
        """Brings the node's replicas up to their leaders in the background."""
        task = self._catching_up.get(node_id)
        if (task is None or task.done()) and not self._cluster.has_one_node:
            self._catching_up[node_id] = background.start(
                self._catch_up(node_id), what=f"replication to node {node_id}"
            )

    def unregister(self, node_id: int) -> None:
        """Raises: BrokerIdNotRegisteredError. A node that runs registers again at once."""
        if node_id not in self._cluster.registered:
            raise BrokerIdNotRegisteredError(f"Broker ID {node_id} is not currently registered")
        if node_id not in self._cluster.alive:
            self._cluster.registered.discard(node_id)

    # Features

    def features_changed(self) -> None:
        """Without eligible leaders, those that there are count no more."""
        if not self._has_eligible_leaders:
            for topic in self._cluster.topics.values():
                self._forget_eligible(topic)

    def _forget_eligible(self, topic: Topic) -> None:
        """By another min.insync.replicas more may be acknowledged than they have."""
        for partition in topic.partitions:
            self._apply(partition, partition.registration.without_eligible())
        self.save()

    @property
    def _has_eligible_leaders(self) -> bool:
        return self._cluster.features.level(ELIGIBLE_LEADERS_VERSION) > 0

    def _min_in_sync(self, partition: Partition) -> int | None:
        """Below how many those that leave become eligible leaders."""
        return partition.topic.rules.min_in_sync_replicas if self._has_eligible_leaders else None

    # Reassignments

    def reassign(
        self, partition: Partition, target: Sequence[int], *, may_change_replication_factor: bool
    ) -> None:
        """Raises: InvalidReplicaAssignmentError, InvalidReplicationFactorError, KafkaStorageError."""
        check_assignment(target, self._cluster.registered)
        before = len(partition.registration.original_replicas)
        if not may_change_replication_factor and len(target) != before:
            raise InvalidReplicationFactorError(
                f"The replication factor is changed from {before} to {len(target)}"
            )
        self._apply(partition, reassigned(partition.registration, target, self._cluster.alive))
        for node_id in partition.registration.adding:
            self.start_catching_up(node_id)

    def cancel_reassignment(self, partition: Partition) -> None:
        """Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError."""
        try:
            after = reassignment_cancelled(
                partition.registration, self._cluster.alive, may_be_unclean=_may_be_unclean(partition)
            )
        except InvalidReplicaAssignmentError as error:
            raise InvalidReplicaAssignmentError(
                f"Unable to revert partition assignment for {partition.topic.name}:{partition.index} "
                f"because {error.context}"
            ) from None
        self._apply(partition, after)

    # Elections

    def elect_preferred(self, partition: Partition) -> None:
        """Raises: ElectionNotNeededError, PreferredLeaderNotAvailableError."""
        self._apply(partition, with_preferred_leader(partition.registration, self._cluster.alive))

    def move_leader(self, partition: Partition, node_id: int) -> None:
        """Has another replica lead, for no reason. Raises: PreferredLeaderNotAvailableError."""
        self._apply(partition, with_leader(partition.registration, node_id, self._cluster.alive))

    def elect_any(self, partition: Partition) -> None:
        """Elects a leader where there is none, though records be lost by it. Raises: ElectionNotNeededError,
        EligibleLeadersNotAvailableError."""
        self._apply(partition, with_any_leader(partition.registration, self._cluster.alive))

    def elect_all_preferred(self) -> None:
        """Gives leaders back to where they should be, as far as those nodes are in sync."""
        for topic in self._cluster.topics.values():
            for partition in topic.partitions:
                try:
                    self.elect_preferred(partition)
                except (ElectionNotNeededError, PreferredLeaderNotAvailableError):
                    continue
        self.save()

    def elect_unclean(self) -> None:
        """Elects leaders where there are none, and unclean.leader.election.enable was switched on since."""
        for topic in self._cluster.topics.values():
            for partition in topic.partitions:
                if partition.registration.leader == NO_LEADER and _may_be_unclean(partition):
                    with contextlib.suppress(EligibleLeadersNotAvailableError):
                        self.elect_any(partition)
        self.save()

    # Carrying out

    def save(self) -> None:
        """Keeps what has changed. A failing disk is logged, and `save` to be called again."""
        if not self._is_unsaved:
            return
        try:
            self._cluster.metadata.keep("keep who leads", lambda: None)
            self._is_unsaved = False
        except KafkaStorageError as error:
            logger.error("%s; to be tried again", error.context)

    def _apply(self, partition: Partition, after: PartitionRegistration) -> None:
        """Raises: KafkaStorageError, and then nothing has changed."""
        before, replicas = partition.registration, partition.replicas
        if after is before or replicas is None:
            return
        cluster = self._cluster
        if not self._has_eligible_leaders:
            after = after.without_eligible()
        try:
            for node_id in after.replicas:
                if node_id not in before.replicas:
                    cluster.node_logs.add_replica(partition, node_id)
        except OSError as error:
            raise KafkaStorageError(f"{partition.name}: cannot make a replica: {error}") from error
        partition.registration = after
        self._is_unsaved = True
        if after.leader_epoch != before.leader_epoch:
            if after.leader in replicas.logs:
                partition.log = replicas.lead(after.leader, after.leader_epoch)
            else:
                replicas.expect(after.leader)
        for node_id in before.replicas:
            if node_id not in after.replicas:
                cluster.node_logs.remove_replica(partition, node_id)
        partition.hold()
        partition.wake()
        if after.leader != before.leader:
            logger.info(
                "%s: node %d leads, after node %d, in epoch %d",
                *(partition.name, after.leader, before.leader, after.leader_epoch),
            )
            for notify in self.on_led:
                notify(partition)
            # Those that run had nobody to catch up with, where nobody led.
            for node_id in after.replicas:
                if node_id in cluster.alive and _is_behind(partition, node_id):
                    self.start_catching_up(node_id)

    def _lose(self, partition: Partition, node_id: int) -> None:
        """A replica is not in sync any more."""
        after = without_node(
            partition.registration,
            node_id,
            self._cluster.alive,
            self._min_in_sync(partition),
            may_be_unclean=_may_be_unclean(partition),
        )
        self._apply(partition, after)

    def _replica_failed(self, partition: Partition, node_id: int) -> None:
        self._lose(partition, node_id)
        self.save()
        self.start_catching_up(node_id)

    async def _catch_up(self, node_id: int) -> None:
        """Until nothing that the node has is behind. What fails is tried again."""
        cluster = self._cluster
        node = cluster.nodes[node_id]
        while node.replicates and node_id in cluster.alive:
            behind = [
                partition for partition in cluster.partitions_on(node_id) if _is_behind(partition, node_id)
            ]
            failed = False
            for partition in behind:
                try:
                    failed |= not await self._bring_up(partition, node_id)
                except KafkaStorageError as error:
                    failed = True
                    logger.warning("%s: node %d is behind: %s", partition.name, node_id, error)
            self.save()
            if not behind:
                return
            if failed:
                await asyncio.sleep(RETRY_SECONDS)

    async def _bring_up(self, partition: Partition, node_id: int) -> bool:
        """Whether it is in sync now. Raises: KafkaStorageError."""
        cluster = self._cluster
        replicas = partition.replicas
        assert replicas is not None
        while _is_behind(partition, node_id):
            leader = partition.registration.leader
            if not (
                node_id in cluster.alive
                and cluster.nodes[node_id].replicates
                and leader in cluster.alive
                and partition.has_leader
            ):
                return False
            if replicas.catch_up(node_id):
                min_in_sync = self._min_in_sync(partition)
                registration = partition.registration
                self._apply(partition, with_in_sync(registration, node_id, cluster.alive, min_in_sync))
                partition.hold()
                partition.wake()
            await asyncio.sleep(0)
        return True


def _is_behind(partition: Partition, node_id: int) -> bool:
    replicas = partition.replicas
    return (
        replicas is not None
        and not partition.is_gone
        and node_id in replicas.logs
        and partition.registration.leader not in (NO_LEADER, node_id)
        and (node_id not in replicas.lockstep or node_id not in partition.registration.in_sync)
    )


def _may_be_unclean(partition: Partition) -> bool:
    return partition.topic.settings.flag("unclean.leader.election.enable")
