"""What DescribeConfigs and both ways of altering have in common: the resources whose settings there are.

Owns finding a resource and its own settings. Knows nothing of the three requests.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from barnabas.broker.cluster import Cluster
from barnabas.broker.configs import loggers
from barnabas.broker.configs.client_metrics import CLIENT_METRICS_SETTINGS, check_subscription
from barnabas.broker.configs.group_settings import GROUP_SETTINGS, check_bounds, group_settings
from barnabas.broker.configs.setting_kinds import Setting, SettingSource, SettingType, Value, lookup, table_of
from barnabas.broker.handlers.configs.broker_resources import (
    AllBrokersResource,
    BrokerResource,
    Synonym,
    broker_id,
)
from barnabas.broker.settings import TOPIC_SETTINGS, check_topic_settings, of_topic
from barnabas.broker.topic import Topic
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError, UnknownTopicOrPartitionError

TOPIC = 2
BROKER = 4
BROKER_LOGGER = 8
CLIENT_METRICS = 16
GROUP = 32

LOGGERS = table_of(
    *(Setting(name, SettingType.UNKNOWN, "", "The level of a logger.") for name in loggers.NAMES)
)


class ConfiguredResource(Protocol):
    """Something with settings."""

    def own(self) -> dict[str, str]:
        """Those that were set on it."""
        ...

    def names(self) -> Iterable[str]:
        """Of the settings that it is described by."""
        ...

    def value(self, name: str) -> Value: ...

    def words(self, name: str) -> str:
        """The list that words are added to or taken from."""
        ...

    def lookup(self, name: str) -> Setting:
        """Raises: InvalidConfigError, InvalidRequestError."""
        ...

    def check_is_list(self, setting: Setting, operation: str) -> None:
        """Whether words may be added to its value or taken away, as `operation` says.

        Raises: InvalidConfigError, InvalidRequestError.
        """
        ...

    def told(self, value: Value) -> str | None:
        """The value as it is described."""
        ...

    def is_read_only(self, setting: Setting) -> bool: ...

    def synonyms(self, value: Value) -> list[Synonym]:
        """Names, values and sources that the value comes from, the one that counts first."""
        ...

    def documentation(self, setting: Setting) -> str | None: ...

    def is_secret(self, setting: Setting) -> bool: ...

    def checked(self, settings: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
        """The settings as they are kept. `named`: by the request. Raises: InvalidConfigError,
        InvalidRequestError."""
        ...

    async def change(self, settings: dict[str, str]) -> None:
        """Puts checked settings in the place of its own. Raises: InvalidConfigError, KafkaStorageError."""
        ...


class _Usual(ABC):
    """As most resources do it."""

    __slots__ = ()

    table: ClassVar[Mapping[str, Setting]]
    """All that it may have."""

    @abstractmethod
    def value(self, name: str) -> Value: ...

    def lookup(self, name: str) -> Setting:
        return lookup(name, self.table)

    def check_is_list(self, setting: Setting, operation: str) -> None:
        if setting.type is not SettingType.LIST:
            raise _no_list(setting, operation)

    def names(self) -> Iterable[str]:
        return (name for name, setting in self.table.items() if not setting.hidden)

    def words(self, name: str) -> str:
        return self.value(name).value

    def told(self, value: Value) -> str | None:
        return value.value

    def is_read_only(self, setting: Setting) -> bool:
        return False

    def is_secret(self, setting: Setting) -> bool:
        return False

    def documentation(self, setting: Setting) -> str | None:
        return setting.doc

    def checked(self, settings: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
        found = {name: self.lookup(name).check(value) for name, value in settings.items()}
        self.check(found)
        return found

    def check(self, settings: Mapping[str, str]) -> None:  # noqa: B027 most have no more
        """What is more than the settings one by one. Raises: InvalidConfigError, InvalidRequestError."""


@dataclass(frozen=True, slots=True)
class TopicResource(_Usual):
    cluster: Cluster
    topic: Topic
    table: ClassVar[Mapping[str, Setting]] = TOPIC_SETTINGS

    def lookup(self, name: str) -> Setting:
        return of_topic(name, self.cluster.least_segment_bytes)

    def own(self) -> dict[str, str]:
        return dict(self.topic.own_settings)

    def value(self, name: str) -> Value:
        return self.topic.settings.get(name)

    def synonyms(self, value: Value) -> list[Synonym]:
        return _own_before_brokers(value, SettingSource.TOPIC, self.cluster)

    def check(self, settings: Mapping[str, str]) -> None:
        check_topic_settings(settings)

    async def change(self, settings: dict[str, str]) -> None:
        self.cluster.change_topic_settings(self.topic, settings)


@dataclass(frozen=True, slots=True)
class GroupResource(_Usual):
    """A group, which need not be there."""

    cluster: Cluster
    name: str
    table: ClassVar[Mapping[str, Setting]] = GROUP_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.metadata.group_settings.of(self.name))

    def value(self, name: str) -> Value:
        return group_settings(self.own(), self.cluster.settings).get(name)

    def synonyms(self, value: Value) -> list[Synonym]:
        return _own_before_brokers(value, SettingSource.GROUP, self.cluster)

    def lookup(self, name: str) -> Setting:
        if name not in GROUP_SETTINGS:
            raise InvalidConfigError(f"Unknown group config name: {name}")
        return GROUP_SETTINGS[name]

    def check(self, settings: Mapping[str, str]) -> None:
        check_bounds(settings, self.cluster.settings)

    async def change(self, settings: dict[str, str]) -> None:
        self.cluster.metadata.group_settings.change(self.name, settings)


@dataclass(frozen=True, slots=True)
class ClientMetricsResource(_Usual):
    """What some clients are asked to tell of themselves."""

    cluster: Cluster
    name: str
    table: ClassVar[Mapping[str, Setting]] = CLIENT_METRICS_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.metadata.client_metrics.of(self.name))

    def value(self, name: str) -> Value:
        setting, own = CLIENT_METRICS_SETTINGS[name], self.cluster.metadata.client_metrics.of(self.name)
        if name in own:
            return Value(setting, own[name], SettingSource.CLIENT_METRICS)
        return Value(setting, setting.default, SettingSource.DEFAULT)

    def lookup(self, name: str) -> Setting:
        if name not in CLIENT_METRICS_SETTINGS:
            raise InvalidRequestError(f"Unknown client metrics configuration: {name}")
        return CLIENT_METRICS_SETTINGS[name]

    def check_is_list(self, setting: Setting, operation: str) -> None:
        raise _no_list(setting, operation)

    def synonyms(self, value: Value) -> list[Synonym]:
        if value.source is SettingSource.DEFAULT:
            return []
        return [(value.setting.name, value.value, value.source)]

    def check(self, settings: Mapping[str, str]) -> None:
        check_subscription(settings)

    async def change(self, settings: dict[str, str]) -> None:
        self.cluster.metadata.client_metrics.change(self.name, settings)


@dataclass(frozen=True, slots=True)
class LoggersResource(_Usual):
    """The levels of the broker's loggers."""

    table: ClassVar[Mapping[str, Setting]] = LOGGERS

    def own(self) -> dict[str, str]:
        return loggers.own_levels()

    def value(self, name: str) -> Value:
        return Value(LOGGERS[name], loggers.level(name), SettingSource.BROKER_LOGGER)

    def lookup(self, name: str) -> Setting:
        if name not in LOGGERS:
            raise InvalidConfigError(f"Logger {name} does not exist!")
        return LOGGERS[name]

    def check_is_list(self, setting: Setting, operation: str) -> None:
        raise InvalidRequestError(f"{operation} operation is not allowed for the BROKER_LOGGER resource")

    def synonyms(self, value: Value) -> list[Synonym]:
        return []

    def check(self, settings: Mapping[str, str]) -> None:
        if loggers.ROOT not in settings:
            raise InvalidRequestError("Removing the log level of the root logger is not allowed")
        for name, level in settings.items():
            if level not in loggers.LEVELS:
                raise InvalidConfigError(
                    f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
                    f"Valid log levels are {', '.join(sorted(loggers.LEVELS))}"
                )

    async def change(self, settings: dict[str, str]) -> None:
        loggers.set_levels(settings)


