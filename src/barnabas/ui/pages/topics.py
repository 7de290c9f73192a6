"""Topics: the list, a topic's partitions and groups, its settings, and making and deleting them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import (
    BROKER_DEFAULT,
    ConfigResource,
    NewTopic,
    ResourceType,
    TopicDescription,
)
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess, succeeded
from barnabas.ui.forms import changed, number
from barnabas.ui.rendering import paged, render, segment, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

SORTINGS = ("name", "partitions", "size", "rate", "groups", "lag")


async def topics(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    known = await access.topics.get()
    query = request.query_params
    wanted, shows_internal = query.get("q", "").casefold(), query.get("internal") == "1"
    found = [
        name
        for name in known.names
        if wanted in name.casefold() and (shows_internal or not known.described[name].is_internal)
    ]
    sorting = query.get("sort", "name")
    place = await _sorting(access, sorting)
    if place is not None:
        found.sort(key=place)
    rows = paged(request, found)
    return render(
        request,
        "topics.html",
        rows=rows,
        shown=await access.figures(rows.shown),
        sorting=sorting,
        is_sorted=place is not None or sorting not in SORTINGS[1:],
        asked_at=access.topics.asked_at,
        title="Topics",
    )


async def _sorting(access: ClusterAccess, sorting: str) -> Callable[[str], Any] | None:
    """None for the order that names have, and where what it needs of all topics is not known yet."""
    if sorting == "partitions":
        described = (await access.topics.get()).described
        return lambda name: -len(described[name].partitions)
    if sorting in ("groups", "lag"):
        groups = await access.groups.get()
        if sorting == "lag":
            return lambda name: -groups.lags.get(name, 0)
        return lambda name: -len(groups.readers.get(name, ()))
    if sorting == "size":
        sizes = await access.sizes.look()
        return None if sizes is None else lambda name: -sizes.of_topics.get(name, 0)
    if sorting == "rate":
        ends = await access.rates.look()
        return None if ends is None else lambda name: -(access.looks.rate(name) or 0)
    return None


async def topic(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    described = await described_topic(request)
    name = described.name
    partitions = [TopicPartition(name, info.partition) for info in described.partitions if info.leader >= 0]
    first, ends, all_groups, sizes, figures = await asyncio.gather(
        succeeded(access.admin.list_offsets(dict.fromkeys(partitions, "earliest"))),
        succeeded(access.admin.list_offsets(dict.fromkeys(partitions, "latest"))),
        access.groups.get(),
        access.sizes_in(name),
        access.figures([name]),
    )
    groups = [all_groups.by_id[group_id] for group_id in all_groups.readers.get(name, ())]
    lags = {
        group.group_id: sum(lag for partition, lag in group.lags.items() if partition.topic == name)
        for group in groups
    }
    return render(
        request,
        "topic.html",
        title=name,
        topic=described,
        tab="partitions",
        figures=figures[0] if figures else None,
        rows=[
            (
                info,
                first.get(TopicPartition(name, info.partition)),
                ends.get(TopicPartition(name, info.partition)),
                sizes.get(TopicPartition(name, info.partition)),
            )
            for info in described.partitions
        ],
        groups=groups,
        lags=lags,
    )


async def settings(request: Request) -> Response:
    described = await described_topic(request)
    resource = ConfigResource(ResourceType.TOPIC, described.name)
    access: ClusterAccess = request.app.state.access
    configs = (await access.admin.describe_configs([resource], include_documentation=True))[resource]
    rows = sorted(configs.values(), key=lambda entry: (entry.is_default, entry.name))
    return render(
        request, "topic_settings.html", title=described.name, topic=described, tab="settings", rows=rows
    )


async def change_setting(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    name = request.path_params["topic"]
    access: ClusterAccess = request.app.state.access
    value = None if form.get("to") == "default" else form.get("value", "")
    resource = ConfigResource(ResourceType.TOPIC, name)
    back = f"/topics/{segment(name)}/settings"
    setting = form.get("name", "")
    told = f"{setting} has its default again" if value is None else f"{setting} is {value}"
    return await changed(request, access.admin.alter_configs({resource: {setting: value}}), back, told)


async def create(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    name = form.get("name", "").strip()
    access: ClusterAccess = request.app.state.access
    wanted = NewTopic(
        name,
        number(form, "partitions", BROKER_DEFAULT),
        number(form, "replication_factor", BROKER_DEFAULT),
    )
    return await changed(
        request, access.admin.create_topics([wanted]), f"/topics/{segment(name)}", f"{name} was created"
    )


async def delete(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    name = request.path_params["topic"]
    access: ClusterAccess = request.app.state.access
    if form.get("confirmed") != name:
        request.session["told"] = ["error", f"To delete {name}, type its name."]
        return to(request, f"/topics/{segment(name)}")
    return await changed(request, access.admin.delete_topics([name]), "/topics", f"{name} was deleted")


async def described_topic(request: Request) -> TopicDescription:
    """The topic of the path. Raises: HTTPException (404), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    name = request.path_params["topic"]
    found = await succeeded(access.admin.describe_topics([name]))
    if name not in found:
        raise HTTPException(404, f"there is no topic {name!r}, or it may not be seen")
    return found[name]


routes = [
    Route("/topics", topics),
    Route("/topics", create, methods=["POST"]),
    Route("/topics/{topic}", topic),
    Route("/topics/{topic}/delete", delete, methods=["POST"]),
    Route("/topics/{topic}/settings", settings),
    Route("/topics/{topic}/settings", change_setting, methods=["POST"]),
]
