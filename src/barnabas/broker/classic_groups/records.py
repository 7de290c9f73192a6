"""A group of the classic protocol as a record of __consumer_offsets.

Owns what of a group is written. Must not know when.
"""

from __future__ import annotations

from barnabas.broker.groups.group import Group, GroupState, Member
from barnabas.broker.groups.records import Entry
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.protocol.messages.group_metadata_value import GroupMetadataValue


def group_entry(group: Group) -> Entry:
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol),
            assignment=member.assignment,
        )
        for member in group.members.values()
    ]
    return GroupMetadataKey(group.group_id), GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol or None,
        leader=group.leader or None,
        current_state_timestamp=group.changed_ms,
        members=members,
    )


def take_up(group: Group, value: GroupMetadataValue) -> None:
    """Takes up what was written of a group's members."""
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
