"""Dead letters: where they came from, and sending them back."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.records.asked import UsageError
from barnabas.records.dead_letters.spool import LetterSpool
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import changed, number
from barnabas.ui.pages.records.asking import (
    ASKED_WRONGLY,
    FIELDS,
    asked_fields,
    found_record,
    offsets_of,
    offsets_text,
    reader_of,
    search_of,
)
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.records.decoding import RecordDecoder
from barnabas.ui.records.reading import Offsets, Progress, RecordReader
from barnabas.ui.records.search import RecordSearch
from barnabas.ui.records.sending_back import Accounts, Gathered, accounts_of, gather, send_back, shown_letter
from barnabas.ui.rendering import render, segment
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form

GATHER_SECONDS = 30.0


async def send_one_back(request: Request) -> Response:
    await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    decoder: RecordDecoder = request.app.state.decoder
    record = await found_record(request)
    letter = shown_letter(decoder, record)
    if letter is None:
        raise HTTPException(400, "the record does not tell where it came from: it is no dead letter")
    place = f"{record.topic}-{record.partition} at offset {record.offset}"

    async def send() -> None:
        with LetterSpool() as spool:
            gather(decoder, [record], {}, spool, Gathered())
            await send_back(access, spool, record.topic)

    back = f"/topics/{segment(record.topic)}/records/{record.partition}/{record.offset}"
    return await changed(request, send(), back, f"the letter {place} was sent back to {letter.origin.topic}")


async def preview(request: Request) -> Response:
    """What would be sent back of all that a search finds."""
    topic = await described_topic(request)
    access: ClusterAccess = request.app.state.access
    asked = asked_fields(request)
    reader = reader_of(request, topic, asked.get("partition", ""))
    found, problem = Gathered(), None
    begins: Offsets = {}
    ends: Offsets = {}
    with LetterSpool() as spool:
        try:
            search = await search_of(request, topic.name, asked)
            begins, ends = await reader.range(search)
            accounts = await accounts_of(access, topic.name)
            found = await _gathered(request, reader, search, begins, ends, accounts, spool)
        except ASKED_WRONGLY as error:
            problem = str(error)
        return render(
            request,
            "records/letters.html",
            title=f"Dead letters of {topic.name}",
            topic=topic,
            kinds=spool.kinds(),
            found=found,
            problem_of_search=problem,
            asked=asked,
            begins=offsets_text(begins),
            ends=offsets_text(ends),
        )


async def send_found_back(request: Request) -> Response:
    """Just what the preview showed: offsets are those of then."""
    form = await sent_form(request, Role.OPERATOR)
    topic = await described_topic(request)
    access: ClusterAccess = request.app.state.access
    asked = {name: value for name in FIELDS if (value := form.get(name))}
    reader = reader_of(request, topic, asked.get("partition", ""))
    expected = number(form, "letters", 0)

    async def send() -> None:
        search = await search_of(request, topic.name, asked)
        first, last = await reader.range(RecordSearch(place="beginning"))
        begins = _within(offsets_of(topic.name, form.get("begins", "")), first, last)
        ends = _within(offsets_of(topic.name, form.get("ends", "")), first, last)
        if begins.keys() != ends.keys():
            raise UsageError("the form is not of this topic: look at the preview again")
        accounts = await accounts_of(access, topic.name)
        with LetterSpool() as spool:
            found = await _gathered(request, reader, search, begins, ends, accounts, spool)
            if found.letters != expected:
                raise UsageError(
                    f"there were {expected:,} letters in the preview, and now there are {found.letters:,}: "
                    "look at it again. Nothing was sent"
                )
            await send_back(access, spool, topic.name)

    letters = f"{expected:,} {'letter' if expected == 1 else 'letters'}"
    back = f"/topics/{segment(topic.name)}/records"
    return await changed(
        request, send(), back, f"{letters} of {topic.name} sent back to where they came from"
    )


async def _gathered(
    request: Request,
    reader: RecordReader,
    search: RecordSearch,
    begins: Offsets,
    ends: Offsets,
    accounts: Accounts,
    spool: LetterSpool,
) -> Gathered:
    """Raises: UsageError where it takes too long, or there are too many."""
    decoder: RecordDecoder = request.app.state.decoder
    found, progress = Gathered(), Progress()
    async for batch in reader.every(search, begins, ends, progress, GATHER_SECONDS):
        gather(decoder, [record for record, _ in batch], accounts, spool, found)
    if not progress.is_whole:
        raise UsageError(
            f"after {GATHER_SECONDS:.0f} s and {progress.searched:,} records there was more to read: narrow "
            "the search, or use barnabas dlq replay"
        )
    return found


def _within(offsets: Offsets, first: Offsets, last: Offsets) -> Offsets:
    """What was deleted meanwhile is not there to be read."""
    return {p: min(max(offsets[p], first[p]), last[p]) for p in first if p in offsets}


routes = [
    Route("/topics/{topic}/letters", preview),
    Route("/topics/{topic}/letters", send_found_back, methods=["POST"]),
    Route("/topics/{topic}/records/{partition:int}/{offset:int}/send-back", send_one_back, methods=["POST"]),
]
