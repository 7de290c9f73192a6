"""The versions of brokers that each generation tells apart, and by what. Knows nothing of clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.compat.kafka_engine.generations import generation

Version = tuple[int, ...]

_PRODUCE, _FETCH, _LIST_OFFSETS, _METADATA, _LEADER_AND_ISR, _OFFSET_FETCH, _JOIN_GROUP = 0, 1, 2, 3, 4, 9, 11
_ADD_PARTITIONS_TO_TXN, _DESCRIBE_ACLS, _DESCRIBE_LOG_DIRS, _DESCRIBE_CLIENT_QUOTAS = 24, 29, 35, 48

_SIGNS_OF_2: dict[Version, tuple[int, int]] = {
    (2, 6): (_DESCRIBE_CLIENT_QUOTAS, 0),
    (2, 5): (_DESCRIBE_ACLS, 2),
    (2, 4): (_PRODUCE, 8),
    (2, 3): (_FETCH, 11),
    (2, 2): (_LIST_OFFSETS, 5),
    (2, 1): (_FETCH, 10),
    (2, 0): (_FETCH, 8),
    (1, 1): (_FETCH, 7),
    (1, 0): (_METADATA, 5),
    (0, 11): (_METADATA, 4),
    (0, 10, 2): (_OFFSET_FETCH, 2),
    (0, 10, 1): (_METADATA, 2),
}
_SIGNS_OF_3: dict[Version, tuple[int, int]] = {
    (4, 3): (_DESCRIBE_LOG_DIRS, 5),
    (4, 2): (_LIST_OFFSETS, 11),
    (4, 1): (_PRODUCE, 13),
    (4, 0): (_LIST_OFFSETS, 10),
    (3, 9): (_FETCH, 17),
    (3, 8): (_PRODUCE, 11),
    (3, 7): (_FETCH, 16),
    (3, 6): (_ADD_PARTITIONS_TO_TXN, 4),
    (3, 5): (_FETCH, 15),
    (3, 4): (_LEADER_AND_ISR, 7),
    (3, 3): (_DESCRIBE_ACLS, 3),
    (3, 2): (_JOIN_GROUP, 9),
    (3, 1): (_FETCH, 13),
    (3, 0): (_LIST_OFFSETS, 7),
    (2, 8): (_PRODUCE, 9),
    (2, 7): (_FETCH, 12),
    **_SIGNS_OF_2,
}
_BEFORE_API_VERSIONS: tuple[Version, ...] = ((0, 8, 0), (0, 8, 1), (0, 8, 2), (0, 9))


@dataclass(frozen=True)
class BrokerVersions:
    """What one generation knows of brokers."""

    signs: Mapping[Version, tuple[int, int]]
    """By version, the newest first: the API key and version that brokers speak since then."""
    oldest: Version
    """Of those that answer ApiVersions at all."""
    known: frozenset[Version]
    """What `api_version` may be."""


_OF_GENERATIONS = {
    "1.2": BrokerVersions({}, (0, 10), frozenset({*_BEFORE_API_VERSIONS, (0, 10)})),
    "2": BrokerVersions(
        _SIGNS_OF_2,
        (0, 10, 0),
        frozenset({*_BEFORE_API_VERSIONS, (0, 10, 0), *_SIGNS_OF_3} - {(4, 1), (4, 2), (4, 3)}),
    ),
    "3": BrokerVersions(
        _SIGNS_OF_3, (0, 10, 0), frozenset({*_BEFORE_API_VERSIONS, (0, 10, 0), *_SIGNS_OF_3})
    ),
}


def broker_versions() -> BrokerVersions:
    """Of this process's generation."""
    return _OF_GENERATIONS[generation().name]
