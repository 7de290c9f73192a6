"""ListTransactions, versions 0 to 2: all transactional ids, by state, producer, time open (version 1) and a
regular expression of the whole id (version 2).
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.name_pattern import NamePatternError, read_name_pattern
from barnabas.broker.transactions.transaction import TransactionStatus
from barnabas.broker_errors import ErrorCode
from barnabas.clock import now_ms
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.turns import in_turns

KNOWN_STATES = frozenset(status.title for status in TransactionStatus)


async def handle(call: Call, request: ListTransactionsRequest) -> ListTransactionsResponse:
    states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
    latest_start_ms = now_ms() - request.duration_filter
    authorize = call.parts.authorizer.authorize
    found = [
        metadata
        async for metadata in in_turns(list(call.parts.transactions.by_id.values()))
        if (not states or metadata.status.title in states)
        and (not producer_ids or metadata.producer_id in producer_ids)
        and (request.duration_filter < 0 or metadata.started_ms < latest_start_ms)
        and authorize(call, Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID, metadata.transactional_id)
    ]
    if request.transactional_id_pattern:
        # Only of ids that the client may see: the pattern must not show which others there are.
        characters = {each async for metadata in in_turns(found) for each in metadata.transactional_id}
        try:
            pattern = await read_name_pattern(request.transactional_id_pattern, frozenset(characters))
        except NamePatternError:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        found = [metadata async for metadata in in_turns(found) if pattern.matches(metadata.transactional_id)]
    return ListTransactionsResponse(
        unknown_state_filters=[
            state async for state in in_turns(request.state_filters) if state not in KNOWN_STATES
        ],
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                metadata.transactional_id, metadata.producer_id, metadata.status.title
            )
            async for metadata in in_turns(found)
        ],
    )


HANDLER = Handler(ListTransactionsRequest, 0, 2, handle)
