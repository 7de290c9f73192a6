"""librdkafka's error codes, by name, with the text that it has for each.

One table: the attributes of `ErrorCodes`. Knows nothing of errors as objects, nor of Barnabas' own.
"""

from __future__ import annotations

TEXTS: dict[int, str] = {}
"""What librdkafka says of each code."""


def _code(value: int, text: str) -> int:
    TEXTS[value] = text
    return value


class ErrorCodes:
    """The codes by librdkafka's names. Those with an underscore never come from a broker."""

    __slots__ = ()

    _BAD_MSG = _code(-199, "Local: Bad message format")
    _BAD_COMPRESSION = _code(-198, "Local: Invalid compressed data")
    _DESTROY = _code(-197, "Local: Broker handle destroyed for termination")
    _FAIL = _code(-196, "Local: Communication failure with broker")
    _TRANSPORT = _code(-195, "Local: Broker transport failure")
    _CRIT_SYS_RESOURCE = _code(-194, "Local: Critical system resource failure")
    _RESOLVE = _code(-193, "Local: Host resolution failure")
    _MSG_TIMED_OUT = _code(-192, "Local: Message timed out")
    _PARTITION_EOF = _code(-191, "Broker: No more messages")
    _UNKNOWN_PARTITION = _code(-190, "Local: Unknown partition")
    _FS = _code(-189, "Local: File or filesystem error")
    _UNKNOWN_TOPIC = _code(-188, "Local: Unknown topic")
    _ALL_BROKERS_DOWN = _code(-187, "Local: All broker connections are down")
    _INVALID_ARG = _code(-186, "Local: Invalid argument or configuration")
    _TIMED_OUT = _code(-185, "Local: Timed out")
    _QUEUE_FULL = _code(-184, "Local: Queue full")
    _ISR_INSUFF = _code(-183, "Local: ISR count insufficient")
    _NODE_UPDATE = _code(-182, "Local: Broker node update")
    _SSL = _code(-181, "Local: SSL error")
    _WAIT_COORD = _code(-180, "Local: Waiting for coordinator")
    _UNKNOWN_GROUP = _code(-179, "Local: Unknown group")
    _IN_PROGRESS = _code(-178, "Local: Operation in progress")
    _PREV_IN_PROGRESS = _code(-177, "Local: Previous operation in progress")
    _EXISTING_SUBSCRIPTION = _code(-176, "Local: Existing subscription")
    _ASSIGN_PARTITIONS = _code(-175, "Local: Assign partitions")
    _REVOKE_PARTITIONS = _code(-174, "Local: Revoke partitions")
    _CONFLICT = _code(-173, "Local: Conflicting use")
    _STATE = _code(-172, "Local: Erroneous state")
    _UNKNOWN_PROTOCOL = _code(-171, "Local: Unknown protocol")
    _NOT_IMPLEMENTED = _code(-170, "Local: Not implemented")
    _AUTHENTICATION = _code(-169, "Local: Authentication failure")
    _NO_OFFSET = _code(-168, "Local: No offset stored")
    _OUTDATED = _code(-167, "Local: Outdated")
    _TIMED_OUT_QUEUE = _code(-166, "Local: Timed out in queue")
    _UNSUPPORTED_FEATURE = _code(-165, "Local: Required feature not supported by broker")
    _WAIT_CACHE = _code(-164, "Local: Awaiting cache update")
    _INTR = _code(-163, "Local: Operation interrupted")
    _KEY_SERIALIZATION = _code(-162, "Local: Key serialization error")
    _VALUE_SERIALIZATION = _code(-161, "Local: Value serialization error")
    _KEY_DESERIALIZATION = _code(-160, "Local: Key deserialization error")
    _VALUE_DESERIALIZATION = _code(-159, "Local: Value deserialization error")
    _PARTIAL = _code(-158, "Local: Partial response")
    _READ_ONLY = _code(-157, "Local: Read-only object")
    _NOENT = _code(-156, "Local: No such entry")
    _UNDERFLOW = _code(-155, "Local: Read underflow")
    _INVALID_TYPE = _code(-154, "Local: Invalid type")
    _RETRY = _code(-153, "Local: Retry operation")
    _PURGE_QUEUE = _code(-152, "Local: Purged in queue")
    _PURGE_INFLIGHT = _code(-151, "Local: Purged in flight")
    _FATAL = _code(-150, "Local: Fatal error")
    _INCONSISTENT = _code(-149, "Local: Inconsistent state")
    _GAPLESS_GUARANTEE = _code(-148, "Local: Gap-less ordering would not be guaranteed if proceeding")
    _MAX_POLL_EXCEEDED = _code(
        -147,
        "Local: Maximum application poll interval (max.poll.interval.ms) exceeded",
    )
    _UNKNOWN_BROKER = _code(-146, "Local: Unknown broker")
    _NOT_CONFIGURED = _code(-145, "Local: Functionality not configured")
    _FENCED = _code(-144, "Local: This instance has been fenced by a newer instance")
    _APPLICATION = _code(-143, "Local: Application generated error")
    _ASSIGNMENT_LOST = _code(-142, "Local: Group partition assignment lost")
    _NOOP = _code(-141, "Local: No operation performed")
    _AUTO_OFFSET_RESET = _code(-140, "Local: No offset to automatically reset to")
    _LOG_TRUNCATION = _code(-139, "Local: Partition log truncation detected")
    _INVALID_DIFFERENT_RECORD = _code(
        -138,
        "Local: an invalid record in the same batch caused the failure of this message too",
    )
    _DESTROY_BROKER = _code(-137, "Local: Broker handle destroyed without termination")
    UNKNOWN = _code(-1, "Unknown broker error")
    NO_ERROR = _code(0, "Success")
    OFFSET_OUT_OF_RANGE = _code(1, "Broker: Offset out of range")
    INVALID_MSG = _code(2, "Broker: Invalid message")
    UNKNOWN_TOPIC_OR_PART = _code(3, "Broker: Unknown topic or partition")
    INVALID_MSG_SIZE = _code(4, "Broker: Invalid message size")
    LEADER_NOT_AVAILABLE = _code(5, "Broker: Leader not available")
    NOT_LEADER_FOR_PARTITION = _code(6, "Broker: Not leader for partition")
    REQUEST_TIMED_OUT = _code(7, "Broker: Request timed out")
    BROKER_NOT_AVAILABLE = _code(8, "Broker: Broker not available")
    REPLICA_NOT_AVAILABLE = _code(9, "Broker: Replica not available")
    MSG_SIZE_TOO_LARGE = _code(10, "Broker: Message size too large")
    STALE_CTRL_EPOCH = _code(11, "Broker: StaleControllerEpochCode")
    OFFSET_METADATA_TOO_LARGE = _code(12, "Broker: Offset metadata string too large")
    NETWORK_EXCEPTION = _code(13, "Broker: Broker disconnected before response received")
    COORDINATOR_LOAD_IN_PROGRESS = _code(14, "Broker: Coordinator load in progress")
    COORDINATOR_NOT_AVAILABLE = _code(15, "Broker: Coordinator not available")
    NOT_COORDINATOR = _code(16, "Broker: Not coordinator")
    TOPIC_EXCEPTION = _code(17, "Broker: Invalid topic")
    RECORD_LIST_TOO_LARGE = _code(18, "Broker: Message batch larger than configured server segment size")
    NOT_ENOUGH_REPLICAS = _code(19, "Broker: Not enough in-sync replicas")
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = _code(
        20,
        "Broker: Message(s) written to insufficient number of in-sync replicas",
    )
    INVALID_REQUIRED_ACKS = _code(21, "Broker: Invalid required acks value")
    ILLEGAL_GENERATION = _code(22, "Broker: Specified group generation id is not valid")
    INCONSISTENT_GROUP_PROTOCOL = _code(23, "Broker: Inconsistent group protocol")
    INVALID_GROUP_ID = _code(24, "Broker: Invalid group.id")
    UNKNOWN_MEMBER_ID = _code(25, "Broker: Unknown member")
    INVALID_SESSION_TIMEOUT = _code(26, "Broker: Invalid session timeout")
    REBALANCE_IN_PROGRESS = _code(27, "Broker: Group rebalance in progress")
    INVALID_COMMIT_OFFSET_SIZE = _code(28, "Broker: Commit offset data size is not valid")
    TOPIC_AUTHORIZATION_FAILED = _code(29, "Broker: Topic authorization failed")
    GROUP_AUTHORIZATION_FAILED = _code(30, "Broker: Group authorization failed")
    CLUSTER_AUTHORIZATION_FAILED = _code(31, "Broker: Cluster authorization failed")
    INVALID_TIMESTAMP = _code(32, "Broker: Invalid timestamp")
    UNSUPPORTED_SASL_MECHANISM = _code(33, "Broker: Unsupported SASL mechanism")
    ILLEGAL_SASL_STATE = _code(34, "Broker: Request not valid in current SASL state")
    UNSUPPORTED_VERSION = _code(35, "Broker: API version not supported")
    TOPIC_ALREADY_EXISTS = _code(36, "Broker: Topic already exists")
    INVALID_PARTITIONS = _code(37, "Broker: Invalid number of partitions")
    INVALID_REPLICATION_FACTOR = _code(38, "Broker: Invalid replication factor")
    INVALID_REPLICA_ASSIGNMENT = _code(39, "Broker: Invalid replica assignment")
    INVALID_CONFIG = _code(40, "Broker: Configuration is invalid")
    NOT_CONTROLLER = _code(41, "Broker: Not controller for cluster")
    INVALID_REQUEST = _code(42, "Broker: Invalid request")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = _code(43, "Broker: Message format on broker does not support request")
    POLICY_VIOLATION = _code(44, "Broker: Policy violation")
    OUT_OF_ORDER_SEQUENCE_NUMBER = _code(45, "Broker: Broker received an out of order sequence number")
    DUPLICATE_SEQUENCE_NUMBER = _code(46, "Broker: Broker received a duplicate sequence number")
    INVALID_PRODUCER_EPOCH = _code(47, "Broker: Producer attempted an operation with an old epoch")
    INVALID_TXN_STATE = _code(48, "Broker: Producer attempted a transactional operation in an invalid state")
    INVALID_PRODUCER_ID_MAPPING = _code(
        49,
        "Broker: Producer attempted to use a producer id which is not currently assigned to its "
        "transactional id",
    )
    INVALID_TRANSACTION_TIMEOUT = _code(
        50,
        "Broker: Transaction timeout is larger than the maximum value allowed by the broker's "
        "max.transaction.timeout.ms",
    )
    CONCURRENT_TRANSACTIONS = _code(
        51,
        "Broker: Producer attempted to update a transaction while another concurrent operation on the "
        "same transaction was ongoing",
    )
    TRANSACTION_COORDINATOR_FENCED = _code(
        52,
        "Broker: Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the "
        "current coordinator for a given producer",
    )
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = _code(53, "Broker: Transactional Id authorization failed")
    SECURITY_DISABLED = _code(54, "Broker: Security features are disabled")
    OPERATION_NOT_ATTEMPTED = _code(55, "Broker: Operation not attempted")
    KAFKA_STORAGE_ERROR = _code(56, "Broker: Disk error when trying to access log file on disk")
    LOG_DIR_NOT_FOUND = _code(
        57,
        "Broker: The user-specified log directory is not found in the broker config",
    )
    SASL_AUTHENTICATION_FAILED = _code(58, "Broker: SASL Authentication failed")
    UNKNOWN_PRODUCER_ID = _code(59, "Broker: Unknown Producer Id")
    REASSIGNMENT_IN_PROGRESS = _code(60, "Broker: Partition reassignment is in progress")
    DELEGATION_TOKEN_AUTH_DISABLED = _code(61, "Broker: Delegation Token feature is not enabled")
    DELEGATION_TOKEN_NOT_FOUND = _code(62, "Broker: Delegation Token is not found on server")
    DELEGATION_TOKEN_OWNER_MISMATCH = _code(63, "Broker: Specified Principal is not valid Owner/Renewer")
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = _code(
        64,
        "Broker: Delegation Token requests are not allowed on this connection",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = _code(65, "Broker: Delegation Token authorization failed")
    DELEGATION_TOKEN_EXPIRED = _code(66, "Broker: Delegation Token is expired")
    INVALID_PRINCIPAL_TYPE = _code(67, "Broker: Supplied principalType is not supported")
    NON_EMPTY_GROUP = _code(68, "Broker: The group is not empty")
    GROUP_ID_NOT_FOUND = _code(69, "Broker: The group id does not exist")
    FETCH_SESSION_ID_NOT_FOUND = _code(70, "Broker: The fetch session ID was not found")
    INVALID_FETCH_SESSION_EPOCH = _code(71, "Broker: The fetch session epoch is invalid")
    LISTENER_NOT_FOUND = _code(72, "Broker: No matching listener")
    TOPIC_DELETION_DISABLED = _code(73, "Broker: Topic deletion is disabled")
    FENCED_LEADER_EPOCH = _code(74, "Broker: Leader epoch is older than broker epoch")
    UNKNOWN_LEADER_EPOCH = _code(75, "Broker: Leader epoch is newer than broker epoch")
    UNSUPPORTED_COMPRESSION_TYPE = _code(76, "Broker: Unsupported compression type")
    STALE_BROKER_EPOCH = _code(77, "Broker: Broker epoch has changed")
    OFFSET_NOT_AVAILABLE = _code(78, "Broker: Leader high watermark is not caught up")
    MEMBER_ID_REQUIRED = _code(79, "Broker: Group member needs a valid member ID")
    PREFERRED_LEADER_NOT_AVAILABLE = _code(80, "Broker: Preferred leader was not available")
    GROUP_MAX_SIZE_REACHED = _code(81, "Broker: Consumer group has reached maximum size")
    FENCED_INSTANCE_ID = _code(
        82,
        "Broker: Static consumer fenced by other consumer with same group.instance.id",
    )
    ELIGIBLE_LEADERS_NOT_AVAILABLE = _code(83, "Broker: Eligible partition leaders are not available")
    ELECTION_NOT_NEEDED = _code(84, "Broker: Leader election not needed for topic partition")
    NO_REASSIGNMENT_IN_PROGRESS = _code(85, "Broker: No partition reassignment is in progress")
    GROUP_SUBSCRIBED_TO_TOPIC = _code(
        86,
        "Broker: Deleting offsets of a topic while the consumer group is subscribed to it",
    )
    INVALID_RECORD = _code(87, "Broker: Broker failed to validate record")
    UNSTABLE_OFFSET_COMMIT = _code(88, "Broker: There are unstable offsets that need to be cleared")
    THROTTLING_QUOTA_EXCEEDED = _code(89, "Broker: Throttling quota has been exceeded")
    PRODUCER_FENCED = _code(
        90,
        "Broker: There is a newer producer with the same transactionalId which fences the current one",
    )
    RESOURCE_NOT_FOUND = _code(91, "Broker: Request illegally referred to resource that does not exist")
    DUPLICATE_RESOURCE = _code(92, "Broker: Request illegally referred to the same resource twice")
    UNACCEPTABLE_CREDENTIAL = _code(
        93,
        "Broker: Requested credential would not meet criteria for acceptability",
    )
    INCONSISTENT_VOTER_SET = _code(
        94,
        "Broker: Indicates that the either the sender or recipient of a voter-only request is not one of "
        "the expected voters",
    )
    INVALID_UPDATE_VERSION = _code(95, "Broker: Invalid update version")
    FEATURE_UPDATE_FAILED = _code(96, "Broker: Unable to update finalized features due to server error")
    PRINCIPAL_DESERIALIZATION_FAILURE = _code(
        97,
        "Broker: Request principal deserialization failed during forwarding",
    )
    UNKNOWN_TOPIC_ID = _code(100, "Broker: Unknown topic id")
    INCONSISTENT_TOPIC_ID = _code(103, "Broker: The log's topic ID did not match the topic ID in the request")
    FENCED_MEMBER_EPOCH = _code(110, "Broker: The member epoch is fenced by the group coordinator")
    UNRELEASED_INSTANCE_ID = _code(
        111,
        "Broker: The instance ID is still used by another member in the consumer group",
    )
    UNSUPPORTED_ASSIGNOR = _code(
        112,
        "Broker: The assignor or its version range is not supported by the consumer group",
    )
    STALE_MEMBER_EPOCH = _code(113, "Broker: The member epoch is stale")
    MISMATCHED_ENDPOINT_TYPE = _code(114, "Broker: The request was sent to an endpoint of the wrong type")
    UNSUPPORTED_ENDPOINT_TYPE = _code(115, "Broker: This endpoint type is not supported yet")
    UNKNOWN_CONTROLLER_ID = _code(116, "Broker: This controller ID is not known")
    UNKNOWN_SUBSCRIPTION_ID = _code(
        117,
        "Broker: Client sent a push telemetry request with an invalid or outdated subscription ID",
    )
    TELEMETRY_TOO_LARGE = _code(
        118,
        "Broker: Client sent a push telemetry request larger than the maximum size the broker will accept",
    )
    INVALID_REGISTRATION = _code(
        119,
        "Broker: The controller has considered the broker registration to be invalid",
    )
    TRANSACTION_ABORTABLE = _code(120, "Broker: The server encountered an error with the transaction")
    INVALID_RECORD_STATE = _code(121, "Broker: The record state is invalid")
    SHARE_SESSION_NOT_FOUND = _code(122, "Broker: The share session was not found")
    INVALID_SHARE_SESSION_EPOCH = _code(123, "Broker: The share session epoch is invalid")
    FENCED_STATE_EPOCH = _code(124, "Broker: The share-group state epoch did not match")
    INVALID_VOTER_KEY = _code(125, "Broker: The voter key doesn't match the receiving replica's key")
    DUPLICATE_VOTER = _code(126, "Broker: The voter is already part of the set of voters")
    VOTER_NOT_FOUND = _code(127, "Broker: The voter is not part of the set of voters")
    INVALID_REGULAR_EXPRESSION = _code(128, "Broker: The regular expression is not valid")
    REBOOTSTRAP_REQUIRED = _code(
        129,
        "Broker: Client metadata is stale, client should rebootstrap to obtain new metadata",
    )
    STREAMS_INVALID_TOPOLOGY = _code(130, "Broker: The supplied topology is invalid")
    STREAMS_INVALID_TOPOLOGY_EPOCH = _code(131, "Broker: The supplied topology epoch is invalid")
    STREAMS_TOPOLOGY_FENCED = _code(132, "Broker: The supplied topology epoch is outdated")
    SHARE_SESSION_LIMIT_REACHED = _code(133, "Broker: The limit of share sessions has been reached")


NAMES: dict[int, str] = {value: name for name, value in vars(ErrorCodes).items() if isinstance(value, int)}
"""What librdkafka calls each code."""


def name_of(code: int) -> str:
    """librdkafka's name of a code, or what it makes up for one that it does not know."""
    return NAMES.get(code) or f"ERR_{code}?"


def text_of(code: int) -> str:
    """librdkafka's text for a code, or what it makes up for one that it does not know."""
    return TEXTS.get(code) or f"Err-{code}?"
