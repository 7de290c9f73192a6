"""DescribeClientQuotas, versions 0 and 1 (KIP-546): the quotas of the entities that a filter matches."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaFilter
from barnabas.broker_errors import InvalidRequestError, UnsupportedVersionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

EXACT, DEFAULT, ANY = 0, 1, 2
NAMES = {EXACT: "EXACT", DEFAULT: "DEFAULT", ANY: "SPECIFIED"}


async def handle(call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        call.parts.authorizer.require(call, Operation.DESCRIBE_CONFIGS, ResourceKind.CLUSTER, CLUSTER_NAME)
        found = call.parts.quotas.matching(_filter(request.components, strict=request.strict))
    except BrokerError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.context or None, entries=None
        )
    return DescribeClientQuotasResponse(
        entries=[
            DescribeClientQuotasResponse.EntryData(
                [DescribeClientQuotasResponse.EntityData(kind, name) for kind, name in quota.entity.items()],
                [DescribeClientQuotasResponse.ValueData(key, value) for key, value in quota.values.items()],
            )
            for quota in found
        ],
    )


def _filter(components: Sequence[DescribeClientQuotasRequest.ComponentData], *, strict: bool) -> QuotaFilter:
    """Raises: InvalidRequestError, UnsupportedVersionError."""
    exact: dict[str, str | None] = {}
    any_of: set[str] = set()
    for component in components:
        kind, match = component.entity_type, component.match_type
        if not kind:
            raise InvalidRequestError("Invalid empty entity type.")
        if kind in exact or kind in any_of:
            raise InvalidRequestError(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise UnsupportedVersionError(f"Unsupported entity type {kind}")
        if match not in NAMES:
            raise InvalidRequestError(f"Unknown match type {match}")
        if match == EXACT and component.match is None:
            raise InvalidRequestError("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        if match != EXACT and component.match is not None:
            raise InvalidRequestError(
                f"Request specified MATCH_TYPE_{NAMES[match]}, but also specified a match string."
            )
        if match == ANY:
            any_of.add(kind)
        else:
            exact[kind] = component.match
    kinds = exact.keys() | any_of
    if IP in kinds and len(kinds) > 1:
        raise InvalidRequestError(
            "Invalid entity filter component combination. IP filter component should not be used with user "
            "or clientId filter component."
        )
    return QuotaFilter(exact, frozenset(any_of), strict)


HANDLER = Handler(DescribeClientQuotasRequest, 0, 1, handle)
