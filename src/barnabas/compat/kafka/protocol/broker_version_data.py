"""What a broker speaks, and which release that is."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka_python.config.api_versions import known_version, version_of_text, version_spoken

log = logging.getLogger("kafka.protocol")

__all__ = ["BrokerVersionData"]


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
