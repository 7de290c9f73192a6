"""The classes of `kafka.errors` in each generation: bases, numbers, texts, and what may be tried again.

Owns the tables. The classes are made from them in `values.errors`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

__all__ = [
    "ERRORS_OF_1",
    "ERRORS_OF_2",
    "ERRORS_OF_3",
    "MORE_NAMES_OF_ERRORS_OF_1",
    "SAME_ERRORS",
    "ErrorClass",
    "Kind",
]


class Kind(Enum):
    """What a program can do about an error."""

    FINAL = "nothing: the same call would fail again"
    RETRIABLE = "try again"
    STALE = "try again, once the metadata were refreshed"
    UNAUTHORIZED = "nothing: the user may not do so"
    OUTDATED = "nothing, although the metadata are to be refreshed"


@dataclass(frozen=True)
class ErrorClass:
    """One class of kafka.errors."""

    name: str
    kind: Kind = Kind.FINAL
    errno: int | None = None
    """Kafka's error code."""
    message: str | None = None
    """Kafka's name for the code."""
    description: str | None = None
    parent: str = "BrokerResponseError"
    """The base class, where its kind does not have one of its own."""
    alias: str | None = None
    """Another name that the generation itself has for it."""


_FINAL, _RETRIABLE, _STALE, _UNAUTHORIZED, _OUTDATED = Kind


def _of_the_client(name: str, kind: Kind = Kind.FINAL, parent: str = "KafkaError") -> ErrorClass:
    return ErrorClass(name, kind, parent=parent)


_OF_THE_CLIENT = (
    _of_the_client("Cancelled", _RETRIABLE),
    _of_the_client("CommitFailedError"),
    _of_the_client("IllegalArgumentError"),
    _of_the_client("IllegalStateError"),
    _of_the_client("KafkaConfigurationError"),
    _of_the_client("KafkaConnectionError", _STALE),
    _of_the_client("KafkaProtocolError"),
    _of_the_client("CorrelationIdError", _RETRIABLE, parent="KafkaProtocolError"),
    _of_the_client("InvalidReceiveError", parent="KafkaProtocolError"),
    _of_the_client("KafkaTimeoutError", _RETRIABLE),
    _of_the_client("MetadataEmptyBrokerList", _RETRIABLE),
    _of_the_client("NoOffsetForPartitionError"),
    _of_the_client("LogTruncationError"),
    _of_the_client("NodeNotReadyError", _RETRIABLE),
    _of_the_client("UnknownBrokerIdError"),
    _of_the_client("QuotaViolationError"),
    _of_the_client("StaleMetadata", _STALE),
    _of_the_client("TooManyInFlightRequests", _RETRIABLE),
    _of_the_client("UnrecognizedBrokerVersion"),
    _of_the_client("UnsupportedCodecError"),
    replace(_of_the_client("TransactionAbortedError"), message="Failing batch since transaction was aborted"),
    _of_the_client("BrokerResponseError"),
    _of_the_client("AuthorizationError", parent="BrokerResponseError"),
    _of_the_client("IncompatibleBrokerVersion", parent="UnsupportedVersionError"),
)

