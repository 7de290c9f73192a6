"""Topics: the list, a topic's partitions and groups, its producers, subjects and settings."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import ConfigResource, ResourceType, TopicDescription
from barnabas.registry.errors import RegistryError
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import has_problem, partition_marks
from barnabas.ui.inputs import told
from barnabas.ui.pages.config_changes import change_config, shown_configs
from barnabas.ui.rendering import paged, render, segment
from barnabas.ui.succeeding import succeeded

MIN_IN_SYNC = "min.insync.replicas"
REGISTRY_SECONDS = 5.0
WAYS_TO_DELETE = {"all": "all records", "offset": "those below an offset", "time": "those before a time"}
SORTINGS = ("name", "partitions", "size", "rate", "groups", "lag")


async def topics(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    known = await access.topics.get()
    query = request.query_params
    wanted, shows_internal = query.get("q", "").casefold(), query.get("internal") == "1"
    shows_problems = query.get("problems") == "1"
    found = [
        name
        for name in known.names
        if wanted in name.casefold()
        and (shows_internal or not known.described[name].is_internal)
        and (not shows_problems or has_problem(known.described[name]))
    ]
    sorting = query.get("sort", "name")
    place = await _sorting(access, sorting)
    if place is not None:
        found.sort(key=place)
    rows = paged(request, found)
    return render(
        request,
        "topics/list.html",
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
    min_in_sync = await _min_in_sync(access, described)
    marks = {info.partition: partition_marks(info, min_in_sync) for info in described.partitions}
    shows_problems = request.query_params.get("problems") == "1"
    rows = paged(request, [p for p in described.partitions if not shows_problems or marks[p.partition]])
    every = [TopicPartition(name, info.partition) for info in rows.shown]
    led = [TopicPartition(name, info.partition) for info in rows.shown if info.leader >= 0]
    first, ends, all_groups, sizes, figures = await asyncio.gather(
        succeeded(access.admin.list_offsets(dict.fromkeys(led, "earliest"))),
        succeeded(access.admin.list_offsets(dict.fromkeys(led, "latest"))),
        access.groups.get(),
        access.sizes_of(every),
        access.figures([name]),
    )
    groups = [all_groups.by_id[group_id] for group_id in all_groups.readers.get(name, ())]
    lags = {
        group.group_id: sum(lag for partition, lag in group.lags.items() if partition.topic == name)
        for group in groups
    }
    return render(
        request,
        "topics/topic.html",
        title=name,
        topic=described,
        tab="partitions",
        figures=figures[0] if figures else None,
        rows=rows,
        marks=marks,
        problems=Counter(mark for found in marks.values() for mark in found),
        offsets={tp.partition: (first.get(tp), ends.get(tp), sizes.get(tp)) for tp in every},
        groups=groups,
        lags=lags,
        queries=[
            (query, sum(p.lag for p in query.partitions if p.partition.topic == name and p.lag is not None))
            for query in access.queries.reading([name])
        ],
        ways=WAYS_TO_DELETE,
    )


async def producers(request: Request) -> Response:
    """Those that the partitions of one page remember."""
    access: ClusterAccess = request.app.state.access
    described = await described_topic(request)
    rows = paged(request, described.partitions)
    led = [TopicPartition(described.name, info.partition) for info in rows.shown if info.leader >= 0]
    found, problem = await told(access.admin.describe_producers(led))
    return render(
        request,
        "topics/producers.html",
        title=described.name,
        topic=described,
        tab="producers",
        rows=rows,
        producers=[(tp.partition, each) for tp, states in sorted((found or {}).items()) for each in states],
        problem_of_page=problem,
    )


async def schemas(request: Request) -> Response:
    """The subjects that serializers take for this topic by its name."""
    access: ClusterAccess = request.app.state.access
    described = await described_topic(request)
    found: list[str] = []
    problem = None
    if access.registry is None:
        problem = "No registry was named: start the page with --registry URL."
    else:
        named = [f"{described.name}-key", f"{described.name}-value"]
        try:
            async with asyncio.timeout(REGISTRY_SECONDS):
                # Not every registry looks at the prefix.
                there = await access.registry.subjects(f"{described.name}-")
            found = [name for name in named if name in there]
        except TimeoutError:
            problem = "The registry does not answer."
        except RegistryError as error:
            problem = str(error)
    return render(
        request,
        "topics/schemas.html",
        title=described.name,
        topic=described,
        tab="schemas",
        subjects=found,
        problem_of_page=problem,
    )


async def settings(request: Request) -> Response:
    described = await described_topic(request)
    rows = await shown_configs(request, ConfigResource(ResourceType.TOPIC, described.name))
    return render(
        request, "topics/settings.html", title=described.name, topic=described, tab="settings", rows=rows
    )


async def change_setting(request: Request) -> Response:
    name = request.path_params["topic"]
    resource = ConfigResource(ResourceType.TOPIC, name)
    return await change_config(request, resource, f"/topics/{segment(name)}/settings")


async def _min_in_sync(access: ClusterAccess, topic: TopicDescription) -> int:
    """Asked for where replicas lack; 0 where the brokers do not tell."""
    if all(len(info.in_sync_replicas) == len(info.replicas) for info in topic.partitions):
        return 0
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    found = await succeeded(access.admin.describe_configs([resource]))
    entry = found.get(resource, {}).get(MIN_IN_SYNC)
    return int(entry.value) if entry is not None and entry.value else 0


async def described_topic(request: Request) -> TopicDescription:
    """The topic of the path. Raises: HTTPException (404), BarnabasError."""
    return await topic_named(request, request.path_params["topic"])


async def topic_named(request: Request, name: str) -> TopicDescription:
    """As it is now. Raises: HTTPException (404), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    found = await succeeded(access.admin.describe_topics([name]))
    if name not in found:
        raise HTTPException(404, f"there is no topic {name!r}, or it may not be seen")
    return found[name]


routes = [
    Route("/topics", topics),
    Route("/topics/{topic}", topic),
    Route("/topics/{topic}/producers", producers),
    Route("/topics/{topic}/schemas", schemas),
    Route("/topics/{topic}/settings", settings),
    Route("/topics/{topic}/settings", change_setting, methods=["POST"]),
]
