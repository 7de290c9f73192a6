"""What a client does, step by step, for whoever looks for the cause of something (`follow`): one class for
each kind of step.

There are far more of them than of events, a request and its answer among them, and none where nobody follows.
A listener is called on the event loop's thread, holds it up while it runs, and must not wait for the client
that calls it. Plain data: knows nothing of who takes a step or who follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from barnabas.errors import BarnabasError
from barnabas.types import Node, TopicPartition
from barnabas.values import frozen

Stage = Literal["connecting", "connected", "handshaking", "negotiating", "authenticating", "up", "closed"]
"""Of a connection. `handshaking`: by TLS. `negotiating`: the broker is asked what it speaks. An open one
comes by `authenticating` and `up` again where it authenticates itself again.
"""


@frozen
class Step:
    """Base of all steps."""


# Connections


@frozen
class ConnectionStep(Step):
    """Something on one connection, which has a number of its own. `node` is as of now: what was opened to a
    server of bootstrap_servers becomes a broker's once that is known."""

    node: Node
    connection: int


@frozen
class StageReached(ConnectionStep):
    """A connection is at another stage of its life. `error` is why it ended, None where the client ended
    it."""

    stage: Stage
    address: str = ""
    """That was connected to, in `connected`."""
    error: BarnabasError | None = None


@frozen
class VersionsLearned(ConnectionStep):
    """A broker has said what it speaks: the lowest and highest version of each API key."""

    versions: Mapping[int, tuple[int, int]]


@frozen
class RequestSent(ConnectionStep):
    """`size` in bytes, with the four of its length."""

    api: str
    version: int
    correlation_id: int
    size: int


@frozen
class AnswerReceived(ConnectionStep):
    """The answer to the request with this correlation id, `latency_ms` after it was sent."""

    api: str
    version: int
    correlation_id: int
    size: int
    latency_ms: float


@frozen
class RequestTimedOut(ConnectionStep):
    """A request was not answered in time, which ends the connection."""

    api: str
    correlation_id: int
    timeout_ms: float


# The cluster


@frozen
class MetadataRequested(Step):
    """The cluster is asked what it looks like, for these topics; None: all."""

    topics: tuple[str, ...] | None


@frozen
class MetadataReceived(Step):
    """What an answer says. Of each partition of a topic: its number, its leader, and the leader's epoch."""

    cluster_id: str | None
    controller_id: int
    nodes: tuple[Node, ...]
    topics: Mapping[str, tuple[tuple[int, int, int], ...]]
    topic_errors: Mapping[str, int]
    """The codes of those that have one."""


@frozen
class CoordinatorRequested(Step):
    """Somebody asks who coordinates a group or a transactional id."""

    kind: Literal["group", "transaction"]
    key: str


@frozen
class CoordinatorFound(Step):
    """A node coordinates a group or a transactional id."""

    kind: Literal["group", "transaction"]
    key: str
    node: Node


@frozen
class TelemetrySubscribed(Step):
    """The brokers have said which metrics this client has to push (KIP-714): prefixes of names; none: no
    metrics."""

    subscription_id: int
    push_interval_seconds: float
    requested: tuple[str, ...]


@frozen
class TelemetryPushed(Step):
    """Metrics were pushed to a broker, and taken unless `error_code` says otherwise."""

    size: int
    is_last: bool
    error_code: int


# Groups


@frozen
class MemberPhaseChanged(Step):
    """A member of a group is at another point: `outside`, `joining`, `assigned` (it was given partitions that
    it has not taken over yet) or `member`."""

    group_id: str
    previous: str
    phase: str


@frozen
class RejoinRequested(Step):
    """A member is to join its group again, or to tell it of another subscription."""

    group_id: str
    reason: str


@frozen
class GroupJoinSent(Step):
    """A member asks to join; its id is empty where the group has given it none."""

    group_id: str
    member_id: str
    topics: tuple[str, ...]


