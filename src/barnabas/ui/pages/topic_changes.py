"""Changes of topics: made, given partitions, deleted; and what deleting their oldest records would come to.

The brokers check what is typed before anything is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.client.admin.record_deletion import most_deleted, new_first_offsets
from barnabas.client.admin.types import BROKER_DEFAULT, NewTopic
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number, tell
from barnabas.ui.inputs import objection, pairs_in, time_in
from barnabas.ui.pages.topics import WAYS_TO_DELETE, described_topic
from barnabas.ui.rendering import paged, render, segment, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form
from barnabas.wording import counted


async def create(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    name = form.get("name", "").strip()
    wanted = NewTopic(
        name,
        number(form, "partitions", BROKER_DEFAULT),
        number(form, "replication_factor", BROKER_DEFAULT),
        pairs_in(form, "settings"),
    )
    problem = await objection(access.admin.create_topics([wanted], validate_only=True))
    if problem is not None or form.get("do") == "check":
        return render(
            request, "topics/new.html", title="Create a topic", form=form, problem_of_topic=problem, name=name
        )
    return await changed(
        request, access.admin.create_topics([wanted]), f"/topics/{segment(name)}", f"{name} was created"
    )


async def add_partitions(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    access: ClusterAccess = request.app.state.access
    name, total = request.path_params["topic"], number(form, "total", 0)
    back = f"/topics/{segment(name)}"
    if form.get("do") == "check":
        problem = await objection(access.admin.create_partitions({name: total}, validate_only=True))
        said = f"{name} could have {counted(total, 'partition')}. Nothing was changed."
        tell(request, *(("done", said) if problem is None else ("error", problem)))
        return to(request, back)
    told = f"{name} has {counted(total, 'partition')}"
    return await changed(request, access.admin.create_partitions({name: total}), back, told)


async def delete(request: Request) -> Response:
    form = await sent_form(request, Role.ADMIN)
    name = request.path_params["topic"]
    access: ClusterAccess = request.app.state.access
    if form.get("confirmed") != name:
        tell(request, "error", f"To delete {name}, type its name.")
        return to(request, f"/topics/{segment(name)}")
    return await changed(request, access.admin.delete_topics([name]), "/topics", f"{name} was deleted")


async def preview_of_deletion(request: Request) -> Response:
    """Where partitions would begin. Changes nothing, and so is a GET."""
    access: ClusterAccess = request.app.state.access
    topic = await described_topic(request)
    asked = dict(request.query_params)
    chosen = _partitions(asked, [TopicPartition(topic.name, info.partition) for info in topic.partitions])
    way = asked.get("way", "all")
    if way not in WAYS_TO_DELETE:
        raise HTTPException(400, f"way {way!r} is none of {', '.join(WAYS_TO_DELETE)}")
    time_ms = time_in(asked, "at") if way == "time" else None
    offset = number(asked, "at", 0) if way == "offset" else None
    first = await access.admin.list_offsets(dict.fromkeys(chosen, "earliest"))
    end = await access.admin.list_offsets(dict.fromkeys(chosen, "latest"))
    at = None if time_ms is None else await access.admin.list_offsets(dict.fromkeys(chosen, time_ms))
    wanted = new_first_offsets(first, end, offset=offset, at=at)
    goes = {tp: offset for tp, offset in wanted.items() if offset > first[tp].offset}
    rows = [(tp.partition, first[tp].offset, wanted[tp], end[tp].offset) for tp in chosen]
    return render(
        request,
        "topics/deletion.html",
        title=f"Delete records of {topic.name}",
        topic=topic,
        tab="",
        rows=paged(request, rows),
        most=most_deleted(wanted, first, end),
        offsets=",".join(f"{tp.partition}:{offset}" for tp, offset in goes.items()),
    )


async def delete_records(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    name = request.path_params["topic"]
    # What the preview showed, and not what the same words would mean by now.
    wanted: dict[TopicPartition, int] = {}
    for text in filter(None, form.get("offsets", "").split(",")):
        partition, _, offset = text.partition(":")
        numbers = {"partition": partition, "offset": offset}
        wanted[TopicPartition(name, number(numbers, "partition", -1))] = number(numbers, "offset", -1)
    if not wanted or min(wanted.values()) < 0:
        raise HTTPException(400, "no partition and offset is named: begin with the preview")
    told = f"records of {counted(len(wanted), 'partition')} of {name} were deleted"
    return await changed(request, access.admin.delete_records(wanted), f"/topics/{segment(name)}", told)


def _partitions(asked: Mapping[str, Any], existing: list[TopicPartition]) -> list[TopicPartition]:
    """One, or all. Raises: HTTPException (404)."""
    if not asked.get("partition"):
        return existing
    wanted = number(asked, "partition", -1)
    chosen = [tp for tp in existing if tp.partition == wanted]
    if not chosen:
        raise HTTPException(404, f"{existing[0].topic} has no partition {wanted}")
    return chosen


routes = [
    Route("/topics", create, methods=["POST"]),
    Route("/topics/{topic}/partitions", add_partitions, methods=["POST"]),
    Route("/topics/{topic}/delete", delete, methods=["POST"]),
    Route("/topics/{topic}/delete-records", preview_of_deletion),
    Route("/topics/{topic}/delete-records", delete_records, methods=["POST"]),
]
