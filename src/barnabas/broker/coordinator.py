"""The group coordinator: joining, syncing, heartbeats, leaving, committed offsets (KIP-62, KIP-345, KIP-394).

Owns time-outs and the moves between a group's states. Must not know requests and responses, nor how groups
are written down.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from barnabas.broker.cluster import Cluster
from barnabas.broker.group import CommittedOffset, Consumers, Group, GroupState, JoinResult, Member, Protocols
from barnabas.broker.group_records import Entry, Key
from barnabas.broker.group_store import (
    GroupStore,
    KeptEntry,
    committed_offset,
    group_entry,
    offset_entry,
    removal_entries,
)
from barnabas.broker.topics.state_topic import KeptEnd, Producer
from barnabas.broker_errors import (
    FencedInstanceIdError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    InvalidGroupIdError,
    InvalidSessionTimeoutError,
    KafkaStorageError,
    MemberIdRequiredError,
    NonEmptyGroupError,
    NotCoordinatorError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

MINUTE_MS = 60_000
CONSUMER_TYPE = "consumer"


Joining = tuple[Member, asyncio.Future[JoinResult]]
"""A member, and what it will learn once the others have joined."""


class MemberIdGivenError(MemberIdRequiredError):
    """The client shall join again with this member id (KIP-394)."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"join again as {member_id}")
        self.member_id = member_id


