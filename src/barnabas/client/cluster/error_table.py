"""What follows from an error that a broker answers, whatever was asked: one table for all wings.

Whether a request may be made again at all is said by the error itself (`retriable`). Pure: knows errors and
their codes, neither requests nor clients.
"""

from __future__ import annotations

from enum import Flag, auto

from barnabas.error_codes import ErrorCode
from barnabas.errors import BarnabasError, BrokerError


class Consequence(Flag):
    FIND_CONTROLLER = auto()
    """Another broker is the controller by now."""
    FIND_COORDINATOR = auto()
    """The coordinator is another one, or none as yet: it is forgotten, and looked up again."""
    SUSPECT_COORDINATOR = auto()
    """The coordinator may be cut off from its replicas: who goes on with it looks it up again."""
    AWAIT_COORDINATOR = auto()
    """It is the coordinator, and still reads what it has to know."""
    FIND_LEADER = auto()
    """The metadata is out of date, or about to be put right."""
    FETCH_AGAIN = auto()
    """The leader gives it another time."""
    ASK_AGAIN = auto()
    """Nothing has moved: what is in the way ends by itself."""
    NEW_FETCH_SESSION = auto()
    """The broker's idea of the session is not ours: a full request puts it right (KIP-227)."""
    NEW_SEQUENCE = auto()
    """The partition does not know what came before: its sequence begins anew, in a new epoch (KIP-360)."""
    SPLIT_BATCH = auto()
    """The batch is larger than the topic takes: in parts it may go."""
    FENCED = auto()
    """Another producer has taken over the transactional id."""
    ABORT = auto()
    """Ends the transaction, but not the producer."""
    REJOIN = auto()
    """The member is none any more."""


_TABLE = {
    ErrorCode.NOT_CONTROLLER: Consequence.FIND_CONTROLLER,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: Consequence.ASK_AGAIN,
    ErrorCode.NOT_COORDINATOR: Consequence.FIND_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Consequence.FIND_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Consequence.AWAIT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT: Consequence.SUSPECT_COORDINATOR,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: Consequence.ASK_AGAIN,
    ErrorCode.CONCURRENT_TRANSACTIONS: Consequence.ASK_AGAIN,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Consequence.FIND_LEADER,
    ErrorCode.LEADER_NOT_AVAILABLE: Consequence.FIND_LEADER,
    ErrorCode.REPLICA_NOT_AVAILABLE: Consequence.FIND_LEADER,
    ErrorCode.KAFKA_STORAGE_ERROR: Consequence.FIND_LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: Consequence.FIND_LEADER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Consequence.FIND_LEADER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Consequence.FIND_LEADER,
    ErrorCode.UNKNOWN_TOPIC_ID: Consequence.FIND_LEADER,
    ErrorCode.INCONSISTENT_TOPIC_ID: Consequence.FIND_LEADER,
    ErrorCode.OFFSET_NOT_AVAILABLE: Consequence.ASK_AGAIN | Consequence.FETCH_AGAIN,
    ErrorCode.UNKNOWN_SERVER_ERROR: Consequence.FETCH_AGAIN,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND: Consequence.NEW_FETCH_SESSION,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH: Consequence.NEW_FETCH_SESSION,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: Consequence.NEW_FETCH_SESSION,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Consequence.NEW_SEQUENCE,
    ErrorCode.UNKNOWN_PRODUCER_ID: Consequence.NEW_SEQUENCE,
    ErrorCode.MESSAGE_TOO_LARGE: Consequence.SPLIT_BATCH,
    ErrorCode.RECORD_LIST_TOO_LARGE: Consequence.SPLIT_BATCH,
    ErrorCode.PRODUCER_FENCED: Consequence.FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH: Consequence.FENCED,
    ErrorCode.TRANSACTION_ABORTABLE: Consequence.ABORT,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Consequence.ABORT,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: Consequence.ABORT,
    ErrorCode.OPERATION_NOT_ATTEMPTED: Consequence.ABORT,
    ErrorCode.OFFSET_METADATA_TOO_LARGE: Consequence.ABORT,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: Consequence.ABORT,
    ErrorCode.FENCED_INSTANCE_ID: Consequence.ABORT,
    ErrorCode.STALE_MEMBER_EPOCH: Consequence.ABORT,
    ErrorCode.UNKNOWN_MEMBER_ID: Consequence.REJOIN | Consequence.ABORT,
    ErrorCode.ILLEGAL_GENERATION: Consequence.REJOIN | Consequence.ABORT,
    ErrorCode.FENCED_MEMBER_EPOCH: Consequence.REJOIN,
}


def errors_with(consequences: Consequence) -> frozenset[int]:
    """The codes of the errors from which any of these follows."""
    return frozenset(code for code, row in _TABLE.items() if row & consequences)


# Asked again, of whoever is in charge then.
MOVED_CONTROLLER = errors_with(Consequence.FIND_CONTROLLER | Consequence.ASK_AGAIN)
MOVED_COORDINATOR = errors_with(
    Consequence.FIND_COORDINATOR | Consequence.AWAIT_COORDINATOR | Consequence.ASK_AGAIN
)
MOVED_LEADER = errors_with(Consequence.FIND_LEADER | Consequence.ASK_AGAIN)

FETCHED_AGAIN = errors_with(Consequence.FIND_LEADER | Consequence.FETCH_AGAIN)

SEQUENCE_ERRORS = errors_with(Consequence.NEW_SEQUENCE)
TOO_LARGE_ERRORS = errors_with(Consequence.SPLIT_BATCH)

NO_MEMBER = errors_with(Consequence.REJOIN)
"""Each protocol of groups has its own word for a membership of the past, and none of the others'."""


def is_fetched_again(error: BarnabasError) -> bool:
    """Whether a fetch that failed with `error` is made again without an error for the caller. As in Kafka's
    Java client, it does not matter whether the error is of the whole answer or of a partition."""
    return error.retriable or (isinstance(error, BrokerError) and error.code in FETCHED_AGAIN)
