"""The way to a group's coordinator, and what every kind of member says to it alike.

Owns noticing that a coordinator has moved, and for how long one is silent. Knows nothing of what requests
and answers mean.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Collection, Mapping
from typing import TypeVar

from barnabas.client.cluster.connections import ConnectionPool
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR, HIGHEST_CONNECTION_ID
from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, KafkaConnectionError, KafkaTimeoutError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.metadata import MetadataRequest

logger = logging.getLogger("barnabas.client")

ResponseT = TypeVar("ResponseT", bound=Response)

_LEAVE_VERSION_WITH_MEMBERS = 3

_MAY_HAVE_MOVED = errors_with(Consequence.FIND_COORDINATOR | Consequence.SUSPECT_COORDINATOR)


class Patience:
    """For how long a coordinator may be silent before the caller is told: one request that is not answered in
    time is only tried again."""

    def __init__(self, timeout_ms: float) -> None:
        self._timeout_ms = timeout_ms
        self._heard_at = CLOCK.monotonic()

    def heard(self) -> None:
        """The coordinator answered, whatever it said."""
        self._heard_at = CLOCK.monotonic()

    def is_over(self) -> bool:
        """True once for each time that it lasted."""
        if (CLOCK.monotonic() - self._heard_at) * 1000 < self._timeout_ms:
            return False
        self.heard()
        return True


async def send_to_group_coordinator(
    client: KafkaClient,
    group_id: str,
    request: Request[ResponseT],
    *,
    timeout_ms: float | None = None,
    max_version: int | None = None,
) -> ResponseT:
    """One try. A coordinator that cannot be reached is looked up again by the next."""
    node_id = await client.coordinators.find(GROUP_COORDINATOR, group_id)
    try:
        return await client.send(node_id, request, timeout_ms, max_version=max_version)
    except (KafkaConnectionError, KafkaTimeoutError):
        client.coordinators.forget(GROUP_COORDINATOR, group_id)
        raise


def note_coordinator_error(client: KafkaClient, group_id: str, code: int) -> None:
    """Has the coordinator looked up again where a code says that it has moved."""
    if code in _MAY_HAVE_MOVED:
        client.coordinators.forget(GROUP_COORDINATOR, group_id)


async def joining_connection(client: KafkaClient, pool: ConnectionPool, group_id: str) -> Connection:
    """A connection to the coordinator for JoinGroup and SyncGroup alone: it answers nothing else on it until
    all members have joined, and neither heartbeats, commits nor a LeaveGroup may wait for that. `pool` is the
    member's own."""
    connection_id = await client.coordinators.find(GROUP_COORDINATOR, group_id)
    try:
        node = client.metadata.nodes.get(HIGHEST_CONNECTION_ID - connection_id)
        if node is None:
            return await client.connect(connection_id)
        return await pool.get(node.node_id, node)
    except (KafkaConnectionError, KafkaTimeoutError):
        client.coordinators.forget(GROUP_COORDINATOR, group_id)
        raise


async def leave_group(
    client: KafkaClient, group_id: str, member: LeaveGroupRequest.MemberIdentity, timeout_ms: float
) -> None:
    """Tells the coordinator that a member of a classic group goes. What it answers is not looked at."""
    node_id = await client.coordinators.find(GROUP_COORDINATOR, group_id)
    connection = await client.connect(node_id)
    version = connection.version_of(LeaveGroupRequest)
    request = LeaveGroupRequest(group_id=group_id)
    if version >= _LEAVE_VERSION_WITH_MEMBERS:
        request.members = [member]
    else:
        request.member_id = member.member_id
    await client.send(node_id, request, timeout_ms, max_version=version)


async def say_goodbye(group_id: str, leaving: Awaitable[object], timeout_ms: float) -> None:
    """Waits for a member to leave. Never raises: a coordinator that hears nothing notices by itself."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await leaving
    except (BarnabasError, TimeoutError) as error:
        logger.info("leaving group %r failed, it will notice by itself: %s", group_id, error)


async def names_of_topics(
    client: KafkaClient, topic_ids: Collection[uuid.UUID], known: Mapping[uuid.UUID, str]
) -> dict[uuid.UUID, str]:
    """By topic id: from `known`, and from the brokers. Topics that do not exist are left out, and metadata is
    kept for the others."""
    names = dict(known)
    unknown = [topic_id for topic_id in topic_ids if topic_id not in names]
    if unknown:
        response = await client.send_to_any(
            MetadataRequest(
                topics=[MetadataRequest.MetadataRequestTopic(topic_id=t, name=None) for t in unknown],
                allow_auto_topic_creation=False,
            )
        )
        names |= {t.topic_id: t.name for t in response.topics if t.name is not None and not t.error_code}
    found = {topic_id: names[topic_id] for topic_id in topic_ids if topic_id in names}
    client.add_topics(found.values())
    return found