@frozen
class GroupJoined(Step):
    """The group has a new generation, or epoch, with this member in it. `leader` is a member's id and
    `members` the others' with it where this one leads; in groups that the broker divides there is neither."""

    group_id: str
    member_id: str
    generation: int
    assignor: str
    leader: str = ""
    members: tuple[str, ...] = ()


@frozen
class GroupAssigned(Step):
    """The group gave this member these partitions: all that it has from now on."""

    group_id: str
    member_id: str
    generation: int
    partitions: tuple[TopicPartition, ...]


@frozen
class HeartbeatSent(Step):
    """In groups that the broker divides, the first one joins."""

    group_id: str
    member_id: str
    generation: int


@frozen
class GroupRefused(Step):
    """The coordinator did not do what this member asked for: `action` is `joining` or `heartbeat`."""

    group_id: str
    action: str
    error: BarnabasError


@frozen
class GroupLeft(Step):
    """This member has left its group or is out of it, `reason` says why."""

    group_id: str
    member_id: str
    reason: str


# Reading


@frozen
class PositionSought(Step):
    """It is looked up where to read on in these partitions: `committed` offsets, `earliest`, `latest`, or
    what auto_offset_reset says (`reset`)."""

    partitions: Mapping[TopicPartition, str]


@frozen
class PositionFound(Step):
    """A partition is read from this offset on, which was committed, or else found by a lookup."""

    partition: TopicPartition
    offset: int
    is_committed: bool


@frozen
class FetchSent(Step):
    """A broker is asked for records of these partitions, from these offsets on."""

    node: Node
    offsets: Mapping[TopicPartition, int]
    max_wait_ms: int


@frozen
class FetchAnswered(Step):
    """Bytes of records that an answer had, by partition, and the codes of partitions that have an error."""

    node: Node
    sizes: Mapping[TopicPartition, int]
    error_codes: Mapping[TopicPartition, int]


# Sharing


@frozen
class ShareFetchSent(Step):
    """A broker is asked for records of these partitions of a share group; the request acknowledges records of
    `acknowledged` partitions."""

    node_id: int
    session_epoch: int
    partitions: tuple[TopicPartition, ...]
    acknowledged: int


@frozen
class RecordsAcquired(Step):
    """A broker has lent these records; it is their `delivery_count`-th time."""

    node_id: int
    partition: TopicPartition
    first_offset: int
    last_offset: int
    delivery_count: int


@frozen
class AcknowledgementsSent(Step):
    """Acknowledgements for these partitions go to a broker in a request of their own, not with a fetch."""

    node_id: int
    session_epoch: int
    partitions: tuple[TopicPartition, ...]


# Sending


@frozen
class BatchStep(Step):
    """One batch of records. `base_sequence` is None without idempotence."""

    partition: TopicPartition
    record_count: int
    base_sequence: int | None


@frozen
class BatchSent(BatchStep):
    """The batch has left; without idempotence `producer_id` is -1."""

    node_id: int
    size: int
    attempt: int
    """1 is the first."""
    producer_id: int
    producer_epoch: int


@frozen
class BatchDelivered(BatchStep):
    """`base_offset` is -1 where no broker says (acks=0)."""

    base_offset: int


@frozen
class BatchRetried(BatchStep):
    """It was not delivered and will be sent again."""

    error: BarnabasError


@frozen
class BatchFailed(BatchStep):
    """It was given up."""

    error: BarnabasError


@frozen
class ProducerIdReceived(Step):
    """What the producer's batches carry from now on."""

    producer_id: int
    producer_epoch: int


@frozen
class TransactionPhaseChanged(Step):
    """States are those of `barnabas.client.produce.transactions`, by name."""

    transactional_id: str
    previous: str
    state: str
    error: BarnabasError | None


@frozen
class TransactionPartitionsAdded(Step):
    """The coordinator knows that these are written to in the open transaction."""

    transactional_id: str
    partitions: tuple[TopicPartition, ...]


StepListener = Callable[[Step], object]
