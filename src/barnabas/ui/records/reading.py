"""Reads records of a topic for the page: the newest, those from a place on, those that match, all of them,
and those that come.

Owns the consumers, which belong to no group and commit nothing. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barnabas import Record
from barnabas.aio import Consumer
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.records.decoding import RecordDecoder, ShownRecord
from barnabas.ui.records.search import FoundRecords, Hit, Hits, RecordSearch
from barnabas.values import frozen

SEARCH_SECONDS = 5.0
POLL_SECONDS = 0.25
RECORDS_IN_A_WINDOW = 20_000
"""Of all partitions together, where a search begins at the end."""
FEWEST_IN_A_WINDOW, FIRST_WINDOW = 50, 500
MOST_UNFILTERED, FEWEST_UNFILTERED = 2_000, 2
"""The same where all records match."""
WINDOW_GROWTH = 4
RECORDS_IN_A_POLL = 2_000
SMALL_FETCH_BYTES = 1 << 16
DECODED_AT_ONCE = 100
"""Between two of these other requests have their turn."""
TAILED_AT_ONCE = 50
TAIL_POLL_RECORDS = 10_000
TAIL_PAUSE_SECONDS = 0.2
TAIL_LOOK_SECONDS = 0.2
"""For the records of one poll: those that nobody had the time to look at are counted as skipped."""

Offsets = Mapping[TopicPartition, int]


@frozen
class TailedRecords:
    """What came since the last time, the newest first. `passed`: looked at, and not what is searched for.
    `skipped`: they came too fast."""

    shown: Sequence[ShownRecord]
    passed: int
    skipped: int


@dataclass
class Progress:
    """How far the reading of all records is. `is_whole`: it came to the end."""

    searched: int = 0
    is_whole: bool = False


def consumer_of(access: ClusterAccess, **settings: Any) -> Consumer:
    """One that only reads; a topic that is not there stays so."""
    return Consumer(
        **access.settings.client, enable_auto_commit=False, allow_auto_create_topics=False, **settings
    )


class _Scan:
    """Partitions that are read from offsets up to others."""

    def __init__(self, consumer: Consumer, begins: Offsets, ends: Offsets) -> None:
        self._consumer = consumer
        self._ends = ends
        self.positions = dict(begins)
        self.unread = {p for p, at in begins.items() if at < ends[p]}
        consumer.assign(sorted(self.unread))
        for partition in self.unread:
            consumer.seek(partition, begins[partition])

    async def poll(self) -> list[Record]:
        records = await self._consumer.poll(POLL_SECONDS, RECORDS_IN_A_POLL)
        found = [r for r in records if r.offset < self._ends[TopicPartition(r.topic, r.partition)]]
        touched = {TopicPartition(record.topic, record.partition) for record in records}
        done: list[TopicPartition] = []
        # After a full poll others wait; else any may have come to its end.
        for partition in self.unread & touched if len(records) == RECORDS_IN_A_POLL else self.unread:
            # The last offsets may be no records but marks of transactions, so that positions tell the end.
            position = await self._consumer.position(partition)
            self.positions[partition] = min(position, self._ends[partition])
            if position >= self._ends[partition]:
                done.append(partition)
        self.leave(done)
        return found

    def leave(self, partitions: Sequence[TopicPartition]) -> None:
        """Does not go on reading these."""
        if partitions:
            self.unread.difference_update(partitions)
            self._consumer.assign(sorted(self.unread))


class RecordReader:
    """Searches partitions of one topic."""

    def __init__(
        self, access: ClusterAccess, decoder: RecordDecoder, partitions: Sequence[TopicPartition]
    ) -> None:
        self._access = access
        self._decoder = decoder
        self._partitions = partitions

    async def search(self, search: RecordSearch) -> FoundRecords:
        """Newest first where the newest are wanted, otherwise by time. Raises: BarnabasError (a UsageError
        where the condition is none)."""
        began = time.monotonic()
        deadline = began + SEARCH_SECONDS
        # A page of records needs little of each partition.
        settings = {} if search.is_filtered else {"max_partition_fetch_bytes": SMALL_FETCH_BYTES}
        async with consumer_of(self._access, **settings) as consumer:
            begins, ends = await self._range(consumer, search)
            walk = self._backwards if search.is_newest else self._forwards
            records, searched, left = await walk(consumer, search, begins, ends, deadline)
        is_whole = not left or len(records) >= search.limit
        return FoundRecords(records, searched, time.monotonic() - began, is_whole, left)

    async def range(self, search: RecordSearch) -> tuple[Offsets, Offsets]:
        """From where to where the whole search goes, of now. Raises: BarnabasError."""
        async with consumer_of(self._access) as consumer:
            return await self._range(consumer, search)

    async def _range(self, consumer: Consumer, search: RecordSearch) -> tuple[Offsets, Offsets]:
        partitions = [p for p in self._partitions if not search.resumes or p in search.resumes]
        consumer.assign(partitions)
        first, last = await asyncio.gather(
            consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        )
        begins, ends = dict(first), dict(last)
        if search.place == "time":
            begins |= await self._at_time(consumer, search.at, ends)
        elif search.place == "offset":
            begins |= dict.fromkeys(partitions, search.at)
        if search.until is not None and search.until.is_offset:
            ends |= dict.fromkeys(partitions, search.until.at)
        elif search.until is not None:
            ends |= await self._at_time(consumer, search.until.at, ends)
        (ends if search.is_newest else begins).update(search.resumes)
        for p in partitions:
            begins[p] = min(max(begins[p], first[p]), last[p])
            ends[p] = min(max(ends[p], begins[p]), last[p])
        return {p: begins[p] for p in partitions}, {p: ends[p] for p in partitions}

    async def _at_time(self, consumer: Consumer, at: int, ends: Offsets) -> dict[TopicPartition, int]:
        times = await consumer.offsets_for_times(dict.fromkeys(ends, at))
        return {p: end if (found := times[p]) is None else found.offset for p, end in ends.items()}

    async def _forwards(
        self, consumer: Consumer, search: RecordSearch, begins: Offsets, ends: Offsets, deadline: float
    ) -> tuple[list[ShownRecord], int, Offsets]:
        hits = Hits(search.limit, is_newest=False)
        scan = _Scan(consumer, begins, ends)
        searched = 0
        while scan.unread and time.monotonic() < deadline:
            wanted = [r for r in await scan.poll() if not hits.is_full(TopicPartition(r.topic, r.partition))]
            searched += len(wanted)
            for record in await self._matching(search, wanted):
                hits.add(record)
            latest = {TopicPartition(r.topic, r.partition): r.timestamp for r in wanted}
            behind = hits.first()[-1].timestamp if hits.has_enough else None
            scan.leave(
                [
                    partition
                    for partition in scan.unread
                    if hits.is_full(partition)
                    # All that comes there is later than what is there already.
                    or (behind is not None and latest.get(partition, -1) >= behind)
                ]
            )
        found = await self._shown(search, hits.first())
        positions = scan.positions | hits.cut
        return found, searched, {p: at for p, at in positions.items() if at < ends[p]}

    async def _backwards(
        self, consumer: Consumer, search: RecordSearch, begins: Offsets, ends: Offsets, deadline: float
    ) -> tuple[list[ShownRecord], int, Offsets]:
        """Windows from the end back, each larger than the one before. One that cannot be read in time counts
        as not read: a search that goes on reads it again."""
        hits = Hits(search.limit, is_newest=True)
        ends = dict(ends)
        searched = 0
        most, fewest, each = RECORDS_IN_A_WINDOW, FEWEST_IN_A_WINDOW, FIRST_WINDOW
        if not search.is_filtered:
            most, fewest, each = MOST_UNFILTERED, FEWEST_UNFILTERED, search.limit
        window = max(fewest, min(each, most // max(len(ends), 1)))
        wanted = {p for p, end in ends.items() if begins[p] < end}
        while wanted:
            of_window = Hits(search.limit, is_newest=True)
            starts = {p: max(begins[p], ends[p] - window) for p in wanted}
            oldest: dict[TopicPartition, int] = {}
            scan = _Scan(consumer, starts, ends)
            while scan.unread and time.monotonic() < deadline:
                records = await scan.poll()
                searched += len(records)
                for record in records:
                    oldest.setdefault(TopicPartition(record.topic, record.partition), record.timestamp)
                for record in await self._matching(search, records):
                    of_window.add(record)
            for partition in wanted - scan.unread:
                hits.take_older(of_window, partition)
                ends[partition] = starts[partition]
            if scan.unread:
                break
            wanted = {p for p in wanted if begins[p] < ends[p]}
            if hits.has_enough:
                behind = hits.first()[-1].timestamp
                # Before what is older than all that was found, there is nothing newer.
                wanted = {p for p in wanted if p not in hits.cut and oldest.get(p, behind + 1) > behind}
            window *= WINDOW_GROWTH
        found = await self._shown(search, hits.first())
        positions = ends | {partition: offset + 1 for partition, offset in hits.cut.items()}
        return found, searched, {p: at for p, at in positions.items() if at > begins[p]}

    async def _matching(self, search: RecordSearch, records: Sequence[Record]) -> Sequence[Hit]:
        """Where all match, they are read when it is known which of them are shown."""
        if search.is_filtered:
            return await self._shown_matching(search, records)
        # Copies: a record keeps the batch that it came in.
        return [
            Record(r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, r.headers) for r in records
        ]

    async def _shown(self, search: RecordSearch, hits: Sequence[Hit]) -> list[ShownRecord]:
        return [
            hit if isinstance(hit, ShownRecord) else await self._decoder.shown(hit, search.forms)
            for hit in hits
        ]

    async def _shown_matching(self, search: RecordSearch, records: Sequence[Record]) -> list[ShownRecord]:
        found: list[ShownRecord] = []
        for begin in range(0, len(records), DECODED_AT_ONCE):
            shown = [await self._decoder.shown(r, search.forms) for r in records[begin:][:DECODED_AT_ONCE]]
            if search.wanted:
                shown = [record for record in shown if record.has(search.wanted, search.where)]
            found += shown
            await asyncio.sleep(0)
        if search.condition is not None and found:
            # It takes some 300 µs for each: other requests have their turn meanwhile.
            holds = await asyncio.to_thread(search.condition.of, found)
            found = [record for record, is_wanted in zip(found, holds, strict=True) if is_wanted]
        return found

    async def every(
        self, search: RecordSearch, begins: Offsets, ends: Offsets, progress: Progress, seconds: float
    ) -> AsyncGenerator[list[tuple[Record, ShownRecord]]]:
        """All that match between these offsets, in the order of offsets within partitions, until the time is
        over. Raises: BarnabasError."""
        deadline = time.monotonic() + seconds
        async with consumer_of(self._access) as consumer:
            scan = _Scan(consumer, begins, ends)
            while scan.unread and time.monotonic() < deadline:
                records = await scan.poll()
                progress.searched += len(records)
                by_place = {(r.partition, r.offset): r for r in records}
                shown = await self._shown_matching(search, records)
                if shown:
                    yield [(by_place[r.partition, r.offset], r) for r in shown]
            progress.is_whole = not scan.unread

    async def one(self, offset: int) -> Record | None:
        """The record with this offset in the one partition, None if there is none. Raises: BarnabasError."""
        record = await self.at_or_after(offset)
        return record if record is not None and record.offset == offset else None

    async def at_or_after(self, offset: int) -> Record | None:
        """The first record of the one partition that is not before this offset. Raises: BarnabasError."""
        found = await self._first_from({self._partitions[0]: offset}, skips_deleted=True)
        return next(iter(found.values()), None)

    async def shown(self, record: Record, search: RecordSearch) -> ShownRecord:
        return await self._decoder.shown(record, search.forms)

    async def timestamps_at(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """When the first record at or after each offset was written, where that is found in time."""
        return {p: record.timestamp for p, record in (await self._first_from(offsets)).items()}

    async def _first_from(
        self, offsets: Offsets, *, skips_deleted: bool = False
    ) -> dict[TopicPartition, Record]:
        found: dict[TopicPartition, Record] = {}
        deadline = time.monotonic() + SEARCH_SECONDS
        async with consumer_of(self._access, max_partition_fetch_bytes=SMALL_FETCH_BYTES) as consumer:
            consumer.assign(list(offsets))
            first, ends = await asyncio.gather(
                consumer.beginning_offsets(list(offsets)), consumer.end_offsets(list(offsets))
            )
            begins = {p: max(at, first[p]) for p, at in offsets.items() if skips_deleted or at >= first[p]}
            scan = _Scan(consumer, begins, ends)
            while scan.unread and time.monotonic() < deadline:
                for record in await scan.poll():
                    found.setdefault(TopicPartition(record.topic, record.partition), record)
                scan.leave([partition for partition in scan.unread if partition in found])
        return found

    async def tail(self, search: RecordSearch) -> AsyncGenerator[TailedRecords]:
        """Records as they come, from now on, until it is closed. What is empty says at once that it has
        begun, and then every second that nothing came. Raises: BarnabasError."""
        consumer = consumer_of(self._access)
        try:
            consumer.assign(self._partitions)
            for partition, end in (await consumer.end_offsets(self._partitions)).items():
                consumer.seek(partition, end)
            yield TailedRecords([], 0, 0)
            while True:
                records = await consumer.poll(1.0, TAIL_POLL_RECORDS)
                yield await self._tailed(search, records)
                if records:
                    await asyncio.sleep(TAIL_PAUSE_SECONDS)
        finally:
            self._access.close_consumer(consumer)

    async def _tailed(self, search: RecordSearch, records: Sequence[Record]) -> TailedRecords:
        shown: list[ShownRecord] = []
        looked_at = 0
        deadline = time.monotonic() + TAIL_LOOK_SECONDS
        newest = sorted(records, key=lambda r: (r.timestamp, r.offset), reverse=True)
        while looked_at < len(newest) and len(shown) < TAILED_AT_ONCE:
            if looked_at and time.monotonic() > deadline:
                break
            some = newest[looked_at : looked_at + TAILED_AT_ONCE - len(shown)]
            shown += await self._shown_matching(search, some)
            looked_at += len(some)
        return TailedRecords(shown, looked_at - len(shown), len(records) - looked_at)
