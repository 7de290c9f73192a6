"""What clients need not say again in each fetch (KIP-227): the sessions that the broker keeps for them.

Owns ids, epochs and what a session's partitions were last told. Knows nothing of logs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from barnabas.broker_errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from barnabas.chance import chance
from barnabas.clock import CLOCK
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse

FULL_EPOCH = 0
CLOSING_EPOCH = -1
HIGHEST_ID = HIGHEST_EPOCH = 2**31 - 1

# Apache Kafka's defaults of max.incremental.fetch.session.cache.slots and
# min.incremental.fetch.session.eviction.ms.
MAX_SESSIONS = 1000
EVICTION_SECONDS = 120.0

PartitionKey = tuple[str, UUID, int]


@dataclass(slots=True)
class _Cached:
    """What a client asked of a partition, and what it was told: high watermark, last stable offset, start."""

    asked: FetchRequest.FetchPartition
    told: tuple[int, int, int] | None = None


@dataclass(slots=True)
class CachedFetchSession:
    session_id: int
    uses_topic_ids: bool
    partitions: dict[PartitionKey, _Cached]
    next_epoch: int = 1
    used_at: float = 0.0

    def update(self, request: FetchRequest) -> None:
        for key, asked in _asked(request).items():
            cached = self.partitions.get(key)
            if cached is None:
                self.partitions[key] = _Cached(asked)
            else:
                cached.asked = asked
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self.partitions.pop((topic.topic, topic.topic_id, index), None)

    def topics(self) -> list[FetchRequest.FetchTopic]:
        """All partitions, those first that were served the longest time ago."""
        topics: list[FetchRequest.FetchTopic] = []
        for (name, topic_id, _), cached in self.partitions.items():
            if not topics or (topics[-1].topic, topics[-1].topic_id) != (name, topic_id):
                topics.append(FetchRequest.FetchTopic(topic=name, topic_id=topic_id))
            topics[-1].partitions.append(cached.asked)
        return topics

    def reduce(self, response: FetchResponse) -> None:
        """Leaves out of an answer what the client knows."""
        response.session_id = self.session_id
        for topic in response.responses:
            topic.partitions = [p for p in topic.partitions if self._is_news(topic, p)]
        response.responses = [topic for topic in response.responses if topic.partitions]

    def _is_news(
        self, topic: FetchResponse.FetchableTopicResponse, answer: FetchResponse.PartitionData
    ) -> bool:
        key = (topic.topic, topic.topic_id, answer.partition_index)
        cached = self.partitions.get(key)
        if cached is None:
            return True
        told = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
        is_failed = bool(answer.error_code) or answer.diverging_epoch.end_offset >= 0
        is_news = bool(answer.records) or is_failed or told != cached.told
        # An error is told as long as it lasts.
        cached.told = None if is_failed else told
        if answer.records:
            self.partitions[key] = self.partitions.pop(key)
        return is_news


class FetchSessions:
    """The sessions of one broker. `clock` gives seconds."""

    def __init__(
        self, max_sessions: int = MAX_SESSIONS, clock: Callable[[], float] = CLOCK.monotonic
    ) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._sessions: dict[int, CachedFetchSession] = {}
        """In the order of their last use."""

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(self, request: FetchRequest, *, uses_topic_ids: bool) -> CachedFetchSession | None:
        """The session of a request, brought up to what it asks for; None where it has none: the client wants
        none, or there is none to spare.

        Raises: FetchSessionIdNotFoundError, InvalidFetchSessionEpochError, FetchSessionTopicIdError.
        """
        if request.session_epoch in (FULL_EPOCH, CLOSING_EPOCH):
            self._sessions.pop(request.session_id, None)
            if request.session_epoch == CLOSING_EPOCH or not self._has_room():
                return None
            session = CachedFetchSession(self._free_id(), uses_topic_ids, {})
        else:
            session = self._known(request, uses_topic_ids)
            session.next_epoch = 1 if session.next_epoch == HIGHEST_EPOCH else session.next_epoch + 1
        session.used_at = self._clock()
        self._sessions.pop(session.session_id, None)
        self._sessions[session.session_id] = session
        session.update(request)
        return session

    def forget(self, session: CachedFetchSession) -> None:
        self._sessions.pop(session.session_id, None)

    def _known(self, request: FetchRequest, uses_topic_ids: bool) -> CachedFetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionIdNotFoundError
        if session.next_epoch != request.session_epoch:
            raise InvalidFetchSessionEpochError
        if session.uses_topic_ids != uses_topic_ids:
            raise FetchSessionTopicIdError
        return session

    def _has_room(self) -> bool:
        if len(self._sessions) < self._max_sessions:
            return True
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or self._clock() - oldest.used_at < EVICTION_SECONDS:
            return False
        del self._sessions[oldest.session_id]
        return True

    def _free_id(self) -> int:
        while True:
            session_id = chance.randint(1, HIGHEST_ID)
            if session_id not in self._sessions:
                return session_id


def _asked(request: FetchRequest) -> dict[PartitionKey, FetchRequest.FetchPartition]:
    return {
        (topic.topic, topic.topic_id, asked.partition): asked
        for topic in request.topics
        for asked in topic.partitions
    }
