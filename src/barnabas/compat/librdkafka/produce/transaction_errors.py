"""What the transactional calls of a producer raise, in librdkafka's words. Knows only states and errors."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from barnabas.client.cluster.error_table import Consequence, errors_with
from barnabas.client.produce.transactions import FailedBatch, RefusedOffsets, State, Transactions
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException, kafka_error_of
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    ClosedError,
    KafkaTimeoutError,
    PurgedError,
    RecordTooLargeError,
    TransactionFailedError,
    TransactionStateError,
)
from barnabas.types import Node

_STATE_NAMES = {
    State.UNINITIALIZED: "Init",
    State.INITIALIZING: "WaitPID",
    State.READY: "Ready",
    State.IN_TRANSACTION: "InTransaction",
    State.COMMITTING: "BeginCommit",
    State.ABORTING: "BeginAbort",
    State.ABORTABLE_ERROR: "AbortableError",
    State.FATAL_ERROR: "FatalError",
}
_CALLS_UNDER_WAY = {
    State.INITIALIZING: "init_transactions",
    State.COMMITTING: "commit_transaction",
    State.ABORTING: "abort_transaction",
}
_FENCING_ERRORS = errors_with(Consequence.FENCED)
_ADDING_PARTITIONS = "add partitions to"
_STEPS = {
    "send_offsets_to_transaction": "add offsets to",
    "commit_transaction": "end",
    "abort_transaction": "end",
}
_FENCED = "Local: This instance has been fenced by a newer instance"


def not_transactional() -> KafkaException:
    """For a producer without a transactional.id."""
    text = "The Transactional API requires transactional.id to be configured"
    return KafkaException(KafkaError(KafkaError._NOT_CONFIGURED, text))


def timed_out() -> KafkaException:
    """For a call whose time was up, and which may be made again to wait on."""
    text = "Timed out waiting for operation to finish, retry call to resume"
    return KafkaException(KafkaError(KafkaError._TIMED_OUT, text, retriable=True))


def conflict(call: str) -> KafkaException:
    """For a call while another one is not finished."""
    text = f"Conflicting {call} API call is already in progress"
    return KafkaException(KafkaError(KafkaError._CONFLICT, text, retriable=True))


def check_state(transactions: Transactions, call: str, *allowed: State) -> None:
    """Raises KafkaException unless the state is one of those, or that of the same call under way."""
    state = transactions.state
    if state in allowed or _CALLS_UNDER_WAY.get(state) == call:
        return
    if transactions.error is not None and state is State.ABORTABLE_ERROR:
        raise KafkaException(state_error(transactions, transactions.error, failed=0))
    if state in _CALLS_UNDER_WAY:
        raise conflict(_CALLS_UNDER_WAY[state])
    text = f"Operation not valid in state {_STATE_NAMES[state]}"
    raise KafkaException(KafkaError(KafkaError._STATE, text))


def fatal_error(
    transactions: Transactions, error: BarnabasError, call: str, coordinator: Node | None
) -> KafkaError:
    """What ended the producer. `call`: that which was waiting for the coordinator, if any."""
    if not isinstance(error, BrokerError) or error.code not in _FENCING_ERRORS:
        known = kafka_error_of(error)
        text = known.str()
        if call == "init_transactions" and coordinator is not None and isinstance(error, BrokerError):
            broker = f"TxnCoordinator/{coordinator.node_id}"
            text = f"Failed to acquire transactional PID from broker {broker}: {text}"
        return KafkaError(known.code(), text, fatal=True)
    batch = transactions.failed_batch
    if batch is not None and batch.is_added:
        text = _batch_text(batch, error, "transactional producer fenced by newer producer instance")
    else:
        step = _STEPS.get(call, _ADDING_PARTITIONS) if batch is None else _ADDING_PARTITIONS
        text = f"Failed to {step} transaction: {_FENCED}"
    return KafkaError(KafkaError._FENCED, text, fatal=True)


def state_error(transactions: Transactions, error: BarnabasError, *, failed: int) -> KafkaError:
    """What ended the transaction. `failed`: messages of it that were not delivered."""
    offsets = transactions.refused_offsets
    if offsets is not None and offsets.error in (error, error.__cause__):
        return KafkaError(offsets.error.code, _offsets_text(offsets), txn_requires_abort=True)
    batch = transactions.failed_batch
    reason = error.__cause__ if isinstance(error, RecordTooLargeError) else error
    if batch is not None and isinstance(reason, BrokerError):
        text = _batch_text(batch, reason, "current transaction must be aborted")
        return KafkaError(reason.code, text, txn_requires_abort=True)
    if failed or isinstance(error, PurgedError | KafkaTimeoutError | ClosedError):
        text = f"{max(failed, 1)} message(s) failed delivery (see individual delivery reports)"
        return KafkaError(KafkaError._INCONSISTENT, text, txn_requires_abort=True)
    known = kafka_error_of(error)
    return KafkaError(known.code(), known.str(), txn_requires_abort=True)


def _batch_text(batch: FailedBatch, error: BarnabasError, consequence: str) -> str:
    topic, partition = batch.partition
    return (
        f"ProduceRequest for {topic} [{partition}] with {batch.record_count} message(s) failed: "
        f"{kafka_error_of(error).str()} (broker {batch.leader_id} "
        f"PID{{Id:{batch.producer_id},Epoch:{batch.producer_epoch}}}, base seq {batch.base_sequence}): "
        f"{consequence}"
    )


def _offsets_text(offsets: RefusedOffsets) -> str:
    # librdkafka has no topic ids here, and says so.
    refused = ", ".join(
        f"{topic}((null))[{partition}]({KafkaError(code).str()})"
        for (topic, partition), code in offsets.codes.items()
    )
    return (
        f"Failed to commit offsets to transaction on broker {offsets.coordinator}: {refused} "
        f"(after {offsets.answer_time_ms:.0f}ms)"
    )


def call_error(
    transactions: Transactions, call: str, error: BarnabasError, *, failed: int = 0
) -> KafkaException:
    """What `call` raises in the place of an error of ours."""
    match error:
        case KafkaTimeoutError():
            return timed_out()
        case TransactionStateError():
            try:
                check_state(transactions, call)
            except KafkaException as raised:
                return raised
            return KafkaException(KafkaError(KafkaError._STATE, str(error)))
        case TransactionFailedError() if isinstance(error.__cause__, BarnabasError):
            return KafkaException(state_error(transactions, error.__cause__, failed=failed))
        case _:
            return KafkaException(kafka_error_of(error, transactional=True))


def produce_error(transactions: Transactions) -> KafkaException | None:
    """Why a message cannot be taken just now; None if it is no matter of transactions."""
    if transactions.state is State.IN_TRANSACTION:
        return None
    is_fatal = transactions.state is State.FATAL_ERROR
    return produce_exception(KafkaError._FATAL if is_fatal else KafkaError._STATE)


def produce_exception(code: int) -> KafkaException:
    """What produce() raises for one of librdkafka's codes."""
    return KafkaException(KafkaError(code, f"Unable to produce message: {KafkaError(code).str()}"))
