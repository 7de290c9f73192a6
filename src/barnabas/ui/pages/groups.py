"""Groups of all types: the list, a group's members, lag and its history, and moving where a group goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import GroupDescription, OffsetSpec
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.ui.charts import chart
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import GroupSummary
from barnabas.ui.forms import changed, number
from barnabas.ui.pages.records import milliseconds
from barnabas.ui.reading import RecordReader
from barnabas.ui.rendering import paged, render, segment, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

PROTOCOL_OF_CONSUMERS = "consumer"
MOST_TIMED_PARTITIONS = 50
WAYS = ("earliest", "latest", "offset", "time", "shift")


async def groups(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    known = await access.groups.get()
    wanted = request.query_params.get("q", "").casefold()
    found = [group for group in known.by_id.values() if wanted in group.group_id.casefold()]
    sorting = request.query_params.get("sort", "name")
    if sorting == "lag":
        found.sort(key=lambda group: -(group.lag or 0))
    return render(
        request,
        "groups.html",
        title="Groups",
        rows=paged(request, found),
        sorting=sorting,
        asked_at=access.groups.asked_at,
    )


async def group(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    figures = await _figures(request)
    owners: dict[TopicPartition, str] = {}
    members: list[Any] = []
    described = await _described(access, figures)
    if described is not None:
        members = list(described.members)
        for member in described.members if isinstance(described, GroupDescription) else ():
            owners |= dict.fromkeys(member.assignment, member.client_id)
    behind = {p: figures.positions[p] for p, lag in sorted(figures.lags.items()) if lag > 0}
    timed = dict(list(behind.items())[:MOST_TIMED_PARTITIONS])
    written: Mapping[TopicPartition, int] = {}
    if timed:
        reader = RecordReader(access, request.app.state.decoder, list(timed))
        written = await reader.timestamps_at(timed)
    now_ms = time.time() * 1000
    rows = [
        {
            "partition": partition,
            "committed": figures.positions.get(partition),
            "lag": figures.lags.get(partition),
            "lag_seconds": 0.0
            if figures.lags.get(partition) == 0
            else max(now_ms - written[partition], 0) / 1000
            if written.get(partition, -1) >= 0
            else None,
            "owner": owners.get(partition),
        }
        for partition in sorted({*figures.positions, *owners})
    ]
    return render(
        request,
        "group.html",
        title=figures.group_id,
        group=figures,
        described=described,
        members=members,
        rows=rows,
        lag_seconds=max((row["lag_seconds"] for row in rows if row["lag_seconds"] is not None), default=None),
        chart=chart(access.looks.lags(figures.group_id)),
        ways=WAYS,
        form={},
        preview=None,
    )


async def preview(request: Request) -> Response:
    """What a reset would do. Changes nothing, and so is a GET."""
    access: ClusterAccess = request.app.state.access
    figures = await _figures(request)
    form = dict(request.query_params)
    wanted = await _wanted(access, figures, form)
    return render(
        request,
        "group_reset.html",
        title=f"Reset {figures.group_id}",
        group=figures,
        rows=[(p, figures.positions.get(p), at) for p, at in sorted(wanted.items())],
        form=form,
    )


async def reset(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    figures = await _figures(request)
    # What the preview showed, and not what the same words would mean by now.
    wanted: dict[TopicPartition, int] = {}
    for name, text in form.items():
        if name.startswith("to:"):
            topic, _, partition = name.removeprefix("to:").rpartition(":")
            wanted[TopicPartition(topic, int(partition))] = number({name: text}, name, 0)
    back = f"/group?id={segment(figures.group_id)}"
    if not wanted:
        raise HTTPException(400, "no partition is named")
    alter = (
        access.admin.alter_share_group_offsets
        if figures.type == "share"
        else access.admin.alter_group_offsets
    )
    return await changed(
        request, alter(figures.group_id, wanted), back, f"{figures.group_id} goes on at the new offsets"
    )


async def delete(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    figures = await _figures(request)
    back = f"/group?id={segment(figures.group_id)}"
    if form.get("confirmed") != figures.group_id:
        request.session["told"] = ["error", f"To delete {figures.group_id}, type its name."]
        return to(request, back)
    return await changed(
        request, access.admin.delete_groups([figures.group_id]), "/groups", f"{figures.group_id} was deleted"
    )


async def _figures(request: Request) -> GroupSummary:
    """The group that `id` names. Raises: HTTPException (404), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    name = request.query_params.get("id", "")
    found = (await access.groups.get()).by_id.get(name) or (await access.groups.renewed()).by_id.get(name)
    if found is None:
        raise HTTPException(404, f"there is no group {name!r}")
    return found


async def _described(access: ClusterAccess, figures: GroupSummary) -> Any:
    """What the coordinator tells of members; None where it does not know this type of group."""
    admin, group_id = access.admin, figures.group_id
    try:
        if figures.type == "share":
            return (await admin.describe_share_groups([group_id]))[group_id]
        if figures.type == "streams":
            return (await admin.describe_streams_groups([group_id]))[group_id]
        if figures.type == "classic" and figures.protocol_type not in ("", PROTOCOL_OF_CONSUMERS):
            return (await admin.describe_classic_groups([group_id]))[group_id]
        return (await admin.describe_groups([group_id]))[group_id]
    except BarnabasError:
        return None


async def _wanted(
    access: ClusterAccess, figures: GroupSummary, form: Mapping[str, str]
) -> dict[TopicPartition, int]:
    """Where the group would go on. An offset outside the log becomes the nearest end of the log, as Kafka's
    own tool has it. Raises: HTTPException (400), BarnabasError."""
    topic, way = form.get("topic", ""), form.get("way", "")
    partitions = [p for p in sorted(figures.positions) if topic in ("", p.topic)]
    if way not in WAYS:
        raise HTTPException(400, f"way {way!r} is none of {', '.join(WAYS)}")
    if not partitions:
        raise HTTPException(
            400, f"{figures.group_id} has committed no offsets{f' of {topic}' if topic else ''}"
        )

    async def offsets(spec: OffsetSpec) -> dict[TopicPartition, int]:
        found = await access.admin.list_offsets(dict.fromkeys(partitions, spec))
        return {p: each.offset for p, each in found.items()}

    first, ends = await offsets("earliest"), await offsets("latest")
    if way == "earliest":
        wanted = first
    elif way == "latest":
        wanted = ends
    elif way == "offset":
        wanted = dict.fromkeys(partitions, number(form, "at", 0))
    elif way == "shift":
        wanted = {p: figures.positions[p] + number(form, "at", 0) for p in partitions}
    else:
        found = await offsets(milliseconds(form.get("at", "")))
        # -1: no record is that late.
        wanted = {p: ends[p] if found[p] < 0 else found[p] for p in partitions}
    return {p: min(max(wanted[p], first[p]), ends[p]) for p in partitions}


routes = [
    Route("/groups", groups),
    Route("/group", group),
    Route("/group/reset", preview),
    Route("/group/reset", reset, methods=["POST"]),
    Route("/group/delete", delete, methods=["POST"]),
]
