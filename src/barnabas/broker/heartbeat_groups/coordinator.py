"""What the coordinators of groups with heartbeats have in common: which groups there are, sessions, that what
is answered is on disk first, and that a group is again as it is on disk where a change cannot be written.

Must not know requests and responses, nor what is assigned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.group_settings import group_settings
from barnabas.broker.configs.inherited_settings import InheritedSettings
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.group import Consumers
from barnabas.broker.groups.records import Key
from barnabas.broker.groups.store import GroupStore, KeptEntry
from barnabas.broker.heartbeat_groups.group import HeartbeatMember
from barnabas.broker.heartbeat_groups.journal import GroupJournal, Written, note_written, written_entries
from barnabas.broker.topics.state_topic import KeptEnd
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
)
from barnabas.protocol.schema import Message

logger = logging.getLogger(__name__)

EXPEL_AGAIN_MS = 500
"""After this time a member is expelled whose end could not be written. Kafka waits as long."""

M = TypeVar("M", bound=HeartbeatMember)


class CoordinatedGroup(Consumers, Protocol[M]):
    epoch: int
    members: dict[str, M]
    written: Written
    has_replaced_member: bool

    def remove(self, member: M) -> None: ...


G = TypeVar("G", bound=CoordinatedGroup[Any])


@dataclass(frozen=True, slots=True)
class GroupKind(Generic[G, M]):
    """How one kind of groups is written down. `name`: as in the names of its settings."""

    name: str
    keys: tuple[type[Any], ...]
    make: Callable[[str], G]
    entries_of: Callable[[G], Iterator[tuple[Key, Message]]]
    member_entries: Callable[[G, M], Iterator[tuple[Key, Message]]]
    take_up: Callable[[G, Any, Message | None], None]


class HeartbeatGroupCoordinator(Generic[G, M]):
    """Belongs to one event loop; every method finishes at once. In the `GroupDirectory` the group of the same
    name, which has the offsets, has this one as its `consumers`."""

    def __init__(
        self, kind: GroupKind[G, M], cluster: Cluster, store: GroupStore, groups: GroupDirectory
    ) -> None:
        self._kind = kind
        self._cluster = cluster
        self._journal = GroupJournal(store)
        self._groups = groups
        self._loop = asyncio.get_running_loop()
        self.groups: dict[str, G] = {}
        groups.on_consumers_gone.append(self._forget)

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None:
        """Reads the groups from their records. A member stays if it sends a request in its session time."""
        there = set(self.groups)
        for kept in entries:
            if isinstance(kept, KeptEnd) or not isinstance(kept.key, self._kind.keys):
                continue
            key: Any = kept.key
            group = self.groups.get(key.group_id)
            if group is None:
                group = self.groups[key.group_id] = self._kind.make(key.group_id)
            self._kind.take_up(group, key, kept.value)
            note_written(group, key, kept.value)
        for group in [group for name, group in self.groups.items() if name not in there]:
            if not group.written:
                del self.groups[group.group_id]
                continue
            self.attach(group)
            self._resume(group)
            for member in group.members.values():
                self.restart_session(group, member)

    def _resume(self, group: G) -> None:
        """What else a group needs that was taken up."""

    def _hand_on(self, group: G, before: G) -> None:
        """What `group`, which was taken up, keeps of itself as it was in memory `before`."""

    def unload(self, group_ids: Iterable[str]) -> None:
        """Lets go of groups that another node coordinates from now on."""
        for group_id in group_ids:
            group = self.groups.pop(group_id, None)
            if group is not None:
                self.stop_timers(group)

    def close(self) -> None:
        """Stops all timers."""
        for group in self.groups.values():
            self.stop_timers(group)

    def group(self, group_id: str) -> G:
        """Raises: GroupIdNotFoundError."""
        group = self.groups.get(group_id)
        if group is None:
            is_other = group_id in self._groups.by_name
            raise GroupIdNotFoundError(
                f"Group {group_id} is not a {self._kind.name} group."
                if is_other
                else f"Group {group_id} not found."
            )
        return group

    def settings(self, group_id: str) -> InheritedSettings:
        return group_settings(self._cluster.metadata.group_settings.of(group_id), self._cluster.settings)

    def attach(self, group: G) -> None:
        """Makes it the group of its name."""
        self.groups[group.group_id] = group
        self._groups.attach(group)

    def check_room(self, group: G) -> None:
        """Raises: GroupMaxSizeReachedError."""
        room = self._cluster.settings.number(f"group.{self._kind.name}.max.size")
        if len(group.members) >= room:
            raise GroupMaxSizeReachedError(
                f"The {self._kind.name} group has reached its maximum capacity of {room} members."
            )

    def _forget(self, group_id: str) -> None:
        self.groups.pop(group_id, None)

    # Leaving

    def remove(self, group: G, member: M, why: str) -> None:
        """Raises: CoordinatorNotAvailableError."""
        logger.info("group %s: member %s %s", group.group_id, member.member_id, why)
        stop_timers(member)
        group.remove(member)
        self._go_on(group)

    def _go_on(self, group: G) -> None:
        """Without a member that is gone. Raises: CoordinatorNotAvailableError."""
        group.epoch += 1
        self.write(group)

    def expel(self, group: G, member: M, why: str) -> None:
        try:
            self.remove(group, member, why)
        except CoordinatorNotAvailableError as error:
            log_not_written(group.group_id, error)
            self._expel_later(group.group_id, member.member_id, why)

    def _expel_later(self, group_id: str, member_id: str, why: str) -> None:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is not None and member is not None:
            stop_timer(member.session_timer)
            member.session_timer = self.later(EXPEL_AGAIN_MS, lambda: self.expel(group, member, why))

    # Time

    def restart_session(self, group: G, member: M) -> None:
        stop_timer(member.session_timer)
        timeout_ms = self._session_timeout_ms(group, member)
        member.session_timer = self.later(
            timeout_ms, lambda: self.expel(group, member, f"was not heard of for {timeout_ms} ms")
        )

    def _session_timeout_ms(self, group: G, member: M) -> int:
        return self.settings(group.group_id).number(f"{self._kind.name}.session.timeout.ms")

    def later(self, delay_ms: int, action: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(max(0, delay_ms) / 1000, action)

    def stop_timers(self, group: G) -> None:
        """Nothing more happens to the group by itself."""
        for member in group.members.values():
            stop_timers(member)

    # Writing down

    def write(self, group: G, member: M | None = None) -> None:
        """Brings the records on disk up to the group as it is, which others see from then on. `member`:
        nothing else can have changed.

        Raises: CoordinatorNotAvailableError, and then the group is again as it is on disk, made again.
        """
        are_all = member is None or group.has_replaced_member
        entries = (
            self._kind.entries_of(group)
            if member is None or are_all
            else self._kind.member_entries(group, member)
        )
        try:
            self._journal.write(group, entries, are_all=are_all)
        except CoordinatorNotAvailableError:
            self.restore(group)
            raise
        group.has_replaced_member = False
        if self.groups.get(group.group_id) is group:
            self._groups.tell_state(group)
        else:
            self.attach(group)

    def write_first(self, group: G) -> None:
        """Writes a group that nobody sees yet. Raises: CoordinatorNotAvailableError."""
        self._journal.write(group, self._kind.entries_of(group), are_all=True)

    def restore(self, group: G) -> None:
        """What could not be written has not happened: in the group's place comes what is on disk, if
        anything is."""
        self.stop_timers(group)
        if self.groups.get(group.group_id) is not group:
            return
        kept = self._kind.make(group.group_id)
        for key, value in written_entries(group):
            self._kind.take_up(kept, key, value)
        kept.written = group.written
        self.attach(kept)
        self._resume(kept)
        self._hand_on(kept, group)
        for member in kept.members.values():
            self.restart_session(kept, member)


def log_not_written(group_id: str, error: CoordinatorNotAvailableError) -> None:
    logger.error("group %s cannot be written down, to be tried again: %s", group_id, error)


def stop_timer(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def stop_timers(member: HeartbeatMember) -> None:
    stop_timer(member.session_timer)
    stop_timer(member.rebalance_timer)
    member.session_timer = member.rebalance_timer = None
