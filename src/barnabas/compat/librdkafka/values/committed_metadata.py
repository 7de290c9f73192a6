"""The note that is committed with an offset, as librdkafka's Python client does: an empty one is not none.

Kafka keeps no difference between the two, so the original commits all notes with a zero byte at the end,
which nothing in C shows. Here only the empty one gets it: others are for other clients to read as they are.
"""

from __future__ import annotations

END = "\0"


def kept_metadata(metadata: str | None) -> str:
    """What is committed for a program's note."""
    return END if metadata == "" else metadata or ""


def shown_metadata(kept: str) -> str | None:
    """The note that was committed, by this client, the original or any other."""
    return kept.partition(END)[0] if kept else None
