"""What partitioners of a program see of the cluster. Knows the core's metadata only."""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient


class ClusterView:
    """The metadata as they are at each call. Any thread."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """Topics whose partitions are known."""
        known = self._client.metadata.topic_metadata
        return {
            name for name, topic in list(known.items()) if not (exclude_internal_topics and topic.is_internal)
        }

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions; None for one that is not known."""
        if topic not in self._client.metadata.topic_metadata:
            return None
        return {each.partition for each in self._client.metadata.partitions_for(topic)}

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        """Those that have a leader."""
        if topic not in self._client.metadata.topic_metadata:
            return None
        return {each.partition for each in self._client.metadata.partitions_for(topic) if each.leader >= 0}