_OF_BROKERS = (
    ErrorClass("NoError", _FINAL, 0, "NO_ERROR", "No error--it worked!"),
    ErrorClass("UnknownError", _FINAL, -1, "UNKNOWN", "An unexpected server error."),
    ErrorClass(
        *("OffsetOutOfRangeError", _FINAL, 1, "OFFSET_OUT_OF_RANGE"),
        "The requested offset is outside the range of offsets maintained by the server for the given "
        "topic/partition.",
    ),
    ErrorClass(
        *("CorruptRecordError", _FINAL, 2, "CORRUPT_MESSAGE"),
        "This message has failed its CRC checksum, exceeds the valid size, or is otherwise corrupt.",
        alias="CorruptRecordException",
    ),
    ErrorClass(
        *("UnknownTopicOrPartitionError", _STALE, 3, "UNKNOWN_TOPIC_OR_PARTITION"),
        "This request is for a topic or partition that does not exist on this broker.",
    ),
    ErrorClass(
        *("InvalidFetchRequestError", _FINAL, 4, "INVALID_FETCH_SIZE"),
        "The message has a negative size.",
    ),
    ErrorClass(
        *("LeaderNotAvailableError", _STALE, 5, "LEADER_NOT_AVAILABLE"),
        "This error is thrown if we are in the middle of a leadership election and there is currently "
        "no leader for this partition and hence it is unavailable for writes.",
    ),
    ErrorClass(
        *("NotLeaderForPartitionError", _STALE, 6, "NOT_LEADER_FOR_PARTITION"),
        "This error is thrown if the client attempts to send messages to a replica that is not the "
        "leader for some partition. It indicates that the clients metadata is out of date.",
    ),
    ErrorClass(
        *("RequestTimedOutError", _RETRIABLE, 7, "REQUEST_TIMED_OUT"),
        "This error is thrown if the request exceeds the user-specified time limit in the request.",
    ),
    ErrorClass(
        *("BrokerNotAvailableError", _FINAL, 8, "BROKER_NOT_AVAILABLE"),
        "This is not a client facing error and is used mostly by tools when a broker is not alive.",
    ),
    ErrorClass(
        *("ReplicaNotAvailableError", _STALE, 9, "REPLICA_NOT_AVAILABLE"),
        "If replica is expected on a broker, but is not (this can be safely ignored).",
    ),
    ErrorClass(
        *("MessageSizeTooLargeError", _FINAL, 10, "MESSAGE_SIZE_TOO_LARGE"),
        "The server has a configurable maximum message size to avoid unbounded memory allocation. This "
        "error is thrown if the client attempt to produce a message larger than this maximum.",
    ),
    ErrorClass(
        *("StaleControllerEpochError", _FINAL, 11, "STALE_CONTROLLER_EPOCH"),
        "Internal error code for broker-to-broker communication.",
    ),
    ErrorClass(
        *("OffsetMetadataTooLargeError", _FINAL, 12, "OFFSET_METADATA_TOO_LARGE"),
        "If you specify a string larger than configured maximum for offset metadata.",
    ),
    ErrorClass("NetworkExceptionError", _STALE, 13, "NETWORK_EXCEPTION", None),
    ErrorClass(
        *("CoordinatorLoadInProgressError", _RETRIABLE, 14, "COORDINATOR_LOAD_IN_PROGRESS"),
        "The broker returns this error code for txn or group requests, when the coordinator is loading "
        "and hence cant process requests",
    ),
    ErrorClass(
        *("CoordinatorNotAvailableError", _RETRIABLE, 15, "COORDINATOR_NOT_AVAILABLE"),
        "The broker returns this error code for consumer and transaction requests if the offsets topic "
        "has not yet been created, or if the group/txn coordinator is not active.",
    ),
    ErrorClass(
        *("NotCoordinatorError", _RETRIABLE, 16, "NOT_COORDINATOR"),
        "The broker returns this error code if it is not the correct coordinator for the specified "
        "consumer or transaction group",
    ),
    ErrorClass(
        *("InvalidTopicError", _FINAL, 17, "INVALID_TOPIC"),
        "For a request which attempts to access an invalid topic (e.g. one which has an illegal name), "
        "or if an attempt is made to write to an internal topic (such as the consumer offsets topic).",
    ),
    ErrorClass(
        *("RecordListTooLargeError", _FINAL, 18, "RECORD_LIST_TOO_LARGE"),
        "If a message batch in a produce request exceeds the maximum configured segment size.",
    ),
    ErrorClass(
        *("NotEnoughReplicasError", _RETRIABLE, 19, "NOT_ENOUGH_REPLICAS"),
        "Returned from a produce request when the number of in-sync replicas is lower than the "
        "configured minimum and requiredAcks is -1.",
    ),
    ErrorClass(
        *("NotEnoughReplicasAfterAppendError", _RETRIABLE, 20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        "Returned from a produce request when the message was written to the log, but with fewer in-"
        "sync replicas than required.",
    ),
    ErrorClass(
        *("InvalidRequiredAcksError", _FINAL, 21, "INVALID_REQUIRED_ACKS"),
        "Returned from a produce request if the requested requiredAcks is invalid (anything other than "
        "-1, 1, or 0).",
    ),
    ErrorClass(
        *("IllegalGenerationError", _FINAL, 22, "ILLEGAL_GENERATION"),
        "Returned from group membership requests (such as heartbeats) when the generation id provided "
        "in the request is not the current generation.",
    ),
    ErrorClass(
        *("InconsistentGroupProtocolError", _FINAL, 23, "INCONSISTENT_GROUP_PROTOCOL"),
        "Returned in join group when the member provides a protocol type or set of protocols which is "
        "not compatible with the current group.",
    ),
    ErrorClass(
        *("InvalidGroupIdError", _FINAL, 24, "INVALID_GROUP_ID"),
        "Returned in join group when the groupId is empty or null.",
    ),
    ErrorClass(
        *("UnknownMemberIdError", _FINAL, 25, "UNKNOWN_MEMBER_ID"),
        "Returned from group requests (offset commits/fetches, heartbeats, etc) when the memberId is "
        "not in the current generation.",
    ),
    ErrorClass(
        *("InvalidSessionTimeoutError", _FINAL, 26, "INVALID_SESSION_TIMEOUT"),
        "Return in join group when the requested session timeout is outside of the allowed range on the"
        " broker",
    ),
    ErrorClass(
        *("RebalanceInProgressError", _FINAL, 27, "REBALANCE_IN_PROGRESS"),
        "Returned in heartbeat requests when the coordinator has begun rebalancing the group. This "
        "indicates to the client that it should rejoin the group.",
    ),
    ErrorClass(
        *("InvalidCommitOffsetSizeError", _FINAL, 28, "INVALID_COMMIT_OFFSET_SIZE"),
        "This error indicates that an offset commit was rejected because of oversize metadata.",
    ),
    ErrorClass(
        *("TopicAuthorizationFailedError", _UNAUTHORIZED, 29, "TOPIC_AUTHORIZATION_FAILED"),
        "Returned by the broker when the client is not authorized to access the requested topic.",
    ),
    ErrorClass(
        *("GroupAuthorizationFailedError", _UNAUTHORIZED, 30, "GROUP_AUTHORIZATION_FAILED"),
        "Returned by the broker when the client is not authorized to access a particular groupId.",
    ),
    ErrorClass(
        *("ClusterAuthorizationFailedError", _UNAUTHORIZED, 31, "CLUSTER_AUTHORIZATION_FAILED"),
        "Returned by the broker when the client is not authorized to use an inter-broker or "
        "administrative API.",
    ),
    ErrorClass(
        *("InvalidTimestampError", _FINAL, 32, "INVALID_TIMESTAMP"),
        "The timestamp of the message is out of acceptable range.",
    ),
    ErrorClass(
        *("UnsupportedSaslMechanismError", _FINAL, 33, "UNSUPPORTED_SASL_MECHANISM"),
        "The broker does not support the requested SASL mechanism.",
    ),
    ErrorClass(
        *("IllegalSaslStateError", _FINAL, 34, "ILLEGAL_SASL_STATE"),
        "Request is not valid given the current SASL state.",
    ),
    ErrorClass(
        *("UnsupportedVersionError", _FINAL, 35, "UNSUPPORTED_VERSION"),
        "The version of API is not supported.",
    ),
    ErrorClass(
        *("TopicAlreadyExistsError", _FINAL, 36, "TOPIC_ALREADY_EXISTS"),
        "Topic with this name already exists.",
    ),
    ErrorClass(
        *("InvalidPartitionsError", _FINAL, 37, "INVALID_PARTITIONS"),
        "Number of partitions is invalid.",
    ),
    ErrorClass(
        *("InvalidReplicationFactorError", _FINAL, 38, "INVALID_REPLICATION_FACTOR"),
        "Replication-factor is invalid.",
    ),
    ErrorClass(
        *("InvalidReplicationAssignmentError", _FINAL, 39, "INVALID_REPLICATION_ASSIGNMENT"),
        "Replication assignment is invalid.",
    ),
    ErrorClass("InvalidConfigurationError", _FINAL, 40, "INVALID_CONFIG", "Configuration is invalid."),
    ErrorClass(
        *("NotControllerError", _RETRIABLE, 41, "NOT_CONTROLLER"),
        "This is not the correct controller for this cluster.",
    ),
    ErrorClass(
        *("InvalidRequestError", _FINAL, 42, "INVALID_REQUEST"),
        "This most likely occurs because of a request being malformed by the client library or the "
        "message was sent to an incompatible broker. See the broker logs for more details.",
    ),
    ErrorClass(
        *("UnsupportedForMessageFormatError", _FINAL, 43, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
        "The message format version on the broker does not support this request.",
    ),
    ErrorClass(
        *("PolicyViolationError", _FINAL, 44, "POLICY_VIOLATION"),
        "Request parameters do not satisfy the configured policy.",
    ),
    ErrorClass(
        *("OutOfOrderSequenceNumberError", _FINAL, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        "The broker received an out of order sequence number.",
    ),
    ErrorClass(
        *("DuplicateSequenceNumberError", _FINAL, 46, "DUPLICATE_SEQUENCE_NUMBER"),
        "The broker received a duplicate sequence number.",
    ),
    ErrorClass(
        *("InvalidProducerEpochError", _FINAL, 47, "INVALID_PRODUCER_EPOCH"),
        "Producer attempted to produce with an old epoch.",
    ),
    ErrorClass(
        *("InvalidTxnStateError", _FINAL, 48, "INVALID_TXN_STATE"),
        "The producer attempted a transactional operation in an invalid state.",
    ),
    ErrorClass(
        *("InvalidProducerIdMappingError", _FINAL, 49, "INVALID_PRODUCER_ID_MAPPING"),
        "The producer attempted to use a producer id which is not currently assigned to its "
        "transactional id.",
    ),
    ErrorClass(
        *("InvalidTransactionTimeoutError", _FINAL, 50, "INVALID_TRANSACTION_TIMEOUT"),
        "The transaction timeout is larger than the maximum value allowed by the broker (as configured "
        "by transaction.max.timeout.ms).",
    ),
    ErrorClass(
        *("ConcurrentTransactionsError", _RETRIABLE, 51, "CONCURRENT_TRANSACTIONS"),
        "The producer attempted to update a transaction while another concurrent operation on the same "
        "transaction was ongoing.",
    ),
    ErrorClass(
        *("TransactionCoordinatorFencedError", _FINAL, 52, "TRANSACTION_COORDINATOR_FENCED"),
        "Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the current "
        "coordinator for a given producer.",
    ),
    ErrorClass(
        *(
            "TransactionalIdAuthorizationFailedError",
            _UNAUTHORIZED,
            53,
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        ),
        "Transactional Id authorization failed.",
    ),
    ErrorClass("SecurityDisabledError", _FINAL, 54, "SECURITY_DISABLED", "Security features are disabled."),
    ErrorClass(
        *("OperationNotAttemptedError", _FINAL, 55, "OPERATION_NOT_ATTEMPTED"),
        "The broker did not attempt to execute this operation. This may happen for batched RPCs where "
        "some operations in the batch failed, causing the broker to respond without trying the rest.",
    ),
    ErrorClass(
        *("KafkaStorageError", _STALE, 56, "KAFKA_STORAGE_ERROR"),
        "Disk error when trying to access log file on the disk.",
    ),
    ErrorClass(
        *("LogDirNotFoundError", _FINAL, 57, "LOG_DIR_NOT_FOUND"),
        "The user-specified log directory is not found in the broker config.",
    ),
    ErrorClass(
        *("SaslAuthenticationFailedError", _FINAL, 58, "SASL_AUTHENTICATION_FAILED"),
        "SASL Authentication failed.",
    ),
    ErrorClass(
        *("UnknownProducerIdError", _FINAL, 59, "UNKNOWN_PRODUCER_ID"),
        "This exception is raised by the broker if it could not locate the producer metadata associated"
        " with the producerId in question. This could happen if, for instance, the producer's records "
        "were deleted because their retention time had elapsed. Once the last records of the producerId"
        " are removed, the producer's metadata is removed from the broker, and future appends by the "
        "producer will return this exception.",
    ),
    ErrorClass(
        *("ReassignmentInProgressError", _FINAL, 60, "REASSIGNMENT_IN_PROGRESS"),
        "A partition reassignment is in progress.",
    ),
    ErrorClass(
        *("DelegationTokenAuthDisabledError", _FINAL, 61, "DELEGATION_TOKEN_AUTH_DISABLED"),
        "Delegation Token feature is not enabled.",
    ),
    ErrorClass(
        *("DelegationTokenNotFoundError", _FINAL, 62, "DELEGATION_TOKEN_NOT_FOUND"),
        "Delegation Token is not found on server.",
    ),
    ErrorClass(
        *("DelegationTokenOwnerMismatchError", _FINAL, 63, "DELEGATION_TOKEN_OWNER_MISMATCH"),
        "Specified Principal is not valid Owner/Renewer.",
    ),
    ErrorClass(
        *("DelegationTokenRequestNotAllowedError", _FINAL, 64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation "
        "token authenticated channels.",
    ),
    ErrorClass(
        *(
            "DelegationTokenAuthorizationFailedError",
            _UNAUTHORIZED,
            65,
            "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        ),
        "Delegation Token authorization failed.",
    ),
    ErrorClass(
        *("DelegationTokenExpiredError", _FINAL, 66, "DELEGATION_TOKEN_EXPIRED"),
        "Delegation Token is expired.",
    ),
    ErrorClass(
        *("InvalidPrincipalTypeError", _FINAL, 67, "INVALID_PRINCIPAL_TYPE"),
        "Supplied principalType is not supported.",
    ),
    ErrorClass("NonEmptyGroupError", _FINAL, 68, "NON_EMPTY_GROUP", "The group is not empty."),
    ErrorClass("GroupIdNotFoundError", _FINAL, 69, "GROUP_ID_NOT_FOUND", "The group id does not exist."),
    ErrorClass(
        *("FetchSessionIdNotFoundError", _RETRIABLE, 70, "FETCH_SESSION_ID_NOT_FOUND"),
        "The fetch session ID was not found.",
    ),
    ErrorClass(
        *("InvalidFetchSessionEpochError", _RETRIABLE, 71, "INVALID_FETCH_SESSION_EPOCH"),
        "The fetch session epoch is invalid.",
    ),
    ErrorClass(
        *("ListenerNotFoundError", _STALE, 72, "LISTENER_NOT_FOUND"),
        "There is no listener on the leader broker that matches the listener on which metadata request "
        "was processed.",
    ),
    ErrorClass(
        *("TopicDeletionDisabledError", _FINAL, 73, "TOPIC_DELETION_DISABLED"),
        "Topic deletion is disabled.",
    ),
    ErrorClass(
        *("FencedLeaderEpochError", _STALE, 74, "FENCED_LEADER_EPOCH"),
        "The leader epoch in the request is older than the epoch on the broker.",
    ),
    ErrorClass(
        *("UnknownLeaderEpochError", _STALE, 75, "UNKNOWN_LEADER_EPOCH"),
        "The leader epoch in the request is newer than the epoch on the broker.",
    ),
    ErrorClass(
        *("UnsupportedCompressionTypeError", _FINAL, 76, "UNSUPPORTED_COMPRESSION_TYPE"),
        "The requesting client does not support the compression type of given partition.",
    ),
    ErrorClass("StaleBrokerEpochError", _FINAL, 77, "STALE_BROKER_EPOCH", "Broker epoch has changed."),
    ErrorClass(
        *("OffsetNotAvailableError", _RETRIABLE, 78, "OFFSET_NOT_AVAILABLE"),
        "The leader high watermark has not caught up from a recent leader election so the offsets "
        "cannot be guaranteed to be monotonically increasing.",
    ),
    ErrorClass(
        *("MemberIdRequiredError", _FINAL, 79, "MEMBER_ID_REQUIRED"),
        "The group member needs to have a valid member id before actually entering a consumer group.",
    ),
    ErrorClass(
        *("PreferredLeaderNotAvailableError", _STALE, 80, "PREFERRED_LEADER_NOT_AVAILABLE"),
        "The preferred leader was not available.",
    ),
    ErrorClass(
        *("GroupMaxSizeReachedError", _FINAL, 81, "GROUP_MAX_SIZE_REACHED"),
        "The consumer group has reached its max size.",
    ),
    ErrorClass(
        *("FencedInstanceIdError", _FINAL, 82, "FENCED_INSTANCE_ID"),
        "The broker rejected this static consumer since another consumer with the same "
        "group.instance.id has registered with a different member.id.",
    ),
    ErrorClass(
        *("EligibleLeadersNotAvailableError", _STALE, 83, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        "Eligible topic partition leaders are not available.",
    ),
    ErrorClass(
        *("ElectionNotNeededError", _STALE, 84, "ELECTION_NOT_NEEDED"),
        "Leader election not needed for topic partition.",
    ),
    ErrorClass(
        *("NoReassignmentInProgressError", _FINAL, 85, "NO_REASSIGNMENT_IN_PROGRESS"),
        "No partition reassignment is in progress.",
    ),
    ErrorClass(
        *("GroupSubscribedToTopicError", _FINAL, 86, "GROUP_SUBSCRIBED_TO_TOPIC"),
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
    ),
    ErrorClass(
        *("InvalidRecordError", _FINAL, 87, "INVALID_RECORD"),
        "This record has failed the validation on broker and hence will be rejected.",
    ),
    ErrorClass(
        *("UnstableOffsetCommitError", _RETRIABLE, 88, "UNSTABLE_OFFSET_COMMIT"),
        "There are unstable offsets that need to be cleared.",
    ),
    ErrorClass(
        *("ThrottlingQuotaExceededError", _RETRIABLE, 89, "THROTTLING_QUOTA_EXCEEDED"),
        "The throttling quota has been exceeded.",
    ),
    ErrorClass(
        *("ProducerFencedError", _FINAL, 90, "PRODUCER_FENCED"),
        "There is a newer producer with the same transactionalId which fences the current one.",
    ),
    ErrorClass(
        *("ResourceNotFoundError", _FINAL, 91, "RESOURCE_NOT_FOUND"),
        "A request illegally referred to a resource that does not exist.",
    ),
    ErrorClass(
        *("DuplicateResourceError", _FINAL, 92, "DUPLICATE_RESOURCE"),
        "A request illegally referred to the same resource twice.",
    ),
    ErrorClass(
        *("UnacceptableCredentialError", _FINAL, 93, "UNACCEPTABLE_CREDENTIAL"),
        "Requested credential would not meet criteria for acceptability.",
    ),
    ErrorClass(
        *("InconsistentVoterSetError", _FINAL, 94, "INCONSISTENT_VOTER_SET"),
        "Indicates that the either the sender or recipient of a voter-only request is not one of the "
        "expected voters.",
    ),
    ErrorClass(
        *("InvalidUpdateVersionError", _FINAL, 95, "INVALID_UPDATE_VERSION"),
        "The given update version was invalid.",
    ),
    ErrorClass(
        *("FeatureUpdateFailedError", _FINAL, 96, "FEATURE_UPDATE_FAILED"),
        "Unable to update finalized features due to an unexpected server error.",
    ),
    ErrorClass(
        *("PrincipalDeserializationFailureError", _FINAL, 97, "PRINCIPAL_DESERIALIZATION_FAILURE"),
        "Request principal deserialization failed during forwarding. This indicates an internal error "
        "on the broker cluster security setup.",
    ),
    ErrorClass(
        *("SnapshotNotFoundError", _FINAL, 98, "SNAPSHOT_NOT_FOUND"),
        "Requested snapshot was not found.",
    ),
    ErrorClass(
        *("PositionOutOfRangeError", _FINAL, 99, "POSITION_OUT_OF_RANGE"),
        "Requested position is not greater than or equal to zero, and less than the size of the snapshot.",
    ),
    ErrorClass(
        *("UnknownTopicIdError", _STALE, 100, "UNKNOWN_TOPIC_ID"),
        "This server does not host this topic ID.",
    ),
    ErrorClass(
        *("DuplicateBrokerRegistrationError", _FINAL, 101, "DUPLICATE_BROKER_REGISTRATION"),
        "This broker ID is already in use.",
    ),
    ErrorClass(
        *("BrokerIdNotRegisteredError", _FINAL, 102, "BROKER_ID_NOT_REGISTERED"),
        "The given broker ID was not registered.",
    ),
    ErrorClass(
        *("InconsistentTopicIdError", _STALE, 103, "INCONSISTENT_TOPIC_ID"),
        "The log's topic ID did not match the topic ID in the request.",
    ),
    ErrorClass(
        *("InconsistentClusterIdError", _FINAL, 104, "INCONSISTENT_CLUSTER_ID"),
        "The clusterId in the request does not match that found on the server.",
    ),
    ErrorClass(
        *("TransactionalIdNotFoundError", _FINAL, 105, "TRANSACTIONAL_ID_NOT_FOUND"),
        "The transactionalId could not be found.",
    ),
    ErrorClass(
        *("FetchSessionTopicIdError", _RETRIABLE, 106, "FETCH_SESSION_TOPIC_ID_ERROR"),
        "The fetch session encountered inconsistent topic ID usage.",
    ),
    ErrorClass(
        *("IneligibleReplicaError", _FINAL, 107, "INELIGIBLE_REPLICA"),
        "The new ISR contains at least one ineligible replica.",
    ),
    ErrorClass(
        *("NewLeaderElectedError", _FINAL, 108, "NEW_LEADER_ELECTED"),
        "The AlterPartition request successfully updated the partition state but the leader has changed.",
    ),
    ErrorClass(
        *("OffsetMovedToTieredStorageError", _FINAL, 109, "OFFSET_MOVED_TO_TIERED_STORAGE"),
        "The requested offset is moved to tiered storage.",
    ),
    ErrorClass(
        *("FencedMemberEpochError", _FINAL, 110, "FENCED_MEMBER_EPOCH"),
        "The member epoch is fenced by the group coordinator. The member must abandon all its "
        "partitions and rejoin.",
    ),
    ErrorClass(
        *("UnreleasedInstanceIdError", _FINAL, 111, "UNRELEASED_INSTANCE_ID"),
        "The instance ID is still used by another member in the consumer group. That member must leave "
        "first.",
    ),
    ErrorClass(
        *("UnsupportedAssignorError", _FINAL, 112, "UNSUPPORTED_ASSIGNOR"),
        "The assignor or its version range is not supported by the consumer group.",
    ),
    ErrorClass(
        *("StaleMemberEpochError", _FINAL, 113, "STALE_MEMBER_EPOCH"),
        "The member epoch is stale. The member must retry after receiving its updated member epoch via "
        "the ConsumerGroupHeartbeat API.",
    ),
    ErrorClass(
        *("MismatchedEndpointTypeError", _FINAL, 114, "MISMATCHED_ENDPOINT_TYPE"),
        "The request was sent to an endpoint of the wrong type.",
    ),
    ErrorClass(
        *("UnsupportedEndpointTypeError", _FINAL, 115, "UNSUPPORTED_ENDPOINT_TYPE"),
        "This endpoint type is not supported yet.",
    ),
    ErrorClass(
        *("UnknownControllerIdError", _FINAL, 116, "UNKNOWN_CONTROLLER_ID"),
        "This controller ID is not known.",
    ),
    ErrorClass(
        *("UnknownSubscriptionIdError", _FINAL, 117, "UNKNOWN_SUBSCRIPTION_ID"),
        "Client sent a push telemetry request with an invalid or outdated subscription ID.",
    ),
    ErrorClass(
        *("TelemetryTooLargeError", _FINAL, 118, "TELEMETRY_TOO_LARGE"),
        "Client sent a push telemetry request larger than the maximum size the broker will accept.",
    ),
    ErrorClass(
        *("InvalidRegistrationError", _FINAL, 119, "INVALID_REGISTRATION"),
        "The controller has considered the broker registration to be invalid.",
    ),
    ErrorClass(
        *("TransactionAbortableError", _FINAL, 120, "TRANSACTION_ABORTABLE"),
        "The server encountered an error with the transaction. The client can abort the transaction to "
        "continue using this transactional ID.",
    ),
    ErrorClass(
        *("InvalidRecordStateError", _FINAL, 121, "INVALID_RECORD_STATE"),
        "The record state is invalid. The acknowledgement of delivery could not be completed.",
    ),
    ErrorClass(
        *("ShareSessionNotFoundError", _RETRIABLE, 122, "SHARE_SESSION_NOT_FOUND"),
        "The share session was not found.",
    ),
    ErrorClass(
        *("InvalidShareSessionEpochError", _RETRIABLE, 123, "INVALID_SHARE_SESSION_EPOCH"),
        "The share session epoch is invalid.",
    ),
    ErrorClass(
        *("FencedStateEpochError", _FINAL, 124, "FENCED_STATE_EPOCH"),
        "The share coordinator rejected the request because the share-group state epoch did not match.",
    ),
    ErrorClass(
        *("InvalidVoterKeyError", _FINAL, 125, "INVALID_VOTER_KEY"),
        "The voter key doesn't match the receiving replica's key.",
    ),
    ErrorClass(
        *("DuplicateVoterError", _FINAL, 126, "DUPLICATE_VOTER"),
        "The voter is already part of the set of voters.",
    ),
    ErrorClass(
        *("VoterNotFoundError", _FINAL, 127, "VOTER_NOT_FOUND"),
        "The voter is not part of the set of voters.",
    ),
)

ERRORS_OF_3 = (
    _of_the_client("KafkaError", parent="Exception"),
    _of_the_client("RetriableError", _RETRIABLE),
    _of_the_client("InvalidMetadataError", _STALE, parent="RetriableError"),
    *_OF_THE_CLIENT,
    *_OF_BROKERS,
)
"""Here kinds are base classes: RetriableError, InvalidMetadataError and AuthorizationError."""


def _changed(table: tuple[ErrorClass, ...], *changes: ErrorClass) -> tuple[ErrorClass, ...]:
    """The table with other rows of the same names, and with those that it did not have."""
    rows = {row.name: row for row in table}
    return tuple({**rows, **{change.name: change for change in changes}}.values())


_NOT_IN_2 = {
    *("InvalidMetadataError", "InvalidReceiveError", "LogTruncationError", "RetriableError"),
    "UnknownBrokerIdError",
}
ERRORS_OF_2 = _changed(
    tuple(row for row in ERRORS_OF_3 if row.name not in _NOT_IN_2),
    _of_the_client("KafkaError", parent="RuntimeError"),
    _of_the_client("KafkaProtocolError", _RETRIABLE),
    _of_the_client("IncompatibleBrokerVersion"),
    _of_the_client("NoBrokersAvailable", _STALE),
    _of_the_client("TransactionAbortedError"),
)
"""Here RETRIABLE and STALE are attributes only."""

_NAMES_OF_THE_CLIENT_IN_1 = {
    *("KafkaError", "IllegalStateError", "IllegalArgumentError", "NoBrokersAvailable", "NodeNotReadyError"),
    *("Cancelled", "TooManyInFlightRequests", "StaleMetadata", "UnrecognizedBrokerVersion"),
    *("CommitFailedError", "BrokerResponseError", "UnsupportedCodecError", "KafkaConfigurationError"),
    "QuotaViolationError",
}
_NAMED_OTHERWISE_IN_1 = {2, 13, 14, 15, 16}
_LAST_CODE_OF_1 = 32
_OF_BROKERS_BY_CODE = {row.errno: row for row in _OF_BROKERS}

ERRORS_OF_1 = _changed(
    (
        *(row for row in ERRORS_OF_2 if row.name in _NAMES_OF_THE_CLIENT_IN_1),
        *(
            replace(row, kind=_FINAL) if row.kind is _UNAUTHORIZED else row
            for row in _OF_BROKERS
            if row.errno is not None
            and row.errno <= _LAST_CODE_OF_1
            and row.errno not in _NAMED_OTHERWISE_IN_1
        ),
    ),
    _of_the_client("CorrelationIdError", _RETRIABLE),
    _of_the_client("KafkaUnavailableError"),
    _of_the_client("KafkaTimeoutError"),
    _of_the_client("FailedPayloadsError"),
    _of_the_client("ConnectionError", _STALE),
    _of_the_client("BufferUnderflowError"),
    _of_the_client("ChecksumError"),
    _of_the_client("ConsumerFetchSizeTooSmall"),
    _of_the_client("ConsumerNoMoreData"),
    _of_the_client("ConsumerTimeout"),
    _of_the_client("ProtocolError"),
    _of_the_client("AsyncProducerQueueFull"),
    replace(_OF_BROKERS_BY_CODE[2], name="InvalidMessageError", message="INVALID_MESSAGE", alias=None),
    replace(
        # The original's spelling, which programs may look for.
        _OF_BROKERS_BY_CODE[3],
        kind=_OUTDATED,
        message="UNKNOWN_TOPIC_OR_PARTITON",
    ),
    replace(_OF_BROKERS_BY_CODE[9], kind=_FINAL),
    ErrorClass("StaleLeaderEpochCodeError", _FINAL, 13, "STALE_LEADER_EPOCH_CODE"),
    ErrorClass(
        *("GroupLoadInProgressError", _RETRIABLE, 14, "OFFSETS_LOAD_IN_PROGRESS"),
        "The broker returns this error code for an offset fetch request if it is still loading offsets "
        "(after a leader change for that offsets topic partition), or in response to group membership "
        "requests (such as heartbeats) when group metadata is being loaded by the coordinator.",
    ),
    ErrorClass(
        *("GroupCoordinatorNotAvailableError", _RETRIABLE, 15, "CONSUMER_COORDINATOR_NOT_AVAILABLE"),
        "The broker returns this error code for group coordinator requests, offset commits, and most "
        "group management requests if the offsets topic has not yet been created, or if the group "
        "coordinator is not active.",
    ),
    ErrorClass(
        *("NotCoordinatorForGroupError", _RETRIABLE, 16, "NOT_COORDINATOR_FOR_CONSUMER"),
        "The broker returns this error code if it receives an offset fetch or commit request for a group "
        "that it is not a coordinator for.",
    ),
    replace(_OF_BROKERS_BY_CODE[19], kind=_FINAL),
    replace(_OF_BROKERS_BY_CODE[20], kind=_FINAL),
)

MORE_NAMES_OF_ERRORS_OF_1 = (
    *("RETRY_BACKOFF_ERROR_TYPES", "RETRY_ERROR_TYPES", "RETRY_REFRESH_ERROR_TYPES", "check_error"),
)

SAME_ERRORS = (
    ("ConnectionError", "KafkaConnectionError"),
    ("GroupCoordinatorNotAvailableError", "CoordinatorNotAvailableError"),
    ("GroupLoadInProgressError", "CoordinatorLoadInProgressError"),
    ("InvalidMessageError", "CorruptRecordError", "CorruptRecordException"),
    ("NoBrokersAvailable", "KafkaTimeoutError"),
    ("NotCoordinatorForGroupError", "NotCoordinatorError"),
    ("ProtocolError", "KafkaProtocolError"),
    ("StaleLeaderEpochCodeError", "NetworkExceptionError"),
)
"""Names of older and newer generations for what is raised in the same place. In a generation that has
only one of them, the others mean the same class, so that `except` meets it."""
