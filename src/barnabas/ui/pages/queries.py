"""Spark's streaming queries: batches, rows and lag by partition, as a `PipelineListener` tells them, and what
is in their checkpoints.
"""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.ui.charts import count_chart, rate_chart, seconds_chart
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.pages.query_trouble import Trouble, trouble_of, trouble_of_checkpoint
from barnabas.ui.rendering import render
from barnabas.ui.streaming.listened import ListenerError, SeenQuery
from barnabas.ui.streaming.watch import SeenTogether


async def queries(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    look = await _look(request)
    running = {each.query_id for each in look.queries if each.is_running}
    now = time.time()
    return render(
        request,
        "queries/list.html",
        title="Streaming queries",
        look=look,
        troubles={each.query_id: _trouble(access, each) for each in look.queries},
        of_checkpoints={
            each.place: trouble_of_checkpoint(each, now, is_running=each.query_id in running)
            for each in look.checkpoints
        },
        has_listener=access.settings.listener is not None,
    )


async def query(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    name = request.query_params.get("id", "")
    look = await _look(request)
    found = next((each for each in look.queries if each.query_id == name), None)
    if found is None and look.problem is not None:
        raise HTTPException(502, look.problem)
    if found is None:
        raise HTTPException(404, f"the listener knows no query {name!r}")
    kept = next((each for each in look.checkpoints if each.query_id == name), None)
    groups = await access.groups.get()
    lags = access.queries.lags.total(found.query_id)
    timed = [(each.began_at, each) for each in found.batches if each.began_at is not None]
    return render(
        request,
        "queries/query.html",
        title=found.title,
        shown=found,
        kept=kept,
        trouble=_trouble(access, found),
        # A query is no group; those that read the same are of interest beside it.
        groups=sorted({group for topic in found.topics for group in groups.readers.get(topic, ())}),
        lag_chart=count_chart([(s.at, s.lag) for s in lags]),
        lag_seconds=lags[-1].seconds if lags else None,
        lag_seconds_chart=seconds_chart([(s.at, s.seconds) for s in lags]),
        rows_chart=rate_chart([(at, each.rows_per_second) for at, each in timed]),
        batch_chart=seconds_chart([(at, each.seconds) for at, each in timed]),
        state_chart=count_chart([(at, each.state_rows) for at, each in timed])
        if found.state_operators
        else None,
        sample_seconds=access.settings.sample_seconds,
    )


async def checkpoint(request: Request) -> Response:
    place = request.query_params.get("at", "")
    look = await _look(request)
    found = next((each for each in look.checkpoints if each.place == place), None)
    if found is None:
        raise HTTPException(404, f"the page was not given a checkpoint {place!r}: name it with --checkpoint")
    listened = next((each for each in look.queries if each.query_id == found.query_id), None)
    is_running = listened is not None and listened.is_running
    return render(
        request,
        "queries/checkpoint.html",
        title=found.title,
        shown=found,
        listened=listened,
        trouble=trouble_of_checkpoint(found, time.time(), is_running=is_running),
    )


async def _look(request: Request) -> SeenTogether:
    """Raises: HTTPException (404, 502), BarnabasError."""
    access: ClusterAccess = request.app.state.access
    if not access.queries.is_of_use:
        raise HTTPException(
            404,
            "no listener and no checkpoint was named: start the page with --listener URL or --checkpoint "
            "FOLDER",
        )
    try:
        return await access.queries.look()
    except ListenerError as error:
        raise HTTPException(502, str(error)) from None


def _trouble(access: ClusterAccess, query: SeenQuery) -> Trouble | None:
    return trouble_of(query, access.queries.lags.growing().get(query.query_id))


routes = [Route("/queries", queries), Route("/query", query), Route("/query/checkpoint", checkpoint)]
