"""Configurations: what Admin takes and gives. Plain data."""

from __future__ import annotations

from enum import IntEnum

from barnabas.client.admin.types.openness import OpenEnum
from barnabas.values import frozen


class ResourceType(OpenEnum):
    """What has a configuration."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@frozen
class ConfigResource:
    """The owner of a configuration: a topic, a group or a client metrics subscription (KIP-714) by name, a
    broker or its loggers by node id as text, "" for all brokers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name!r}"


class ConfigSource(OpenEnum):
    """The place that the value of a setting comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(OpenEnum):
    """What values a setting takes; UNKNOWN from brokers before 2.6."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@frozen
class ConfigSynonym:
    """A setting whose value is taken where one that stands before it has none."""

    name: str
    value: str | None
    source: ConfigSource


@frozen
class ConfigEntry:
    """One setting. The value of a sensitive one is None. `synonyms`, in the order in which they count, and
    `documentation` are there if they were asked for."""

    name: str
    value: str | None
    source: ConfigSource
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    type: ConfigType = ConfigType.UNKNOWN
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None


class ListOperation(IntEnum):
    """What to do with a setting that is a list. The numbers are Kafka's."""

    APPEND = 2
    SUBTRACT = 3


@frozen
class ListChange:
    """Adds items to a setting that is a list, or takes them out of it (KIP-339). Several are separated by
    commas."""

    operation: ListOperation
    items: str


ConfigChange = str | ListChange | None
"""The new value of a setting, a change to a list, or None for the default."""
