"""Which quota a client is under, and how long it has to wait.

Owns the order in which quotas count (KIP-13, KIP-55), and who shares what is left of one. Must not know
requests, nor how a client is made to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from barnabas.broker.principal import Principal
from barnabas.broker.quotas.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    REQUEST_PERCENTAGE,
    USER,
    ClientQuota,
)
from barnabas.broker.quotas.meters import SAMPLES, WINDOW_MS, MutationBucket, RateMeter
from barnabas.broker_errors import ThrottlingQuotaExceededError
from barnabas.clock import CLOCK

NOT_NAMED = ""
UNLIMITED = 1 << 62
PERCENT_PER_NANOSECOND = 100 / 1e9

Level = tuple[str | None, str | None]
"""User, or address, and client id that a quota is for: None is the default, NOT_NAMED none at all."""
Payer = tuple[str, str]
"""User and client id that share a quota; NOT_NAMED: whoever has the other."""


class ThrottledClient(Protocol):
    """Who is measured: a handler's `Call`."""

    @property
    def client_id(self) -> str: ...

    @property
    def principal(self) -> Principal: ...

    @property
    def node(self) -> int:
        """Which node was asked: each measures for itself."""
        ...


class ClientThrottle:
    """What clients use of their quotas. `clock_ms` is monotonic."""

    def __init__(self, clock_ms: Callable[[], float] = lambda: CLOCK.monotonic() * 1000) -> None:
        self._clock_ms = clock_ms
        self._limits: dict[str, dict[Level, float]] = {}
        self._rates: dict[tuple[str, Payer, int], RateMeter] = {}
        self._buckets: dict[Payer, MutationBucket] = {}

    @property
    def is_on(self) -> bool:
        """Whether there is any quota."""
        return bool(self._limits)

    def load(self, quotas: Iterable[ClientQuota]) -> None:
        """Puts quotas in the place of all that were there."""
        self._limits = {}
        for quota in quotas:
            level = quota.entity.get(USER, NOT_NAMED), quota.entity.get(CLIENT_ID, NOT_NAMED)
            if IP in quota.entity:
                level = quota.entity[IP], NOT_NAMED
            for key, value in quota.values.items():
                self._limits.setdefault(key, {})[level] = value
        self._rates = {found: meter for found, meter in self._rates.items() if found[0] in self._limits}

    def charge(self, key: str, client: ThrottledClient, amount: float) -> int:
        """Records what a client has used; the milliseconds that it has to wait."""
        found = self._find(key, client)
        if found is None:
            return 0
        bound, payer = found
        meter = self._rates.setdefault((key, payer, client.node), RateMeter())
        now_ms = self._clock_ms()
        meter.record(amount, now_ms)
        return round(meter.delay_ms(bound, now_ms))

    def charge_or_refuse(self, key: str, client: ThrottledClient, amount: float) -> int:
        """As `charge`, but what would be too much counts as not used."""
        delay_ms = self.charge(key, client, amount)
        if delay_ms > 0:
            self.charge(key, client, -amount)
        return delay_ms

    def charge_time(self, client: ThrottledClient, nanoseconds: int) -> int:
        """As `charge`, for the share of the broker's time; never more than a window."""
        delay_ms = self.charge(REQUEST_PERCENTAGE, client, nanoseconds * PERCENT_PER_NANOSECOND)
        return min(WINDOW_MS, delay_ms)

    def most_at_once(self, key: str, client: ThrottledClient) -> int:
        """What may be used at once; more than that would always be too much."""
        found = self._find(key, client)
        return UNLIMITED if found is None else int(found[0] * (SAMPLES - 1) * WINDOW_MS / 1000)

    def charge_connection(self, host: str, node: int) -> int:
        """Records a new connection of an address; the milliseconds, never more than a window, that it is to
        be held and then closed, and then it does not count."""
        limits = self._limits.get(CONNECTION_CREATION_RATE, {})
        bound = limits.get((host, NOT_NAMED), limits.get((None, NOT_NAMED)))
        if bound is None:
            return 0
        payer = host, NOT_NAMED
        meter = self._rates.setdefault((CONNECTION_CREATION_RATE, payer, node), RateMeter())
        now_ms = self._clock_ms()
        meter.record(1, now_ms)
        delay_ms = round(meter.delay_ms(bound, now_ms))
        if delay_ms > 0:
            meter.record(-1, now_ms)
        return min(WINDOW_MS, delay_ms)

    def charge_mutations(self, client: ThrottledClient, count: int, *, is_strict: bool) -> int:
        """Records partitions to be created or deleted; the milliseconds that the client has to wait.

        Raises: QuotaUsedUpError where `is_strict` and nothing is left.
        """
        found = self._find(CONTROLLER_MUTATION_RATE, client)
        if found is None:
            return 0
        bound, payer = found
        bucket = self._buckets.setdefault(payer, MutationBucket())
        now_ms = self._clock_ms()
        if is_strict:
            delay_ms = round(bucket.delay_ms(bound, now_ms))
            if delay_ms > 0:
                raise QuotaUsedUpError(delay_ms)
            bucket.take(count, bound, now_ms)
            return 0
        bucket.take(count, bound, now_ms)
        return round(bucket.delay_ms(bound, now_ms))

    def _find(self, key: str, client: ThrottledClient) -> tuple[float, Payer] | None:
        limits = self._limits.get(key)
        if limits is None:
            return None
        for level, payer in _levels(client.principal.name, client.client_id):
            if level in limits:
                return limits[level], payer
        return None


class QuotaUsedUpError(ThrottlingQuotaExceededError):
    """`delay_ms`: when there will be something again."""

    def __init__(self, delay_ms: int) -> None:
        super().__init__()
        self.delay_ms = delay_ms


def _levels(user: str, client_id: str) -> Iterator[tuple[Level, Payer]]:
    """From the most specific on, with who shares a quota of that level."""
    yield (user, client_id), (user, client_id)
    yield (user, None), (user, client_id)
    yield (user, NOT_NAMED), (user, NOT_NAMED)
    yield (None, client_id), (user, client_id)
    yield (None, None), (user, client_id)
    yield (None, NOT_NAMED), (user, NOT_NAMED)
    yield (NOT_NAMED, client_id), (NOT_NAMED, client_id)
    yield (NOT_NAMED, None), (NOT_NAMED, client_id)
