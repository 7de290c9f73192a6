"""A registry as a member of the registries' group, which chooses the one that writes.

Owns the membership and what the group has chosen. Knows nothing of topics or of what a leader does; that one
which is deposed does not write is `terms`' doing and not the group's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from barnabas.assignor import NO_GENERATION
from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import NO_MEMBER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.group_coordinator import (
    joining_connection,
    leave_group,
    note_coordinator_error,
    say_goodbye,
    send_to_group_coordinator,
)
from barnabas.errors import BarnabasError, BrokerError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.registry_server.journal.election import (
    DUPLICATE_URLS,
    PROTOCOL_NAME,
    PROTOCOL_TYPE,
    Instance,
    Result,
    decode_instance,
    decode_result,
    elect,
    encode_instance,
)
from barnabas.registry_server.journal.journal import JournalError, JournalTimeoutError, NotLeaderError
from barnabas.values import frozen

logger = logging.getLogger("barnabas.registry_server")

# A broker answers JoinGroup within the rebalance time-out; the rest is for the way.
JOIN_MARGIN_MS = 5_000
LEAVE_TIMEOUT_MS = 5_000


@frozen
class GroupTimes:
    """As Kafka's settings of the same names."""

    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000


class RegistryGroup:
    """One member. Made on the event loop that it belongs to."""

    def __init__(
        self, client: KafkaClient, group_id: str, instance: Instance, times: GroupTimes | None = None
    ) -> None:
        self._client = client
        self._pool = client.new_pool()
        self._group_id = group_id
        self._instance = instance
        self._times = times or GroupTimes()
        self._member_id = ""
        self._generation = NO_GENERATION
        self._leader: Instance | None = None
        self._confirmed_at = float("-inf")
        """When the request was sent to which the coordinator last said that this is a member."""
        self._joined = asyncio.get_running_loop().create_future()
        """When the group has chosen for the first time."""
        self._task: asyncio.Task[None] | None = None

    @property
    def leader(self) -> Instance | None:
        """Who leads as far as this member knows. During a new election it is still the old one: whoever is
        not that any more hears so from the partition that it writes to."""
        return self._leader

    @property
    def leads(self) -> bool:
        return self._instance.is_same_as(self._leader)

    # Joining and staying

    async def start(self, timeout_ms: float) -> None:
        """Returns when the group has chosen, for the first time. Raises: JournalError."""
        if self._task is None:
            what = "being a member of the registries' group"
            self._task = self._client.in_background(self._be_a_member(), what)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await asyncio.shield(self._joined)
        except TimeoutError:
            raise JournalTimeoutError(
                f"group {self._group_id} has chosen no leader within {timeout_ms:.0f} ms"
            ) from None

    async def _be_a_member(self) -> None:
        failures = 0
        while True:
            try:
                await self._join()
                failures = 0
                await self._stay()
            except BarnabasError as error:
                code = error.code if isinstance(error, BrokerError) else ErrorCode.NONE
                if code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED):
                    continue
                if code in NO_MEMBER:
                    self._is_out(keep_member_id=code == ErrorCode.ILLEGAL_GENERATION)
                elif not self._joined.done() and not error.retriable:
                    self._joined.set_exception(
                        JournalError(f"group {self._group_id} cannot be joined: {error}")
                    )
                    return
                elif isinstance(error, BrokerError):
                    note_coordinator_error(self._client, self._group_id, error.code)
                else:
                    self._client.coordinators.forget(GROUP_COORDINATOR, self._group_id)
                logger.warning("registries' group %s: %s; joining it again", self._group_id, error)
            failures += 1
            await asyncio.sleep(self._client.backoff.delay_ms(failures) / 1000)

    def _is_out(self, *, keep_member_id: bool) -> None:
        self._generation = NO_GENERATION
        self._leader = None
        self._confirmed_at = float("-inf")
        if not keep_member_id:
            self._member_id = ""

    async def _join(self) -> None:
        instance = replace(self._instance, is_leader=self.leads)
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._times.session_timeout_ms,
            rebalance_timeout_ms=self._times.rebalance_timeout_ms,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(
                    name=PROTOCOL_NAME, metadata=encode_instance(instance)
                )
            ],
        )
        connection = await joining_connection(self._client, self._pool, self._group_id)
        timeout_ms = self._times.rebalance_timeout_ms + JOIN_MARGIN_MS
        response = await connection.send(request, timeout_ms=timeout_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
        self._raise(response.error_code, "joining")
        self._member_id = response.member_id
        self._generation = response.generation_id
        assignments: dict[str, bytes] = {}
        if response.leader == response.member_id:
            assignments = _choose(response)
        sent_at = time.monotonic()
        sync = await connection.send(
            SyncGroupRequest(
                group_id=self._group_id,
                generation_id=self._generation,
                member_id=self._member_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=PROTOCOL_NAME,
                assignments=[
                    SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                    for member_id, assignment in assignments.items()
                ],
            ),
            timeout_ms=timeout_ms,
        )
        self._raise(sync.error_code, "synchronizing")
        self._confirmed_at = sent_at
        self._take(decode_result(bytes(sync.assignment)))

    def _take(self, result: Result) -> None:
        if result.error == DUPLICATE_URLS:
            self._leader = None
            raise JournalError(
                f"two registries of group {self._group_id} give the same URL as theirs, and this one "
                f"{self._instance.url}: set host.name so that the others reach each"
            )
        before, self._leader = self._leader, result.leader
        if before != result.leader or not self._joined.done():
            logger.info(
                "registries' group %s: %s writes%s",
                self._group_id,
                "nobody" if result.leader is None else result.leader.url,
                ", which is this one" if self.leads else "",
            )
        if not self._joined.done():
            self._joined.set_result(None)

    async def _stay(self) -> None:
        """Raises: BrokerError when the group is to be joined anew."""
        while True:
            await asyncio.sleep(self._times.heartbeat_interval_ms / 1000)
            try:
                await self._send_heartbeat()
            except BrokerError as error:
                note_coordinator_error(self._client, self._group_id, error.code)
                if not error.retriable or error.code == ErrorCode.REBALANCE_IN_PROGRESS:
                    raise
                logger.info("heartbeat to registries' group %s failed: %s", self._group_id, error)
            except BarnabasError as error:
                logger.info("heartbeat to registries' group %s failed: %s", self._group_id, error)

    async def _send_heartbeat(self) -> None:
        sent_at = time.monotonic()
        generation = self._generation
        response = await send_to_group_coordinator(
            self._client,
            self._group_id,
            HeartbeatRequest(group_id=self._group_id, generation_id=generation, member_id=self._member_id),
            timeout_ms=self._times.session_timeout_ms,
        )
        self._raise(response.error_code, "heartbeat to")
        if generation == self._generation:
            self._confirmed_at = sent_at

    def _raise(self, code: int, action: str) -> None:
        if code:
            raise error_for(code, f"{action} group {self._group_id!r}")

    # What a leader asks

    async def confirm(self, *, freshly: bool = False) -> None:
        """Returns if this one leads as far as the coordinator has said within the session's time-out, or says
        now. Raises: NotLeaderError."""
        self._check_leads()
        age_ms = (time.monotonic() - self._confirmed_at) * 1000
        if not freshly and age_ms < self._times.session_timeout_ms:
            return
        try:
            await self._send_heartbeat()
        except BarnabasError as error:
            # While a new election is on the old leader is one: the new one will have a newer term.
            if isinstance(error, BrokerError) and error.code == ErrorCode.REBALANCE_IN_PROGRESS:
                self._check_leads()
                return
            raise NotLeaderError(f"it is not known who leads: {error}") from error
        self._check_leads()

    def _check_leads(self) -> None:
        if not self.leads:
            leader = self._leader
            if leader is None:
                raise NotLeaderError(f"group {self._group_id} has no leader at present")
            raise NotLeaderError(f"{leader.url} leads", leader.url)

    async def close(self) -> None:
        """Leaves the group, so that another one leads at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._joined.cancel()
        if self._member_id:
            member = LeaveGroupRequest.MemberIdentity(
                member_id=self._member_id, reason="the registry was closed"
            )
            leaving = leave_group(self._client, self._group_id, member, LEAVE_TIMEOUT_MS)
            await say_goodbye(self._group_id, leaving, LEAVE_TIMEOUT_MS)
        self._is_out(keep_member_id=False)
        await self._pool.close()


def _choose(response: JoinGroupResponse) -> dict[str, bytes]:
    """What the member that Kafka has made the group's own leader tells each of the members."""
    result = elect({m.member_id: decode_instance(bytes(m.metadata)) for m in response.members}).encode()
    return {member.member_id: result for member in response.members}
