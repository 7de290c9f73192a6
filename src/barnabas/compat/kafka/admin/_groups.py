"""Groups: the calls of KafkaAdminClient about them, as kafka-python 3 answers, and what they take."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, cast

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.admin._acls import operation_names
from barnabas.compat.kafka.admin._partitions import PartitionAdminMixin
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec, OffsetTimestamp
from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.admin import groups as requests
from barnabas.compat.kafka_engine.admin.containers import container_of, dict_of
from barnabas.compat.kafka_engine.admin.members import read_members
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.protocol.messages.leave_group import LeaveGroupRequest

TopicPartition: Any = STRUCTS["TopicPartition"]
OffsetAndMetadata: Any = STRUCTS["OffsetAndMetadata"]

log = logging.getLogger("kafka.admin._groups")

_SEVERAL_MEMBERS_SINCE = 3


class GroupState(EnumHelper, str, Enum):  # noqa: UP042 kafka-python's own bases
    """How a group is doing, in the brokers' words."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


class GroupType(EnumHelper, str, Enum):  # noqa: UP042 kafka-python's own bases
    """By which protocol the members of a group share it (KIP-848, KIP-932)."""

    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class MemberToRemove:
    """A member that is to leave its group: by its id, or by its group.instance.id where it is a static one
    (2.3 and later). `reason`: for the broker's log (KIP-800)."""

    __slots__ = ("group_instance_id", "member_id", "reason")

    def __init__(
        self,
        member_id: str | None = None,
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason

    def _values(self) -> tuple[str | None, ...]:
        return self.member_id, self.group_instance_id, self.reason

    def __repr__(self) -> str:
        return (
            f"<MemberToRemove member_id={self.member_id}, group_instance_id={self.group_instance_id}, "
            f"reason={self.reason}>"
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, MemberToRemove) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


def group_offsets(answer: BrokerAnswer[Any], group_id: str, texts: tuple[str, str]) -> dict[Any, Any]:
    """The offsets of a group, by partition. `texts`: of the error of a group, and of one of its partitions.
    Raises: either."""
    found = next((each for each in answer.message.groups if each.group_id == group_id), answer.message)
    if found.error_code:
        raise Errors.for_code(found.error_code)(texts[0])
    offsets: dict[Any, Any] = {}
    for topic in found.topics:
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                raise Errors.for_code(partition.error_code)(texts[1].format(key=key))
            offsets[key] = OffsetAndMetadata(
                partition.committed_offset, partition.metadata, partition.committed_leader_epoch
            )
    return offsets


class GroupAdminMixin(PartitionAdminMixin):
    """Calls about groups."""

    def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """What their coordinators tell of groups and their members: by id, with "error", a text or None.

        `group_coordinator_id`: the broker that coordinates all of them, where a program knows.
        `include_authorized_operations` is not looked at: what a caller may do is always told.
        """
        return self._session.run(self._described_groups(group_ids, group_coordinator_id))

    async def _described_groups(
        self, group_ids: Iterable[str], coordinator: int | None
    ) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for answer in await requests.describe_groups(self._session, group_ids, coordinator):
            response = container_of(answer.message, answer.version)
            for group in response.groups:
                read_members(group, log)
                described = group.to_dict()
                described["authorized_operations"] = operation_names(described.get("authorized_operations"))
                code, text = described.pop("error_code"), described.pop("error_message", "")
                described["error"] = str(Errors.for_code(code)(text)) if code else None
                found[group.group_id] = described
        return found

    def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[Any] | None = None,
        types_filter: Iterable[Any] | None = None,
    ) -> list[dict[str, Any]]:
        """The groups that brokers coordinate; of all brokers for None. `states_filter`: GroupStates (3.0 and
        later), `types_filter`: GroupTypes (4.0 and later), or their names."""
        states = [GroupState.value_for(each) for each in states_filter or ()]
        types = [GroupType.value_for(each) for each in types_filter or ()]
        answers = self._session.run(
            requests.list_groups(self._session, broker_ids, states=states, types=types)
        )
        found: list[dict[str, Any]] = []
        for answer in answers:
            answer.check_whole()
            found.extend(dict_of(answer.message, answer.version)["groups"])
        return found

    def list_group_offsets(self, group_specs: Any) -> dict[str, dict[Any, Any]]:
        """The offsets that groups committed: an OffsetAndMetadata by group and partition, -1 for a partition
        that was asked for and has none.

        `group_specs`: by group the TopicPartitions, or None for all; or only the ids of groups. Raises: the
        error of the first group or partition that has one; ValueError where no group is named.
        """
        return self._session.run(self._listed_offsets(group_specs))

    async def _listed_offsets(self, group_specs: Any) -> dict[str, dict[Any, Any]]:
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        if isinstance(group_specs, list):
            group_specs = dict.fromkeys(cast("list[str]", group_specs))
        if not group_specs:
            return {}
        answers = await requests.fetch_offsets(self._session, group_specs)
        return {
            group_id: group_offsets(
                answer,
                group_id,
                (
                    f"OffsetFetchResponse failed for group '{group_id}'.",
                    "OffsetFetchResponse failed for partition {key.partition}",
                ),
            )
            for group_id, answer in answers.items()
        }

    def delete_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> dict[str, str]:
        """Deletes groups without members, with their offsets. Gives by group "OK", or the name of its
        error."""
        answers = self._session.run(requests.delete_groups(self._session, group_ids, group_coordinator_id))
        return {
            result.group_id: Errors.for_code(result.error_code).__name__ if result.error_code else "OK"
            for answer in answers
            for result in answer.message.results
        }

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[Any, Any], group_coordinator_id: int | None = None
    ) -> dict[Any, Any]:
        """Sets what a group without members has committed: an OffsetAndMetadata by TopicPartition. Gives the
        class of an error by partition, NoError where there is none."""
        if not offsets:
            return {}
        return self._session.run(self._committed_offsets(group_id, offsets, group_coordinator_id))

    async def _committed_offsets(
        self, group_id: str, offsets: Mapping[Any, Any], coordinator: int | None
    ) -> dict[Any, Any]:
        wanted = {
            partition: (each.offset, each.metadata, each.leader_epoch) for partition, each in offsets.items()
        }
        answer = await requests.commit_offsets(self._session, group_id, wanted, coordinator)
        return _errors_of(answer.message.topics)

    def reset_group_offsets(
        self, group_id: str, offset_specs: dict[Any, Any], group_coordinator_id: int | None = None
    ) -> dict[Any, dict[str, Any]]:
        """Sets what a group without members has committed to an offset that there is.

        `offset_specs`: by TopicPartition an OffsetSpec, an OffsetTimestamp, or an offset as an int. What is
        beyond what the partition has is set to its beginning or end. Gives by partition "offset", what was
        committed, and "error", a class, NoError where there is none. Raises: TypeError.
        """
        if not offset_specs:
            return {}
        return self._session.run(self._reset_offsets(group_id, dict(offset_specs), group_coordinator_id))

    async def _reset_offsets(
        self, group_id: str, offset_specs: dict[Any, Any], coordinator: int | None
    ) -> dict[Any, dict[str, Any]]:
        fixed: dict[Any, int] = {}
        looked_up: dict[Any, Any] = {}
        for partition, target in offset_specs.items():
            if isinstance(target, (OffsetSpec, OffsetTimestamp)):
                looked_up[partition] = target
            elif isinstance(target, int):
                fixed[partition] = target
            else:
                raise TypeError(
                    f"Unsupported reset target for {partition}: {target!r} "
                    "(expected OffsetSpec, OffsetTimestamp, or int offset)"
                )
        timeout_ms = self.config["request_timeout_ms"]

        async def offsets_at(specs: Mapping[Any, Any]) -> dict[Any, int]:
            found = await self._partition_offsets(specs, 0, timeout_ms)
            return {partition: each.offset for partition, each in found.items()}

        committed = (await self._listed_offsets({group_id: list(offset_specs)}))[group_id]
        earliest = await offsets_at(dict.fromkeys(offset_specs, OffsetSpec.EARLIEST))
        latest = await offsets_at(dict.fromkeys(offset_specs, OffsetSpec.LATEST))
        wanted = fixed | (await offsets_at(looked_up) if looked_up else {})
        nothing = OffsetAndMetadata(-1, "", None)
        offsets = {
            partition: committed.get(partition, nothing)._replace(
                offset=_within(wanted[partition], earliest[partition], latest[partition])
            )
            for partition in offset_specs
        }
        errors = await self._committed_offsets(group_id, offsets, coordinator)
        return {
            partition: {"error": error, "offset": offsets[partition].offset}
            for partition, error in errors.items()
        }

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[Any], group_coordinator_id: int | None = None
    ) -> dict[Any, Any]:
        """Deletes what a group has committed for partitions whose topics no member reads. Gives the class of
        an error by partition, NoError where there is none. Raises: GroupIdNotFoundError."""
        wanted = list(partitions)
        if not wanted:
            return {}
        answer = self._session.run(
            requests.delete_offsets(self._session, group_id, wanted, group_coordinator_id)
        )
        answer.check_whole()
        return _errors_of(answer.message.topics)

    def remove_group_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove],
        group_coordinator_id: int | None = None,
    ) -> dict[str, Any]:
        """Has members leave. Gives the class of an error by member id or group.instance.id, NoError where
        there is none. Raises: the error of the group; UnsupportedVersionError where brokers before 2.3 are to
        remove static members."""
        wanted = list(members)
        if not wanted:
            return {}
        return self._session.run(self._removed_members(group_id, wanted, group_coordinator_id))

    async def _removed_members(
        self, group_id: str, members: list[MemberToRemove], coordinator: int | None
    ) -> dict[str, Any]:
        if await self._session.version(LeaveGroupRequest) < _SEVERAL_MEMBERS_SINCE:
            return await self._removed_singly(group_id, members, coordinator)
        answer = await requests.remove_members(
            self._session,
            group_id,
            [(each.member_id or "", each.group_instance_id, each.reason) for each in members],
            coordinator,
        )
        answer.check_whole()
        return {
            each.member_id or each.group_instance_id or "": Errors.for_code(each.error_code)
            for each in answer.message.members
        }

    async def _removed_singly(
        self, group_id: str, members: list[MemberToRemove], coordinator: int | None
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for member in members:
            if member.group_instance_id is not None:
                raise Errors.UnsupportedVersionError(
                    "Broker does not support removing members by group.instance.id; requires LeaveGroup v3+ "
                    "(Kafka 2.3+)."
                )
            if not member.member_id:
                raise ValueError(
                    "MemberToRemove.member_id is required when broker does not support batched "
                    "LeaveGroupRequest (v3+)."
                )
            answer = await requests.remove_member(self._session, group_id, member.member_id, coordinator)
            found[member.member_id] = Errors.for_code(answer.message.error_code)
        return found


def _errors_of(topics: Iterable[Any]) -> dict[Any, Any]:
    return {
        TopicPartition(topic.name, partition.partition_index): Errors.for_code(partition.error_code)
        for topic in topics
        for partition in topic.partitions
    }


def _within(offset: int, earliest: int, latest: int) -> int:
    if offset < 0 or offset > latest:
        return latest
    return max(offset, earliest)
