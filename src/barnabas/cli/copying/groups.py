"""`copy --groups`: where groups stand in copied topics is found again at the target, and committed there.

A committed offset names the next record to read. That record is looked for at the target: by the headers that
name its source, or by its time, key, value and headers. So it does not matter which run copied it. Knows
nothing of options.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import barnabas
from barnabas import Record, TopicPartition
from barnabas.cli.consuming.filters import RecordFilter
from barnabas.cli.names import pattern_of
from barnabas.cli.options import UsageError
from barnabas.cli.output import note, plural
from barnabas.errors import BarnabasError
from barnabas.types import OffsetAndMetadata
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin, Consumer

SCHEMA_HEADERS = ("__key_schema_id", "__value_schema_id")
COLUMNS = ("group", "topic", "partition", "offset", "target_topic", "target_offset", "note")
_POLL_SECONDS = 0.2
_RECORDS_A_POLL = 1_000
# So many records behind the first one with the right time: then it is given up.
_MOST_LOOKED_AT = 1_000_000
STALLED_SECONDS = 10.0
"""So long nothing may come: behind a transaction that is open nothing can be read, and the marker of one that
was committed comes a moment later."""
# Where some records were left out, one of those behind is looked for.
_MOST_CANDIDATES = 100
_IDLE_STATES = ("Empty", "Dead")


@frozen
class CarriedOffset:
    """A group's committed offset, and what it is at the target. None: it could not be found; `note` says why,
    or why it is not committed."""

    group: str
    topic: str
    partition: int
    offset: int
    target_topic: str
    target_offset: int | None
    note: str = ""
    metadata: str = ""
    """What was committed beside the offset, as Kafka Streams does."""

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.target_topic, self.partition)

    def row(self) -> tuple[Any, ...]:
        """By `COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)


@frozen
class WhatCopyChanges:
    """How copied records differ from those of the source."""

    is_wanted: RecordFilter | None
    has_source_headers: bool
    has_other_schemas: bool
    leaves_some_out: bool


class GroupTransfer:
    """The groups whose whole names match one of `patterns`, without `own`, which is the copy's. The settings
    are those of consumers of both clusters."""

    def __init__(
        self,
        admin: Admin,
        to_admin: Admin,
        settings: Mapping[str, Any],
        to_settings: Mapping[str, Any],
        patterns: Sequence[str],
        own: str,
        changes: WhatCopyChanges,
    ) -> None:
        self._admin = admin
        self._to_admin = to_admin
        self._settings = settings
        self._to_settings = to_settings
        self._patterns = [re.compile(pattern_of(each, "--groups")) for each in patterns]
        self._own = own
        self._changes = changes

    def committed(self, targets: Mapping[str, str], partitions: Sequence[TopicPartition]) -> Committed:
        """Raises: UsageError for a pattern that no group matches."""
        names = [
            each.group_id
            for each in self._admin.list_groups()
            if each.group_id != self._own and each.type != "share"
        ]
        for pattern in self._patterns:
            if not any(map(pattern.fullmatch, names)):
                raise UsageError(f"--groups {pattern.pattern!r}: the source has no such group")
        chosen = [name for name in names if any(each.fullmatch(name) for each in self._patterns)]
        copied = {each for each in partitions if each.topic in targets}
        return {
            (group, place): kept
            for group, offsets in sorted(self._admin.list_offsets_of_groups(dict.fromkeys(chosen)).items())
            for place, kept in sorted(offsets.items())
            if place in copied
        }

    def found(
        self,
        committed: Committed,
        targets: Mapping[str, str],
        begins: Mapping[TopicPartition, int],
        positions: Mapping[TopicPartition, int],
        *,
        is_before: bool = False,
    ) -> list[CarriedOffset]:
        """What was copied are the records from `begins`, 0 if it is not known, to before `positions`.
        `is_before`: more is to be copied, so that what lies there is not known yet."""
        there = set(self._to_admin.list_topics(internal=True))
        places = {place: TopicPartition(targets[place.topic], place.partition) for _, place in committed}
        existing = [each for each in places.values() if each.topic in there]
        ends = {
            place: found.offset
            for place, found in self._to_admin.list_offsets(dict.fromkeys(existing, "latest")).items()
        }
        offsets: dict[tuple[TopicPartition, int], int | None] = {}
        rows: list[CarriedOffset] = []
        with (
            barnabas.Consumer(**_reading(self._settings)) as source,
            barnabas.Consumer(**_reading(self._to_settings)) as target,
        ):
            for (group, place), kept in committed.items():
                at = max(kept.offset, begins.get(place, 0))
                end = ends.get(places[place])
                if (place, at) not in offsets:
                    if end is None or (is_before and (place in begins or at > positions[place])):
                        offsets[place, at] = None
                    elif at >= positions[place]:
                        # All that was copied is read.
                        offsets[place, at] = end
                    else:
                        offsets[place, at] = self._looked_up(
                            source, target, place, places[place], at, positions[place], end
                        )
                wanted = offsets[place, at]
                why = "" if wanted is not None else "not found at the target"
                rows.append(
                    CarriedOffset(group, *place, kept.offset, places[place].topic, wanted, why, kept.metadata)
                )
        return rows

    def commit(self, rows: Sequence[CarriedOffset]) -> list[CarriedOffset]:
        """Commits them for groups without members; an offset that is further on already stays. Gives and
        shows what was done with each."""
        groups = list(dict.fromkeys(each.group for each in rows))
        states = {each.group_id: each.state for each in self._to_admin.list_groups()}
        there = self._to_admin.list_offsets_of_groups({each: None for each in groups if each in states})
        done: list[CarriedOffset] = []
        for group in groups:
            of_group = [each for each in rows if each.group == group]
            now = {place: kept.offset for place, kept in there.get(group, {}).items()}
            refused = ""
            if states.get(group, "Empty") not in _IDLE_STATES:
                refused = "the group has members at the target"
            new = {
                each.place: OffsetAndMetadata(each.target_offset, each.metadata)
                for each in of_group
                if each.target_offset is not None and each.target_offset > now.get(each.place, -1)
            }
            if new and not refused:
                try:
                    self._to_admin.alter_group_offsets(group, new)
                except BarnabasError as error:
                    refused = str(error)
            if refused:
                note(f"warning: offsets of group {group} are not carried over: {refused}")
            done += [_after(each, now, refused) for each in of_group]
        _tell(done)
        return done

    def _looked_up(
        self,
        source: Consumer,
        target: Consumer,
        place: TopicPartition,
        to_place: TopicPartition,
        offset: int,
        position: int,
        end: int,
    ) -> int | None:
        """Where the first copied record at or behind `offset` is at the target; its end if there is none."""
        most = _MOST_CANDIDATES if self._changes.leaves_some_out else 1
        candidates: list[Record] = []

        def is_enough(record: Record) -> bool:
            if self._changes.is_wanted is None or self._changes.is_wanted(record):
                candidates.append(record)
            return len(candidates) == most

        if not _read(source, place, offset, position, is_enough):
            return None
        if not candidates:
            return end
        earliest = min(record.timestamp for record in candidates)
        if earliest < 0:
            return None
        # Of uncommitted records too: the marker of a commit comes a moment later.
        start = self._to_admin.list_offsets({to_place: earliest})[to_place].offset
        if start < 0:
            return None
        found: list[int] = []

        def is_one(record: Record) -> bool:
            if any(self._are_same(each, record) for each in candidates):
                found.append(record.offset)
            return bool(found)

        _read(target, to_place, start, end, is_one)
        return found[0] if found else None

    def _are_same(self, record: Record, copy: Record) -> bool:
        if self._changes.has_source_headers:
            told = dict(copy.headers)
            return (
                told.get("source.topic") == record.topic.encode()
                and told.get("source.partition") == str(record.partition).encode()
                and told.get("source.offset") == str(record.offset).encode()
            )
        if record.timestamp != copy.timestamp:
            return False
        if not self._changes.has_other_schemas:
            return (record.key, record.value, tuple(record.headers)) == (
                copy.key,
                copy.value,
                tuple(copy.headers),
            )
        return _without_schemas(record) == _without_schemas(copy)


Committed = Mapping[tuple[str, TopicPartition], OffsetAndMetadata]
"""The committed offset of each group in each partition that is copied."""


def _reading(settings: Mapping[str, Any]) -> dict[str, Any]:
    own = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "allow_auto_create_topics": False}
    found = {name: value for name, value in settings.items() if name != "group_id"}
    return {"isolation_level": "read_committed", **found, **own}


def _read(
    consumer: Consumer, place: TopicPartition, start: int, end: int, is_enough: Callable[[Record], bool]
) -> bool:
    """Records from `start` to before `end`, until there are enough. False where it was given up."""
    if start >= end:
        return True
    consumer.assign([place])
    consumer.seek(place, start)
    looked_at = 0
    came_at = time.monotonic()
    while looked_at < _MOST_LOOKED_AT and time.monotonic() - came_at < STALLED_SECONDS:
        for record in consumer.poll(_POLL_SECONDS, max_records=_RECORDS_A_POLL):
            looked_at += 1
            came_at = time.monotonic()
            if record.offset >= end or is_enough(record):
                return True
        if consumer.position(place) >= end:
            return True
    return False


def _without_schemas(record: Record) -> tuple[Any, ...]:
    headers = [(name, value) for name, value in record.headers if name not in SCHEMA_HEADERS]
    return _body(record.key), _body(record.value), headers


def _body(data: bytes | None) -> bytes | None:
    """Without what names a schema, if that is what it begins with."""
    if data is None:
        return None
    return data[5:] if data[:1] == b"\0" else data[17:] if data[:1] == b"\1" else data


def _after(each: CarriedOffset, now: Mapping[TopicPartition, int], refused: str) -> CarriedOffset:
    if each.target_offset is None or not (refused or now.get(each.place, -1) >= each.target_offset):
        return each
    return replace(each, note=refused or f"at {now[each.place]} already")


def _tell(rows: Sequence[CarriedOffset]) -> None:
    carried = [each for each in rows if not each.note]
    missing = [each for each in rows if each.target_offset is None]
    groups = len({each.group for each in carried})
    note(f"offsets of {plural(groups, 'group')} carried over in {plural(len(carried), 'partition')}")
    for each in missing[:10]:
        note(
            f"warning: where group {each.group} goes on, {each.topic}-{each.partition} at offset "
            f"{each.offset}, was not found at the target"
        )
    if len(missing) > 10:
        note(f"warning: and so of {len(missing) - 10:,} more (--json shows all)")