def _own_before_brokers(value: Value, own: SettingSource, cluster: Cluster) -> list[Synonym]:
    """Of what falls back to the broker's settings."""
    setting = value.setting
    found: list[Synonym] = [(setting.name, value.value, own)] if value.source is own else []
    if setting.broker_name:
        found += cluster.settings.sources(setting.broker_name)
    elif setting.has_default:
        found.append((setting.name, setting.default, SettingSource.DEFAULT))
    return found


def _no_list(setting: Setting, operation: str) -> InvalidConfigError:
    return InvalidConfigError(f"Can't {operation} to key {setting.name} because its type is not LIST.")


def _check_node(cluster: Cluster, name: str, *, to_change: bool) -> None:
    """Raises: InvalidRequestError."""
    if not name and not to_change:
        raise InvalidRequestError("Broker id must not be empty")
    if not re.fullmatch(r"-?\d+", name):
        raise InvalidRequestError(
            f"{'Node' if to_change else 'Broker'} id must be an integer, but it is: {name}"
        )
    if int(name) not in cluster.nodes:
        expected = min(cluster.nodes)
        raise InvalidRequestError(
            f"Unexpected node id. Expected {expected}, but received {name}"
            if to_change
            else f"Unexpected broker id, expected {expected} but received {name}"
        )


def find(cluster: Cluster, resource_type: int, name: str, *, to_change: bool) -> ConfiguredResource:
    """Raises: UnknownTopicOrPartitionError, InvalidRequestError."""
    if resource_type == TOPIC:
        if to_change and name not in cluster.topics:
            raise UnknownTopicOrPartitionError(f"The topic '{name}' does not exist.")
        return TopicResource(cluster, cluster.topic(name))
    if resource_type == BROKER:
        node_id = broker_id(cluster, name, to_change=to_change) if name else min(cluster.nodes)
        kind = BrokerResource if name else AllBrokersResource
        return kind(cluster, node_id, cluster.settings.of_node(node_id))
    if resource_type == BROKER_LOGGER:
        _check_node(cluster, name, to_change=to_change)
        return LoggersResource()
    if resource_type == GROUP:
        if not name:
            refusal = (
                "Default group resources are not allowed." if to_change else "Group name must not be empty"
            )
            raise InvalidRequestError(refusal)
        return GroupResource(cluster, name)
    if resource_type == CLIENT_METRICS:
        if not name:
            raise InvalidRequestError(
                "Subscription name can't be empty"
                if to_change
                else "Client metrics subscription name must not be empty"
            )
        return ClientMetricsResource(cluster, name)
    raise InvalidRequestError(f"Unknown resource type {resource_type}")
