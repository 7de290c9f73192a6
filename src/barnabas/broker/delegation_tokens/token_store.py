"""Delegation tokens over restarts: made, renewed, ended and found (KIP-48).

Owns the order of Kafka's checks. Must not know requests, nor how anybody logs in.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.delegation_tokens.kept_token import KeptToken, new_token_id, token_hmac
from barnabas.broker.metadata_part import MetadataPart
from barnabas.broker.principal import ANONYMOUS, Principal
from barnabas.broker_errors import (
    DelegationTokenAuthDisabledError,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DelegationTokenRequestNotAllowedError,
)
from barnabas.clock import now_ms

logger = logging.getLogger(__name__)


class DelegationTokenStore:
    """Without delegation.token.secret.key there are none."""

    def __init__(self, kept: MetadataPart[list[KeptToken]], settings: BrokerSettings) -> None:
        self._kept = kept
        self._secret_key = settings.get("delegation.token.secret.key").value
        self._max_lifetime_ms = settings.number("delegation.token.max.lifetime.ms")
        self._renew_lifetime_ms = settings.number("delegation.token.expiry.time.ms")
        self._ids_by_hmac: dict[bytes, str] = {}
        self._tokens: dict[str, KeptToken] = {}
        self._set(kept.value)

    def tokens(self) -> list[KeptToken]:
        """Raises: DelegationTokenAuthDisabledError."""
        self._check_enabled()
        return list(self._tokens.values())

    def find(self, token_id: str) -> KeptToken | None:
        return self._tokens.get(token_id)

    def hmac(self, token: KeptToken) -> bytes:
        return token_hmac(self._secret_key, token.token_id)

    def create(
        self, owner: Principal, requester: Principal, renewers: Iterable[Principal], max_lifetime_ms: int
    ) -> KeptToken:
        """`max_lifetime_ms`: not above 0 takes the broker's.

        Raises: DelegationTokenAuthDisabledError, KafkaStorageError.
        """
        self._check_enabled()
        now = now_ms()
        lifetime_ms = self._max_lifetime_ms
        if max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, max_lifetime_ms)
        token = KeptToken(
            new_token_id(),
            str(owner),
            str(requester),
            [str(renewer) for renewer in renewers],
            issue_timestamp_ms=now,
            expiry_timestamp_ms=now + min(lifetime_ms, self._renew_lifetime_ms),
            max_timestamp_ms=now + lifetime_ms,
        )
        self._keep([*self._tokens.values(), token])
        return token

    def renew(self, hmac: bytes, principal: Principal, period_ms: int) -> int:
        """When it expires now. `period_ms`: not above 0 takes the broker's.

        Raises: DelegationTokenAuthDisabledError, DelegationTokenNotFoundError, DelegationTokenExpiredError,
        DelegationTokenOwnerMismatchError, KafkaStorageError.
        """
        token = self._by_hmac(hmac)
        now = now_ms()
        _check_not_expired(token, now)
        _check_may_renew(token, principal)
        lifetime_ms = self._renew_lifetime_ms
        if period_ms > 0:
            lifetime_ms = min(lifetime_ms, period_ms)
        return self._expire_at(token, now + lifetime_ms)

    def expire(self, hmac: bytes, principal: Principal, period_ms: int) -> int:
        """When it expires now. `period_ms` below 0 takes it away at once. Raises: as `renew`."""
        token = self._by_hmac(hmac)
        now = now_ms()
        _check_may_renew(token, principal)
        if period_ms < 0:
            self._keep([other for other in self._tokens.values() if other is not token])
            return now
        _check_not_expired(token, now)
        return self._expire_at(token, now + period_ms)

    def sweep(self) -> None:
        """Takes away what has expired: until then it lets its owner in, as with Kafka.

        Raises: KafkaStorageError.
        """
        now = now_ms()
        alive = [token for token in self._tokens.values() if not token.is_expired(now)]
        if len(alive) < len(self._tokens):
            logger.info("%d delegation tokens have expired", len(self._tokens) - len(alive))
            self._keep(alive)

    def _check_enabled(self) -> None:
        if not self._secret_key:
            raise DelegationTokenAuthDisabledError

    def _by_hmac(self, hmac: bytes) -> KeptToken:
        self._check_enabled()
        token_id = self._ids_by_hmac.get(hmac)
        if token_id is None:
            raise DelegationTokenNotFoundError
        return self._tokens[token_id]

    def _expire_at(self, token: KeptToken, timestamp_ms: int) -> int:
        changed = replace(token, expiry_timestamp_ms=min(token.max_timestamp_ms, timestamp_ms))
        self._keep([changed if kept is token else kept for kept in self._tokens.values()])
        return changed.expiry_timestamp_ms

    def _keep(self, tokens: list[KeptToken]) -> None:
        self._kept.change(tokens)
        self._set(tokens)

    def _set(self, tokens: Iterable[KeptToken]) -> None:
        if self._secret_key:
            self._tokens = {token.token_id: token for token in tokens}
            self._ids_by_hmac = {self.hmac(token): token.token_id for token in tokens}


def check_may_ask(connection: ClientConnection) -> None:
    """A token is for nobody in particular, and must not make another one that lives on.

    Raises: DelegationTokenRequestNotAllowedError.
    """
    principal, protocol = connection.principal, connection.protocol
    is_nobody = protocol == "PLAINTEXT" or (protocol == "SSL" and principal == ANONYMOUS)
    if principal.by_token or is_nobody:
        raise DelegationTokenRequestNotAllowedError


def _check_not_expired(token: KeptToken, now: int) -> None:
    if token.is_expired(now):
        raise DelegationTokenExpiredError


def _check_may_renew(token: KeptToken, principal: Principal) -> None:
    if not token.may_be_renewed_by(principal):
        raise DelegationTokenOwnerMismatchError
