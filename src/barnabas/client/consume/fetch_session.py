"""Our side of a fetch session (KIP-227): what a broker remembers of our fetches, and what is new to it.

Owns a session's id and epoch, and the difference between one request and the next. Does no I/O and knows
nothing of connections, records or positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple
from uuid import UUID

from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.error_codes import ErrorCode
from barnabas.types import TopicPartition
from barnabas.values import frozen

NO_SESSION_ID = 0
FULL_EPOCH = 0
"""A request with this epoch names every partition, and asks for a new session in place of the old one."""
CLOSING_EPOCH = -1
_HIGHEST_EPOCH = 2**31 - 1

SESSION_ERRORS = errors_with(Consequence.NEW_FETCH_SESSION)


class PartitionFetch(NamedTuple):
    """What is asked of one partition. A broker with a session is told again only when this changes."""

    topic_id: UUID
    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    partition_max_bytes: int


@frozen
class SessionRequest:
    """What a fetch request has to carry."""

    session_id: int
    session_epoch: int
    partitions: Mapping[TopicPartition, PartitionFetch]
    forgotten: list[tuple[TopicPartition, UUID]] = field(default_factory=list[tuple[TopicPartition, UUID]])
    """Partitions that the broker is to drop from the session, with the topic ids that it knows them by."""

    @property
    def is_full(self) -> bool:
        return self.session_epoch == FULL_EPOCH


class FetchSession:
    """One broker's session. Each `next_request` is followed by one of `answered`, `refused` and
    `start_over`."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION_ID
        self._next_epoch = FULL_EPOCH
        self._known: dict[TopicPartition, PartitionFetch] = {}
        self._uses_topic_ids = False

    def next_request(
        self, wanted: Mapping[TopicPartition, PartitionFetch], *, uses_topic_ids: bool
    ) -> SessionRequest:
        """What to send so that the broker fetches exactly `wanted`. `uses_topic_ids`: whether the request's
        version names topics by id (13 and up); a session has only the one or the other kind."""
        if uses_topic_ids != self._uses_topic_ids:
            self._uses_topic_ids = uses_topic_ids
            self._next_epoch = FULL_EPOCH
        if self._next_epoch == FULL_EPOCH:
            self._known = dict(wanted)
            return SessionRequest(self.session_id, FULL_EPOCH, self._known)
        known = self._known
        changed: dict[TopicPartition, PartitionFetch] = {}
        forgotten = [(p, known.pop(p).topic_id) for p in [p for p in known if p not in wanted]]
        for partition, fetch in wanted.items():
            before = known.get(partition)
            if before == fetch:
                continue
            changed[partition] = fetch
            if uses_topic_ids and before is not None and before.topic_id != fetch.topic_id:
                # The topic was deleted and created again. By name the two are the same partition.
                forgotten.append((partition, before.topic_id))
        known.update(changed)
        return SessionRequest(self.session_id, self._next_epoch, changed, forgotten)

    def answered(self, session_id: int) -> None:
        """An answer without an error came. `session_id` is the one it names, 0 where the broker keeps no
        session: it has none to spare, or is older than sessions."""
        if session_id == NO_SESSION_ID:
            self.session_id = NO_SESSION_ID
            self._next_epoch = FULL_EPOCH
        elif self._next_epoch == FULL_EPOCH:
            self.session_id = session_id
            self._next_epoch = 1
        elif session_id != self.session_id:
            self.start_over()
        else:
            self._next_epoch = 1 if self._next_epoch == _HIGHEST_EPOCH else self._next_epoch + 1

    def went_on(self, epoch: int, known: Mapping[TopicPartition, PartitionFetch]) -> None:
        """Others have carried the session on: this is the epoch of the request under way, and what the broker
        knows with it."""
        self._next_epoch = epoch
        self._known = dict(known)

    def refused(self, error_code: int) -> None:
        """The answer was an error that concerns no partition in particular."""
        if error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = NO_SESSION_ID
        self._next_epoch = FULL_EPOCH

    def start_over(self) -> None:
        """The next request names everything. After no answer came the broker may or may not have gone on to
        the next epoch."""
        self._next_epoch = FULL_EPOCH

    def knows(self, partition: TopicPartition) -> bool:
        """Whether the broker has this partition in the session: it tells only what changes of it."""
        return self._next_epoch != FULL_EPOCH and partition in self._known

    def closing_request(self) -> SessionRequest | None:
        """What ends the session on the broker, if there is one. The session is then over."""
        session_id = self.session_id
        self.session_id = NO_SESSION_ID
        self._next_epoch = FULL_EPOCH
        return None if session_id == NO_SESSION_ID else SessionRequest(session_id, CLOSING_EPOCH, {})
