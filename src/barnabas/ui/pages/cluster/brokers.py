"""Brokers: which there are, what each keeps and leads, its settings, its folders and what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.types import ConfigResource, FeatureMetadata, LogDirDescription, ResourceType
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import Folder
from barnabas.ui.inputs import told
from barnabas.ui.pages.config_changes import change_config, shown_configs
from barnabas.ui.pages.topics import topic_named
from barnabas.ui.rendering import paged, render

METADATA_VERSION = "metadata.version"


async def brokers(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    topics, sizes, (features, _) = await asyncio.gather(
        access.topics.get(), access.sizes.look(), told(access.admin.describe_features())
    )
    folders: Mapping[int, Mapping[str, Folder]] = {} if sizes is None else sizes.folders
    return render(
        request,
        "cluster/brokers.html",
        title="Brokers",
        tab="brokers",
        described=topics.cluster,
        metadata_level=_level(features),
        leads=topics.leads,
        keeps=topics.keeps,
        sizes={node: sum(f.size_bytes for f in found.values()) for node, found in folders.items()},
        offline={node: sum(f.error is not None for f in found.values()) for node, found in folders.items()},
        is_known=sizes is not None,
        asked_at=access.topics.asked_at,
    )


async def log_dirs(request: Request) -> Response:
    """By folder, and by topic; of one topic by replica."""
    access: ClusterAccess = request.app.state.access
    topics = await access.topics.get()
    name = request.query_params.get("topic", "").strip()
    if name:
        return await _log_dirs_of_topic(request, name)
    sizes = await access.sizes.look()
    of_topics = [] if sizes is None else sorted(sizes.of_topics.items(), key=lambda item: (-item[1], item[0]))
    return render(
        request,
        "cluster/log_dirs.html",
        title="Log dirs",
        tab="log-dirs",
        folders={} if sizes is None else sizes.folders,
        is_known=sizes is not None,
        rows=paged(request, of_topics),
        names=topics.names,
        asked_at=access.sizes.asked_at,
    )


async def _log_dirs_of_topic(request: Request, name: str) -> Response:
    """Raises: HTTPException (404), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    topic = await topic_named(request, name)
    shown = paged(request, topic.partitions)
    places = [TopicPartition(name, info.partition) for info in shown.shown]
    found, problem = await told(access.log_dirs_of(places))
    return render(
        request,
        "cluster/log_dirs_of_topic.html",
        title=f"Log dirs of {name}",
        tab="log-dirs",
        topic=topic,
        rows=shown,
        replicas=_replicas(found or {}),
        problem_of_page=problem,
    )


def _replicas(
    folders: Mapping[int, Mapping[str, LogDirDescription]],
) -> list[tuple[int, int, str, int, int, bool]]:
    """Partition, broker, folder, bytes, how many records it is behind, and if it moves there."""
    found = [
        (tp.partition, node_id, path, replica.size_bytes, replica.offset_lag, is_future)
        for node_id, log_dirs in folders.items()
        for path, log_dir in log_dirs.items()
        for is_future, replicas in ((False, log_dir.replicas), (True, log_dir.future_replicas))
        for tp, replica in replicas.items()
    ]
    return sorted(found)


async def broker(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    node = str(request.path_params["node"])
    known = {str(each.node_id): each for each in (await access.admin.describe_cluster()).nodes}
    if node not in known:
        raise HTTPException(404, f"there is no broker {node}")
    rows = await shown_configs(request, ConfigResource(ResourceType.BROKER, node))
    return render(
        request, "cluster/broker.html", title=f"Broker {node}", tab="brokers", node=known[node], rows=rows
    )


async def change_setting(request: Request) -> Response:
    node = str(request.path_params["node"])
    resource = ConfigResource(ResourceType.BROKER, node)
    return await change_config(request, resource, f"/cluster/brokers/{node}")


def _level(features: FeatureMetadata | None) -> int | None:
    """What the cluster has settled on: clusters with ZooKeeper have none."""
    found = None if features is None else features.finalized.get(METADATA_VERSION)
    return None if found is None else found.highest


routes = [
    Route("/cluster", brokers),
    Route("/cluster/log-dirs", log_dirs),
    Route("/cluster/brokers/{node:int}", broker),
    Route("/cluster/brokers/{node:int}", change_setting, methods=["POST"]),
]
