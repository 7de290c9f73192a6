"""The part of Admin that concerns groups of all types and their members. Their offsets are in
`admin_group_offsets`.

Owns the requests and what their answers mean. Must not know how a request finds its coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin import group_descriptions as descriptions
from barnabas.client.admin.arguments import check_type, items_of, names_of
from barnabas.client.admin.calls import AdminCalls, failure, outcomes
from barnabas.client.admin.requests import groups as requests
from barnabas.client.admin.types import (
    ClassicGroupDescription,
    GroupDescription,
    GroupListing,
    MemberToRemove,
    StreamsGroupDescription,
)
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import MOVED_COORDINATOR
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest

FIRST_VERSION_WITH_BATCHES_OF_MEMBERS = 3
REMOVED_BY_ADMIN = "member was removed by an admin"


class GroupAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocol_types: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> list[GroupListing]:
        """The groups of the cluster, sorted by id: all, or those in one of `states` ("Stable", "Empty", ...;
        KIP-518), of one of `types` ("classic", "consumer", "share", "streams"; KIP-848), of one of
        `protocol_types` ("consumer", "connect", "share", "" for groups that only have offsets; KIP-1043). If
        a broker fails, the outcome is by node id.

        Raises: UnsupportedVersionError (a filter that the broker is too old for), ...
        """
        wanted_protocols = None if protocol_types is None else names_of(protocol_types, "protocol_types")
        request = requests.list_groups(states=names_of(states, "states"), types=names_of(types, "types"))

        async def ask(node_id: int, group: list[int]) -> dict[int, list[GroupListing] | BarnabasError]:
            response = await self._send(node_id, request)
            error = failure(response.error_code, f"listing the groups of node {node_id}")
            return {
                node_id: error
                or [
                    listing
                    for listing in requests.listed_groups(response)
                    if wanted_protocols is None or listing.protocol_type in wanted_protocols
                ]
            }

        by_node = await self._ask_for_each(
            await self._all_nodes(timeout),
            self._client.known_node,
            ask,
            what="listing groups",
            timeout=timeout,
            retried=MOVED_COORDINATOR,
        )
        groups = {listing.group_id: listing for listings in by_node.values() for listing in listings}
        return [groups[group_id] for group_id in sorted(groups)]

    async def describe_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of consumers' groups, of the consumer protocol (KIP-848) or of the
        classic one. A group that does not exist is described as Dead.

        Raises: GroupAuthorizationFailedError, ...
        """

        async def ask(coordinator: int, group: list[str]) -> dict[str, GroupDescription | BarnabasError]:
            node = self._client.node(coordinator)
            answers: dict[str, GroupDescription | BarnabasError] = {}
            if await self._client.version_at(coordinator, ConsumerGroupDescribeRequest) >= 0:
                modern = requests.describe_consumer_groups(
                    group, include_operations=include_authorized_operations
                )
                for found in (await self._send(coordinator, modern)).groups:
                    if found.error_code not in requests.NOT_OF_THE_CONSUMER_PROTOCOL:
                        answers[found.group_id] = failure(
                            found.error_code, f"group {found.group_id!r}", found.error_message
                        ) or descriptions.of_consumer_protocol(found, node)
            others = [group_id for group_id in group if group_id not in answers]
            if others:
                classic = requests.describe_classic_groups(
                    others, include_operations=include_authorized_operations
                )
                for old in (await self._send(coordinator, classic)).groups:
                    # From version 6 on, a group that does not exist is an error; before, it is Dead.
                    is_missing = old.error_code == ErrorCode.GROUP_ID_NOT_FOUND
                    error = failure(old.error_code, f"group {old.group_id!r}", old.error_message)
                    answers[old.group_id] = (
                        error
                        if error is not None and not is_missing
                        else descriptions.of_classic_protocol(old, node)
                    )
            return answers

        return await self._ask_coordinators(
            names_of(group_ids, "groups"), ask, what="describing groups", timeout=timeout
        )

    async def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, ClassicGroupDescription]:
        """State and members of groups of the classic protocol, whatever they are for: Kafka Connect's are too
        (KIP-1043). Raises: GroupIdNotFoundError (from Kafka 4.0 on; before, the state is Dead), ..."""

        async def ask(
            coordinator: int, group: list[str]
        ) -> dict[str, ClassicGroupDescription | BarnabasError]:
            request = requests.describe_classic_groups(
                group, include_operations=include_authorized_operations
            )
            node = self._client.node(coordinator)
            return {
                found.group_id: failure(found.error_code, f"group {found.group_id!r}", found.error_message)
                or descriptions.of_any_classic_group(found, node)
                for found in (await self._send(coordinator, request)).groups
            }

        return await self._ask_coordinators(
            names_of(group_ids, "groups"), ask, what="describing classic groups", timeout=timeout
        )

    async def describe_share_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of share groups (KIP-932). Raises: GroupIdNotFoundError, ..."""

        async def ask(coordinator: int, group: list[str]) -> dict[str, GroupDescription | BarnabasError]:
            request = ShareGroupDescribeRequest(
                group_ids=group, include_authorized_operations=include_authorized_operations
            )
            node = self._client.node(coordinator)
            return {
                found.group_id: failure(found.error_code, f"group {found.group_id!r}", found.error_message)
                or descriptions.of_share_group(found, node)
                for found in (await self._send(coordinator, request)).groups
            }

        return await self._ask_coordinators(
            names_of(group_ids, "groups"), ask, what="describing share groups", timeout=timeout
        )

    async def describe_streams_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, StreamsGroupDescription]:
        """State, topology and members of groups of Kafka Streams (KIP-1071).

        Raises: GroupIdNotFoundError, ...
        """

        async def ask(
            coordinator: int, group: list[str]
        ) -> dict[str, StreamsGroupDescription | BarnabasError]:
            request = StreamsGroupDescribeRequest(
                group_ids=group, include_authorized_operations=include_authorized_operations
            )
            node = self._client.node(coordinator)
            return {
                found.group_id: failure(found.error_code, f"group {found.group_id!r}", found.error_message)
                or descriptions.of_streams_group(found, node)
                for found in (await self._send(coordinator, request)).groups
            }

        return await self._ask_coordinators(
            names_of(group_ids, "groups"), ask, what="describing streams groups", timeout=timeout
        )

    async def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes groups without members, of any type, with their offsets.

        Raises: NonEmptyGroupError, GroupIdNotFoundError, ...
        """

        async def ask(coordinator: int, group: list[str]) -> dict[str, BarnabasError | None]:
            response = await self._send(coordinator, requests.delete_groups(group))
            return outcomes(requests.deleted_groups(response), lambda group_id: f"group {group_id!r}")

        await self._ask_coordinators(
            names_of(group_ids, "groups"), ask, what="deleting groups", timeout=timeout
        )

    async def remove_members(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str = REMOVED_BY_ADMIN,
        timeout: float | None = None,
    ) -> None:
        """Puts members out of a group (KIP-345); None means all. The outcome is by member. The broker logs
        `reason` (KIP-800). One that is still alive joins again.

        Raises: UnknownMemberIdError, UnsupportedVersionError (before Kafka 2.4), ...
        """
        check_type(group_id, str, "group_id")
        if members is None:
            described = (await self.describe_groups([group_id], timeout=timeout))[group_id]
            wanted = [
                MemberToRemove(member.group_instance_id)
                if member.group_instance_id is not None
                else MemberToRemove(None, member.member_id)
                for member in described.members
            ]
        else:
            wanted = items_of(members, "members", MemberToRemove, "MemberToRemove(member_id=...)")

        async def coordinator(_: MemberToRemove) -> int:
            return await self._client.coordinators.find(GROUP_COORDINATOR, group_id)

        async def ask(
            coordinator: int, group: list[MemberToRemove]
        ) -> dict[MemberToRemove, BarnabasError | None]:
            if (
                await self._client.version_at(coordinator, LeaveGroupRequest)
                < FIRST_VERSION_WITH_BATCHES_OF_MEMBERS
            ):
                raise error_for(
                    ErrorCode.UNSUPPORTED_VERSION, f"LeaveGroup of other members of the group {group_id!r}"
                )
            request = LeaveGroupRequest(
                group_id=group_id,
                members=[
                    LeaveGroupRequest.MemberIdentity(
                        member_id=member.member_id,
                        group_instance_id=member.group_instance_id,
                        reason=reason,
                    )
                    for member in group
                ],
            )
            response = await self._send(coordinator, request)
            whole = failure(response.error_code, f"group {group_id!r}")
            if whole is not None:
                return dict.fromkeys(group, whole)
            # A static member's answer names the instance, and may name the member id that it had besides.
            codes = {(m.group_instance_id or m.member_id): m.error_code for m in response.members}
            return {
                member: failure(
                    codes.get(member.group_instance_id or member.member_id, ErrorCode.UNKNOWN_MEMBER_ID),
                    f"group {group_id!r}, member {member.group_instance_id or member.member_id!r}",
                )
                for member in group
            }

        await self._ask_for_each(
            wanted,
            coordinator,
            ask,
            what=f"removing members of {group_id!r}",
            timeout=timeout,
            retried=MOVED_COORDINATOR,
            on_retry=lambda _: self._client.coordinators.forget(GROUP_COORDINATOR, group_id),
        )
