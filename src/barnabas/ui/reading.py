"""Reads records of a topic for the page: the newest, those from a place on, and those that match.

Owns the consumers, which belong to no group and commit nothing. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from barnabas import Record
from barnabas.aio import Consumer
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.decoding import RecordDecoder, ShownRecord
from barnabas.values import frozen

SEARCH_SECONDS = 5.0
POLL_SECONDS = 0.25
FIRST_WINDOW = 500
WINDOW_GROWTH = 4
RECORDS_IN_A_POLL = 2_000
TAILED_AT_ONCE = 50
TAIL_PAUSE_SECONDS = 0.2

Place = Literal["newest", "beginning", "offset", "time"]


@frozen
class RecordSearch:
    """`at` is an offset or a time in milliseconds since 1970, as `place` says."""

    place: Place = "newest"
    at: int = 0
    wanted: str = ""
    where: str = ""
    limit: int = 50


@frozen
class FoundRecords:
    """`is_whole`: the search came to its end, and not to that of its time."""

    records: Sequence[ShownRecord]
    searched: int
    seconds: float
    is_whole: bool


def consumer_of(access: ClusterAccess, **settings: Any) -> Consumer:
    """One that only reads; a topic that is not there stays so."""
    return Consumer(
        **access.settings.client, enable_auto_commit=False, allow_auto_create_topics=False, **settings
    )


class RecordReader:
    """Searches partitions of one topic."""

    def __init__(
        self, access: ClusterAccess, decoder: RecordDecoder, partitions: Sequence[TopicPartition]
    ) -> None:
        self._access = access
        self._decoder = decoder
        self._partitions = partitions

    async def search(self, search: RecordSearch) -> FoundRecords:
        """Newest first where the newest are wanted, otherwise by time. Raises: BarnabasError."""
        began = time.monotonic()
        deadline = began + SEARCH_SECONDS
        async with consumer_of(self._access) as consumer:
            consumer.assign(self._partitions)
            first, ends = await asyncio.gather(
                consumer.beginning_offsets(self._partitions), consumer.end_offsets(self._partitions)
            )
            if search.place == "newest":
                found, searched, is_whole = await self._backwards(consumer, search, first, ends, deadline)
            else:
                begins = await self._begins(consumer, search, first, ends)
                found, searched, is_whole = await self._between(consumer, search, begins, ends, deadline)
        found.sort(key=lambda r: (r.timestamp, r.offset), reverse=search.place == "newest")
        return FoundRecords(found[: search.limit], searched, time.monotonic() - began, is_whole)

    async def _begins(
        self,
        consumer: Consumer,
        search: RecordSearch,
        first: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, int]:
        if search.place == "time":
            times = await consumer.offsets_for_times(dict.fromkeys(self._partitions, search.at))
            return {p: ends[p] if (at := times[p]) is None else at.offset for p in self._partitions}
        at = search.at if search.place == "offset" else 0
        return {p: min(max(at, first[p]), ends[p]) for p in self._partitions}

    async def _backwards(
        self,
        consumer: Consumer,
        search: RecordSearch,
        first: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        deadline: float,
    ) -> tuple[list[ShownRecord], int, bool]:
        """Windows from the end back, each larger than the one before."""
        found: list[ShownRecord] = []
        searched, window = 0, FIRST_WINDOW if search.wanted else search.limit
        ends = dict(ends)
        while True:
            begins = {p: max(first[p], ends[p] - window) for p in self._partitions}
            of_window, read, is_whole = await self._between(
                consumer, search, begins, ends, deadline, is_limited=False
            )
            found += of_window
            searched += read
            if not is_whole or len(found) >= search.limit or begins == dict(first):
                return found, searched, is_whole
            ends, window = begins, window * WINDOW_GROWTH

    async def _between(
        self,
        consumer: Consumer,
        search: RecordSearch,
        begins: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        deadline: float,
        *,
        is_limited: bool = True,
    ) -> tuple[list[ShownRecord], int, bool]:
        found: list[ShownRecord] = []
        searched = 0
        unread = {p for p in self._partitions if begins[p] < ends[p]}
        consumer.assign(sorted(unread))
        for partition in unread:
            consumer.seek(partition, begins[partition])
        while unread:
            if time.monotonic() > deadline:
                return found, searched, False
            for record in await consumer.poll(POLL_SECONDS, RECORDS_IN_A_POLL):
                if record.offset >= ends[TopicPartition(record.topic, record.partition)]:
                    continue
                searched += 1
                shown = await self._decoder.shown(record)
                if not search.wanted or shown.has(search.wanted, search.where):
                    found.append(shown)
            # The last offsets may be no records but marks of transactions, so that positions tell the end.
            for partition in list(unread):
                if await consumer.position(partition) >= ends[partition]:
                    unread.discard(partition)
            if is_limited and len(found) >= search.limit:
                break
            consumer.assign(sorted(unread))
        return found, searched, True

    async def one(self, offset: int) -> ShownRecord | None:
        """The record with this offset in the one partition, None if there is none. Raises: BarnabasError."""
        found = await self._first_from({self._partitions[0]: offset})
        record = next(iter(found.values()), None)
        return await self._decoder.shown(record) if record is not None and record.offset == offset else None

    async def timestamps_at(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """When the first record at or after each offset was written, where that is found in time."""
        return {p: record.timestamp for p, record in (await self._first_from(offsets)).items()}

    async def _first_from(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, Record]:
        found: dict[TopicPartition, Record] = {}
        deadline = time.monotonic() + SEARCH_SECONDS
        async with consumer_of(self._access, max_partition_fetch_bytes=1 << 16) as consumer:
            consumer.assign(list(offsets))
            first, ends = await asyncio.gather(
                consumer.beginning_offsets(list(offsets)), consumer.end_offsets(list(offsets))
            )
            unread = {p for p, at in offsets.items() if first[p] <= at < ends[p]}
            consumer.assign(sorted(unread))
            for partition in unread:
                consumer.seek(partition, offsets[partition])
            while unread and time.monotonic() < deadline:
                for record in await consumer.poll(POLL_SECONDS, RECORDS_IN_A_POLL):
                    found.setdefault(TopicPartition(record.topic, record.partition), record)
                for partition in list(unread):
                    if partition in found or await consumer.position(partition) >= ends[partition]:
                        unread.discard(partition)
                consumer.assign(sorted(unread))
        return found

    async def tail(self) -> AsyncGenerator[tuple[list[ShownRecord], int]]:
        """Records as they come, from now on, until it is closed; with how many came too fast to be shown. An
        empty list at once says that it has begun, and one every second that nothing came."""
        consumer = consumer_of(self._access)
        try:
            consumer.assign(self._partitions)
            for partition, end in (await consumer.end_offsets(self._partitions)).items():
                consumer.seek(partition, end)
            yield [], 0
            while True:
                records = await consumer.poll(1.0, RECORDS_IN_A_POLL)
                newest = records[-TAILED_AT_ONCE:]
                yield [await self._decoder.shown(r) for r in newest], len(records) - len(newest)
                if records:
                    await asyncio.sleep(TAIL_PAUSE_SECONDS)
        finally:
            self._access.close_consumer(consumer)
