"""What `debug` tells of a consumer: its group, its assignment, its positions and what it fetches.

Owns librdkafka's forms of these lines and which contexts they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from barnabas.compat.librdkafka.log.client_log import MAIN, DebugLine
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.events import (
    Event,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from barnabas.steps import (
    CoordinatorFound,
    CoordinatorRequested,
    FetchAnswered,
    FetchSent,
    GroupAssigned,
    GroupJoined,
    GroupJoinSent,
    GroupLeft,
    GroupRefused,
    HeartbeatSent,
    MemberPhaseChanged,
    PositionFound,
    PositionSought,
    RejoinRequested,
    Step,
)
from barnabas.types import Node, TopicPartition

GroupProtocol = Literal["classic", "consumer", "share"]

# librdkafka's names of where a member is.
_JOIN_STATES = {
    "outside": "init",
    "joining": "wait-join",
    "assigned": "wait-assign-call",
    "member": "steady",
}
_LOGICAL = {"committed": "STORED", "earliest": "BEGINNING", "latest": "END", "reset": "INVALID"}


class GroupLines:
    """`broker` gives the name of a broker. `protocol`: the group's."""

    def __init__(self, broker: Callable[[Node], str], protocol: GroupProtocol) -> None:
        self._broker = broker
        self._protocol = protocol
        self._state = "init"
        self._join_state = "init"
        self._coordinator = -1

    def of(self, told: Step | Event) -> Iterator[DebugLine]:
        match told:
            case CoordinatorRequested(kind="group"):
                yield from self._enter(told.key, "query-coord")
                yield _of(told.key, "cgrp", "CGRPQUERY", f"querying for coordinator: in state {self._state}")
                yield from self._enter(told.key, "wait-coord")
            case CoordinatorFound(kind="group"):
                yield from self._found(told)
            case MemberPhaseChanged():
                before, self._join_state = self._join_state, _JOIN_STATES[told.phase]
                text = f"changed join state {before} -> {self._join_state} (state {self._state})"
                yield DebugLine("cgrp", "CGRPJOINSTATE", MAIN, f'Group "{told.group_id}" {text}')
            case RejoinRequested():
                text = f'Group "{told.group_id}": (re)joining in join-state {self._join_state}'
                yield DebugLine("cgrp consumer", "REJOIN", MAIN, _because(text, told.reason))
            case GroupJoinSent():
                text = (
                    f'Joining group "{told.group_id}" with {len(told.topics)} subscribed topic(s) and member '
                    f'id "{told.member_id}"'
                )
                yield DebugLine("cgrp consumer", "JOIN", MAIN, text)
            case GroupJoined():
                yield from self._joined(told)
            case GroupAssigned():
                text = f"setting group assignment to {len(told.partitions)} partition(s)"
                yield _of(told.group_id, "cgrp", "ASSIGNMENT", text)
                yield from _listed("cgrp", "GRPASSIGNMENT", told.partitions)
            case HeartbeatSent():
                text = f'Heartbeat for group "{told.group_id}" generation id {told.generation}'
                if self._protocol != "classic":
                    what = "Consumer" if self._protocol == "consumer" else "Share"
                    text = (
                        f'{what}GroupHeartbeat of member id "{told.member_id}", group id '
                        f'"{told.group_id}", generation id {told.generation}'
                    )
                facility = "SHAREHEARTBEAT" if self._protocol == "share" else "HEARTBEAT"
                yield DebugLine("cgrp", facility, MAIN, text)
            case GroupRefused():
                error = kafka_error_of(told.error)
                facility = "JOINGROUP" if told.action == "joining" else "HEARTBEAT"
                what = "JoinGroup response" if told.action == "joining" else "Heartbeat"
                yield DebugLine("cgrp", facility, MAIN, f"{what}: {KafkaError(error.code()).str()}")
            case GroupLeft():
                yield _of(told.group_id, "cgrp", "LEAVE", f"leave (in state {self._state}): {told.reason}")
                if self._protocol != "share":
                    yield DebugLine("consumer", "LEAVE", MAIN, "Leaving group")
            case _:
                yield from self._of_partitions(told)

    def _of_partitions(self, told: Step | Event) -> Iterator[DebugLine]:
        match told:
            case PartitionsAssigned():
                count = f"{len(told.partitions)} partition(s)"
                if self._protocol == "consumer":
                    text = f"delegating incremental assign of {count} to application"
                    yield _of(told.group_id, "cgrp", "ASSIGN", text)
                else:
                    text = f"new assignment of {count} in join-state {self._join_state}"
                    yield _of(told.group_id, "cgrp consumer", "ASSIGN", text)
            case PartitionsRevoked():
                yield self._rebalance(told.group_id, told.partitions, "revoked")
                yield _of(told.group_id, "cgrp", "ASSIGN", f"revoke of {len(told.partitions)} partition(s)")
            case PartitionsLost():
                yield self._rebalance(told.group_id, told.partitions, "lost")
                text = f"revoke of {len(told.partitions)} partition(s), which are lost"
                yield _of(told.group_id, "cgrp", "ASSIGN", text)
            case OffsetsCommitted():
                result = "Success" if told.error is None else kafka_error_of(told.error).str()
                text = (
                    f"OffsetCommit for {len(told.offsets)} partition(s) in join-state {self._join_state}: "
                    f"returned: {result}"
                )
                yield DebugLine("cgrp", "COMMIT", MAIN, text)
            case PositionSought():
                yield from _sought(told)
            case PositionFound():
                name = _name(told.partition)
                text = f"Partition {name} start fetching at offset {told.offset}"
                if told.is_committed:
                    fetched = f"OffsetFetchResponse: {name} offset {told.offset}"
                    yield DebugLine("topic", "OFFSETFETCH", MAIN, fetched)
                else:
                    found = f"Offset request for {name} returned offset {told.offset}"
                    yield DebugLine("topic", "OFFSET", MAIN, found)
                yield DebugLine("consumer topic", "FETCH", MAIN, text)
            case FetchSent():
                broker = self._broker(told.node)
                for partition, offset in told.offsets.items():
                    text = f"{broker}: Fetch topic {_name(partition)} at offset {offset}"
                    yield DebugLine("fetch", "FETCH", broker, text)
                text = f"{broker}: Fetch {len(told.offsets)} toppar(s), max wait {told.max_wait_ms}ms"
                yield DebugLine("fetch", "FETCH", broker, text)
            case FetchAnswered():
                yield from self._fetched(told)
            case _:
                pass

    def _enter(self, group_id: str, state: str) -> Iterator[DebugLine]:
        if state != self._state:
            before, self._state = self._state, state
            text = f"changed state {before} -> {state} (join-state {self._join_state})"
            yield DebugLine("cgrp", "CGRPSTATE", MAIN, f'Group "{group_id}" {text}')

    def _found(self, step: CoordinatorFound) -> Iterator[DebugLine]:
        node, name = step.node, f'Group "{step.key}"'
        text = f"{name} coordinator is {node.host}:{node.port} id {node.node_id}"
        yield DebugLine("cgrp", "CGRPCOORD", MAIN, text)
        if node.node_id != self._coordinator:
            text = f"{name} changing coordinator {self._coordinator} -> {node.node_id}"
            self._coordinator = node.node_id
            yield DebugLine("cgrp", "CGRPCOORD", MAIN, text)
            text = f"{name} coordinator set to broker {self._broker(node)}"
            yield DebugLine("cgrp", "COORDSET", MAIN, text)
        yield from self._enter(step.key, "up")

    def _joined(self, step: GroupJoined) -> Iterator[DebugLine]:
        if not step.leader:
            text = (
                f'ConsumerGroupHeartbeat response received for member id "{step.member_id}" with epoch '
                f"{step.generation}"
            )
            yield DebugLine("cgrp", "HEARTBEAT", MAIN, text)
            return
        is_leader = step.leader == step.member_id
        text = (
            f"JoinGroup response: GenerationId {step.generation}, Protocol {step.assignor}, LeaderId "
            f"{step.leader}{' (me)' if is_leader else ''}, my MemberId {step.member_id}, member metadata "
            f"count {len(step.members)}: (no error)"
        )
        yield DebugLine("cgrp", "JOINGROUP", MAIN, text)
        if is_leader:
            count = len(step.members)
            text = f'I am elected leader for group "{step.group_id}" with {count} member(s)'
            yield DebugLine("cgrp", "JOINGROUP", MAIN, text)
            text = f'"{step.assignor}" assignor run for {count} member(s)'
            yield _of(step.group_id, "cgrp consumer", "ASSIGNOR", text)
            text = f'Group "{step.group_id}" running {step.assignor} assignor for {count} member(s)'
            yield DebugLine("assignor cgrp", "ASSIGN", MAIN, text)
            for member in step.members:
                me = " (me)" if member == step.member_id else ""
                yield DebugLine("assignor cgrp", "ASSIGN", MAIN, f' Member "{member}"{me}')

    def _rebalance(self, group_id: str, partitions: tuple[TopicPartition, ...], why: str) -> DebugLine:
        text = (
            f'Group "{group_id}" initiating rebalance in state {self._state} (join-state {self._join_state}) '
            f"with {len(partitions)} assigned partition(s): {why}"
        )
        return DebugLine("cgrp consumer", "REBALANCE", MAIN, text)

    def _fetched(self, step: FetchAnswered) -> Iterator[DebugLine]:
        broker = self._broker(step.node)
        for partition, size in step.sizes.items():
            code = step.error_codes.get(partition, 0)
            error = KafkaError(code)
            text = f'{broker}: Topic {_name(partition)} MessageSet size {size}, error "{error.str()}"'
            yield DebugLine("msg", "FETCH", broker, text)
            if size:
                text = f"{broker}: Enqueue {size} bytes on {_name(partition)} fetch queue"
                yield DebugLine("fetch msg", "CONSUME", broker, text)
            if code:
                text = f"{broker}: {_name(partition)}: Fetch failed: {error.name()}"
                yield DebugLine("fetch", "FETCHERR", broker, text)


def _of(group_id: str, contexts: str, facility: str, text: str) -> DebugLine:
    return DebugLine(contexts, facility, MAIN, f'Group "{group_id}": {text}')


def _because(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


def _name(partition: TopicPartition) -> str:
    return f"{partition.topic} [{partition.partition}]"


def _listed(contexts: str, facility: str, partitions: Iterable[TopicPartition]) -> Iterator[DebugLine]:
    names = [_name(partition) for partition in partitions]
    yield DebugLine(contexts, facility, MAIN, f"List with {len(names)} partition(s):")
    for name in names:
        yield DebugLine(contexts, facility, MAIN, f" {name}")


def _sought(step: PositionSought) -> Iterator[DebugLine]:
    committed = [p for p, start in step.partitions.items() if start == "committed"]
    if committed:
        text = f"Fetch committed offsets for {len(committed)}/{len(step.partitions)} partition(s)"
        yield DebugLine("cgrp consumer", "OFFSET", MAIN, text)
    for partition, start in step.partitions.items():
        if start != "committed":
            text = f"Partition {_name(partition)}: querying for logical offset {_LOGICAL.get(start, start)}"
            yield DebugLine("topic", "OFFREQ", MAIN, text)