@dataclass(frozen=True, slots=True)
class JoinAttempt:
    """What a client says when it joins. `member_id` is "" for a client that has none yet."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_known_member_id: bool
    supports_skipping_assignment: bool


class BesideConsumers(Protocol):
    """Members of the classic protocol in groups that have members of the consumer protocol."""

    def join(self, attempt: JoinAttempt) -> JoinResult: ...

    def sync(
        self, group_id: str, generation: int, member_id: str, group_instance_id: str | None
    ) -> tuple[str, bytes]: ...

    def heartbeat(
        self, group_id: str, generation: int, member_id: str, group_instance_id: str | None
    ) -> None: ...

    def leave(self, group_id: str, member_id: str, group_instance_id: str | None) -> None: ...


class GroupCoordinator:
    """All groups. Belongs to one event loop; every method but the waiting ones finishes at once.

    Every method raises subclasses of BrokerError, whose codes are the answers of Kafka's protocol.
    """

    def __init__(self, cluster: Cluster, store: GroupStore) -> None:
        self._settings = cluster.settings
        self._store = store
        self._loop = asyncio.get_running_loop()
        self.groups: dict[str, Group] = {}
        self.classic_members: BesideConsumers | None = None
        """Set by whoever coordinates the other members."""
        self.on_consumers_gone: list[Callable[[str], None]] = []
        """Called with the name of each group that has ceased to be one of the consumer protocol."""
        self._groups_in_transactions: dict[int, set[str]] = {}
        """By producer id, the groups that its open transaction has offsets of."""
        self._commits = count()
        cluster.on_deleted.append(self._forget_topic)

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None:
        """Takes up the groups that were written down; their members stay, if they are heard of in time."""
        there = set(self.groups)
        for kept in entries:
            if isinstance(kept, KeptEnd):
                self.end_transaction(kept.partition, kept.producer_id, is_commit=kept.is_commit)
                continue
            key, value, producer_id = kept
            if isinstance(key, OffsetCommitKey):
                group = self.groups.setdefault(key.group, Group(key.group))
                partition = TopicPartition(key.topic, key.partition)
                committed = committed_offset(value) if isinstance(value, OffsetCommitValue) else None
                self._load_offset(group, partition, committed, producer_id)
            elif not isinstance(key, GroupMetadataKey):
                continue
            elif isinstance(value, GroupMetadataValue):
                self._load_group(self.groups.setdefault(key.group, Group(key.group)), value)
            else:
                found = self.groups.get(key.group)
                if found is not None:
                    found.members.clear()
                    found.protocol_type = ""
        for group in [group for name, group in self.groups.items() if name not in there]:
            if group.is_bare and not group.protocol_type:
                del self.groups[group.group_id]
            for member in group.members.values():
                self._restart_session(group, member)

    def unload(self, group_ids: Iterable[str]) -> None:
        """Lets go of groups that another node coordinates from now on: who waits is to look for it."""
        for group_id in group_ids:
            group = self.groups.pop(group_id)
            self._stop_timers(group)
            moved = NotCoordinatorError(f"group {group_id} has moved")
            for member in group.members.values():
                _fail(member.joining, moved)
                _fail(member.syncing, moved)
                member.joining = member.syncing = None
            for involved in self._groups_in_transactions.values():
                involved.discard(group_id)

    def _load_offset(
        self, group: Group, partition: TopicPartition, committed: CommittedOffset | None, producer_id: int
    ) -> None:
        if committed is None:
            group.forget_offset(partition)
        elif producer_id < 0:
            group.offsets[partition] = self._ordered(committed)
        else:
            self._note_in_transaction(group, producer_id, {partition: committed})

    @staticmethod
    def _load_group(group: Group, value: GroupMetadataValue) -> None:
        group.members.clear()
        group.static_members.clear()
        group.generation = value.generation
        group.protocol_type = value.protocol_type
        group.protocol = value.protocol or ""
        group.changed_ms = value.current_state_timestamp
        for kept in value.members:
            group.add(
                Member(
                    kept.member_id,
                    kept.group_instance_id,
                    kept.client_id,
                    kept.client_host,
                    kept.session_timeout,
                    kept.rebalance_timeout,
                    [(group.protocol, kept.subscription)],
                    kept.assignment,
                )
            )
        group.leader = value.leader or ""
        group.state = GroupState.STABLE if group.members else GroupState.EMPTY

    def close(self) -> None:
        """Stops all timers."""
        for group in self.groups.values():
            self._stop_timers(group)

    def attach(self, consumers: Consumers) -> None:
        """Gives the group of that name its members, whom another coordinator assigns to."""
        name = consumers.group_id
        group = self.groups.setdefault(name, Group(name, changed_ms=now_ms()))
        group.consumers, group.protocol_type = consumers, consumers.kind
        self.tell_state(consumers)

    def tell_state(self, consumers: Consumers) -> None:
        """Whether there are members has changed, it may be."""
        group = self.groups[consumers.group_id]
        state = GroupState.EMPTY if consumers.is_empty else GroupState.STABLE
        if group.state is not state:
            group.state, group.changed_ms = state, now_ms()

    # Joining

    async def join(self, attempt: JoinAttempt) -> JoinResult:
        """Waits until all members have joined; what the new generation is."""
        if (others := self._beside_consumers(attempt.group_id)) is not None:
            self._check_session_timeout(attempt)
            return others.join(attempt)
        member, future = self._join(attempt)
        try:
            return await future
        except asyncio.CancelledError:
            # The client hung up; it has its session's time to come back.
            group = self.groups.get(attempt.group_id)
            if member.joining is future and group is not None:
                member.joining = None
                self._restart_session(group, member)
            raise

    def _join(self, attempt: JoinAttempt) -> Joining:
        self.check_group_id(attempt.group_id)
        self._check_session_timeout(attempt)
        group = self.groups.get(attempt.group_id)
        if group is None:
            if attempt.member_id:
                raise UnknownMemberIdError(f"group {attempt.group_id} does not exist")
            group = Group(attempt.group_id, changed_ms=now_ms())
        self._turn_classic(group)
        if not group.takes(attempt.protocol_type, attempt.protocols):
            raise InconsistentGroupProtocolError(
                f"group {group.group_id} has no protocol in common with the new member's "
                f"{attempt.protocol_type} {', '.join(name for name, _ in attempt.protocols)}"
            )
        known = attempt.member_id in group.members or attempt.member_id in group.pending
        room = self._settings.number("group.max.size")
        if not known and len(group.members) + len(group.pending) >= room:
            raise GroupMaxSizeReachedError(f"group {group.group_id} has {room} members (group.max.size)")
        self.groups[group.group_id] = group
        if not attempt.member_id:
            return self._join_newly(group, attempt)
        if attempt.member_id in group.pending:
            group.pending.pop(attempt.member_id).cancel()
            return self._add_member(group, attempt, attempt.member_id)
        return self._join_again(group, attempt)

    def _check_session_timeout(self, attempt: JoinAttempt) -> None:
        lowest = self._settings.number("group.min.session.timeout.ms")
        highest = self._settings.number("group.max.session.timeout.ms")
        if not lowest <= attempt.session_timeout_ms <= highest:
            raise InvalidSessionTimeoutError(
                f"session timeout {attempt.session_timeout_ms} ms is not from {lowest} to {highest} "
                "(group.min.session.timeout.ms, group.max.session.timeout.ms)"
            )

    def _beside_consumers(self, group_id: str) -> BesideConsumers | None:
        """Who has the classic members of a group that has others too. Raises: InconsistentGroupProtocolError
        where there can be none."""
        group = self.groups.get(group_id)
        if group is None or group.consumers is None or group.consumers.is_empty:
            return None
        group.consumers.check_may_turn_classic()
        return self.classic_members

    def _turn_classic(self, group: Group) -> None:
        """A group that has no members of the consumer protocol any more may have classic ones."""
        if group.consumers is None:
            return
        group.consumers.check_may_turn_classic()
        self._store.append(group.group_id, group.consumers.removal_entries())
        group.consumers, group.protocol_type = None, ""
        for notify in self.on_consumers_gone:
            notify(group.group_id)

    def _join_newly(self, group: Group, attempt: JoinAttempt) -> Joining:
        instance = attempt.group_instance_id
        if instance is not None:
            member_id = f"{instance}-{uuid.uuid4()}"
            if instance in group.static_members:
                return self._replace_static_member(group, attempt, member_id)
            return self._add_member(group, attempt, member_id)
        member_id = f"{attempt.client_id}-{uuid.uuid4()}"
        if attempt.requires_known_member_id:
            group.pending[member_id] = self._later(
                attempt.session_timeout_ms, lambda: self._expire_pending(group, member_id)
            )
            raise MemberIdGivenError(member_id)
        return self._add_member(group, attempt, member_id)

    def _join_again(self, group: Group, attempt: JoinAttempt) -> Joining:
        member = group.find(attempt.member_id, attempt.group_instance_id)
        same = list(member.protocols) == list(attempt.protocols)
        if group.state is GroupState.COMPLETING_REBALANCE and same:
            # The answer got lost; the generation has begun all the same.
            self._restart_session(group, member)
            return member, self._done(group.join_result(member))
        if group.state is GroupState.STABLE and same and member.member_id != group.leader:
            self._restart_session(group, member)
            return member, self._done(group.join_result(member))
        self._update_member(member, attempt)
        return member, self._await_join(group, member)

    def _add_member(self, group: Group, attempt: JoinAttempt, member_id: str) -> Joining:
        if not group.members:
            group.protocol_type = attempt.protocol_type
        member = Member(
            member_id,
            attempt.group_instance_id,
            attempt.client_id,
            attempt.client_host,
            attempt.session_timeout_ms,
            attempt.rebalance_timeout_ms,
            attempt.protocols,
        )
        group.add(member)
        return member, self._await_join(group, member)

    def _replace_static_member(self, group: Group, attempt: JoinAttempt, member_id: str) -> Joining:
        assert attempt.group_instance_id is not None
        member = group.members[group.static_members[attempt.group_instance_id]]
        old_id, old_leader = member.member_id, group.leader
        fenced = FencedInstanceIdError(f"{attempt.group_instance_id} has joined again as {member_id}")
        _fail(member.joining, fenced)
        _fail(member.syncing, fenced)
        member.joining = member.syncing = None
        group.rename_static_member(member, member_id)
        self._update_member(member, attempt)
        logger.info("group %s: static member %s is now %s", group.group_id, old_id, member_id)
        if group.state is not GroupState.STABLE or group.choose_protocol() != group.protocol:
            return member, self._await_join(group, member)
        self._write_group(group)
        self._restart_session(group, member)
        result = group.join_result(member)
        if group.leader == member_id:
            # A leader that assigned anew now would not be heard, as nobody else joins. Where it cannot be
            # told so, it is not told that it leads.
            result = JoinResult(
                result.generation,
                result.protocol_type,
                result.protocol,
                result.leader if attempt.supports_skipping_assignment else old_leader,
                member_id,
                result.members if attempt.supports_skipping_assignment else (),
                skip_assignment=attempt.supports_skipping_assignment,
            )
        return member, self._done(result)

    @staticmethod
    def _update_member(member: Member, attempt: JoinAttempt) -> None:
        member.client_id, member.client_host = attempt.client_id, attempt.client_host
        member.session_timeout_ms = attempt.session_timeout_ms
        member.rebalance_timeout_ms = attempt.rebalance_timeout_ms
        member.protocols = attempt.protocols

    def _await_join(self, group: Group, member: Member) -> asyncio.Future[JoinResult]:
        _fail(member.joining, UnknownMemberIdError("the member has joined again on another connection"))
        future = member.joining = self._loop.create_future()
        self._stop_session(member)
        self._rebalance(group)
        return future

    def _done(self, result: JoinResult) -> asyncio.Future[JoinResult]:
        future: asyncio.Future[JoinResult] = self._loop.create_future()
        future.set_result(result)
        return future

    def give_up_members(self, group: Group) -> list[Key]:
        """Has a group's members told to join again, elsewhere; the keys of what was written of them."""
        self._stop_timers(group)
        moved = RebalanceInProgressError(f"group {group.group_id} gets members of the consumer protocol")
        for member in group.members.values():
            _fail(member.joining, moved)
            _fail(member.syncing, moved)
            member.joining = member.syncing = None
        group.members.clear()
        group.static_members.clear()
        group.pending.clear()
        group.leader = group.protocol = ""
        return [GroupMetadataKey(group.group_id)]

    def take_members(self, group: Group, generation: int, members: Iterable[Member]) -> None:
        """The group's members of the consumer protocol have gone, and these are left: they join again.

        Raises: KafkaStorageError.
        """
        assert group.consumers is not None
        removal = group.consumers.removal_entries()
        for notify in self.on_consumers_gone:
            notify(group.group_id)
        group.consumers, group.generation, group.protocol_type = None, generation, CONSUMER_TYPE
        for member in members:
            group.add(member)
            self._restart_session(group, member)
        group.protocol = group.choose_protocol()
        self._set_state(group, GroupState.STABLE)
        self._store.append(group.group_id, [*removal, group_entry(group)])
        self._rebalance(group)

    # Rebalancing

    def force_rebalance(self, group_id: str) -> bool:
        """Has a group's members join again, though none came or went. False where there are none."""
        group = self.groups.get(group_id)
        if group is None or not group.members:
            return False
        self._rebalance(group)
        return True

    def _rebalance(self, group: Group) -> None:
        """Begins a rebalance, or lets one that goes on go further."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            for member in group.members.values():
                _fail(member.syncing, RebalanceInProgressError(f"group {group.group_id} rebalances"))
                member.syncing = None
            delay_ms = self._settings.number("group.initial.rebalance.delay.ms")
            group.gathers_first_members = group.state is GroupState.EMPTY and delay_ms > 0
            self._set_state(group, GroupState.PREPARING_REBALANCE)
            timeout_ms = max((member.rebalance_timeout_ms for member in group.members.values()), default=0)
            if group.gathers_first_members:
                self._set_rebalance_timer(group, delay_ms, self._end_gathering)
            else:
                self._set_rebalance_timer(group, timeout_ms, self._complete_join)
        if not group.gathers_first_members and group.all_joined():
            self._complete_join(group)

    def _end_gathering(self, group: Group) -> None:
        group.gathers_first_members = False
        self._complete_join(group)

    def _complete_join(self, group: Group) -> None:
        """Begins a generation with those who have joined; other static members stay for their session."""
        self._set_rebalance_timer(group, None)
        for member in [other for other in group.members.values() if other.joining is None]:
            if not member.is_static:
                logger.info("group %s: member %s did not rejoin in time", group.group_id, member.member_id)
                self._stop_session(member)
                group.remove(member)
        joined = [member for member in group.members.values() if member.joining is not None]
        if group.members and not joined:
            longest_ms = max(member.rebalance_timeout_ms for member in group.members.values())
            self._set_rebalance_timer(group, longest_ms, self._complete_join)
            return
        group.generation += 1
        if not group.members:
            self._set_state(group, GroupState.EMPTY)
            group.protocol = group.leader = ""
            self._write_group_or_log(group)
            return
        if group.members[group.leader].joining is None:
            group.leader = joined[0].member_id
        group.protocol = group.choose_protocol()
        self._set_state(group, GroupState.COMPLETING_REBALANCE)
        for member in joined:
            future, member.joining = member.joining, None
            if future is not None and not future.done():
                future.set_result(group.join_result(member))
            self._restart_session(group, member)
        longest_ms = max(member.rebalance_timeout_ms for member in group.members.values())
        self._set_rebalance_timer(group, longest_ms, self._expel_unsynced)

    def _expel_unsynced(self, group: Group) -> None:
        """The leader's assignment did not come in time: whoever has not asked for it has to go."""
        for member in [other for other in group.members.values() if other.syncing is None]:
            self._stop_session(member)
            group.remove(member)
        self._rebalance(group)

    async def sync(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        group_instance_id: str | None,
        protocol_type: str | None,
        protocol: str | None,
        assignments: Mapping[str, bytes],
    ) -> tuple[str, str, bytes]:
        """Waits for the leader's assignment: the protocol's type and name, and this member's part of it."""
        if (others := self._beside_consumers(group_id)) is not None:
            name, assignment = others.sync(group_id, generation, member_id, group_instance_id)
            return CONSUMER_TYPE, name, assignment
        group = self._existing(group_id)
        member = group.find(member_id, group_instance_id)
        group.check_generation(generation)
        if protocol_type not in (None, group.protocol_type) or protocol not in (None, group.protocol):
            raise InconsistentGroupProtocolError(
                f"group {group_id} uses {group.protocol_type} {group.protocol}, "
                f"not {protocol_type} {protocol}"
            )
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgressError(f"group {group_id} rebalances")
        self._restart_session(group, member)
        if group.state is GroupState.STABLE:
            return group.protocol_type, group.protocol, member.assignment
        _fail(member.syncing, UnknownMemberIdError("the member has asked again on another connection"))
        future = member.syncing = self._loop.create_future()
        if member_id == group.leader:
            self._take_assignments(group, assignments)
        assignment = await future
        return group.protocol_type, group.protocol, assignment

    def _take_assignments(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        try:
            self._set_state(group, GroupState.STABLE)
            self._write_group(group)
        except KafkaStorageError as error:
            group.state = GroupState.COMPLETING_REBALANCE
            for member in group.members.values():
                _fail(member.syncing, error)
                member.syncing = None
            self._rebalance(group)
            return
        self._set_rebalance_timer(group, None)
        for member in group.members.values():
            future, member.syncing = member.syncing, None
            if future is not None and not future.done():
                future.set_result(member.assignment)
            self._restart_session(group, member)

    # Staying and leaving

    def heartbeat(
        self, group_id: str, generation: int, member_id: str, group_instance_id: str | None
    ) -> None:
        if (others := self._beside_consumers(group_id)) is not None:
            others.heartbeat(group_id, generation, member_id, group_instance_id)
            return
        group = self._existing(group_id)
        member = group.find(member_id, group_instance_id)
        group.check_generation(generation)
        self._restart_session(group, member)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgressError(f"group {group_id} rebalances")

    def leave(self, group_id: str, member_id: str, group_instance_id: str | None) -> None:
        """A static member may be removed by its instance id alone, as an administrator does."""
        self.check_group_id(group_id)
        if (others := self._beside_consumers(group_id)) is not None:
            others.leave(group_id, member_id, group_instance_id)
            return
        group = self._existing(group_id)
        if member_id in group.pending:
            self._expire_pending(group, member_id)
            return
        if group_instance_id is not None and not member_id:
            member_id = group.static_members.get(group_instance_id, "")
        self._remove_member(group, group.find(member_id, group_instance_id), "left")

    def _remove_member(self, group: Group, member: Member, why: str) -> None:
        logger.info("group %s: member %s %s", group.group_id, member.member_id, why)
        self._stop_session(member)
        gone = UnknownMemberIdError(f"member {member.member_id} {why}")
        _fail(member.joining, gone)
        _fail(member.syncing, gone)
        group.remove(member)
        self._rebalance(group)

    def _expire_pending(self, group: Group, member_id: str) -> None:
        group.pending.pop(member_id).cancel()
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rebalance(group)

    def _restart_session(self, group: Group, member: Member) -> None:
        self._stop_session(member)
        if member.joining is None:
            member.session_timer = self._later(
                member.session_timeout_ms, lambda: self._remove_member(group, member, "was not heard of")
            )

    @staticmethod
    def _stop_session(member: Member) -> None:
        if member.session_timer is not None:
            member.session_timer.cancel()
            member.session_timer = None

    # Offsets

    def commit(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        group_instance_id: str | None,
        offsets: Mapping[TopicPartition, CommittedOffset],
    ) -> None:
        """Keeps offsets, on disk when this returns. A generation below 0 commits from outside the group."""
        self.check_group_id(group_id)
        group = self.groups.get(group_id)
        if group is None:
            if generation >= 0:
                raise UnknownMemberIdError(f"group {group_id} does not exist")
            group = Group(group_id, changed_ms=now_ms())
        elif group.consumers is not None:
            group.consumers.check_commit(member_id, generation, offsets.keys())
        # Without members programs commit that manage none, by whatever names.
        elif generation >= 0 or group.state is not GroupState.EMPTY:
            if generation < 0 and not member_id and group_instance_id is None:
                raise UnknownMemberIdError(
                    f"group {group_id} has members, so that only they may commit; stop them first"
                )
            member = group.find(member_id, group_instance_id)
            group.check_generation(generation)
            self._restart_session(group, member)
            if group.state is GroupState.COMPLETING_REBALANCE:
                raise RebalanceInProgressError(f"group {group_id} rebalances")
        self._store.append(
            group_id,
            [offset_entry(group_id, partition, committed) for partition, committed in offsets.items()],
        )
        self.groups[group_id] = group
        group.offsets.update((partition, self._ordered(given)) for partition, given in offsets.items())

    def check_commit_in_transaction(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        group_instance_id: str | None,
        partitions: Collection[TopicPartition],
    ) -> None:
        """Whether a member, or a program that names none (generation -1), may commit in a transaction."""
        self.check_group_id(group_id)
        group = self.groups.get(group_id)
        if group is None:
            if generation >= 0:
                raise IllegalGenerationError(f"group {group_id} does not exist")
        elif generation < 0 and not member_id and group_instance_id is None:
            return
        elif group.consumers is not None:
            try:
                group.consumers.check_commit(member_id, generation, partitions)
            except StaleMemberEpochError as error:
                raise IllegalGenerationError(error.context) from None
        elif generation >= 0 or group.state is not GroupState.EMPTY:
            group.find(member_id, group_instance_id)
            group.check_generation(generation)

    def commit_in_transaction(
        self, group_id: str, producer: Producer, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Keeps offsets, on disk when this returns, that count once the producer's transaction is
        committed."""
        entries = [offset_entry(group_id, partition, committed) for partition, committed in offsets.items()]
        self._store.append(group_id, entries, producer)
        group = self.groups.setdefault(group_id, Group(group_id, changed_ms=now_ms()))
        self._note_in_transaction(group, producer[0], offsets)

    def _note_in_transaction(
        self, group: Group, producer_id: int, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        self._groups_in_transactions.setdefault(producer_id, set()).add(group.group_id)
        noted = group.offsets_in_transactions.setdefault(producer_id, {})
        noted.update((partition, self._ordered(given)) for partition, given in offsets.items())

    def end_transaction(self, offsets_partition: int, producer_id: int, *, is_commit: bool) -> None:
        """What a marker in a partition of __consumer_offsets means for the groups that are kept there."""
        involved = self._groups_in_transactions.get(producer_id, set())
        kept_there = [name for name in involved if self._store.partition_for(name).index == offsets_partition]
        for group_id in kept_there:
            involved.discard(group_id)
            group = self.groups.get(group_id)
            if group is not None:
                group.end_transaction(producer_id, is_commit=is_commit)
        if not involved:
            self._groups_in_transactions.pop(producer_id, None)

    def _ordered(self, committed: CommittedOffset) -> CommittedOffset:
        return replace(committed, order=next(self._commits))

    def delete_group(self, group_id: str) -> None:
        group = self.groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"group {group_id} does not exist")
        if group.state is not GroupState.EMPTY:
            raise NonEmptyGroupError(f"group {group_id} has members")
        self._store.append(group_id, removal_entries(group))
        self._drop(group)

    def delete_offsets(self, group: Group, partitions: Iterable[TopicPartition]) -> None:
        there = group.partitions_with_offsets()
        present = [partition for partition in partitions if partition in there]
        if present:
            self._store.append(
                group.group_id, [offset_entry(group.group_id, partition, None) for partition in present]
            )
        for partition in present:
            group.forget_offset(partition)

    def _forget_topic(self, topic: str) -> None:
        for group in self.groups.values():
            try:
                self.delete_offsets(
                    group, [name for name in group.partitions_with_offsets() if name.topic == topic]
                )
            except KafkaStorageError as error:
                logger.error("offsets of deleted topic %s stay in group %s: %s", topic, group.group_id, error)

    def expire_offsets(self) -> None:
        """Removes offsets of groups that have long been empty, and groups that have nothing left."""
        before_ms = now_ms() - self._settings.number("offsets.retention.minutes") * MINUTE_MS
        for group in list(self.groups.values()):
            if group.state is not GroupState.EMPTY or group.pending or group.offsets_in_transactions:
                continue
            # A group that never had members only commits; its offsets age by themselves.
            empty_since_ms = group.changed_ms if group.protocol_type else -1
            expired = [
                partition
                for partition, committed in group.offsets.items()
                if max(committed.commit_ms, empty_since_ms) < before_ms
            ]
            try:
                if len(expired) == len(group.offsets) and empty_since_ms < before_ms:
                    self._store.append(group.group_id, removal_entries(group))
                    self._drop(group)
                else:
                    self.delete_offsets(group, expired)
            except KafkaStorageError as error:
                logger.error("old offsets of group %s stay: %s", group.group_id, error)

    # Helpers

    @staticmethod
    def check_group_id(group_id: str) -> None:
        if not group_id:
            raise InvalidGroupIdError("a group needs a name")

    def _existing(self, group_id: str) -> Group:
        self.check_group_id(group_id)
        group = self.groups.get(group_id)
        if group is None:
            raise UnknownMemberIdError(f"group {group_id} does not exist")
        return group

    @staticmethod
    def _set_state(group: Group, state: GroupState) -> None:
        group.state = state
        group.changed_ms = now_ms()

    def _write_group(self, group: Group) -> None:
        entries: Sequence[Entry] = [group_entry(group)]
        self._store.append(group.group_id, entries)

    def _write_group_or_log(self, group: Group) -> None:
        try:
            self._write_group(group)
        except KafkaStorageError as error:
            logger.error("group %s cannot be written down: %s", group.group_id, error)

    def _drop(self, group: Group) -> None:
        self._stop_timers(group)
        group.state = GroupState.DEAD
        del self.groups[group.group_id]
        if group.consumers is not None:
            for notify in self.on_consumers_gone:
                notify(group.group_id)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(max(0, delay_ms) / 1000, action)

    def _set_rebalance_timer(
        self, group: Group, delay_ms: int | None, action: Callable[[Group], None] | None = None
    ) -> None:
        if group.rebalance_timer is not None:
            group.rebalance_timer.cancel()
            group.rebalance_timer = None
        if delay_ms is not None and action is not None:
            group.rebalance_timer = self._later(delay_ms, lambda: action(group))

    def _stop_timers(self, group: Group) -> None:
        self._set_rebalance_timer(group, None)
        for member in group.members.values():
            self._stop_session(member)
        for timer in group.pending.values():
            timer.cancel()


def _fail(future: asyncio.Future[JoinResult] | asyncio.Future[bytes] | None, error: BrokerError) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
