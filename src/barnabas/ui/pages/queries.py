"""Spark's streaming queries: batches, rows and lag by partition, as a `PipelineListener` tells them, and what
is in their checkpoints.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest, NoAnswerError
from barnabas.types import TopicPartition
from barnabas.ui.checkpoints import SeenCheckpoint, partitions_of, seen_checkpoint
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.rendering import render
from barnabas.values import frozen

STATUS_PATH = "/status"
TIMEOUT_SECONDS = 5.0
LONGEST_STATUS_BYTES = 64 << 20


@frozen
class SeenPartition:
    """Where a query is in a partition; `lag` is against the brokers' end."""

    partition: TopicPartition
    position: int
    rows_per_second: float | None
    lag: int | None


@frozen
class SeenQuery:
    """A streaming query, with all partitions of all its sources."""

    query_id: str
    name: str | None
    state: str
    error: str | None
    batch_id: int | None
    batch_began: str | None
    batch_seconds: float | None
    restarts: int | None
    """None: a listener of a release that did not count them."""
    partitions: tuple[SeenPartition, ...]

    @property
    def rows_per_second(self) -> float | None:
        known = [p.rows_per_second for p in self.partitions if p.rows_per_second is not None]
        return sum(known) if known else None

    @property
    def lag(self) -> int | None:
        known = [p.lag for p in self.partitions if p.lag is not None]
        return sum(known) if known else None


@frozen
class SeenTogether:
    """What there is to see. `problem`: why the listener says nothing."""

    queries: list[SeenQuery]
    checkpoints: list[SeenCheckpoint]
    problem: str | None = None


async def queries(request: Request) -> Response:
    look = await _look(request)
    has_listener = request.app.state.access.settings.listener is not None
    return render(request, "queries.html", title="Streaming queries", look=look, has_listener=has_listener)


async def query(request: Request) -> Response:
    name = request.query_params.get("id", "")
    look = await _look(request)
    found = next((each for each in look.queries if each.query_id == name), None)
    if found is None and look.problem is not None:
        raise HTTPException(502, look.problem)
    if found is None:
        raise HTTPException(404, f"the listener knows no query {name!r}")
    kept = next((each for each in look.checkpoints if each.query_id == name), None)
    return render(request, "query.html", title=found.name or found.query_id, shown=found, kept=kept)


async def checkpoint(request: Request) -> Response:
    place = request.query_params.get("at", "")
    look = await _look(request)
    found = next((each for each in look.checkpoints if each.place == place), None)
    if found is None:
        raise HTTPException(404, f"the page was not given a checkpoint {place!r}: name it with --checkpoint")
    listened = next((each for each in look.queries if each.query_id == found.query_id), None)
    return render(request, "checkpoint.html", title=found.title, shown=found, listened=listened)


async def _look(request: Request) -> SeenTogether:
    """Raises: HTTPException (404, 502), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    listener, places = access.settings.listener, access.settings.checkpoints
    if listener is None and not places:
        raise HTTPException(
            404,
            "no listener and no checkpoint was named: start the page with --listener URL or --checkpoint "
            "FOLDER",
        )
    told: list[dict[str, Any]] = []
    problem = None
    if listener is not None:
        try:
            told = await asyncio.to_thread(_told, listener)
        except HTTPException as error:
            # A driver that is down left its checkpoints.
            if not places:
                raise
            problem = error.detail
    read, topics = await asyncio.gather(access.checkpoints.get(), access.topics.get())
    partitions = {
        TopicPartition(each["topic"], each["partition"])
        for query in told
        for source in query["sources"]
        for each in source["partitions"]
    } | partitions_of(read)
    ends = await access.ends([partition for partition in sorted(partitions) if topics.has(partition)])
    names = {query["id"]: query["name"] for query in told}
    return SeenTogether(
        [seen(each, ends) for each in told], [seen_checkpoint(each, ends, names) for each in read], problem
    )


def _told(url: str) -> list[dict[str, Any]]:
    base = url.rstrip("/").removesuffix(STATUS_PATH).removesuffix("/metrics")
    try:
        answer = fetch(
            HttpRequest(base + STATUS_PATH, {}),
            timeout_seconds=TIMEOUT_SECONDS,
            longest_answer_bytes=LONGEST_STATUS_BYTES,
        )
        return json.loads(answer.body)["queries"]
    except NoAnswerError as error:
        raise HTTPException(502, f"{base} does not answer, the driver may be down: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise HTTPException(502, f"{base} is not a PipelineListener") from None


def seen(told: Mapping[str, Any], ends: Mapping[TopicPartition, int]) -> SeenQuery:
    """A query as the listener tells it."""
    is_running = bool(told["is_running"])
    partitions: list[SeenPartition] = []
    for source in told["sources"]:
        for each in source["partitions"]:
            partition = TopicPartition(each["topic"], each["partition"])
            end = ends.get(partition)
            lag = None if end is None else max(end - each["position"], 0)
            rate = each["rows_per_second"] if is_running else None
            partitions.append(SeenPartition(partition, each["position"], rate, lag))
    return SeenQuery(
        told["id"],
        told["name"],
        "running" if is_running else "failed" if told["error"] else "ended",
        told["error"],
        told["batch_id"],
        told["batch_began"],
        told.get("batch_seconds"),
        told.get("restarts"),
        tuple(partitions),
    )


routes = [Route("/queries", queries), Route("/query", query), Route("/query/checkpoint", checkpoint)]
