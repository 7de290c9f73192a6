"""The part of Admin that concerns replicas: where they are, which one leads, and the disks beneath.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from barnabas.client.admin.arguments import (
    as_replica,
    by_partition,
    check_type,
    items_of,
    partitions_of,
)
from barnabas.client.admin.calls import AdminCalls, check, failure, settled
from barnabas.client.admin.requests import replicas as requests
from barnabas.client.admin.requests.common import by_topic
from barnabas.client.admin.types import (
    ElectionType,
    LogDirDescription,
    PartitionReassignment,
    ReplicaInfo,
    ReplicaLogDirs,
    TopicPartitionReplica,
)
from barnabas.client.arguments import check_mapping
from barnabas.error_codes import ErrorCode
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.types import TopicPartition


class ReplicaAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Makes the preferred replica the leader, or, where none is in sync, any one (KIP-460). Tells for
        each partition whether a leader was elected: False where that was not needed. None means all
        partitions; those where it was not needed are then left out.

        Raises: PreferredLeaderNotAvailableError, EligibleLeadersNotAvailableError,
        UnknownTopicOrPartitionError, ...
        """
        check_type(election_type, ElectionType, "election_type")
        wanted = None if partitions is None else partitions_of(partitions)
        request = requests.elect_leaders(election_type, wanted, timeout_ms=self.config.request_timeout_ms)
        response = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(response.error_code, "electing leaders")
        elected: dict[TopicPartition, bool] = {}
        errors: dict[TopicPartition, BarnabasError] = {}
        for partition, _, code, message in requests.elected_leaders(response):
            error = failure(code, str(partition), message)
            if error is None or code == ErrorCode.ELECTION_NOT_NEEDED:
                elected[partition] = error is None
            else:
                errors[partition] = error
        return settled(
            [*elected, *errors] if wanted is None else [p for p in wanted if p in elected or p in errors],
            elected,
            errors,
        )

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Begins to move the replicas of partitions to these brokers, by node ids with the preferred leader
        first; None ends a move that is under way (KIP-455).

        Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError,
        UnknownTopicOrPartitionError, ...
        """
        wanted = by_partition(reassignments, "reassignments", "[node_id]")
        for partition, replicas in wanted.items():
            if replicas is not None:
                items_of(replicas, f"the node ids of {partition}", int)

        async def ask(
            controller: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, BarnabasError | None]:
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=self.config.request_timeout_ms,
                allow_replication_factor_change=allow_replication_factor_change,
                topics=[
                    AlterPartitionReassignmentsRequest.ReassignableTopic(
                        name=topic, partitions=[_reassignable(p, wanted[p]) for p in group]
                    )
                    for topic, group in by_topic(partitions).items()
                ],
            )
            response = await self._send(controller, request)
            check(response.error_code, "reassigning partitions", response.error_message)
            answers: dict[TopicPartition, BarnabasError | None] = {}
            for topic in response.responses:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    answers[partition] = failure(result.error_code, str(partition), result.error_message)
            return answers

        await self._ask_controller_for_each(wanted, ask, what="reassigning partitions", timeout=timeout)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The moves of replicas that are under way (KIP-455), of these partitions or of all."""
        wanted = None if partitions is None else partitions_of(partitions)
        request = ListPartitionReassignmentsRequest(
            timeout_ms=self.config.request_timeout_ms,
            topics=None
            if wanted is None
            else [
                ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(
                    name=topic, partition_indexes=[p.partition for p in group]
                )
                for topic, group in by_topic(wanted).items()
            ],
        )
        response = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(response.error_code, "listing reassignments", response.error_message)
        return {
            TopicPartition(topic.name, found.partition_index): PartitionReassignment(
                tuple(found.replicas), tuple(found.adding_replicas), tuple(found.removing_replicas)
            )
            for topic in response.topics
            for found in topic.partitions
        }

    async def describe_log_dirs(
        self,
        node_ids: Iterable[int] | None = None,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        timeout: float | None = None,
    ) -> dict[int, dict[str, LogDirDescription]]:
        """The folders in which brokers keep replicas, by node id and path (KIP-113); None means all brokers.
        With `partitions` only their replicas are listed.

        Raises: ClusterAuthorizationFailedError, ...
        """
        wanted = await self._all_nodes(timeout) if node_ids is None else items_of(node_ids, "node_ids", int)
        topics = (
            None
            if partitions is None
            else [
                DescribeLogDirsRequest.DescribableLogDirTopic(
                    topic=topic, partitions=[partition.partition for partition in group]
                )
                for topic, group in by_topic(partitions_of(partitions)).items()
            ]
        )

        async def ask(
            node_id: int, group: list[int]
        ) -> dict[int, dict[str, LogDirDescription] | BarnabasError]:
            response = await self._send(node_id, DescribeLogDirsRequest(topics=topics))
            error = failure(response.error_code, f"log directories of node {node_id}")
            return {node_id: error or {result.log_dir: _log_dir(result) for result in response.results}}

        return await self._ask_for_each(
            wanted, self._broker, ask, what="describing log directories", timeout=timeout
        )

    async def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirs]:
        """The folders of single replicas (KIP-113). Raises: ClusterAuthorizationFailedError, ..."""

        async def ask(
            node_id: int, group: list[TopicPartitionReplica]
        ) -> dict[TopicPartitionReplica, ReplicaLogDirs | BarnabasError]:
            topics = by_topic(TopicPartition(replica.topic, replica.partition) for replica in group)
            request = DescribeLogDirsRequest(
                topics=[
                    DescribeLogDirsRequest.DescribableLogDirTopic(
                        topic=topic, partitions=[p.partition for p in partitions]
                    )
                    for topic, partitions in topics.items()
                ]
            )
            response = await self._send(node_id, request)
            error = failure(response.error_code, f"log directories of node {node_id}")
            if error is not None:
                return dict.fromkeys(group, error)
            log_dirs = {result.log_dir: _log_dir(result) for result in response.results}
            return {replica: _places(replica, log_dirs) for replica in group}

        return await self._ask_for_each(
            map(as_replica, items_of(replicas, "replicas", tuple, "(topic, number, node_id)")),
            self._home_of,
            ask,
            what="describing log directories",
            timeout=timeout,
        )

    async def alter_replica_log_dirs(
        self, log_dirs: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Begins to move replicas to other folders of the same broker (KIP-113).

        Raises: LogDirNotFoundError, ReplicaNotAvailableError, ...
        """
        check_mapping(log_dirs, "log_dirs", "(topic, number, node_id): path")
        wanted = {as_replica(replica): path for replica, path in log_dirs.items()}
        for replica, path in wanted.items():
            check_type(path, str, f"the path of {replica}")

        async def ask(
            node_id: int, group: list[TopicPartitionReplica]
        ) -> dict[TopicPartitionReplica, BarnabasError | None]:
            paths: dict[str, list[TopicPartition]] = {}
            for replica in group:
                partition = TopicPartition(replica.topic, replica.partition)
                paths.setdefault(wanted[replica], []).append(partition)
            request = AlterReplicaLogDirsRequest(
                dirs=[
                    AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                        path=path,
                        topics=[
                            AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(
                                name=topic, partitions=[p.partition for p in moved]
                            )
                            for topic, moved in by_topic(partitions).items()
                        ],
                    )
                    for path, partitions in paths.items()
                ]
            )
            answers: dict[TopicPartitionReplica, BarnabasError | None] = {}
            for topic in (await self._send(node_id, request)).results:
                for result in topic.partitions:
                    replica = TopicPartitionReplica(topic.topic_name, result.partition_index, node_id)
                    answers[replica] = failure(result.error_code, f"{replica} to {wanted.get(replica)}")
            return answers

        await self._ask_for_each(
            wanted, self._home_of, ask, what="moving replicas between folders", timeout=timeout
        )

    async def _home_of(self, replica: TopicPartitionReplica) -> int:
        return await self._broker(replica.node_id)


def _reassignable(
    partition: TopicPartition, replicas: Sequence[int] | None
) -> AlterPartitionReassignmentsRequest.ReassignablePartition:
    return AlterPartitionReassignmentsRequest.ReassignablePartition(
        partition_index=partition.partition, replicas=None if replicas is None else list(replicas)
    )


def _log_dir(result: DescribeLogDirsResponse.DescribeLogDirsResult) -> LogDirDescription:
    replicas: dict[TopicPartition, ReplicaInfo] = {}
    future: dict[TopicPartition, ReplicaInfo] = {}
    for topic in result.topics:
        for found in topic.partitions:
            (future if found.is_future_key else replicas)[
                TopicPartition(topic.name, found.partition_index)
            ] = ReplicaInfo(found.partition_size, found.offset_lag)
    return LogDirDescription(
        failure(result.error_code, f"log directory {result.log_dir}"),
        replicas,
        future,
        None if result.total_bytes < 0 else result.total_bytes,
        None if result.usable_bytes < 0 else result.usable_bytes,
        result.is_cordoned,
    )


def _places(replica: TopicPartitionReplica, log_dirs: Mapping[str, LogDirDescription]) -> ReplicaLogDirs:
    partition = TopicPartition(replica.topic, replica.partition)
    places = ReplicaLogDirs(None, None, None, None)
    for path, log_dir in log_dirs.items():
        current, future = log_dir.replicas.get(partition), log_dir.future_replicas.get(partition)
        if current is not None:
            places = replace(places, current_log_dir=path, current_offset_lag=current.offset_lag)
        if future is not None:
            places = replace(places, future_log_dir=path, future_offset_lag=future.offset_lag)
    return places
