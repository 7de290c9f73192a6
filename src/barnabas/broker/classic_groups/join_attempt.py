"""What a client says when it joins a group of the classic protocol, and that it has to join once more."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.groups.group import Protocols
from barnabas.broker_errors import MemberIdRequiredError


class MemberIdGivenError(MemberIdRequiredError):
    """The client shall join again with this member id (KIP-394)."""

    def __init__(self, member_id: str) -> None:
        super().__init__(f"join again as {member_id}")
        self.member_id = member_id


@dataclass(frozen=True, slots=True)
class JoinAttempt:
    """What a client says when it joins. `member_id` is "" for a client that has none yet."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_known_member_id: bool
    supports_skipping_assignment: bool
