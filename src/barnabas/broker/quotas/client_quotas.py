"""Quotas as they are set (KIP-546): for users, client ids, both together, and addresses.

Owns their shape, and the rules for a new one in Kafka's words. Must not know requests, nor what is measured.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.broker_errors import InvalidRequestError
from barnabas.net.addresses import resolve

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

LOOK_UP_SECONDS = 5.0

_MAX_INT, _MAX_LONG = (1 << 31) - 1, (1 << 63) - 1
_TOO_LARGE = {_MAX_INT: "an INT", _MAX_LONG: "a LONG"}
# The largest whole number, or None for any number.
_OF_CLIENTS: Mapping[str, int | None] = {
    PRODUCER_BYTE_RATE: _MAX_LONG,
    CONSUMER_BYTE_RATE: _MAX_LONG,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
_OF_ADDRESSES: Mapping[str, int | None] = {CONNECTION_CREATION_RATE: _MAX_INT}

Entity = Mapping[str, str | None]
"""What a quota is for: names by type, None for all that have no quota of their own."""
Changes = Mapping[str, float | None]
"""Values by their keys, None for those to be taken away."""


@dataclass(slots=True)
class ClientQuota:
    """What is set for one entity."""

    entity: dict[str, str | None]
    values: dict[str, float] = field(default_factory=dict[str, float])


def described(entity: Entity) -> str:
    """As Kafka writes an entity in what it says."""
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity.items())
    return f"ClientQuotaEntity(entries={{{names}}})"


async def check_change(entity: Entity, changes: Changes) -> None:
    """Raises: InvalidRequestError."""
    allowed = await _keys_for(entity)
    for key, value in changes.items():
        if value is not None:
            _check_value(allowed, key, value)


async def _keys_for(entity: Entity) -> Mapping[str, int | None]:
    if not entity:
        raise InvalidRequestError("Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidRequestError(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequestError(f"Empty {kind} not supported")
    if IP not in entity:
        return _OF_CLIENTS
    if len(entity) > 1:
        raise InvalidRequestError(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    if not await _is_host(entity[IP]):
        raise InvalidRequestError(f"{entity[IP]} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _is_host(name: str | None) -> bool:
    if name is None or _is_address(name):
        return True
    try:
        await resolve(name, 0, LOOK_UP_SECONDS)
    except OSError:
        return False
    return True


def _check_value(allowed: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in allowed:
        raise InvalidRequestError(f"Invalid configuration key {key}")
    if value <= 0:
        raise InvalidRequestError(f"Quota {key} must be greater than 0")
    largest = allowed[key]
    if largest is None:
        return
    if value > largest:
        raise InvalidRequestError(f"Proposed value for {key} is too large for {_TOO_LARGE[largest]}.")
    if math.fmod(value, 1.0) > 1e-6:
        raise InvalidRequestError(f"{key} cannot be a fractional value.")


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """`exact`: types with a name, None for the default; `any_of`: types that an entity has at all. `strict`:
    it has no others."""

    exact: Mapping[str, str | None]
    any_of: frozenset[str]
    strict: bool

    def matches(self, entity: Entity) -> bool:
        if self.strict and len(entity) != len(self.exact) + len(self.any_of):
            return False
        return self.any_of <= entity.keys() and all(
            kind in entity and entity[kind] == name for kind, name in self.exact.items()
        )


def changed(quotas: Iterable[ClientQuota], changes: Iterable[tuple[Entity, Changes]]) -> list[ClientQuota]:
    """The quotas with checked changes made; an entity without values is not kept."""
    by_entity = {_key(quota.entity): ClientQuota(quota.entity, dict(quota.values)) for quota in quotas}
    for entity, values in changes:
        quota = by_entity.setdefault(_key(entity), ClientQuota(dict(entity)))
        for key, value in values.items():
            if value is None:
                quota.values.pop(key, None)
            else:
                quota.values[key] = value
    return [quota for quota in by_entity.values() if quota.values]


def _key(entity: Entity) -> frozenset[tuple[str, str | None]]:
    return frozenset(entity.items())
