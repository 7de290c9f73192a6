"""What a fetch request was about when it was made. Knows nothing of how it is sent or of what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from barnabas.client.consume.fetch_session import PartitionFetch
from barnabas.client.consume.partition_state import PartitionState
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.types import TopicPartition
from barnabas.values import frozen


@frozen
class Wanted:
    """A partition in a fetch, as it stood when the request was made."""

    state: PartitionState
    epoch: int
    fetch_offset: int
    leader_epoch: int


@frozen
class FetchUnderWay:
    """A fetch request, what its answer is about, and what it means to the broker's session."""

    message: FetchRequest
    version: int
    wanted: dict[TopicPartition, Wanted]
    fetches: Mapping[TopicPartition, PartitionFetch]
    """All that the broker's session holds from this request on."""
    topic_names: dict[UUID, str]
    is_full: bool
