"""The coordinator of groups of the classic protocol: joining, syncing, heartbeats, leaving (KIP-62, KIP-345,
KIP-394).

Owns time-outs and the moves between a group's states. Must not know requests and responses, nor offsets.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from barnabas.broker.classic_groups.join_attempt import JoinAttempt, MemberIdGivenError
from barnabas.broker.classic_groups.records import group_entry, take_up
from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.group import (
    Group,
    GroupState,
    JoinResult,
    Member,
    MemberIdentity,
    check_group_id,
    fail,
)
from barnabas.broker.groups.store import GroupStore, KeptEntry
from barnabas.broker.topics.state_topic import KeptEnd
from barnabas.broker_errors import (
    FencedInstanceIdError,
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    KafkaStorageError,
    NotCoordinatorError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from barnabas.clock import now_ms
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue

# Kafka has one logger for all that its group coordinator does.
logger = logging.getLogger("barnabas.broker.groups")

CONSUMER_TYPE = "consumer"


Joining = tuple[Member, asyncio.Future[JoinResult]]
"""A member, and what it will learn once the others have joined."""


class MixedGroups(Protocol):
    """Answers members of the classic protocol in groups that have members of the consumer protocol."""

    def join(self, attempt: JoinAttempt) -> JoinResult: ...

    def sync(self, identity: MemberIdentity) -> tuple[str, bytes]: ...

    def heartbeat(self, identity: MemberIdentity) -> None: ...

    def leave(self, group_id: str, member_id: str, group_instance_id: str | None) -> None: ...


class ClassicGroupCoordinator:
    """Belongs to one event loop; every method but the waiting ones finishes at once.

    Every method raises subclasses of BrokerError, whose codes are the answers of Kafka's protocol. Of a group
    that is to have members of the consumer protocol, `give_up_members` lets go, and `take_members` takes it.
    """

    def __init__(self, cluster: Cluster, store: GroupStore, groups: GroupDirectory) -> None:
        self._settings = cluster.settings
        self._store = store
        self._groups = groups
        self._loop = asyncio.get_running_loop()
        self.mixed_groups: MixedGroups | None = None
        """Set by whoever coordinates the members of the consumer protocol."""

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None:
        """Reads the groups from their records. A member stays if it sends a request in its session time."""
        by_name, loaded = self._groups.by_name, set[str]()
        for kept in entries:
            if isinstance(kept, KeptEnd) or not isinstance(kept.key, GroupMetadataKey):
                continue
            name = kept.key.group
            loaded.add(name)
            if isinstance(kept.value, GroupMetadataValue):
                take_up(by_name.setdefault(name, Group(name)), kept.value)
            elif name in by_name:
                by_name[name].members.clear()
                by_name[name].protocol_type = ""
        self._groups.drop_bare(loaded)
        for group in [by_name[name] for name in loaded if name in by_name]:
            for member in group.members.values():
                self.restart_session(group, member)

    def unload(self, group_ids: Iterable[str]) -> None:
        """Of groups that another node coordinates from now on: who waits is to look for it."""
        for group_id in group_ids:
            moved = NotCoordinatorError(f"group {group_id} has moved")
            for member in self._groups.by_name[group_id].members.values():
                member.stop_waiting(moved)

    def close(self) -> None:
        """Stops all timers."""
        for group in self._groups.by_name.values():
            group.stop_timers()

    # Joining

    async def join(self, attempt: JoinAttempt) -> JoinResult:
        """Waits until all members have joined; what the new generation is."""
        if (others := self._mixed(attempt.group_id)) is not None:
            self._check_session_timeout(attempt)
            return others.join(attempt)
        member, future = self._join(attempt)
        try:
            return await future
        except asyncio.CancelledError:
            # The client hung up; it has its session's time to come back.
            group = self._groups.by_name.get(attempt.group_id)
            if member.joining is future and group is not None:
                member.joining = None
                self.restart_session(group, member)
            raise

    def _join(self, attempt: JoinAttempt) -> Joining:
        check_group_id(attempt.group_id)
        self._check_session_timeout(attempt)
        group = self._groups.by_name.get(attempt.group_id)
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
        self._groups.by_name[group.group_id] = group
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

    def _mixed(self, group_id: str) -> MixedGroups | None:
        """Who has the classic members of a group that has others too. Raises: InconsistentGroupProtocolError
        where there can be none."""
        group = self._groups.by_name.get(group_id)
        if group is None or group.consumers is None or group.consumers.is_empty:
            return None
        group.consumers.check_may_turn_classic()
        return self.mixed_groups

    def _turn_classic(self, group: Group) -> None:
        """A group that has no members of the consumer protocol any more may have classic ones."""
        if group.consumers is None:
            return
        group.consumers.check_may_turn_classic()
        self._store.append(group.group_id, group.consumers.removal_entries())
        self._groups.detach_consumers(group)

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
            self.restart_session(group, member)
            return member, self._done(group.join_result(member))
        if group.state is GroupState.STABLE and same and member.member_id != group.leader:
            self.restart_session(group, member)
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
        old_id, old_leader, before = member.member_id, group.leader, replace(member)
        group.rename_static_member(member, member_id)
        self._update_member(member, attempt)
        stays = group.state is GroupState.STABLE and group.choose_protocol() == group.protocol
        if stays:

            def undo() -> None:
                group.rename_static_member(member, old_id)
                member.take_description(before)

            self._write_group(group, undo)
        member.stop_waiting(
            FencedInstanceIdError(f"{attempt.group_instance_id} has joined again as {member_id}")
        )
        logger.info("group %s: static member %s is now %s", group.group_id, old_id, member_id)
        if not stays:
            return member, self._await_join(group, member)
        self.restart_session(group, member)
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
        fail(member.joining, UnknownMemberIdError("the member has joined again on another connection"))
        future = member.joining = self._loop.create_future()
        member.stop_session()
        self._rebalance(group)
        return future

    def _done(self, result: JoinResult) -> asyncio.Future[JoinResult]:
        future: asyncio.Future[JoinResult] = self._loop.create_future()
        future.set_result(result)
        return future

    # From one protocol to the other

    def give_up_members(self, group: Group) -> None:
        """Has a group's members told to join again: another coordinator has them now."""
        group.stop_timers()
        moved = RebalanceInProgressError(f"group {group.group_id} gets members of the consumer protocol")
        for member in group.members.values():
            member.stop_waiting(moved)
        group.members.clear()
        group.static_members.clear()
        group.pending.clear()
        group.leader = group.protocol = ""

    def take_members(self, group: Group, generation: int, members: Iterable[Member]) -> None:
        """The group's members of the consumer protocol have gone, and these are left: they join again.

        Raises: KafkaStorageError, and then nothing has changed.
        """
        assert group.consumers is not None
        after = Group(group.group_id, GroupState.STABLE, generation, CONSUMER_TYPE, changed_ms=now_ms())
        for member in members:
            after.add(member)
        after.protocol = after.choose_protocol()
        self._store.append(group.group_id, [*group.consumers.removal_entries(), group_entry(after)])
        self._groups.detach_consumers(group)
        group.generation, group.protocol_type, group.protocol = generation, CONSUMER_TYPE, after.protocol
        for member in after.members.values():
            group.add(member)
            self.restart_session(group, member)
        self._set_state(group, GroupState.STABLE)
        self._rebalance(group)

    # Rebalancing

    def force_rebalance(self, group_id: str) -> bool:
        """Has a group's members join again, though none came or went. False where there are none."""
        group = self._groups.by_name.get(group_id)
        if group is None or not group.members:
            return False
        self._rebalance(group)
        return True

    def _rebalance(self, group: Group) -> None:
        """Begins a rebalance, or lets one that goes on go further."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            for member in group.members.values():
                fail(member.syncing, RebalanceInProgressError(f"group {group.group_id} rebalances"))
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
        group.stop_rebalance_timer()
        for member in [other for other in group.members.values() if other.joining is None]:
            if not member.is_static:
                logger.info("group %s: member %s did not rejoin in time", group.group_id, member.member_id)
                member.stop_session()
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
            try:
                self._store.append(group.group_id, [group_entry(group)])
            except KafkaStorageError as error:
                # They have gone all the same, and will not be heard of after the next start either.
                logger.error("group %s cannot be written down: %s", group.group_id, error)
            return
        if group.members[group.leader].joining is None:
            group.leader = joined[0].member_id
        group.protocol = group.choose_protocol()
        self._set_state(group, GroupState.COMPLETING_REBALANCE)
        for member in joined:
            future, member.joining = member.joining, None
            if future is not None and not future.done():
                future.set_result(group.join_result(member))
            self.restart_session(group, member)
        longest_ms = max(member.rebalance_timeout_ms for member in group.members.values())
        self._set_rebalance_timer(group, longest_ms, self._expel_unsynced)

    def _expel_unsynced(self, group: Group) -> None:
        """The leader's assignment did not come in time: whoever has not asked for it has to go."""
        for member in [other for other in group.members.values() if other.syncing is None]:
            member.stop_session()
            group.remove(member)
        self._rebalance(group)

    async def sync(
        self,
        identity: MemberIdentity,
        protocol_type: str | None,
        protocol: str | None,
        assignments: Mapping[str, bytes],
    ) -> tuple[str, str, bytes]:
        """Waits for the leader's assignment: the protocol's type and name, and this member's part of it."""
        group_id = identity.group_id
        if (others := self._mixed(group_id)) is not None:
            name, assignment = others.sync(identity)
            return CONSUMER_TYPE, name, assignment
        group, member = self._find(identity)
        if protocol_type not in (None, group.protocol_type) or protocol not in (None, group.protocol):
            raise InconsistentGroupProtocolError(
                f"group {group_id} uses {group.protocol_type} {group.protocol}, "
                f"not {protocol_type} {protocol}"
            )
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgressError(f"group {group_id} rebalances")
        self.restart_session(group, member)
        if group.state is GroupState.STABLE:
            return group.protocol_type, group.protocol, member.assignment
        fail(member.syncing, UnknownMemberIdError("the member has asked again on another connection"))
        future = member.syncing = self._loop.create_future()
        if member.member_id == group.leader:
            self._take_assignments(group, assignments)
        assignment = await future
        return group.protocol_type, group.protocol, assignment

    def _take_assignments(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        before = {member: member.assignment for member in group.members.values()}

        def undo() -> None:
            self._set_state(group, GroupState.COMPLETING_REBALANCE)
            for member, assignment in before.items():
                member.assignment = assignment

        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        self._set_state(group, GroupState.STABLE)
        try:
            self._write_group(group, undo)
        except KafkaStorageError as error:
            for member in group.members.values():
                fail(member.syncing, error)
                member.syncing = None
            self._rebalance(group)
            return
        group.stop_rebalance_timer()
        for member in group.members.values():
            future, member.syncing = member.syncing, None
            if future is not None and not future.done():
                future.set_result(member.assignment)
            self.restart_session(group, member)

    # Staying and leaving

    def heartbeat(self, identity: MemberIdentity) -> None:
        if (others := self._mixed(identity.group_id)) is not None:
            others.heartbeat(identity)
            return
        group, member = self._find(identity)
        self.restart_session(group, member)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise RebalanceInProgressError(f"group {group.group_id} rebalances")

    def _find(self, identity: MemberIdentity) -> tuple[Group, Member]:
        group = self._groups.existing(identity.group_id)
        member = group.find(identity.member_id, identity.group_instance_id)
        group.check_generation(identity.generation)
        return group, member

    def leave(self, group_id: str, member_id: str, group_instance_id: str | None) -> None:
        """A static member may be removed by its instance id alone, as an administrator does."""
        check_group_id(group_id)
        if (others := self._mixed(group_id)) is not None:
            others.leave(group_id, member_id, group_instance_id)
            return
        group = self._groups.existing(group_id)
        if member_id in group.pending:
            self._expire_pending(group, member_id)
            return
        if group_instance_id is not None and not member_id:
            member_id = group.static_members.get(group_instance_id, "")
        self._remove_member(group, group.find(member_id, group_instance_id), "left")

    def _remove_member(self, group: Group, member: Member, why: str) -> None:
        logger.info("group %s: member %s %s", group.group_id, member.member_id, why)
        member.stop_session()
        member.stop_waiting(UnknownMemberIdError(f"member {member.member_id} {why}"))
        group.remove(member)
        self._rebalance(group)

    def _expire_pending(self, group: Group, member_id: str) -> None:
        group.pending.pop(member_id).cancel()
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rebalance(group)

    def restart_session(self, group: Group, member: Member) -> None:
        member.stop_session()
        if member.joining is None:
            member.session_timer = self._later(
                member.session_timeout_ms, lambda: self._remove_member(group, member, "was not heard of")
            )

    # Helpers

    @staticmethod
    def _set_state(group: Group, state: GroupState) -> None:
        group.state = state
        group.changed_ms = now_ms()

    def _write_group(self, group: Group, undo: Callable[[], None]) -> None:
        """Raises: KafkaStorageError, once `undo` has taken back what has changed."""
        try:
            self._store.append(group.group_id, [group_entry(group)])
        except KafkaStorageError:
            undo()
            raise

    def _later(self, delay_ms: int, action: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(max(0, delay_ms) / 1000, action)

    def _set_rebalance_timer(self, group: Group, delay_ms: int, action: Callable[[Group], None]) -> None:
        group.stop_rebalance_timer()
        group.rebalance_timer = self._later(delay_ms, lambda: action(group))
