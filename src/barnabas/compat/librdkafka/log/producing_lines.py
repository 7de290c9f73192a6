"""What `debug` tells of a producer: its batches, its producer id and its transactions.

Owns librdkafka's forms of these lines and which contexts they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.compat.librdkafka.log.client_log import MAIN, DebugLine
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.errors import BarnabasError
from barnabas.steps import (
    BatchDelivered,
    BatchFailed,
    BatchRetried,
    BatchSent,
    BatchStep,
    CoordinatorFound,
    CoordinatorRequested,
    ProducerIdReceived,
    Step,
    TransactionPartitionsAdded,
    TransactionPhaseChanged,
)
from barnabas.types import Node

# librdkafka's names of the states.
_TRANSACTION_STATES = {
    "UNINITIALIZED": "Init",
    "INITIALIZING": "WaitPID",
    "READY": "Ready",
    "IN_TRANSACTION": "InTransaction",
    "COMMITTING": "CommittingTransaction",
    "ABORTING": "AbortingTransaction",
    "ABORTABLE_ERROR": "AbortableError",
    "FATAL_ERROR": "FatalError",
}


class ProducingLines:
    """`broker` gives the name of a broker by its node id, `broker_of` that of a node. `compression`: that of
    batches."""

    def __init__(
        self, broker: Callable[[int], str], broker_of: Callable[[Node], str], compression: str
    ) -> None:
        self._broker = broker
        self._broker_of = broker_of
        self._compression = "uncompressed" if compression in ("", "none") else compression
        self._has_producer_id = False

    def of(self, step: Step) -> Iterator[DebugLine]:
        match step:
            case BatchSent():
                broker = self._broker(step.node_id)
                text = (
                    f"{broker}: {_name(step)}: Produce MessageSet with {step.record_count} message(s) "
                    f"({step.size} bytes, attempt {step.attempt}, BaseSeq {_sequence(step)}, "
                    f"{_producer_id(step.producer_id, step.producer_epoch)}, {self._compression})"
                )
                yield DebugLine("msg", "PRODUCE", broker, text)
            case BatchDelivered():
                text = f"{_message_set(step)} delivered at offset {step.base_offset}"
                yield DebugLine("msg", "MSGSET", MAIN, text)
            case BatchRetried():
                yield _failed(step, step.error, "Retry")
            case BatchFailed():
                yield _failed(step, step.error, "Permanent")
            case ProducerIdReceived():
                producer_id = _producer_id(step.producer_id, step.producer_epoch)
                if not self._has_producer_id:
                    self._has_producer_id = True
                    text = "Idempotent producer state change WaitPID -> Assigned"
                    yield DebugLine("eos", "IDEMPSTATE", MAIN, text)
                yield DebugLine("eos", "GETPID", MAIN, f"Acquired {producer_id}")
            case CoordinatorRequested(kind="transaction"):
                yield DebugLine("eos", "TXNCOORD", MAIN, "Querying for transaction coordinator")
            case CoordinatorFound(kind="transaction"):
                node = step.node
                text = f"Transaction coordinator is broker {node.node_id} ({node.host}:{node.port})"
                yield DebugLine("eos", "TXNCOORD", MAIN, f"{self._broker_of(node)}: {text}")
            case TransactionPartitionsAdded():
                for topic, number in step.partitions:
                    text = f"{topic} [{number}] registered with transaction"
                    yield DebugLine("eos topic", "ADDPARTS", MAIN, text)
            case TransactionPhaseChanged():
                before, after = _TRANSACTION_STATES[step.previous], _TRANSACTION_STATES[step.state]
                error = "" if step.error is None else f": {kafka_error_of(step.error).str()}"
                text = f"Transaction state change {before} -> {after}{error}"
                yield DebugLine("eos", "TXNSTATE", MAIN, text)
                if after == "Ready" and before in ("CommittingTransaction", "AbortingTransaction"):
                    done = "committed" if before == "CommittingTransaction" else "aborted"
                    yield DebugLine("eos", "TXNCOMPLETE", MAIN, f"Transaction successfully {done}")
            case _:
                pass


def _failed(step: BatchStep, error: BarnabasError, action: str) -> DebugLine:
    told = KafkaError(kafka_error_of(error).code()).str()
    text = f"{_message_set(step)} encountered error: {told} (actions {action})"
    return DebugLine("msg", "MSGSET", MAIN, text)


def _message_set(step: BatchStep) -> str:
    return f"{_name(step)}: MessageSet with {step.record_count} message(s) (BaseSeq {_sequence(step)})"


def _name(step: BatchStep) -> str:
    return f"{step.partition.topic} [{step.partition.partition}]"


def _sequence(step: BatchStep) -> int:
    return -1 if step.base_sequence is None else step.base_sequence


def _producer_id(producer_id: int, epoch: int) -> str:
    return "PID{Invalid}" if producer_id < 0 else f"PID{{Id:{producer_id},Epoch:{epoch}}}"
