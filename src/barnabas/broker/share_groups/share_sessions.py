"""What members of share groups need not say again in each ShareFetch (KIP-932): the sessions of one broker.

Owns epochs and which partitions a session has. Knows nothing of records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker_errors import (
    InvalidRequestError,
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)

OPENING_EPOCH = 0
CLOSING_EPOCH = -1
HIGHEST_EPOCH = 2**31 - 1


@dataclass(slots=True)
class KeptShareSession:
    epoch: int = 1
    partitions: dict[TopicIdPartition, None] = field(default_factory=dict[TopicIdPartition, None])
    """In the order in which they are served."""

    def serve_others_first(self) -> None:
        """Moves the first partition behind the others."""
        first = next(iter(self.partitions), None)
        if first is not None:
            del self.partitions[first]
            self.partitions[first] = None


class ShareSessions:
    """By the names of group and member."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[tuple[str, str], KeptShareSession] = {}

    def enter_to_fetch(
        self,
        group_id: str,
        member_id: str,
        epoch: int,
        added: Iterable[TopicIdPartition],
        forgotten: Iterable[TopicIdPartition],
        *,
        acknowledges: bool,
    ) -> KeptShareSession:
        """The session of a ShareFetch, brought up to what it asks for; one that it closes is still there.

        Raises: InvalidRequestError, ShareSessionNotFoundError, InvalidShareSessionEpochError,
        ShareSessionLimitReachedError.
        """
        if epoch == OPENING_EPOCH:
            if acknowledges:
                raise InvalidRequestError
            self._sessions.pop((group_id, member_id), None)
            if len(self._sessions) >= self._most:
                raise ShareSessionLimitReachedError
            session = self._sessions[group_id, member_id] = KeptShareSession()
        else:
            session = self.enter(group_id, member_id, epoch)
        if epoch != CLOSING_EPOCH:
            session.partitions.update(dict.fromkeys(added))
            for partition in forgotten:
                session.partitions.pop(partition, None)
        return session

    def enter(self, group_id: str, member_id: str, epoch: int) -> KeptShareSession:
        """The session of a request that does not open one. Raises: ShareSessionNotFoundError,
        InvalidShareSessionEpochError."""
        if epoch == OPENING_EPOCH:
            raise InvalidShareSessionEpochError
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise ShareSessionNotFoundError
        if epoch != CLOSING_EPOCH:
            if epoch != session.epoch:
                raise InvalidShareSessionEpochError
            session.epoch = 1 if epoch == HIGHEST_EPOCH else epoch + 1
        return session

    def has(self, group_id: str, member_id: str, session: KeptShareSession) -> bool:
        """Whether it is the member's, and not an earlier one."""
        return self._sessions.get((group_id, member_id)) is session

    def close(self, group_id: str, member_id: str) -> None:
        self._sessions.pop((group_id, member_id), None)
