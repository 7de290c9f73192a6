"""The features that clients and tools find in ApiVersions (KIP-584): which levels there are, and which hold.

Owns their names and levels as Kafka 4.3 has them. What a level means is with whoever implements it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
