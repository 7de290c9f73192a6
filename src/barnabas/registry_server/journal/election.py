"""Who leads a group of registries: what its members say of themselves, and the choice among them, in the JSON
that Confluent's registries read and write, so that both kinds may be in one group.

Pure: knows nothing of requests or of when there is an election.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from barnabas.errors import BrokenProtocolError
from barnabas.values import frozen

PROTOCOL_TYPE = "sr"
PROTOCOL_NAME = "v0"
VERSION = 1
DUPLICATE_URLS = 1


@frozen
class Instance:
    """A registry as the others of its group know it."""

    host: str
    port: int
    scheme: str = "http"
    is_eligible: bool = True
    """Whether it may lead."""
    is_leader: bool = False
    """Whether it led when it said this."""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def is_same_as(self, other: Instance | None) -> bool:
        return other is not None and self == replace(other, is_leader=self.is_leader)

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.is_eligible,
            "scheme": self.scheme,
            "leader": self.is_leader,
        }

    @classmethod
    def from_json(cls, fields: Any) -> Instance:
        """Raises: BrokenProtocolError."""
        match fields:
            case {"host": str(host), "port": int(port)}:
                return cls(
                    host,
                    port,
                    str(fields.get("scheme") or "http"),
                    fields.get("master_eligibility", True) is not False,
                    fields.get("leader") is True,
                )
            case _:
                raise BrokenProtocolError(f"a member of the registries' group calls itself {fields!r:.200}")


@frozen
class Result:
    """What an election had as its result; all members get the same."""

    leader_id: str | None
    """The id of the group's member that leads; None if none may."""
    leader: Instance | None
    error: int = 0

    def encode(self) -> bytes:
        fields: dict[str, Any] = {"version": VERSION, "error": self.error}
        if self.leader is not None:
            fields |= {"master": self.leader_id, "master_identity": self.leader.to_json()}
        return json.dumps(fields, separators=(",", ":")).encode()


def encode_instance(instance: Instance) -> bytes:
    return json.dumps(instance.to_json(), separators=(",", ":")).encode()


def decode_instance(data: bytes) -> Instance:
    """Raises: BrokenProtocolError."""
    return Instance.from_json(_json(data))


def decode_result(data: bytes) -> Result:
    """Raises: BrokenProtocolError."""
    fields = _json(data)
    if not isinstance(fields, dict):
        raise BrokenProtocolError(f"the registries' group chose {data!r:.200}")
    found = cast("dict[str, Any]", fields)
    identity = found.get("master_identity")
    leader = None if identity is None else Instance.from_json(identity)
    return Result(found.get("master"), leader, int(found.get("error") or 0))


def elect(members: Mapping[str, Instance]) -> Result:
    """By member id. The one that leads goes on leading; otherwise the one whose URL is the first in order
    leads, as among Confluent's."""
    eligible = {member_id: instance for member_id, instance in members.items() if instance.is_eligible}
    leading = [member_id for member_id, instance in eligible.items() if instance.is_leader]
    error = DUPLICATE_URLS if len({i.url for i in members.values()}) < len(members) else 0
    if len(leading) == 1:
        chosen = leading[0]
    elif eligible:
        chosen = min(eligible, key=lambda member_id: (eligible[member_id].url, member_id))
    else:
        return Result(None, None, error)
    return Result(chosen, eligible[chosen], error)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise BrokenProtocolError(f"the registries' group speaks of {data!r:.200}") from None
