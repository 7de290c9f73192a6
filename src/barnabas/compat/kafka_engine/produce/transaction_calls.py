"""The transactional calls of a KafkaProducer: what they raise, in the words of kafka-python 2 and 3.

Owns what a state of the core's transactions is called there. Waits for nobody itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.client.produce.transactions import State, Transactions
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.errors import BarnabasError, KafkaTimeoutError, TransactionFailedError
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition

_STATES = {
    State.UNINITIALIZED: "UNINITIALIZED",
    State.INITIALIZING: "INITIALIZING",
    State.READY: "READY",
    State.IN_TRANSACTION: "IN_TRANSACTION",
    State.COMMITTING: "COMMITTING_TRANSACTION",
    State.ABORTING: "ABORTING_TRANSACTION",
    State.ABORTABLE_ERROR: "ABORTABLE_ERROR",
    State.FATAL_ERROR: "FATAL_ERROR",
}
_TARGETS = {
    "init_transactions": State.INITIALIZING,
    "begin_transaction": State.IN_TRANSACTION,
    "commit_transaction": State.COMMITTING,
    "abort_transaction": State.ABORTING,
}
_SOURCES = {
    "init_transactions": {State.UNINITIALIZED, State.INITIALIZING},
    "begin_transaction": {State.READY},
    "commit_transaction": {State.IN_TRANSACTION, State.COMMITTING},
    "abort_transaction": {State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.ABORTING},
}
_WITHOUT_TRANSACTIONS = {
    "init_transactions": "Cannot call init_transactions without setting a transactional_id.",
    "begin_transaction": "Cannot use transactional methods without enabling transactions",
    "send_offsets_to_transaction": "Cannot use transactional methods without enabling transactions",
    "commit_transaction": "Cannot commit transaction since transactions are not enabled",
    "abort_transaction": "Cannot abort transaction since transactions are not enabled.",
}


def not_transactional(call: str, *, is_idempotent: bool) -> Exception:
    """For a producer without a transactional_id."""
    return CLASSES["IllegalStateError"](
        "Transactional method invoked on a non-transactional producer."
        if is_idempotent
        else _WITHOUT_TRANSACTIONS[call]
    )


def check_call(transactions: Transactions, call: str) -> None:
    """Raises: KafkaError unless the state allows the call."""
    may_go_on = call == "abort_transaction" and transactions.state is State.ABORTABLE_ERROR
    if transactions.error is not None and call != "init_transactions" and not may_go_on:
        raise CLASSES["KafkaError"](
            "Cannot execute transactional method because we are in an error state: "
            f"{failure_of(transactions.error)}"
        )
    if call in _TARGETS:
        if transactions.state not in _SOURCES[call]:
            source, target = _STATES[transactions.state], _STATES[_TARGETS[call]]
            raise CLASSES["KafkaError"](
                f"TransactionalId {transactions.transactional_id}: Invalid transition attempted from state "
                f"{source} to state {target}"
            )
    elif transactions.state is not State.IN_TRANSACTION:
        raise CLASSES["KafkaError"](
            "Cannot send offsets to transaction because the producer is not in an active transaction"
        )


def check_send(transactions: Transactions) -> None:
    """Raises: why no record can be sent just now."""
    if transactions.error is not None:
        raise CLASSES["KafkaError"](
            "Cannot perform send because at least one previous transactional or idempotent request has "
            "failed with errors.",
            failure_of(transactions.error),
        )
    if transactions.state in (State.UNINITIALIZED, State.INITIALIZING):
        raise CLASSES["IllegalStateError"](
            "Cannot perform a 'send' before completing a call to init_transactions when transactions are "
            "enabled."
        )
    if transactions.state is not State.IN_TRANSACTION:
        raise CLASSES["IllegalStateError"](f"Cannot call send in state {_STATES[transactions.state]}")


def call_failure(error: BarnabasError, call: str, max_block_ms: float) -> Exception:
    """What `call` raises in the place of an error of the core."""
    match error:
        case KafkaTimeoutError() if call == "init_transactions":
            return CLASSES["KafkaTimeoutError"](
                f"Timeout expired while initializing transactional state in {max_block_ms} ms."
            )
        case TransactionFailedError() if isinstance(error.__cause__, BarnabasError):
            return failure_of(error.__cause__)
        case _:
            return failure_of(error)


def core_offsets(offsets: Mapping[Any, Any]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Of TopicPartitions and OffsetAndMetadatas as programs have them."""
    return {
        TopicPartition(partition[0], partition[1]): OffsetAndMetadata(
            offset.offset, offset.metadata or "", getattr(offset, "leader_epoch", -1)
        )
        for partition, offset in offsets.items()
    }


def group_identity(group: Any) -> GroupIdentity:
    """Of a ConsumerGroupMetadata, or of a group's name. Raises: TypeError, ValueError."""
    if isinstance(group, str):
        return GroupIdentity(group)
    metadata: Any = STRUCTS.get("ConsumerGroupMetadata")
    if metadata is None or not isinstance(group, metadata):
        raise TypeError(
            "send_offsets_to_transaction expects group_metadata to be a ConsumerGroupMetadata or a group_id "
            f"str, got {type(group)!r}"
        )
    given: Any = group
    if given.generation_id > 0 and not given.member_id:
        raise ValueError(
            f"Invalid ConsumerGroupMetadata: generation_id={given.generation_id} implies a joined group but "
            "member_id is empty"
        )
    return GroupIdentity(given.group_id, given.generation_id, given.member_id, given.group_instance_id)
