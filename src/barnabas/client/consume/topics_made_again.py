"""Topics that are deleted and created again while they are read.

A position means nothing in another topic of the same name, even where that is as long: topic ids (KIP-516)
tell the two apart. Owns which topics are known to be gone. Knows nothing of fetching or of groups.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from barnabas.client.cluster.metadata import NO_TOPIC_ID, ClusterMetadata
from barnabas.client.consume.partition_state import PartitionState
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.types import TopicPartition

logger = logging.getLogger("barnabas.client")


def note_topic_ids(metadata: ClusterMetadata, states: Iterable[PartitionState]) -> None:
    """From here on these positions are in the topics that the metadata shows."""
    for state in states:
        if state.topic_id is None:
            topic_id = metadata.topic_id(state.partition.topic)
            state.topic_id = None if topic_id == NO_TOPIC_ID else topic_id


class TopicsMadeAgain:
    """Has the positions in topics that are gone looked up anew, as auto_offset_reset says."""

    def __init__(self, subscription: SubscriptionState, auto_offset_reset: str) -> None:
        self._subscription = subscription
        self._auto_offset_reset = auto_offset_reset
        self._cluster_id: str | None = None
        self._gone: set[UUID] = set()
        """A broker that lags behind may still show them."""

    def look_for(self, metadata: ClusterMetadata) -> list[TopicPartition]:
        """The partitions whose positions this has ended."""
        if metadata.cluster_id != self._cluster_id:
            # Another cluster, which may well be a copy: its topics have other ids, and the same offsets.
            self._cluster_id = metadata.cluster_id
            self._subscription.forget_topic_ids()
            return []
        found: defaultdict[str, list[PartitionState]] = defaultdict(list)
        for state in self._subscription.states():
            topic_id = metadata.topic_id(state.partition.topic)
            known = state.topic_id if state.next_topic_id is None else state.next_topic_id
            if known not in (None, topic_id) and topic_id != NO_TOPIC_ID and topic_id not in self._gone:
                found[state.partition.topic].append(state)
        for topic, states in found.items():
            for state in states:
                self._gone.update(topic_id for topic_id in (state.topic_id, state.next_topic_id) if topic_id)
            logger.warning(
                "topic %r was deleted and created again: %s continues as auto_offset_reset=%s says",
                topic,
                ", ".join(str(state.partition) for state in states),
                self._auto_offset_reset,
            )
            self._subscription.made_again(states, metadata.topic_id(topic))
        return [state.partition for states in found.values() for state in states]
