"""What changes a group besides moving it: members that are put out, offsets that are forgotten, its end."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from barnabas.client.admin.types import MemberToRemove
from barnabas.records.asked import UsageError
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import GroupSummary
from barnabas.ui.forms import changed
from barnabas.ui.pages.groups.asked_group import asked_group, page_of
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form


async def remove_members(request: Request) -> Response:
    """All members, or the one that the form names."""
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    group = await asked_group(request)
    member = form.get("member", "")
    # A static member is called by its instance id: its member id changes with each start.
    one = MemberToRemove(form.get("instance") or None, "" if form.get("instance") else member)
    is_all = form.get("all") == "yes"

    async def remove() -> None:
        if group.type == "share":
            raise UsageError("brokers put no members out of share groups: end them where they run")
        if not is_all and not (one.group_instance_id or one.member_id):
            raise UsageError("no member is named")
        await access.admin.remove_members(group.group_id, None if is_all else [one])

    who = "all members were" if is_all else f"{one.group_instance_id or one.member_id} was"
    told = f"{who} put out of {group.group_id}; those that are alive join again"
    return await changed(request, remove(), page_of(group), told)


async def forget_offsets(request: Request) -> Response:
    """What the group has committed in one topic, which is typed."""
    form = await sent_form(request, Role.OPERATOR)
    group = await asked_group(request)
    topic = form.get("topic", "").strip()
    told = f"the offsets of {topic} are forgotten; {group.group_id} begins there again"
    return await changed(request, _forget(request, group, topic), page_of(group), told)


async def delete(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    group = await asked_group(request)
    told = f"{group.group_id} was deleted"
    return await changed(request, _delete(request, group, form), "/groups", told)


async def _forget(request: Request, group: GroupSummary, topic: str) -> None:
    access: ClusterAccess = request.app.state.access
    partitions = [p for p in group.positions if p.topic == topic]
    if not partitions:
        raise UsageError(f"{group.group_id} has no offsets of {topic!r}")
    if group.type == "share":
        await access.admin.delete_share_group_offsets(group.group_id, [topic])
    else:
        await access.admin.delete_group_offsets(group.group_id, partitions)


def _delete(request: Request, group: GroupSummary, form: Mapping[str, str]) -> Awaitable[object]:
    access: ClusterAccess = request.app.state.access

    async def do() -> None:
        if form.get("confirmed") != group.group_id:
            raise UsageError(f"to delete {group.group_id}, type its name")
        await access.admin.delete_groups([group.group_id])

    return do()
