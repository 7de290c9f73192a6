"""pykafka's exceptions, and which of them a broker's error code means.

Knows nothing of the core's errors: what asks brokers says which of these takes their place.
"""

from __future__ import annotations

from typing import Any


class KafkaException(Exception):
    """The base of pykafka's exceptions, but for UnicodeException."""


class UnicodeException(Exception):
    """A text cannot be what it is meant for, such as a topic's name."""


class NoBrokersAvailableError(KafkaException):
    """No broker told of the cluster."""


class LeaderNotFoundError(KafkaException):
    """The leader of a partition is none of the brokers that metadata names."""


class SocketDisconnectedError(KafkaException):
    """There is no connection to the broker, or it broke."""


class ProduceFailureError(KafkaException):
    """A producer failed."""


class ConsumerStoppedException(KafkaException):
    """The consumer does not run, and the call needs one that does."""


class NoMessagesConsumedError(KafkaException):
    """A message set had no messages."""


class MessageSetDecodeFailure(KafkaException):
    """A message set is shorter than its first message."""


class ProducerQueueFullError(KafkaException):
    """The producer's queue holds as many messages as it may."""


class ProducerStoppedException(KafkaException):
    """The producer does not run."""


class OffsetRequestFailedError(KafkaException):
    """Offsets could not be reset within the configured number of tries."""


class PartitionOwnedError(KafkaException):
    """Another consumer owns the partition in ZooKeeper."""

    def __init__(self, partition: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.partition = partition


class ProtocolClientError(KafkaException):
    """The base of what error codes of brokers mean."""

    ERROR_CODE: int | None = None


class UnknownError(ProtocolClientError):
    """Something that the broker did not foresee."""

    ERROR_CODE = -1


class OffsetOutOfRangeError(ProtocolClientError):
    """The partition has no such offset, or none any more."""

    ERROR_CODE = 1


class InvalidMessageError(ProtocolClientError):
    """A message is not what its checksum says."""

    ERROR_CODE = 2


class UnknownTopicOrPartition(ProtocolClientError):
    """The broker has no such topic or partition."""

    ERROR_CODE = 3


class InvalidMessageSize(ProtocolClientError):
    """The size of a message is negative."""

    ERROR_CODE = 4


class LeaderNotAvailable(ProtocolClientError):
    """The partition has no leader at the moment."""

    ERROR_CODE = 5


class NotLeaderForPartition(ProtocolClientError):
    """Another broker leads the partition: what the client knows is outdated."""

    ERROR_CODE = 6


class RequestTimedOut(ProtocolClientError):
    """The broker could not do it within the request's time limit."""

    ERROR_CODE = 7


class MessageSizeTooLarge(ProtocolClientError):
    """The broker takes no message as large as this."""

    ERROR_CODE = 10


class OffsetMetadataTooLarge(ProtocolClientError):
    """The metadata of a committed offset is longer than the broker keeps."""

    ERROR_CODE = 12


class GroupLoadInProgress(ProtocolClientError):
    """The coordinator has not read all there is of the group yet."""

    ERROR_CODE = 14


class GroupCoordinatorNotAvailable(ProtocolClientError):
    """The group has no coordinator yet, for instance since there is no topic of offsets."""

    ERROR_CODE = 15


class NotCoordinatorForGroup(ProtocolClientError):
    """Another broker coordinates the group."""

    ERROR_CODE = 16


class InvalidTopic(ProtocolClientError):
    """No topic can be called so, or it is one that clients may not write to."""

    ERROR_CODE = 17


class IllegalGeneration(ProtocolClientError):
    """The group is in another generation."""

    ERROR_CODE = 22


class InconsistentGroupProtocol(ProtocolClientError):
    """The group's members have no protocol in common with this one."""

    ERROR_CODE = 23


class UnknownMemberId(ProtocolClientError):
    """No member of the group has this id, in this generation."""

    ERROR_CODE = 25


class InvalidSessionTimeout(ProtocolClientError):
    """The broker takes no session time-out as short, or as long, as this."""

    ERROR_CODE = 26


class RebalanceInProgress(ProtocolClientError):
    """The group's members are asked to join anew."""

    ERROR_CODE = 27


class TopicAuthorizationFailed(ProtocolClientError):
    """The client may not do this with the topic."""

    ERROR_CODE = 29


class GroupAuthorizationFailed(ProtocolClientError):
    """The client may not do this with the group."""

    ERROR_CODE = 30


ERROR_CODES: dict[int | None, type[ProtocolClientError]] = {
    each.ERROR_CODE: each for each in ProtocolClientError.__subclasses__()
}


class RdKafkaException(KafkaException):
    """What the original's extension raised where no other exception fits."""


class RdKafkaStoppedException(RdKafkaException):
    """The handle of the original's extension was stopped."""
