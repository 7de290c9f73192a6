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


def _of_brokers(table: str) -> tuple[ErrorClass, ...]:
    """Rows of a table: code, kind, Kafka's name, the class (and its alias), what it means. An indented
    line goes on with the one before it."""
    rows: list[ErrorClass] = []
    for line in table.strip().replace("\n  ", " ").splitlines():
        head, _, description = line.partition(": ")
        errno, kind, message, names = head.split()
        name, _, alias = names.partition("=")
        rows.append(
            ErrorClass(name, Kind[kind], int(errno), message, description or None, alias=alias or None)
        )
    return tuple(rows)


_OF_BROKERS = _of_brokers("""
0 FINAL NO_ERROR NoError: No error--it worked!
-1 FINAL UNKNOWN UnknownError: An unexpected server error.
1 FINAL OFFSET_OUT_OF_RANGE OffsetOutOfRangeError: The requested offset is outside the range of offsets
  maintained by the server for the given topic/partition.
2 FINAL CORRUPT_MESSAGE CorruptRecordError=CorruptRecordException: This message has failed its CRC checksum,
  exceeds the valid size, or is otherwise corrupt.
3 STALE UNKNOWN_TOPIC_OR_PARTITION UnknownTopicOrPartitionError: This request is for a topic or partition
  that does not exist on this broker.
4 FINAL INVALID_FETCH_SIZE InvalidFetchRequestError: The message has a negative size.
5 STALE LEADER_NOT_AVAILABLE LeaderNotAvailableError: This error is thrown if we are in the middle of a
  leadership election and there is currently no leader for this partition and hence it is unavailable for
  writes.
6 STALE NOT_LEADER_FOR_PARTITION NotLeaderForPartitionError: This error is thrown if the client attempts to
  send messages to a replica that is not the leader for some partition. It indicates that the clients
  metadata is out of date.
7 RETRIABLE REQUEST_TIMED_OUT RequestTimedOutError: This error is thrown if the request exceeds the
  user-specified time limit in the request.
8 FINAL BROKER_NOT_AVAILABLE BrokerNotAvailableError: This is not a client facing error and is used mostly
  by tools when a broker is not alive.
9 STALE REPLICA_NOT_AVAILABLE ReplicaNotAvailableError: If replica is expected on a broker, but is not (this
  can be safely ignored).
10 FINAL MESSAGE_SIZE_TOO_LARGE MessageSizeTooLargeError: The server has a configurable maximum message size
  to avoid unbounded memory allocation. This error is thrown if the client attempt to produce a message
  larger than this maximum.
11 FINAL STALE_CONTROLLER_EPOCH StaleControllerEpochError: Internal error code for broker-to-broker
  communication.
12 FINAL OFFSET_METADATA_TOO_LARGE OffsetMetadataTooLargeError: If you specify a string larger than
  configured maximum for offset metadata.
13 STALE NETWORK_EXCEPTION NetworkExceptionError
14 RETRIABLE COORDINATOR_LOAD_IN_PROGRESS CoordinatorLoadInProgressError: The broker returns this error code
  for txn or group requests, when the coordinator is loading and hence cant process requests
15 RETRIABLE COORDINATOR_NOT_AVAILABLE CoordinatorNotAvailableError: The broker returns this error code for
  consumer and transaction requests if the offsets topic has not yet been created, or if the group/txn
  coordinator is not active.
16 RETRIABLE NOT_COORDINATOR NotCoordinatorError: The broker returns this error code if it is not the
  correct coordinator for the specified consumer or transaction group
17 FINAL INVALID_TOPIC InvalidTopicError: For a request which attempts to access an invalid topic (e.g. one
  which has an illegal name), or if an attempt is made to write to an internal topic (such as the consumer
  offsets topic).
18 FINAL RECORD_LIST_TOO_LARGE RecordListTooLargeError: If a message batch in a produce request exceeds the
  maximum configured segment size.
19 RETRIABLE NOT_ENOUGH_REPLICAS NotEnoughReplicasError: Returned from a produce request when the number of
  in-sync replicas is lower than the configured minimum and requiredAcks is -1.
20 RETRIABLE NOT_ENOUGH_REPLICAS_AFTER_APPEND NotEnoughReplicasAfterAppendError: Returned from a produce
  request when the message was written to the log, but with fewer in-sync replicas than required.
21 FINAL INVALID_REQUIRED_ACKS InvalidRequiredAcksError: Returned from a produce request if the requested
  requiredAcks is invalid (anything other than -1, 1, or 0).
22 FINAL ILLEGAL_GENERATION IllegalGenerationError: Returned from group membership requests (such as
  heartbeats) when the generation id provided in the request is not the current generation.
23 FINAL INCONSISTENT_GROUP_PROTOCOL InconsistentGroupProtocolError: Returned in join group when the member
  provides a protocol type or set of protocols which is not compatible with the current group.
24 FINAL INVALID_GROUP_ID InvalidGroupIdError: Returned in join group when the groupId is empty or null.
25 FINAL UNKNOWN_MEMBER_ID UnknownMemberIdError: Returned from group requests (offset commits/fetches,
  heartbeats, etc) when the memberId is not in the current generation.
26 FINAL INVALID_SESSION_TIMEOUT InvalidSessionTimeoutError: Return in join group when the requested session
  timeout is outside of the allowed range on the broker
27 FINAL REBALANCE_IN_PROGRESS RebalanceInProgressError: Returned in heartbeat requests when the coordinator
  has begun rebalancing the group. This indicates to the client that it should rejoin the group.
28 FINAL INVALID_COMMIT_OFFSET_SIZE InvalidCommitOffsetSizeError: This error indicates that an offset commit
  was rejected because of oversize metadata.
29 UNAUTHORIZED TOPIC_AUTHORIZATION_FAILED TopicAuthorizationFailedError: Returned by the broker when the
  client is not authorized to access the requested topic.
30 UNAUTHORIZED GROUP_AUTHORIZATION_FAILED GroupAuthorizationFailedError: Returned by the broker when the
  client is not authorized to access a particular groupId.
31 UNAUTHORIZED CLUSTER_AUTHORIZATION_FAILED ClusterAuthorizationFailedError: Returned by the broker when
  the client is not authorized to use an inter-broker or administrative API.
32 FINAL INVALID_TIMESTAMP InvalidTimestampError: The timestamp of the message is out of acceptable range.
33 FINAL UNSUPPORTED_SASL_MECHANISM UnsupportedSaslMechanismError: The broker does not support the requested
  SASL mechanism.
34 FINAL ILLEGAL_SASL_STATE IllegalSaslStateError: Request is not valid given the current SASL state.
35 FINAL UNSUPPORTED_VERSION UnsupportedVersionError: The version of API is not supported.
36 FINAL TOPIC_ALREADY_EXISTS TopicAlreadyExistsError: Topic with this name already exists.
37 FINAL INVALID_PARTITIONS InvalidPartitionsError: Number of partitions is invalid.
38 FINAL INVALID_REPLICATION_FACTOR InvalidReplicationFactorError: Replication-factor is invalid.
39 FINAL INVALID_REPLICATION_ASSIGNMENT InvalidReplicationAssignmentError: Replication assignment is
  invalid.
40 FINAL INVALID_CONFIG InvalidConfigurationError: Configuration is invalid.
41 RETRIABLE NOT_CONTROLLER NotControllerError: This is not the correct controller for this cluster.
42 FINAL INVALID_REQUEST InvalidRequestError: This most likely occurs because of a request being malformed
  by the client library or the message was sent to an incompatible broker. See the broker logs for more
  details.
43 FINAL UNSUPPORTED_FOR_MESSAGE_FORMAT UnsupportedForMessageFormatError: The message format version on the
  broker does not support this request.
44 FINAL POLICY_VIOLATION PolicyViolationError: Request parameters do not satisfy the configured policy.
45 FINAL OUT_OF_ORDER_SEQUENCE_NUMBER OutOfOrderSequenceNumberError: The broker received an out of order
  sequence number.
46 FINAL DUPLICATE_SEQUENCE_NUMBER DuplicateSequenceNumberError: The broker received a duplicate sequence
  number.
47 FINAL INVALID_PRODUCER_EPOCH InvalidProducerEpochError: Producer attempted to produce with an old epoch.
48 FINAL INVALID_TXN_STATE InvalidTxnStateError: The producer attempted a transactional operation in an
  invalid state.
49 FINAL INVALID_PRODUCER_ID_MAPPING InvalidProducerIdMappingError: The producer attempted to use a producer
  id which is not currently assigned to its transactional id.
50 FINAL INVALID_TRANSACTION_TIMEOUT InvalidTransactionTimeoutError: The transaction timeout is larger than
  the maximum value allowed by the broker (as configured by transaction.max.timeout.ms).
51 RETRIABLE CONCURRENT_TRANSACTIONS ConcurrentTransactionsError: The producer attempted to update a
  transaction while another concurrent operation on the same transaction was ongoing.
52 FINAL TRANSACTION_COORDINATOR_FENCED TransactionCoordinatorFencedError: Indicates that the transaction
  coordinator sending a WriteTxnMarker is no longer the current coordinator for a given producer.
53 UNAUTHORIZED TRANSACTIONAL_ID_AUTHORIZATION_FAILED TransactionalIdAuthorizationFailedError: Transactional
  Id authorization failed.
54 FINAL SECURITY_DISABLED SecurityDisabledError: Security features are disabled.
55 FINAL OPERATION_NOT_ATTEMPTED OperationNotAttemptedError: The broker did not attempt to execute this
  operation. This may happen for batched RPCs where some operations in the batch failed, causing the broker
  to respond without trying the rest.
56 STALE KAFKA_STORAGE_ERROR KafkaStorageError: Disk error when trying to access log file on the disk.
57 FINAL LOG_DIR_NOT_FOUND LogDirNotFoundError: The user-specified log directory is not found in the broker
  config.
58 FINAL SASL_AUTHENTICATION_FAILED SaslAuthenticationFailedError: SASL Authentication failed.
59 FINAL UNKNOWN_PRODUCER_ID UnknownProducerIdError: This exception is raised by the broker if it could not
  locate the producer metadata associated with the producerId in question. This could happen if, for
  instance, the producer's records were deleted because their retention time had elapsed. Once the last
  records of the producerId are removed, the producer's metadata is removed from the broker, and future
  appends by the producer will return this exception.
60 FINAL REASSIGNMENT_IN_PROGRESS ReassignmentInProgressError: A partition reassignment is in progress.
61 FINAL DELEGATION_TOKEN_AUTH_DISABLED DelegationTokenAuthDisabledError: Delegation Token feature is not
  enabled.
62 FINAL DELEGATION_TOKEN_NOT_FOUND DelegationTokenNotFoundError: Delegation Token is not found on server.
63 FINAL DELEGATION_TOKEN_OWNER_MISMATCH DelegationTokenOwnerMismatchError: Specified Principal is not valid
  Owner/Renewer.
64 FINAL DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DelegationTokenRequestNotAllowedError: Delegation Token
  requests are not allowed on PLAINTEXT/1-way SSL channels and on delegation token authenticated channels.
65 UNAUTHORIZED DELEGATION_TOKEN_AUTHORIZATION_FAILED DelegationTokenAuthorizationFailedError: Delegation
  Token authorization failed.
66 FINAL DELEGATION_TOKEN_EXPIRED DelegationTokenExpiredError: Delegation Token is expired.
67 FINAL INVALID_PRINCIPAL_TYPE InvalidPrincipalTypeError: Supplied principalType is not supported.
68 FINAL NON_EMPTY_GROUP NonEmptyGroupError: The group is not empty.
69 FINAL GROUP_ID_NOT_FOUND GroupIdNotFoundError: The group id does not exist.
70 RETRIABLE FETCH_SESSION_ID_NOT_FOUND FetchSessionIdNotFoundError: The fetch session ID was not found.
71 RETRIABLE INVALID_FETCH_SESSION_EPOCH InvalidFetchSessionEpochError: The fetch session epoch is invalid.
72 STALE LISTENER_NOT_FOUND ListenerNotFoundError: There is no listener on the leader broker that matches
  the listener on which metadata request was processed.
73 FINAL TOPIC_DELETION_DISABLED TopicDeletionDisabledError: Topic deletion is disabled.
74 STALE FENCED_LEADER_EPOCH FencedLeaderEpochError: The leader epoch in the request is older than the epoch
  on the broker.
75 STALE UNKNOWN_LEADER_EPOCH UnknownLeaderEpochError: The leader epoch in the request is newer than the
  epoch on the broker.
76 FINAL UNSUPPORTED_COMPRESSION_TYPE UnsupportedCompressionTypeError: The requesting client does not
  support the compression type of given partition.
77 FINAL STALE_BROKER_EPOCH StaleBrokerEpochError: Broker epoch has changed.
78 RETRIABLE OFFSET_NOT_AVAILABLE OffsetNotAvailableError: The leader high watermark has not caught up from
  a recent leader election so the offsets cannot be guaranteed to be monotonically increasing.
79 FINAL MEMBER_ID_REQUIRED MemberIdRequiredError: The group member needs to have a valid member id before
  actually entering a consumer group.
80 STALE PREFERRED_LEADER_NOT_AVAILABLE PreferredLeaderNotAvailableError: The preferred leader was not
  available.
81 FINAL GROUP_MAX_SIZE_REACHED GroupMaxSizeReachedError: The consumer group has reached its max size.
82 FINAL FENCED_INSTANCE_ID FencedInstanceIdError: The broker rejected this static consumer since another
  consumer with the same group.instance.id has registered with a different member.id.
83 STALE ELIGIBLE_LEADERS_NOT_AVAILABLE EligibleLeadersNotAvailableError: Eligible topic partition leaders
  are not available.
84 STALE ELECTION_NOT_NEEDED ElectionNotNeededError: Leader election not needed for topic partition.
85 FINAL NO_REASSIGNMENT_IN_PROGRESS NoReassignmentInProgressError: No partition reassignment is in
  progress.
86 FINAL GROUP_SUBSCRIBED_TO_TOPIC GroupSubscribedToTopicError: Deleting offsets of a topic is forbidden
  while the consumer group is actively subscribed to it.
87 FINAL INVALID_RECORD InvalidRecordError: This record has failed the validation on broker and hence will
  be rejected.
88 RETRIABLE UNSTABLE_OFFSET_COMMIT UnstableOffsetCommitError: There are unstable offsets that need to be
  cleared.
89 RETRIABLE THROTTLING_QUOTA_EXCEEDED ThrottlingQuotaExceededError: The throttling quota has been exceeded.
90 FINAL PRODUCER_FENCED ProducerFencedError: There is a newer producer with the same transactionalId which
  fences the current one.
91 FINAL RESOURCE_NOT_FOUND ResourceNotFoundError: A request illegally referred to a resource that does not
  exist.
92 FINAL DUPLICATE_RESOURCE DuplicateResourceError: A request illegally referred to the same resource twice.
93 FINAL UNACCEPTABLE_CREDENTIAL UnacceptableCredentialError: Requested credential would not meet criteria
  for acceptability.
94 FINAL INCONSISTENT_VOTER_SET InconsistentVoterSetError: Indicates that the either the sender or recipient
  of a voter-only request is not one of the expected voters.
95 FINAL INVALID_UPDATE_VERSION InvalidUpdateVersionError: The given update version was invalid.
96 FINAL FEATURE_UPDATE_FAILED FeatureUpdateFailedError: Unable to update finalized features due to an
  unexpected server error.
97 FINAL PRINCIPAL_DESERIALIZATION_FAILURE PrincipalDeserializationFailureError: Request principal
  deserialization failed during forwarding. This indicates an internal error on the broker cluster security
  setup.
98 FINAL SNAPSHOT_NOT_FOUND SnapshotNotFoundError: Requested snapshot was not found.
99 FINAL POSITION_OUT_OF_RANGE PositionOutOfRangeError: Requested position is not greater than or equal to
  zero, and less than the size of the snapshot.
100 STALE UNKNOWN_TOPIC_ID UnknownTopicIdError: This server does not host this topic ID.
101 FINAL DUPLICATE_BROKER_REGISTRATION DuplicateBrokerRegistrationError: This broker ID is already in use.
102 FINAL BROKER_ID_NOT_REGISTERED BrokerIdNotRegisteredError: The given broker ID was not registered.
103 STALE INCONSISTENT_TOPIC_ID InconsistentTopicIdError: The log's topic ID did not match the topic ID in
  the request.
104 FINAL INCONSISTENT_CLUSTER_ID InconsistentClusterIdError: The clusterId in the request does not match
  that found on the server.
105 FINAL TRANSACTIONAL_ID_NOT_FOUND TransactionalIdNotFoundError: The transactionalId could not be found.
106 RETRIABLE FETCH_SESSION_TOPIC_ID_ERROR FetchSessionTopicIdError: The fetch session encountered
  inconsistent topic ID usage.
107 FINAL INELIGIBLE_REPLICA IneligibleReplicaError: The new ISR contains at least one ineligible replica.
108 FINAL NEW_LEADER_ELECTED NewLeaderElectedError: The AlterPartition request successfully updated the
  partition state but the leader has changed.
109 FINAL OFFSET_MOVED_TO_TIERED_STORAGE OffsetMovedToTieredStorageError: The requested offset is moved to
  tiered storage.
110 FINAL FENCED_MEMBER_EPOCH FencedMemberEpochError: The member epoch is fenced by the group coordinator.
  The member must abandon all its partitions and rejoin.
111 FINAL UNRELEASED_INSTANCE_ID UnreleasedInstanceIdError: The instance ID is still used by another member
  in the consumer group. That member must leave first.
112 FINAL UNSUPPORTED_ASSIGNOR UnsupportedAssignorError: The assignor or its version range is not supported
  by the consumer group.
113 FINAL STALE_MEMBER_EPOCH StaleMemberEpochError: The member epoch is stale. The member must retry after
  receiving its updated member epoch via the ConsumerGroupHeartbeat API.
114 FINAL MISMATCHED_ENDPOINT_TYPE MismatchedEndpointTypeError: The request was sent to an endpoint of the
  wrong type.
115 FINAL UNSUPPORTED_ENDPOINT_TYPE UnsupportedEndpointTypeError: This endpoint type is not supported yet.
116 FINAL UNKNOWN_CONTROLLER_ID UnknownControllerIdError: This controller ID is not known.
117 FINAL UNKNOWN_SUBSCRIPTION_ID UnknownSubscriptionIdError: Client sent a push telemetry request with an
  invalid or outdated subscription ID.
118 FINAL TELEMETRY_TOO_LARGE TelemetryTooLargeError: Client sent a push telemetry request larger than the
  maximum size the broker will accept.
119 FINAL INVALID_REGISTRATION InvalidRegistrationError: The controller has considered the broker
  registration to be invalid.
120 FINAL TRANSACTION_ABORTABLE TransactionAbortableError: The server encountered an error with the
  transaction. The client can abort the transaction to continue using this transactional ID.
121 FINAL INVALID_RECORD_STATE InvalidRecordStateError: The record state is invalid. The acknowledgement of
  delivery could not be completed.
122 RETRIABLE SHARE_SESSION_NOT_FOUND ShareSessionNotFoundError: The share session was not found.
123 RETRIABLE INVALID_SHARE_SESSION_EPOCH InvalidShareSessionEpochError: The share session epoch is invalid.
124 FINAL FENCED_STATE_EPOCH FencedStateEpochError: The share coordinator rejected the request because the
  share-group state epoch did not match.
125 FINAL INVALID_VOTER_KEY InvalidVoterKeyError: The voter key doesn't match the receiving replica's key.
126 FINAL DUPLICATE_VOTER DuplicateVoterError: The voter is already part of the set of voters.
127 FINAL VOTER_NOT_FOUND VoterNotFoundError: The voter is not part of the set of voters.
""")

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
