"""Records of a topic: the newest, a search, the live tail, one record, and writing one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from barnabas.aio import Producer
from barnabas.client.admin.types import TopicDescription
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.decoding import RecordDecoder, as_bytes
from barnabas.ui.forms import changed, number
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.reading import Place, RecordReader, RecordSearch
from barnabas.ui.rendering import fragment, render, segment
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

MOST_RECORDS = 500
DEFAULT_RECORDS = 50


async def records(request: Request) -> Response:
    topic = await described_topic(request)
    query = dict(request.query_params)
    search = _search(query)
    reader = _reader(request, topic, query.get("partition", ""))
    found = await reader.search(search)
    return render(
        request, "records.html", title=topic.name, topic=topic, tab="records", search=search, found=found
    )


async def tail(request: Request) -> Response:
    topic = await described_topic(request)
    query = dict(request.query_params)
    search = _search(query)
    reader = _reader(request, topic, query.get("partition", ""))
    root = request.scope.get("root_path", "")

    async def events() -> AsyncGenerator[str]:
        is_ready = False
        async with contextlib.aclosing(reader.tail()) as tailed:
            async for shown, skipped in tailed:
                rows = [
                    fragment("record_row.html", record=record, root=root)
                    for record in shown
                    if not search.wanted or record.has(search.wanted, search.where)
                ]
                if is_ready and (rows or skipped):
                    yield f"data: {json.dumps({'rows': ''.join(reversed(rows)), 'skipped': skipped})}\n\n"
                else:
                    yield ": nothing came\n\n" if is_ready else "event: ready\ndata: {}\n\n"
                is_ready = True

    return StreamingResponse(events(), media_type="text/event-stream")


async def record(request: Request) -> Response:
    topic = await described_topic(request)
    partition, offset = request.path_params["partition"], request.path_params["offset"]
    found = await _reader(request, topic, str(partition)).one(offset)
    if found is None:
        raise HTTPException(404, f"there is no record at offset {offset} of {topic.name}-{partition}")
    return render(
        request, "record.html", title=f"{topic.name}-{partition} at {offset}", topic=topic, record=found
    )


async def produce(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    name = request.path_params["topic"]
    try:
        key = as_bytes(form["key"], form.get("key_form", "text")) if form.get("key") else None
        value = (
            None if form.get("is_null") else as_bytes(form.get("value", ""), form.get("value_form", "text"))
        )
    except ValueError as error:
        raise HTTPException(400, f"the record cannot be written: {error}") from None
    headers = [
        (header.strip(), text.strip().encode())
        for header, equals, text in (line.partition("=") for line in form.get("headers", "").splitlines())
        if equals
    ]
    partition = number(form, "partition", -1)

    async def send() -> None:
        async with Producer(**access.settings.client) as producer:
            delivery = await producer.send(
                name,
                value,
                key=key,
                headers=headers,
                partition=None if partition < 0 else partition,
            )
            await delivery

    return await changed(request, send(), f"/topics/{segment(name)}/records", "1 record was written")


def _search(query: dict[str, str]) -> RecordSearch:
    """Raises: HTTPException (400)."""
    said = query.get("place", "newest")
    place: Place | None = next((known for known in get_args(Place) if known == said), None)
    if place is None:
        raise HTTPException(400, f"place {said!r} is none of {', '.join(get_args(Place))}")
    at = 0
    if place == "offset":
        at = number(query, "at", 0)
    elif place == "time":
        at = milliseconds(query.get("at", ""))
    limit = min(max(number(query, "limit", DEFAULT_RECORDS), 1), MOST_RECORDS)
    return RecordSearch(place, at, query.get("q", ""), query.get("where", ""), limit)


def milliseconds(text: str) -> int:
    """A time that somebody typed. Raises: HTTPException (400)."""
    if text.isdecimal() and 10 <= len(text) <= 15:
        return int(text)
    try:
        return round(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise HTTPException(
            400, f"{text!r} is no time: write 2026-01-31T12:00, or milliseconds since 1970"
        ) from None


def _reader(request: Request, topic: TopicDescription, partition: str) -> RecordReader:
    """Of one partition or of all. Raises: HTTPException (404)."""
    existing = {str(info.partition): info for info in topic.partitions if info.leader >= 0}
    if partition and partition not in existing:
        raise HTTPException(404, f"{topic.name} has no partition {partition} with a leader")
    access: ClusterAccess = request.app.state.access
    decoder: RecordDecoder = request.app.state.decoder
    chosen = [TopicPartition(topic.name, int(each)) for each in ([partition] if partition else existing)]
    return RecordReader(access, decoder, chosen)


routes = [
    Route("/topics/{topic}/records", records),
    Route("/topics/{topic}/records", produce, methods=["POST"]),
    Route("/topics/{topic}/tail", tail),
    Route("/topics/{topic}/records/{partition:int}/{offset:int}", record),
]
