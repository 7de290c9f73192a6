"""A member of a group of the consumer protocol (KIP-848), as a state machine: heartbeats out, answers in.

Owns what the next heartbeat says and what an answer changes. Pure: knows nothing of time, connections, topic
names or the consumer.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Literal

from barnabas.client.cluster.error_table import NO_MEMBER
from barnabas.error_codes import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.values import mutable

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2
"""Of a static member, which keeps its partitions for when it is back."""

REGEX_VERSION = 1
"""From it on brokers match patterns, and members choose their own ids (KIP-1082)."""

PartitionIds = Mapping[uuid.UUID, frozenset[int]]
"""Partition numbers by topic id."""

Remedy = Literal["retry", "rejoin", "tell", "give up"]
"""What to do about a heartbeat's error: send it again; join again without the partitions; tell the caller and
go on; end the membership and tell the caller."""


@mutable
class MemberState:
    """One member. `subscribe` and `own` say what it wants and has; `request` and `answered` alternate."""

    group_id: str
    group_instance_id: str | None
    rack: str | None
    rebalance_timeout_ms: int
    remote_assignor: str | None
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = JOIN_EPOCH
    heartbeat_interval_ms: int = 0
    """As the coordinator last said; 0 before."""
    target: PartitionIds | None = None
    """What the coordinator last assigned."""
    _topics: frozenset[str] = frozenset()
    _pattern: str | None = None
    _owned: PartitionIds = field(default_factory=dict[uuid.UUID, frozenset[int]])
    _told_subscription: tuple[frozenset[str], str | None] | None = None
    _told_owned: PartitionIds | None = None

    @property
    def is_member(self) -> bool:
        return self.epoch > JOIN_EPOCH

    @property
    def has_news(self) -> bool:
        """Whether the next heartbeat should not wait: the coordinator does not know all that changed here."""
        return (
            not self.is_member
            or self._told_subscription != (self._topics, self._pattern)
            or self._told_owned != self._owned
        )

    def subscribe(self, topics: Collection[str], pattern: str | None) -> None:
        """By name, or by a pattern for the coordinator to match."""
        self._topics = frozenset(topics)
        self._pattern = pattern

    def own(self, partitions: PartitionIds) -> None:
        """These are the member's now; all others were given up."""
        self._owned = partitions

    def acknowledge(self) -> None:
        """The last assignment was taken over: the next heartbeat says what the member owns, even if that is
        the same. The coordinator may wait for a partition that it took back before the member had it."""
        self._told_owned = None

    def request(self, version: int) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat: all there is to say when joining or after a failure, else what changed."""
        is_joining = not self.is_member
        if is_joining and version < REGEX_VERSION and self._told_subscription is None:
            # The coordinator gives the id.
            self.member_id = ""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.group_instance_id,
        )
        told = None if is_joining else self._told_subscription
        if told is None:
            request.rack_id = self.rack
            request.rebalance_timeout_ms = self.rebalance_timeout_ms
            request.server_assignor = self.remote_assignor
        if told is None or told[0] != self._topics:
            request.subscribed_topic_names = sorted(self._topics)
        if self._pattern != (None if told is None else told[1]):
            # An empty one ends an earlier one.
            request.subscribed_topic_regex = self._pattern or ""
        if is_joining:
            request.topic_partitions = []
        elif told is None or self._told_owned != self._owned:
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=sorted(numbers))
                for topic_id, numbers in self._owned.items()
            ]
        return request

    def answered(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse
    ) -> bool:
        """Takes in the answer to a heartbeat without an error. Whether `target` was set."""
        is_joining = request.member_epoch == JOIN_EPOCH
        if response.member_id is not None:
            self.member_id = response.member_id
        self.epoch = response.member_epoch
        self.heartbeat_interval_ms = response.heartbeat_interval_ms
        told_topics, told_pattern = self._told_subscription or (frozenset[str](), None)
        if request.subscribed_topic_names is not None:
            told_topics = frozenset(request.subscribed_topic_names)
        if request.subscribed_topic_regex is not None or is_joining:
            told_pattern = request.subscribed_topic_regex or None
        self._told_subscription = (told_topics, told_pattern)
        if request.topic_partitions is not None:
            self._told_owned = {t.topic_id: frozenset(t.partitions) for t in request.topic_partitions}
        if response.assignment is None:
            return False
        self.target = {t.topic_id: frozenset(t.partitions) for t in response.assignment.topic_partitions}
        return True

    def unanswered(self) -> None:
        """It is not known whether the coordinator got the last heartbeat: the next one says everything."""
        if self.is_member:
            self._told_subscription = None

    def refused(self, error: BrokerError) -> Remedy:
        """What to do about a heartbeat that came back with an error code."""
        if error.code in NO_MEMBER:
            return "rejoin"
        if error.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return "tell"
        return "retry" if error.retriable else "give up"

    def forget(self) -> None:
        """The membership has ended: the next heartbeat joins, under the same id, with nothing owned."""
        self.epoch = JOIN_EPOCH
        self.target = None
        self._owned = {}
        self._told_subscription = self._told_owned = None

    def leave_request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        """`epoch`: LEAVE_EPOCH or LEAVE_FOR_A_WHILE_EPOCH."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.group_instance_id,
        )
