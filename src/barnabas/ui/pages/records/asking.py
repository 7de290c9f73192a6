"""What an address asks for: a search, and the partitions that it is of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from barnabas import Record
from barnabas.client.admin.types import TopicDescription
from barnabas.errors import MissingExtraError
from barnabas.records.asked import UsageError
from barnabas.records.times import timestamp_ms
from barnabas.registry.errors import RegistryError
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.forms import MOST_DIGITS, number
from barnabas.ui.pages.topics import described_topic
from barnabas.ui.records.conditions import cel_condition
from barnabas.ui.records.decoding import RecordDecoder
from barnabas.ui.records.part_forms import record_forms
from barnabas.ui.records.reading import RecordReader
from barnabas.ui.records.search import Place, RecordSearch, Until

MOST_RECORDS = 500
DEFAULT_RECORDS = 50
MOST_MILLISECONDS = 1 << 62
PLACES: tuple[Place, ...] = get_args(Place)
FORM_FIELDS = ("key_as", "key_schema", "value_as", "value_schema")
ASKED_WRONGLY = (UsageError, MissingExtraError, RegistryError)
"""Errors that are shown above the form, which keeps what was typed."""
FIELDS = ("q", "where", "cel", "partition", "place", "at", "until", *FORM_FIELDS)
"""Of an address, which say what is searched for. Two more say how much of it is shown: limit and resume."""


def asked_fields(request: Request) -> dict[str, str]:
    """Those of `FIELDS` that are given."""
    return {name: value for name in FIELDS if (value := request.query_params.get(name))}


def reads_of(query: Mapping[str, str]) -> str:
    """The end of an address that says how keys and values are read, empty where they are as they are."""
    given = {name: query[name] for name in FORM_FIELDS if query.get(name)}
    return f"?{urlencode(given)}" if given else ""


async def search_of(request: Request, topic: str, query: Mapping[str, str]) -> RecordSearch:
    """Raises: UsageError, MissingExtraError, RegistryError, HTTPException (400)."""
    said = query.get("place") or "newest"
    place: Place | None = next((known for known in PLACES if known == said), None)
    if place is None:
        raise UsageError(f"place {said!r} is none of {', '.join(PLACES)}")
    at = 0
    if place == "offset":
        at = number(query, "at", 0)
    elif place == "time":
        at = _time(query.get("at", ""), "the time")
    decoder: RecordDecoder = request.app.state.decoder
    return RecordSearch(
        place=place,
        at=at,
        until=_until(query.get("until", "").strip(), place),
        wanted=query.get("q", ""),
        where=query.get("where", ""),
        condition=await cel_condition(query.get("cel", "")),
        limit=min(max(number(query, "limit", DEFAULT_RECORDS), 1), MOST_RECORDS),
        forms=await decoder.chosen(record_forms(query)),
        resumes=offsets_of(topic, query.get("resume", "")),
    )


def _until(text: str, place: Place) -> Until | None:
    if not text:
        return None
    if place == "offset":
        return Until(number({"until": text}, "until", 0), is_offset=True)
    return Until(_time(text, "until"), is_offset=False)


def _time(text: str, called: str) -> int:
    found = timestamp_ms(text, called)
    if abs(found) > MOST_MILLISECONDS:
        raise UsageError(f"{called} {text!r} is in no year that Kafka knows")
    return found


def milliseconds(text: str) -> int:
    """A time that somebody typed. Raises: HTTPException (400)."""
    try:
        return _time(text, "the time")
    except UsageError as error:
        raise HTTPException(400, str(error)) from None


def offsets_text(offsets: Mapping[TopicPartition, int]) -> str:
    """As `offsets_of` reads it."""
    return ",".join(f"{partition.partition}:{offset}" for partition, offset in sorted(offsets.items()))


def offsets_of(topic: str, text: str) -> dict[TopicPartition, int]:
    """By the partitions of the topic. Raises: UsageError."""
    found: dict[TopicPartition, int] = {}
    for each in filter(None, text.split(",")):
        partition, colon, offset = each.partition(":")
        if not colon or not (_is_number(partition) and _is_number(offset)):
            raise UsageError(f"{each[:50]!r} is no PARTITION:OFFSET: this address was changed, or cut")
        found[TopicPartition(topic, int(partition))] = int(offset)
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def reader_of(request: Request, topic: TopicDescription, partition: str) -> RecordReader:
    """Of one partition, or of all by "". Raises: HTTPException (404)."""
    existing = {str(info.partition): info for info in topic.partitions if info.leader >= 0}
    if partition and partition not in existing:
        raise HTTPException(404, f"{topic.name} has no partition {partition} with a leader")
    access: ClusterAccess = request.app.state.access
    decoder: RecordDecoder = request.app.state.decoder
    chosen = [TopicPartition(topic.name, int(each)) for each in ([partition] if partition else existing)]
    return RecordReader(access, decoder, chosen)


def file_name(text: str) -> str:
    """Without anything that means something in a header, or in a path."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


async def found_record(request: Request) -> Record:
    """The one that the path names. Raises: HTTPException (404)."""
    topic = await described_topic(request)
    partition, offset = request.path_params["partition"], request.path_params["offset"]
    found = await reader_of(request, topic, str(partition)).one(offset)
    if found is None:
        raise HTTPException(404, f"there is no record at offset {offset} of {topic.name}-{partition}")
    return found
