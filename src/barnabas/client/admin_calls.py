"""What all calls of Admin share: deadlines, where requests go, and which error a call raises.

Knows nothing of single requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.client import GROUP_COORDINATOR, KafkaClient
from barnabas.config import AdminConfig, load
from barnabas.errors import KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.settings import AdminSettings
from barnabas.types import TopicPartition

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

MOVED_COORDINATOR = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Partitions by their topic, in order."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def always(request: Request[ResponseT]) -> Callable[[Connection], Request[ResponseT]]:
    """The same request on every connection."""
    return lambda _: request


class AdminCalls:
    """The base of Admin. See `barnabas.client.admin.Admin`."""

    def __init__(self, bootstrap_servers: str | Sequence[str], **settings: Unpack[AdminSettings]) -> None:
        self.config = load(AdminConfig, {"bootstrap_servers": bootstrap_servers, **settings})
        self._client = KafkaClient(self.config)

    async def close(self) -> None:
        """Closes the connections. May be called twice."""
        await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _retry(self, attempt: Callable[[], Awaitable[T]], what: str, timeout: float | None) -> T:
        return await self._client.retry(
            attempt, what=what, timeout_ms=None if timeout is None else timeout * 1000
        )

    async def _ask_any(self, request: Request[ResponseT], timeout: float | None) -> ResponseT:
        return await self._client.send_to_any(request, None if timeout is None else timeout * 1000)

    async def _ask_controller(
        self,
        request: Request[ResponseT],
        codes: Callable[[ResponseT], Iterable[int]],
        timeout: float | None,
    ) -> ResponseT:
        """Asks the controller, and its successor when it is not the controller any more."""

        async def attempt() -> ResponseT:
            response = await self._client.send(await self._client.controller(), request)
            if ErrorCode.NOT_CONTROLLER in codes(response):
                raise error_for(ErrorCode.NOT_CONTROLLER, type(request).NAME)
            return response

        return await self._retry(attempt, type(request).NAME, timeout)

    async def _ask_coordinator(
        self,
        group_id: str,
        request: Callable[[Connection], Request[ResponseT]],
        code: Callable[[ResponseT], int],
        timeout: float | None,
        *,
        max_version: int | None = None,
    ) -> ResponseT:
        """Asks a group's coordinator. `request` may depend on the versions that the connection speaks (if
        not: `always`). `code` gives the error of the whole answer.

        Raises: the error of that code, once it is not one of a coordinator that moves.
        """

        async def attempt() -> ResponseT:
            coordinator = await self._client.coordinator(GROUP_COORDINATOR, group_id)
            try:
                message = request(await self._client.connect(coordinator))
                response = await self._client.send(coordinator, message, max_version=max_version)
            except KafkaConnectionError:
                self._client.forget_coordinator(GROUP_COORDINATOR, group_id)
                raise
            error_code = code(response)
            if error_code in MOVED_COORDINATOR:
                self._client.forget_coordinator(GROUP_COORDINATOR, group_id)
            if error_code:
                raise error_for(error_code, f"group {group_id!r}")
            return response

        return await self._retry(attempt, f"the request to the coordinator of {group_id!r}", timeout)

    async def _ask_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[[int, list[TopicPartition]], Awaitable[dict[TopicPartition, T]]],
        what: str,
        timeout: float | None,
    ) -> dict[TopicPartition, T]:
        """`ask(node_id, partitions)` for all leaders at once; again for partitions whose leader has moved.

        Raises: UnknownTopicOrPartitionError at once, what `ask` raises, KafkaTimeoutError.
        """
        remaining = {TopicPartition(*partition): None for partition in partitions}
        await self._check_known(remaining, timeout)
        results: dict[TopicPartition, T] = {}

        async def ask_leader(leader: int, led: list[TopicPartition]) -> None:
            results.update(await ask(leader, led))
            for partition in led:
                del remaining[partition]

        async def attempt() -> None:
            by_leader: dict[int, list[TopicPartition]] = {}
            for partition in remaining:
                leader = self._client.metadata.leader(partition)
                if leader < 0:
                    raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
                by_leader.setdefault(leader, []).append(partition)
            async with asyncio.TaskGroup() as tasks:
                for leader, led in by_leader.items():
                    tasks.create_task(ask_leader(leader, led))

        async def attempt_with_one_error() -> None:
            try:
                await attempt()
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None

        await self._retry(attempt_with_one_error, what, timeout)
        return results

    async def _check_known(self, partitions: Iterable[TopicPartition], timeout: float | None) -> None:
        timeout_ms = None if timeout is None else timeout * 1000
        topics = {partition.topic for partition in partitions}
        metadata = await self._client.refresh_metadata(topics, timeout_ms=timeout_ms)
        for partition in partitions:
            if metadata.partition(partition) is None:
                code = metadata.topic_errors.get(partition.topic, 0)
                raise error_for(code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition))

    async def _ask_node(
        self, node_id: int | None, request: Request[ResponseT], timeout: float | None
    ) -> ResponseT:
        """Asks one broker; None means any of them."""
        if node_id is None:
            return await self._ask_any(request, timeout)

        async def attempt() -> ResponseT:
            if node_id not in self._client.metadata.nodes:
                await self._client.refresh_metadata()
            return await self._client.send(node_id, request)

        return await self._retry(attempt, type(request).NAME, timeout)
