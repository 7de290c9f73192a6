"""What a fetch within a session is about: all partitions that the client named in it (KIP-227). Pure.

Owns what was seen of sessions. Knows nothing of rules.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from copy import copy
from typing import Any
from uuid import UUID

from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.schema import Request, Response

MOST_SESSIONS = 2_000
_Key = tuple[str, UUID]
_Session = dict[_Key, dict[int, Any]]


class SessionsSeen:
    """The sessions of all nodes."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[Hashable, _Session] = OrderedDict()

    def whole(self, request: Request[Any], node: int) -> Request[Any]:
        """The request as if it named all partitions of its session. Others are given back as they are."""
        if isinstance(request, FetchRequest):
            if request.session_epoch <= 0:
                return request
            key: Hashable = node, request.session_id
        elif isinstance(request, ShareFetchRequest):
            key = node, request.group_id, request.member_id
            if request.share_session_epoch < 0:
                self._sessions.pop(key, None)
                return request
            if request.share_session_epoch == 0:
                self._sessions.pop(key, None)
        else:
            return request
        session = self._sessions.setdefault(key, {})
        self._sessions.move_to_end(key)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        _update(session, request)
        whole = copy(request)
        whole.topics = [
            _named(request, name, partitions) for name, partitions in session.items() if partitions
        ]
        return whole

    def answered(self, request: Request[Any], response: Response | None, node: int) -> None:
        """A full fetch opens a session, whose id the answer has."""
        session_id = getattr(response, "session_id", 0)
        if isinstance(request, FetchRequest) and request.session_epoch == 0 and session_id:
            session: _Session = {}
            _update(session, request)
            self._sessions[node, session_id] = session


def _update(session: _Session, request: Any) -> None:
    for topic in request.topics:
        partitions = session.setdefault((getattr(topic, "topic", ""), topic.topic_id), {})
        for each in topic.partitions:
            partitions[each.partition if isinstance(request, FetchRequest) else each.partition_index] = each
    for topic in request.forgotten_topics_data:
        partitions = session.get((getattr(topic, "topic", ""), topic.topic_id), {})
        for index in topic.partitions:
            partitions.pop(index, None)


def _named(request: Any, name: _Key, partitions: dict[int, Any]) -> Any:
    if isinstance(request, FetchRequest):
        return FetchRequest.FetchTopic(topic=name[0], topic_id=name[1], partitions=list(partitions.values()))
    return ShareFetchRequest.FetchTopic(topic_id=name[1], partitions=list(partitions.values()))
