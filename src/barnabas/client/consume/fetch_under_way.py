"""Fetch requests, and what each was about when it was made. Knows nothing of how they are sent, or of what
comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from barnabas.client.consume.fetch_queue import FetchQueue
from barnabas.client.consume.fetch_session import PartitionFetch, SessionRequest
from barnabas.client.groups.offsets import ISOLATION_LEVELS
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.settings.table import ConsumerConfig
from barnabas.types import TopicPartition
from barnabas.values import frozen


@frozen
class Wanted:
    """A partition in a fetch, as it stood when the request was made."""

    queue: FetchQueue
    epoch: int
    fetch_offset: int
    leader_epoch: int

    @property
    def is_current(self) -> bool:
        """Whether what comes of it still has its meaning."""
        return self.queue.state.epoch == self.epoch


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


def fetch_request(
    told: SessionRequest, config: ConsumerConfig, *, max_wait_ms: int, max_bytes: int
) -> FetchRequest:
    """What tells the broker's session this."""
    topics: dict[tuple[str, UUID], FetchRequest.FetchTopic] = {}
    for (name, index), fetch in told.partitions.items():
        topic = topics.get((name, fetch.topic_id))
        if topic is None:
            topic = FetchRequest.FetchTopic(topic=name, topic_id=fetch.topic_id)
            topics[name, fetch.topic_id] = topic
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=index,
                current_leader_epoch=fetch.current_leader_epoch,
                fetch_offset=fetch.fetch_offset,
                last_fetched_epoch=fetch.last_fetched_epoch,
                partition_max_bytes=fetch.partition_max_bytes,
            )
        )
    forgotten: dict[tuple[str, UUID], FetchRequest.ForgottenTopic] = {}
    for (name, index), topic_id in told.forgotten:
        gone = forgotten.get((name, topic_id))
        if gone is None:
            gone = forgotten[name, topic_id] = FetchRequest.ForgottenTopic(topic=name, topic_id=topic_id)
        gone.partitions.append(index)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        session_id=told.session_id,
        session_epoch=told.session_epoch,
        topics=list(topics.values()),
        forgotten_topics_data=list(forgotten.values()),
        rack_id=config.client_rack or "",
    )
