"""ListOffsets as brokers before Kafka 4 took it: several offsets from before a time.

Those gave the beginnings of a partition's segments that were there at that time, or its end, the last one
first. Today they tell of one offset for a time: that of the first message from then on. Where there is none,
it is the end, and what lies before it begins with the first that is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import Any

__all__ = ["LIST_OFFSETS", "is_of_old", "offsets_of_old"]

LIST_OFFSETS = 2
_LATEST, _EARLIEST = -1, -2

Ask = Callable[[Any], "asyncio.Future[Any]"]
Key = tuple[str, int]


def is_of_old(api_key: int, asked_version: Any, version: int) -> bool:
    """Whether a request asks for lists of offsets, and the broker has none."""
    return api_key == LIST_OFFSETS and asked_version == 0 < version


async def offsets_of_old(asked: Any, request: Any, ask: Ask) -> Any:
    """The answer to a request in version 0. `asked`: as the program made it; `request`: the same as a broker
    of today takes it; `ask(request)`: has it answered."""
    answer, latest, earliest = await asyncio.gather(
        ask(request), ask(_at(request, _LATEST)), ask(_at(request, _EARLIEST))
    )
    most = {
        (topic.name, each.partition_index): each.max_num_offsets
        for topic in asked.topics
        for each in topic.partitions
    }
    ends, starts = _offsets(latest), _offsets(earliest)
    for topic in answer.topics:
        for each in topic.partitions:
            key = (topic.name, each.partition_index)
            first = each.offset if each.offset >= 0 else ends.get(key, -1)
            found = dict.fromkeys((first, starts.get(key, -1)))
            offsets = [] if each.error_code else [offset for offset in found if offset >= 0]
            each.old_style_offsets = offsets[: max(most[key], 0)]
            each.offset = next(iter(each.old_style_offsets), -1)
    return answer


def _at(request: Any, time_ms: int) -> Any:
    changed = copy(request)
    changed.topics = [copy(topic) for topic in request.topics]
    for topic in changed.topics:
        topic.partitions = [copy(each) for each in topic.partitions]
        for each in topic.partitions:
            each.timestamp = time_ms
    return changed


def _offsets(answer: Any) -> dict[Key, int]:
    return {
        (topic.name, each.partition_index): each.offset
        for topic in answer.topics
        for each in topic.partitions
    }
