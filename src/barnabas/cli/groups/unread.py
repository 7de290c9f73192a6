"""When the records that a group reads next were written: they are fetched, one of each partition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import barnabas
from barnabas import TopicPartition

# A group may be behind in partitions whose leader does not answer: what is known by then is shown.
LONGEST_SECONDS = 15.0
_POLL_SECONDS = 0.5
_RECORDS_IN_A_POLL = 100
_OF_THIS_READER: dict[str, Any] = {
    "enable_auto_commit": False,
    "max_partition_fetch_bytes": 1 << 16,
    "auto_offset_reset": "none",
    "group_id": None,
    "allow_auto_create_topics": False,
}


def written_at(
    consumer_settings: Mapping[str, Any], offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Milliseconds since 1970 of the first record at or after each offset; without those partitions in which
    there is none, as where only markers of transactions are left."""
    found: dict[TopicPartition, int] = {}
    if not offsets:
        return found
    deadline = time.monotonic() + LONGEST_SECONDS
    with barnabas.Consumer(**{**consumer_settings, **_OF_THIS_READER}) as consumer:
        consumer.assign(list(offsets))
        first, ends = consumer.beginning_offsets(list(offsets)), consumer.end_offsets(list(offsets))
        # What retention has deleted is not read by the group either.
        unread = {tp: max(at, first[tp]) for tp, at in offsets.items() if at < ends[tp]}
        consumer.assign(sorted(unread))
        for partition, offset in unread.items():
            consumer.seek(partition, offset)
        while unread and time.monotonic() < deadline:
            for record in consumer.poll(_POLL_SECONDS, _RECORDS_IN_A_POLL):
                found.setdefault(TopicPartition(record.topic, record.partition), record.timestamp)
            done = [tp for tp in unread if tp in found or consumer.position(tp) >= ends[tp]]
            for partition in done:
                del unread[partition]
            if done:
                consumer.assign(sorted(unread))
    return found
