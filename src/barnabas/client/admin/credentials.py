"""The part of Admin that concerns SCRAM credentials, delegation tokens and quotas.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.admin.arguments import check_quotas, check_type, items_of, names_of
from barnabas.client.admin.calls import AdminCalls, check, failure, outcomes, settled
from barnabas.client.admin.requests import credentials as requests
from barnabas.client.admin.types import (
    ClientQuotaEntity,
    ClientQuotaFilter,
    DelegationToken,
    QuotaMatch,
    ScramCredentialInfo,
    ScramDeletion,
    ScramUpsertion,
)
from barnabas.error_codes import error_for
from barnabas.errors import BarnabasError, MisuseError
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

BROKER_DEFAULT_MS = -1


class CredentialAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, tuple[ScramCredentialInfo, ...]]:
        """The mechanisms for which users have passwords (KIP-554); None means all users that have any.

        Raises: ResourceNotFoundError (a user that has none), ...
        """
        wanted = None if users is None else names_of(users, "users")
        request = requests.describe_credentials(wanted)
        response = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(response.error_code, "describing SCRAM credentials", response.error_message)
        answers = requests.described_credentials(response)
        found = {answer.key: answer.result for answer in answers if not answer.code}
        errors: dict[str, BarnabasError] = {
            answer.key: error_for(answer.code, f"{_user(answer.key)} ({answer.message})")
            for answer in answers
            if answer.code
        }
        return settled([*found, *errors] if wanted is None else wanted, found, errors)

    async def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion], *, timeout: float | None = None
    ) -> None:
        """Gives users passwords, or takes them away (KIP-554). Errors and the outcome are by user.

        Raises: ResourceNotFoundError (nothing to delete), UnacceptableCredentialError (too few or too many
        iterations), DuplicateResourceError, MisuseError, ...
        """
        by_user: dict[str, list[ScramUpsertion | ScramDeletion]] = {}
        for alteration in items_of(alterations, "alterations", (ScramUpsertion, ScramDeletion)):
            if alteration.mechanism not in requests.DIGESTS:
                raise MisuseError(f"{alteration.mechanism!r} is not a mechanism that has passwords")
            by_user.setdefault(alteration.user, []).append(alteration)

        async def ask(controller: int, users: list[str]) -> dict[str, BarnabasError | None]:
            wanted = [alteration for user in users for alteration in by_user[user]]
            response = await self._send(controller, requests.alter_credentials(wanted))
            return outcomes(requests.altered_credentials(response), _user)

        await self._ask_controller_for_each(by_user, ask, what="altering SCRAM credentials", timeout=timeout)

    async def create_delegation_token(
        self,
        renewers: Iterable[str] = (),
        *,
        owner: str | None = None,
        max_lifetime_ms: int = BROKER_DEFAULT_MS,
        timeout: float | None = None,
    ) -> DelegationToken:
        """A token for whoever is connected, or for `owner`, that lives for `max_lifetime_ms`, by default
        delegation.token.max.lifetime.ms of the broker (KIP-48, KIP-373). Principals are "User:alice".

        Raises: DelegationTokenAuthDisabledError, DelegationTokenRequestNotAllowedError (the connection is not
        authenticated, or was by a token), ...
        """
        allowed = names_of(renewers, "renewers")
        owner_type, owner_name = (None, None) if owner is None else _principal(owner)
        renewer_names = [_principal(renewer) for renewer in allowed]
        request = CreateDelegationTokenRequest(
            owner_principal_type=owner_type,
            owner_principal_name=owner_name,
            renewers=[
                CreateDelegationTokenRequest.CreatableRenewers(principal_type=kind, principal_name=name)
                for kind, name in renewer_names
            ],
            max_lifetime_ms=max_lifetime_ms,
        )
        made = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(made.error_code, "creating a delegation token")
        requester = _principal_text(made.token_requester_principal_type, made.token_requester_principal_name)
        return DelegationToken(
            made.token_id,
            made.hmac,
            _principal_text(made.principal_type, made.principal_name),
            requester,
            tuple(allowed),
            made.issue_timestamp_ms,
            made.expiry_timestamp_ms,
            made.max_timestamp_ms,
        )

    async def renew_delegation_token(
        self, hmac: bytes, *, renew_period_ms: int = BROKER_DEFAULT_MS, timeout: float | None = None
    ) -> int:
        """Lets a token live for another `renew_period_ms`, by default delegation.token.expiry.time.ms of the
        broker. Gives the time at which it expires, in milliseconds since 1970.

        Raises: DelegationTokenNotFoundError, DelegationTokenExpiredError,
        DelegationTokenOwnerMismatchError, ...
        """
        check_type(hmac, bytes, "hmac")
        request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)
        response = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(response.error_code, "renewing a delegation token")
        return response.expiry_timestamp_ms

    async def expire_delegation_token(
        self, hmac: bytes, *, expiry_time_period_ms: int = BROKER_DEFAULT_MS, timeout: float | None = None
    ) -> int:
        """Lets a token expire in `expiry_time_period_ms`; by default (-1) at once. Gives the time at which it
        expires, in milliseconds since 1970. Raises: as `renew_delegation_token`."""
        check_type(hmac, bytes, "hmac")
        request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_time_period_ms)
        response = await self._ask(self._client.controller, request, timeout, lambda r: r.error_code)
        check(response.error_code, "expiring a delegation token")
        return response.expiry_timestamp_ms

    async def describe_delegation_tokens(
        self, owners: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> list[DelegationToken]:
        """The tokens of `owners` ("User:alice"), or all that this client may see.

        Raises: DelegationTokenAuthDisabledError, DelegationTokenRequestNotAllowedError, ...
        """
        request = DescribeDelegationTokenRequest(
            owners=None
            if owners is None
            else [
                DescribeDelegationTokenRequest.DescribeDelegationTokenOwner(
                    principal_type=kind, principal_name=name
                )
                for kind, name in map(_principal, names_of(owners, "owners"))
            ]
        )
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "describing delegation tokens")
        return [
            DelegationToken(
                token.token_id,
                token.hmac,
                _principal_text(token.principal_type, token.principal_name),
                _principal_text(token.token_requester_principal_type, token.token_requester_principal_name),
                tuple(_principal_text(r.principal_type, r.principal_name) for r in token.renewers),
                token.issue_timestamp,
                token.expiry_timestamp,
                token.max_timestamp,
            )
            for token in response.tokens
        ]

    async def describe_client_quotas(
        self,
        filters: Iterable[ClientQuotaFilter] = (),
        *,
        strict: bool = False,
        timeout: float | None = None,
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        """The quotas of entities that meet all `filters` (KIP-546), by name (`producer_byte_rate`, ...).
        `strict`: entities with other types than those of the filters are left out."""
        request = DescribeClientQuotasRequest(
            components=[
                DescribeClientQuotasRequest.ComponentData(
                    entity_type=wanted.entity_type,
                    match_type=wanted.match,
                    match=wanted.name if wanted.match is QuotaMatch.EXACT else None,
                )
                for wanted in items_of(filters, "filters", ClientQuotaFilter, "ClientQuotaFilter('user')")
            ],
            strict=strict,
        )
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "describing quotas", response.error_message)
        return {
            ClientQuotaEntity({part.entity_type: part.entity_name for part in entry.entity}): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    async def alter_client_quotas(
        self,
        changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets quotas (KIP-546); None takes one away. Those that are not named stay as they are.

        Raises: InvalidRequestError (no such quota), ...
        """

        async def ask(
            controller: int, entities: list[ClientQuotaEntity]
        ) -> dict[ClientQuotaEntity, BarnabasError | None]:
            request = AlterClientQuotasRequest(
                entries=[
                    AlterClientQuotasRequest.EntryData(
                        entity=[
                            AlterClientQuotasRequest.EntityData(entity_type=kind, entity_name=name)
                            for kind, name in entity.names.items()
                        ],
                        ops=[
                            AlterClientQuotasRequest.OpData(
                                key=key, value=0.0 if value is None else value, remove=value is None
                            )
                            for key, value in changes[entity].items()
                        ],
                    )
                    for entity in entities
                ],
                validate_only=validate_only,
            )
            answers: dict[ClientQuotaEntity, BarnabasError | None] = {}
            for entry in (await self._send(controller, request)).entries:
                entity = ClientQuotaEntity({part.entity_type: part.entity_name for part in entry.entity})
                answers[entity] = failure(entry.error_code, f"quotas of {entity}", entry.error_message)
            return answers

        check_quotas(changes)
        await self._ask_controller_for_each(changes, ask, what="altering quotas", timeout=timeout)


def _user(name: str) -> str:
    return f"user {name!r}"


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise MisuseError(f"{text!r} is not a principal such as 'User:alice'")
    return kind, name


def _principal_text(kind: str, name: str) -> str:
    return f"{kind}:{name}" if kind else ""
