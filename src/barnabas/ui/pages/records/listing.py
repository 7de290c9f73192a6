"""The list of records: the newest, a search, the live tail, and writing a record."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from barnabas.aio import Producer
from barnabas.errors import BarnabasError
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.pages.records.asking import (
    ASKED_WRONGLY,
    asked_fields,
    offsets_text,
    reader_of,
    reads_of,
    search_of,
)
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.records.decoding import as_bytes
from barnabas.ui.records.part_forms import FORMS
from barnabas.ui.records.reading import TailedRecords
from barnabas.ui.records.search import NOTHING_FOUND, RecordSearch
from barnabas.ui.records.sending_back import CONVENTIONS
from barnabas.ui.rendering import fragment, render, segment
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form


async def records(request: Request) -> Response:
    topic = await described_topic(request)
    query = dict(request.query_params)
    reader = reader_of(request, topic, query.get("partition", ""))
    found, problem = NOTHING_FOUND, None
    search = RecordSearch()
    try:
        search = await search_of(request, topic.name, query)
        found = await reader.search(search)
    except ASKED_WRONGLY as error:
        problem = str(error)
    return render(
        request,
        "records/records.html",
        status=200 if problem is None else 400,
        title=topic.name,
        topic=topic,
        tab="records",
        search=search,
        found=found,
        problem_of_search=problem,
        left=offsets_text(found.left),
        forms=FORMS,
        asked=urlencode(asked_fields(request)),
        has_letters=any(CONVENTIONS.letter(record.as_read) for record in found.records),
        reads=reads_of(query),
    )


async def tail(request: Request) -> Response:
    topic = await described_topic(request)
    query = dict(request.query_params)
    reader = reader_of(request, topic, query.get("partition", ""))
    root = request.scope.get("root_path", "")

    async def events() -> AsyncGenerator[str]:
        try:
            search = await search_of(request, topic.name, query)
            is_ready = False
            async with contextlib.aclosing(reader.tail(search)) as tailed:
                async for came in tailed:
                    yield _event(came, root, reads_of(query)) if is_ready else "event: ready\ndata: {}\n\n"
                    is_ready = True
        except BarnabasError as error:
            yield f"event: problem\ndata: {json.dumps(str(error))}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def _event(came: TailedRecords, root: str, reads: str) -> str:
    if not (came.shown or came.passed or came.skipped):
        return ": nothing came\n\n"
    rows = "".join(
        fragment("records/record_row.html", record=record, root=root, reads=reads) for record in came.shown
    )
    told = {"rows": rows, "shown": len(came.shown), "passed": came.passed, "skipped": came.skipped}
    return f"data: {json.dumps(told)}\n\n"


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


routes = [
    Route("/topics/{topic}/records", records),
    Route("/topics/{topic}/records", produce, methods=["POST"]),
    Route("/topics/{topic}/tail", tail),
]
