"""One record: what is in it, its neighbours, its bytes, and sending it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import barnabas
from barnabas import Record, TimestampType
from barnabas.aio import Producer
from barnabas.errors import BarnabasError
from barnabas.records.texts import SIDES, Side
from barnabas.registry.schemas import Schema, SubjectVersion
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.pages.records.asking import (
    ASKED_WRONGLY,
    file_name,
    found_record,
    reader_of,
    reads_of,
    search_of,
)
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.records.bytes_view import MOST_BYTES, hex_view
from barnabas.ui.records.decoding import RecordDecoder, SchemaKey
from barnabas.ui.records.editing import EditableRecord, EditedRecord, RecordEditor
from barnabas.ui.records.part_forms import FORMS
from barnabas.ui.records.search import RecordSearch
from barnabas.ui.records.sending_back import shown_letter
from barnabas.ui.rendering import render, segment, to
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form
from barnabas.values import frozen

MOST_SUBJECTS = 20


@frozen
class NamedSchema:
    """What a key or value names. `schema`: None where there is none, or the registry does not answer."""

    side: Side
    key: SchemaKey
    schema: Schema | None
    versions: Sequence[SubjectVersion]

    @property
    def is_guid(self) -> bool:
        return isinstance(self.key, UUID)


async def record(request: Request) -> Response:
    topic = await described_topic(request)
    partition, offset = request.path_params["partition"], request.path_params["offset"]
    reader = reader_of(request, topic, str(partition))
    query = dict(request.query_params)
    found = await reader.one(offset)
    if found is None and query.get("near"):
        neighbour = await _neighbour(request, offset, query["near"])
        if neighbour is not None:
            return to(request, f"{_path(topic.name, partition, neighbour)}{reads_of(query)}")
    if found is None:
        raise HTTPException(404, f"there is no record at offset {offset} of {topic.name}-{partition}")
    problem = None
    search = RecordSearch()
    try:
        search = await search_of(request, topic.name, {"place": "beginning", **_forms(query)})
    except ASKED_WRONGLY as error:
        problem = str(error)
    decoder: RecordDecoder = request.app.state.decoder
    sizes = {side: len(data) for side, data in _parts(found) if data is not None}
    sizes["headers"] = sum(len(name.encode()) + len(value or b"") for name, value in found.headers)
    return render(
        request,
        "records/record.html",
        title=f"{topic.name}-{partition} at {offset}",
        topic=topic,
        record=await reader.shown(found, search),
        raw=found,
        sizes=sizes,
        timestamp_type=TimestampType(found.timestamp_type).name.lower().replace("_", " "),
        bytes_of={} if decoder.masks else {side: hex_view(data) for side, data in _parts(found) if data},
        most_bytes=MOST_BYTES,
        schemas=await _schemas(decoder, found),
        letter=shown_letter(decoder, found),
        forms=FORMS,
        reads=reads_of(query),
        problem_of_search=problem,
    )


async def _neighbour(request: Request, offset: int, near: str) -> int | None:
    """The offset of the record next to where none is: they have gaps where records were compacted, or
    transactions ended."""
    topic = await described_topic(request)
    partition = TopicPartition(topic.name, request.path_params["partition"])
    reader = reader_of(request, topic, str(partition.partition))
    if near == "next":
        found = await reader.at_or_after(offset)
        return None if found is None else found.offset
    before = await reader.search(RecordSearch(limit=1, resumes={partition: offset}))
    return before.records[0].offset if before.records else None


async def raw(request: Request) -> Response:
    """The bytes of a key or a value, as a file."""
    found, side = await found_record(request), request.path_params["side"]
    decoder: RecordDecoder = request.app.state.decoder
    if decoder.masks:
        raise HTTPException(403, "the page was started with --mask: it gives no bytes out")
    data = dict(_parts(found)).get(side)
    if data is None:
        raise HTTPException(404, f"the record has no {side}")
    name = file_name(f"{found.topic}-{found.partition}-{found.offset}.{side}")
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def resend_form(request: Request) -> Response:
    topic = await described_topic(request)
    found = await found_record(request)
    decoder: RecordDecoder = request.app.state.decoder
    editable: EditableRecord | None = None
    if not decoder.masks:
        editable = await asyncio.to_thread(_editable, found, _open_registry(request))
    return render(
        request,
        "records/resend.html",
        title=f"Send {topic.name}-{found.partition} at {found.offset} again",
        topic=topic,
        record=found,
        editable=editable,
    )


async def resend(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    decoder: RecordDecoder = request.app.state.decoder
    found = await found_record(request)
    target = form.get("target", "").strip() or found.topic
    partition = number(form, "partition", -1)

    async def send() -> None:
        edited = EditedRecord(found.key, found.value, found.headers)
        if not decoder.masks:
            edited = await asyncio.to_thread(_edited, found, _open_registry(request), form)
            await _check_written(decoder, found, edited)
        # A topic that is not there is an error here at once; a producer may make it, or waits for it.
        await access.admin.describe_topics([target])
        async with Producer(**access.settings.client) as producer:
            delivery = await producer.send(
                target,
                edited.value,
                key=edited.key,
                headers=edited.headers,
                partition=None if partition < 0 else partition,
                timestamp=found.timestamp if form.get("keeps_time") and found.timestamp >= 0 else None,
            )
            await delivery

    told = f"the record of {found.topic}-{found.partition} at offset {found.offset} was sent to {target}"
    return await changed(request, send(), f"/topics/{segment(target)}/records", told)


async def _check_written(decoder: RecordDecoder, found: Record, edited: EditedRecord) -> None:
    """What was read by a schema before can be read by it now. Raises: HTTPException (400)."""
    made = Record(
        found.topic, found.partition, found.offset, -1, edited.key, edited.value, list(edited.headers)
    )
    if (made.key, made.value, made.headers) == (found.key, found.value, found.headers):
        return
    before, after = await decoder.shown(found), await decoder.shown(made)
    for side, was, now in (("key", before.key, after.key), ("value", before.value, after.value)):
        if was.problem is None and now.problem is not None:
            raise HTTPException(400, f"the {side} is not what its schema allows: {now.problem}")


def _editable(found: Record, open_registry: Callable[[], barnabas.Registry] | None) -> EditableRecord:
    with RecordEditor(found, open_registry) as editor:
        return editor.editable()


def _edited(
    found: Record, open_registry: Callable[[], barnabas.Registry] | None, form: Mapping[str, str]
) -> EditedRecord:
    with RecordEditor(found, open_registry) as editor:
        return editor.edited(form)


def _open_registry(request: Request) -> Callable[[], barnabas.Registry] | None:
    settings = request.app.state.access.settings
    if settings.registry is None:
        return None
    return lambda: barnabas.Registry(settings.registry, **settings.registry_settings)


async def _schemas(decoder: RecordDecoder, found: Record) -> list[NamedSchema]:
    named: list[NamedSchema] = []
    for side, data in _parts(found):
        key = None if data is None else decoder.schema_named(found, data, is_key=side == "key")
        if decoder.registry is None or key is None:
            continue
        schema, versions = None, list[SubjectVersion]()
        try:
            schema = await decoder.schema(key)
            if isinstance(key, int):
                versions = await decoder.registry.versions_of(key, limit=MOST_SUBJECTS)
        except BarnabasError:
            # Bytes may look as if they named one; the part itself says why it was not read.
            if schema is None:
                continue
        named.append(NamedSchema(side, key, schema, versions[:MOST_SUBJECTS]))
    return named


def _parts(found: Record) -> list[tuple[Side, bytes | None]]:
    sides: dict[Side, bytes | None] = {"key": found.key, "value": found.value}
    return [(side, sides[side]) for side in SIDES]


def _forms(query: dict[str, str]) -> dict[str, str]:
    return {name: query[name] for side in SIDES for name in (f"{side}_as", f"{side}_schema") if name in query}


def _path(topic: str, partition: int, offset: int) -> str:
    return f"/topics/{segment(topic)}/records/{partition}/{offset}"


RECORD = "/topics/{topic}/records/{partition:int}/{offset:int}"
routes = [
    Route(RECORD, record),
    Route(f"{RECORD}/resend", resend_form),
    Route(f"{RECORD}/resend", resend, methods=["POST"]),
    Route(f"{RECORD}/{{side}}", raw),
]
