"""The features that clients and tools find in ApiVersions (KIP-584): which levels there are, and which hold.

Owns their names and levels as Kafka 4.3 has them, and the levels that hold. What a level means is with
whoever implements it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.broker.kept_metadata import KeptMetadata


@dataclass(frozen=True, slots=True)
class Feature:
    """`default` is the level that a new cluster has; 0 is "not there"."""

    lowest: int
    highest: int
    default: int


ELIGIBLE_LEADERS_VERSION = "eligible.leader.replicas.version"
GROUP_VERSION = "group.version"
KRAFT_VERSION = "kraft.version"
METADATA_VERSION = "metadata.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"
TRANSACTION_VERSION = "transaction.version"

FEATURES: Mapping[str, Feature] = {
    ELIGIBLE_LEADERS_VERSION: Feature(0, 1, 1),
    GROUP_VERSION: Feature(0, 1, 1),
    KRAFT_VERSION: Feature(0, 1, 0),
    METADATA_VERSION: Feature(7, 30, 30),
    SHARE_VERSION: Feature(0, 1, 1),
    STREAMS_VERSION: Feature(0, 1, 1),
    TRANSACTION_VERSION: Feature(0, 2, 2),
}
"""Those that this broker has."""


class FeatureLevels:
    """The level of each feature that holds in a cluster."""

    def __init__(self, metadata: KeptMetadata) -> None:
        self._metadata = metadata

    @property
    def epoch(self) -> int:
        """Grows with every change of a feature's level."""
        return self._metadata.content.features_epoch

    def level(self, name: str) -> int:
        return self._metadata.content.features.get(name, FEATURES[name].default)

    def levels(self) -> dict[str, int]:
        return {name: self.level(name) for name in FEATURES}

    def change(self, levels: Mapping[str, int]) -> None:
        """Puts checked levels into force. Raises: KafkaStorageError."""
        content = self._metadata.content
        before = dict(content.features)

        def undo() -> None:
            content.features = before
            content.features_epoch -= 1

        content.features.update(levels)
        content.features_epoch += 1
        self._metadata.keep("keep the levels of features", undo)
