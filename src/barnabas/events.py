"""What clients tell their event listeners (`add_event_listener`): one class for each kind of event.

A listener is called on the event loop's thread, holds it up while it runs, and must not wait for the client
that calls it. Plain data: knows nothing of who emits an event or who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.errors import BarnabasError
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.values import frozen


@frozen
class Event:
    """Base of all events. `client_id` is the setting of the client that it happened to."""

    client_id: str


@frozen
class BrokerConnected(Event):
    """A connection is ready for requests, authenticated where that is asked for. There may be several to one
    broker. `node_id` is -1 for a server of bootstrap_servers."""

    node_id: int
    host: str
    port: int


@frozen
class BrokerDisconnected(Event):
    """A connection has ended. `error` is None where the client closed it: idle, or not needed any more."""

    node_id: int
    host: str
    port: int
    error: BarnabasError | None


@frozen
class ConnectFailed(Event):
    """A connection could not be opened; it will be tried again when it is needed, after a pause."""

    node_id: int
    host: str
    port: int
    error: BarnabasError


@frozen
class AuthenticationFailed(Event):
    """A broker refused this client's credentials, or this client the broker's. Calls that wait fail with the
    same error."""

    node_id: int
    host: str
    port: int
    error: BarnabasError


@frozen
class Throttled(Event):
    """A quota was exceeded: a broker asked for silence in its answer to an `api` request (KIP-219). The
    client keeps it on that connection by itself. A `throttle_time_ms` of 0 ends it."""

    node_id: int
    host: str
    port: int
    api: str
    throttle_time_ms: int


@frozen
class AllBrokersDown(Event):
    """No broker could be asked for metadata; `error` has the reasons. Told once, until one answers again."""

    error: BarnabasError


@frozen
class ClusterChanged(Event):
    """The brokers that answer now belong to another cluster than before."""

    previous_cluster_id: str
    cluster_id: str


@frozen
class LeaderChanged(Event):
    """Another broker leads a partition, or none: then `leader` is -1."""

    partition: TopicPartition
    previous_leader: int
    leader: int
    leader_epoch: int


@frozen
class PartitionsAssigned(Event):
    """The group gave this consumer more partitions (KIP-429: only those that are new)."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@frozen
class PartitionsRevoked(Event):
    """The group takes partitions from this consumer, which still owns them during this event."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@frozen
class PartitionsLost(Event):
    """This consumer is out of its group: others may read these partitions already."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


@frozen
class PollIntervalExceeded(Event):
    """This consumer was not polled within max_poll_interval_ms, for `exceeded_by_ms` longer, and leaves its
    group (max_poll_interval_action)."""

    group_id: str
    max_poll_interval_ms: int
    exceeded_by_ms: int


@frozen
class OffsetOutOfRange(Event):
    """`position` of a partition is not there any more, says its `leader`. It is read on at `offset`, which is
    what `reset_to`, the setting auto_offset_reset, leads to."""

    partition: TopicPartition
    leader: int
    position: int
    offset: int
    reset_to: str


@frozen
class OffsetsCommitted(Event):
    """A commit, automatic or not, has succeeded, or has failed with `error`."""

    group_id: str
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    error: BarnabasError | None


@frozen
class FatalError(Event):
    """The client cannot go on and has to be replaced by a new one: a fenced producer, for instance."""

    error: BarnabasError


@frozen
class Fault(Event):
    """Something failed that must not: a fault of Barnabas itself, which is in the log of `barnabas.faults`,
    too. `what` names the work in the background that has ended, or what was refused."""

    what: str
    error: BaseException


EventListener = Callable[[Event], object]
