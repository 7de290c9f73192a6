"""Partitions: the calls of KafkaAdminClient about them, as kafka-python 3 answers, and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.protocol.admin.topics import ElectionType
from barnabas.compat.kafka.protocol.consumer.offsets import IsolationLevel, OffsetSpec
from barnabas.compat.kafka_engine.admin import partitions as requests
from barnabas.compat.kafka_engine.admin.containers import container_of, dict_of
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.compat.kafka_engine.admin.topics import topic_partitions as all_partitions
from barnabas.compat.kafka_engine.values.structs import STRUCTS

TopicPartition: Any = STRUCTS["TopicPartition"]


class NewPartitions:
    """How many partitions a topic is to have. `new_assignments`: the brokers' ids of each new one."""

    def __init__(self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


def _count_of(given: Any) -> tuple[int, Any]:
    if isinstance(given, int):
        return given, None
    if isinstance(given, dict):
        options = cast("dict[str, Any]", given)
        return options["count"], options["assignments"]
    return given.total_count, given.new_assignments


def deleted_records(answers: Iterable[BrokerAnswer[Any]], result: Any) -> dict[Any, dict[str, Any]]:
    """By partition, what its leader answered; `result(answer)` has it as a dictionary. Raises: the error of
    the one that failed, or BrokerResponseError for several."""
    found: dict[Any, dict[str, Any]] = {}
    for answer in answers:
        for topic in result(answer)["topics"]:
            for partition in topic["partitions"]:
                found[TopicPartition(topic["name"], partition["partition_index"])] = partition
    failed = {key: each["error_code"] for key, each in found.items() if each["error_code"]}
    if len(failed) == 1:
        [(key, code)] = failed.items()
        raise Errors.for_code(code)(
            f"Error deleting records from topic {key.topic} partition {key.partition}"
        )
    if failed:
        reasons = (
            f"{key.topic}(partition={key.partition}): {Errors.for_code(code).__name__}"
            for key, code in failed.items()
        )
        raise Errors.BrokerResponseError(
            f"The following errors occured when trying to delete records: {', '.join(reasons)}"
        )
    return found


def answer_dict(answer: BrokerAnswer[Any]) -> dict[str, Any]:
    """A whole answer as a dictionary."""
    return dict_of(answer.message, answer.version)


class PartitionAdminMixin:
    """Calls about partitions and what is in them."""

    _session: BrokerSession
    config: dict[str, Any]

    def _validate_timeout(self, timeout_ms: float | None) -> float:
        return timeout_ms or self.config["request_timeout_ms"]

    def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> Any:
        """Gives topics more partitions. Gives the answer of the controller.

        `topic_partitions`: by topic how many it is to have, or a dictionary of `count` and `assignments`, the
        brokers' ids of each new one, or NewPartitions. Raises: the error of the first topic that failed, such
        as InvalidPartitionsError, unless `raise_errors` is False.
        """
        counts = {topic: _count_of(given) for topic, given in topic_partitions.items()}
        answer = self._session.run(
            requests.create_partitions(
                self._session, counts, self._validate_timeout(timeout_ms), validate_only=validate_only
            )
        )
        answer.check([topic.error_code for topic in answer.message.results], raise_errors)
        return container_of(answer.message, answer.version)

    def delete_records(
        self,
        records_to_delete: Mapping[Any, int],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[Any, dict[str, Any]]:
        """Deletes what is before an offset of each partition; -1 is the end. Gives the answers of the
        leaders, by partition. `partition_leader_id`: who leads all of them, where a program knows. Raises:
        UnknownTopicOrPartitionError, OffsetOutOfRangeError."""
        answers = self._session.run(
            requests.delete_records(
                self._session,
                records_to_delete,
                self._validate_timeout(timeout_ms),
                leader=partition_leader_id,
            )
        )
        return deleted_records(answers, answer_dict)

    def elect_leaders(
        self,
        election_type: int,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> Any:
        """Has leaders elected. Gives the answer of the controller.

        `election_type`: 0 for the preferred one, 1 for any that is there. `topic_partitions`: the numbers of
        partitions by topic, or topics, or None for all. Raises: the error of the first partition that failed,
        unless it has its leader already or `raise_errors` is False.
        """
        answer = self._session.run(
            self._elected_leaders(
                ElectionType(election_type), topic_partitions, self._validate_timeout(timeout_ms)
            )
        )
        answer.check(
            requests.election_codes(answer.message),
            raise_errors,
            ignored=[Errors.ElectionNotNeededError.errno],
        )
        return container_of(answer.message, answer.version)

    async def _elected_leaders(self, election_type: int, topic_partitions: Any, timeout_ms: float) -> Any:
        if isinstance(topic_partitions, dict):
            partitions = list(cast("dict[str, list[int]]", topic_partitions).items())
        else:
            partitions = await all_partitions(self._session, topic_partitions)
        return await requests.elect_leaders(self._session, election_type, partitions, timeout_ms)

    def alter_partition_reassignments(
        self, reassignments: Mapping[Any, Iterable[Any] | None], timeout_ms: float | None = None
    ) -> dict[Any, Any]:
        """Moves partitions to other brokers; None ends a move. Gives by partition the class of its error, or
        None. Raises: ValueError for a partition without brokers."""
        replicas: dict[tuple[str, int], list[int] | None] = {}
        for partition, brokers in reassignments.items():
            wanted = None if brokers is None else list(brokers)
            if wanted == []:
                raise ValueError(
                    f"Replica list for {partition} must be non-empty; use None to cancel a reassignment."
                )
            if wanted is not None and not all(isinstance(broker, int) for broker in wanted):
                raise ValueError(f"Replica list for {partition} must be int broker_ids.")
            replicas[partition] = wanted
        answer = self._session.run(
            requests.alter_reassignments(self._session, replicas, self._validate_timeout(timeout_ms))
        )
        answer.check([answer.message.error_code])
        return {
            TopicPartition(topic.name, partition.partition_index): Errors.for_code(partition.error_code)
            if partition.error_code
            else None
            for topic in answer.message.responses
            for partition in topic.partitions
        }

    def list_partition_reassignments(
        self, topic_partitions: Any = None, timeout_ms: float | None = None
    ) -> dict[Any, dict[str, list[int]]]:
        """The moves that are under way, by partition. `topic_partitions`: the numbers of partitions by topic,
        or TopicPartitions, or None for all."""
        partitions: dict[str, list[int]] | None = topic_partitions
        if topic_partitions is not None and not isinstance(topic_partitions, dict):
            partitions = requests.by_topic(topic_partitions)
        answer = self._session.run(
            requests.list_reassignments(self._session, partitions, self._validate_timeout(timeout_ms))
        )
        answer.check([answer.message.error_code])
        return {
            TopicPartition(topic.name, partition.partition_index): {
                "replicas": list(partition.replicas),
                "adding_replicas": list(partition.adding_replicas),
                "removing_replicas": list(partition.removing_replicas),
            }
            for topic in answer.message.topics
            for partition in topic.partitions
        }

    def describe_topic_partitions(
        self,
        topics: Iterable[str],
        response_partition_limit: int = 2000,
        cursor: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """One page of the partitions of topics, with the replicas that may lead them (KIP-966): "topics", and
        "next_cursor", where the next page begins, or None."""
        start = None if cursor is None else (cursor["topic_name"], cursor["partition_index"])
        message = self._session.run(
            requests.describe_partitions(self._session, topics, response_partition_limit, start)
        ).message
        following = message.next_cursor
        return {
            "topics": [
                {
                    "error_code": topic.error_code,
                    "name": topic.name,
                    "topic_id": topic.topic_id,
                    "is_internal": topic.is_internal,
                    "partitions": [_described(partition) for partition in topic.partitions],
                    "topic_authorized_operations": topic.topic_authorized_operations,
                }
                for topic in message.topics
            ],
            "next_cursor": None
            if following is None
            else {"topic_name": following.topic_name, "partition_index": following.partition_index},
        }

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[Any, Any],
        isolation_level: Any = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[Any, Any]:
        """Offsets by an OffsetSpec, or by a time in milliseconds since 1970: an OffsetAndTimestamp for each
        partition. Raises: TypeError, UnknownTopicOrPartitionError, UnsupportedVersionError."""
        level = IsolationLevel.build_from(isolation_level)
        return self._session.run(
            self._partition_offsets(topic_partition_specs, level, self._validate_timeout(timeout_ms))
        )

    async def _partition_offsets(
        self, specs: Mapping[Any, Any], isolation_level: int, timeout_ms: float
    ) -> dict[Any, Any]:
        for spec in specs.values():
            if not isinstance(spec, int):
                raise TypeError(f"Unsupported ts type {type(spec)}, expected int or OffsetSpec")
            if spec < 0:
                OffsetSpec(spec)
        answers = await requests.list_offsets(self._session, specs, isolation_level, timeout_ms)
        found: dict[Any, Any] = {}
        for answer in answers:
            for topic in answer.message.topics:
                for partition in topic.partitions:
                    key = TopicPartition(topic.name, partition.partition_index)
                    found[key] = partition
        offsets: dict[Any, Any] = {}
        for key, partition in found.items():
            if partition.error_code:
                error = Errors.for_code(partition.error_code)
                raise error(f"ListOffsetsRequest failed for {key}: {error.__name__}")
            epoch = partition.leader_epoch
            offsets[key] = STRUCTS["OffsetAndTimestamp"](
                partition.offset, partition.timestamp, epoch if epoch >= 0 else None
            )
        return offsets


def _described(partition: Any) -> dict[str, Any]:
    return {
        "error_code": partition.error_code,
        "partition_index": partition.partition_index,
        "leader_id": partition.leader_id,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": list(partition.replica_nodes),
        "isr_nodes": list(partition.isr_nodes),
        "eligible_leader_replicas": list(partition.eligible_leader_replicas or ()) or None,
        "last_known_elr": list(partition.last_known_elr or ()) or None,
        "offline_replicas": list(partition.offline_replicas),
    }
