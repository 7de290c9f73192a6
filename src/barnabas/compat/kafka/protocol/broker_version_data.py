"""What a broker speaks, and which release that is."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka_engine.config.api_versions import known_version, version_of_text, version_spoken

log = logging.getLogger("kafka.protocol")

__all__ = ["BrokerVersionData"]

_FOREVER = float("inf")


@functools.total_ordering
class BrokerVersionData:
    """`broker_version`: of a release, such as (2, 8). `api_versions`: the lowest and highest version of each
    request, by its number. One of both is enough."""

    __slots__ = ("api_versions", "broker_version")

    def __init__(
        self, broker_version: Any = None, api_versions: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        if broker_version is None and api_versions is None:
            raise ValueError("Cannot construct BrokerVersionData!")
        if isinstance(broker_version, str):
            broker_version = version_of_text(broker_version, log)
        if api_versions is None:
            if not isinstance(broker_version, tuple):
                raise Errors.KafkaConfigurationError("api_version must be tuple")
            known = known_version(broker_version, log)
            if known is None:
                raise Errors.UnrecognizedBrokerVersion(broker_version)
            broker_version = known
        elif broker_version is None:
            broker_version = version_spoken(api_versions)
        self.broker_version: tuple[int, ...] = broker_version
        self.api_versions = api_versions

    def api_version(self, operation: Any, min_version: int = 0, max_version: float = _FOREVER) -> int:
        """The newest version of a request that the broker and this package speak. `operation`: a class of
        requests, or a request, which may have bounds of its own.

        Raises: ValueError, IncompatibleBrokerVersion.
        """
        if min_version > max_version:
            raise ValueError("min_version must not be greater than max_version")
        is_request = not isinstance(operation, type)
        if is_request:
            low, high = operation._min_version, operation._max_version
            min_version = min_version if low is None else max(min_version, low)
            max_version = max_version if high is None else min(max_version, high)
        lowest, highest = max(min_version, operation.min_version), min(max_version, operation.max_version)
        spoken: Mapping[int, tuple[int, int]] = self.api_versions or {}
        if operation.API_KEY not in spoken:
            raise Errors.IncompatibleBrokerVersion(
                f"Kafka broker does not support the '{operation.name}' Kafka protocol."
            )
        oldest, newest = spoken[operation.API_KEY]
        if lowest > newest or highest < oldest:
            raise Errors.IncompatibleBrokerVersion(
                f"No version of the '{operation.name}' Kafka protocol is supported by both the client "
                f"[{lowest}-{highest}] and broker [{oldest}-{newest}]."
            )
        return int(min(highest, newest))

    @property
    def broker_version_str(self) -> str:
        return ".".join(map(str, self.broker_version))

    def __str__(self) -> str:
        return f"<BrokerVersionData {self.broker_version_str}>"

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, BrokerVersionData)
            and self.broker_version == other.broker_version
            and self.api_versions == other.api_versions
        )

    def __hash__(self) -> int:
        return hash(self.broker_version)

    def __lt__(self, other: BrokerVersionData) -> bool:
        return self.broker_version < other.broker_version
