"""AlterClientQuotas, versions 0 and 1 (KIP-546): sets and takes away quotas, each entity with a result of its
own."""

from __future__ import annotations

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.quotas.client_quotas import Changes, Entity, check_change, described
from barnabas.broker_errors import ClusterAuthorizationFailedError, InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse

Asked = AlterClientQuotasRequest.EntryData
Result = AlterClientQuotasResponse.EntryData
Results = dict[frozenset[tuple[str, str | None]], Result]


async def handle(call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    results: Results = {}
    accepted: list[tuple[Entity, Changes]] = []
    try:
        if not call.parts.authorizer.authorize(
            call, Operation.ALTER_CONFIGS, ResourceKind.CLUSTER, CLUSTER_NAME
        ):
            raise ClusterAuthorizationFailedError("Cluster authorization failed.")
        for asked in request.entries:
            entity = {part.entity_type: part.entity_name for part in asked.entity}
            key = frozenset(entity.items())
            try:
                if key in results or len({op.key for op in asked.ops}) < len(asked.ops):
                    raise InvalidRequestError(f"Ignoring duplicate entity {described(entity)}")
                changes = {op.key: None if op.remove else op.value for op in asked.ops}
                await check_change(entity, changes)
            except BrokerError as error:
                results[key] = _result(asked, error)
            else:
                results[key] = _result(asked, None)
                accepted.append((entity, changes))
        if accepted and not request.validate_only:
            call.parts.quotas.change(accepted)
    except BrokerError as error:
        return AlterClientQuotasResponse(entries=[_result(asked, error) for asked in request.entries])
    return AlterClientQuotasResponse(entries=list(results.values()))


def _result(asked: Asked, error: BrokerError | None) -> Result:
    entity = [
        AlterClientQuotasResponse.EntityData(part.entity_type, part.entity_name) for part in asked.entity
    ]
    if error is None:
        return Result(error_message=None, entity=entity)
    return Result(error.code, error.context, entity)


HANDLER = Handler(AlterClientQuotasRequest, 0, 1, handle)
