"""Which groups there are, by name, of whatever protocol.

Owns that a name is one group's, and who has its members. Must not know how members join, nor who may commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.broker.groups.group import Consumers, Group, GroupState, check_group_id
from barnabas.broker.groups.store import GroupStore
from barnabas.broker_errors import GroupIdNotFoundError, NonEmptyGroupError, UnknownMemberIdError
from barnabas.clock import now_ms


class GroupDirectory:
    """Belongs to one event loop; every method finishes at once."""

    def __init__(self, store: GroupStore) -> None:
        self._store = store
        self.by_name: dict[str, Group] = {}
        self.on_consumers_gone: list[Callable[[str], None]] = []
        """Called with the name of each group that the coordinator does not assign to any more."""

    def existing(self, group_id: str) -> Group:
        """Raises: InvalidGroupIdError, UnknownMemberIdError."""
        check_group_id(group_id)
        group = self.by_name.get(group_id)
        if group is None:
            raise UnknownMemberIdError(f"group {group_id} does not exist")
        return group

    def attach(self, consumers: Consumers) -> None:
        """Gives the group of that name its members, whom another coordinator assigns to."""
        name = consumers.group_id
        group = self.by_name.setdefault(name, Group(name, changed_ms=now_ms()))
        group.consumers, group.protocol_type = consumers, consumers.kind
        self.tell_state(consumers)

    def tell_state(self, consumers: Consumers) -> None:
        """Whether there are members has changed, it may be."""
        group = self.by_name[consumers.group_id]
        state = GroupState.EMPTY if consumers.is_empty else GroupState.STABLE
        if group.state is not state:
            group.state, group.changed_ms = state, now_ms()

    def detach_consumers(self, group: Group) -> None:
        """The group may have members of the classic protocol."""
        group.consumers, group.protocol_type = None, ""
        self._tell_of_consumers_gone(group.group_id)

    def delete(self, group_id: str) -> None:
        """Raises: GroupIdNotFoundError, NonEmptyGroupError, KafkaStorageError."""
        group = self.by_name.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"group {group_id} does not exist")
        if group.state is not GroupState.EMPTY:
            raise NonEmptyGroupError(f"group {group_id} has members")
        self.remove(group)

    def remove(self, group: Group) -> None:
        """A group without members goes, with its offsets. Raises: KafkaStorageError."""
        self._store.append(group.group_id, group.removal_entries())
        group.stop_timers()
        group.state = GroupState.DEAD
        del self.by_name[group.group_id]
        if group.consumers is not None:
            self._tell_of_consumers_gone(group.group_id)

    def unload(self, group_ids: Iterable[str]) -> None:
        """Lets go of groups that another node coordinates from now on."""
        for group_id in group_ids:
            self.by_name.pop(group_id).stop_timers()

    def drop_bare(self, group_ids: Iterable[str]) -> None:
        """Lets go of those of which nothing is written any more."""
        for group_id in group_ids:
            group = self.by_name.get(group_id)
            if group is not None and group.is_bare and not group.protocol_type:
                del self.by_name[group_id]

    def _tell_of_consumers_gone(self, group_id: str) -> None:
        for notify in self.on_consumers_gone:
            notify(group_id)
