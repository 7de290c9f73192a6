"""What DescribeConfigs and both ways of altering have in common: the resources whose settings there are.

Owns finding a resource and its own settings. Knows nothing of the three requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from barnabas.broker.cluster import Cluster, Topic
from barnabas.broker.configs import loggers
from barnabas.broker.configs.client_metrics import CLIENT_METRICS_SETTINGS, check_subscription
from barnabas.broker.configs.group_settings import GROUP_SETTINGS, GroupSettings, check_bounds
from barnabas.broker.configs.setting_kinds import Setting, SettingSource, SettingType, Value, lookup, table_of
from barnabas.broker.settings import BROKER_SETTINGS, TOPIC_SETTINGS
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

TOPIC = 2
BROKER = 4
BROKER_LOGGER = 8
CLIENT_METRICS = 16
GROUP = 32

LOGGERS = table_of(
    *(Setting(name, SettingType.UNKNOWN, "", "The level of a logger.") for name in loggers.NAMES)
)


class ConfiguredResource(Protocol):
    """Something with settings. `table` has all that it may have."""

    table: ClassVar[Mapping[str, Setting]]

    def own(self) -> dict[str, str]:
        """Those that were set on it."""
        ...

    def value(self, name: str) -> Value: ...

    def lookup(self, name: str) -> Setting:
        """Raises: InvalidConfigError, InvalidRequestError."""
        ...

    def check_is_list(self, setting: Setting, operation: str) -> None:
        """Whether words may be added to its value or taken away, as `operation` says.

        Raises: InvalidConfigError, InvalidRequestError.
        """
        ...

    def is_told_of(self, value: Value) -> bool:
        """Whether the value belongs to a description of the resource."""
        ...

    def is_read_only(self, setting: Setting) -> bool: ...

    def synonyms(self, value: Value) -> list[tuple[str, str, SettingSource]]:
        """Names, values and sources that the value comes from, the one that counts first."""
        ...

    def check(self, settings: Mapping[str, str]) -> None:
        """What is more than the settings one by one. Raises: InvalidConfigError, InvalidRequestError."""
        ...

    def change(self, settings: dict[str, str]) -> None:
        """Puts checked settings in the place of its own. Raises: InvalidConfigError, KafkaStorageError."""
        ...


class _Usual:
    """As most resources do it."""

    __slots__ = ()

    table: ClassVar[Mapping[str, Setting]]

    def lookup(self, name: str) -> Setting:
        return lookup(name, self.table)

    def check_is_list(self, setting: Setting, operation: str) -> None:
        if setting.type is not SettingType.LIST:
            raise _no_list(setting, operation)

    def is_told_of(self, value: Value) -> bool:
        return True

    def is_read_only(self, setting: Setting) -> bool:
        return False

    def synonyms(self, value: Value) -> list[tuple[str, str, SettingSource]]:
        setting = value.setting
        default = (setting.broker_name or setting.name, setting.default, SettingSource.DEFAULT)
        if value.source is SettingSource.DEFAULT:
            return [default]
        is_own = value.source in (SettingSource.TOPIC, SettingSource.DYNAMIC_BROKER, SettingSource.GROUP)
        name = setting.name if is_own else setting.broker_name or setting.name
        return [(name, value.value, value.source), default]

    def check(self, settings: Mapping[str, str]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class TopicResource(_Usual):
    cluster: Cluster
    topic: Topic
    table: ClassVar[Mapping[str, Setting]] = TOPIC_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.topic.own_settings)

    def value(self, name: str) -> Value:
        return self.topic.settings.get(name)

    def change(self, settings: dict[str, str]) -> None:
        self.cluster.change_topic_settings(self.topic, settings)


@dataclass(frozen=True, slots=True)
class BrokerResource(_Usual):
    """This broker, or, by the empty name, all brokers: with one broker that is the same, but that the
    cluster-wide values alone are told of, those set while brokers run."""

    cluster: Cluster
    is_default: bool
    table: ClassVar[Mapping[str, Setting]] = BROKER_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.settings.dynamic)

    def value(self, name: str) -> Value:
        return self.cluster.settings.get(name)

    def is_told_of(self, value: Value) -> bool:
        return not self.is_default or value.source is SettingSource.DYNAMIC_BROKER

    def is_read_only(self, setting: Setting) -> bool:
        return not setting.dynamic

    def change(self, settings: dict[str, str]) -> None:
        for name in settings.keys() ^ self.own().keys():
            if not BROKER_SETTINGS[name].dynamic:
                raise InvalidConfigError(
                    f"setting {name} cannot be changed while the broker runs; restart it"
                )
        self.cluster.change_broker_settings(settings)


@dataclass(frozen=True, slots=True)
class GroupResource(_Usual):
    """A group, which need not be there."""

    cluster: Cluster
    name: str
    table: ClassVar[Mapping[str, Setting]] = GROUP_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.group_settings.of(self.name))

    def value(self, name: str) -> Value:
        return GroupSettings(self.own(), self.cluster.settings).get(name)

    def lookup(self, name: str) -> Setting:
        if name not in GROUP_SETTINGS:
            raise InvalidConfigError(f"Unknown group config name: {name}")
        return GROUP_SETTINGS[name]

    def check(self, settings: Mapping[str, str]) -> None:
        check_bounds(settings, self.cluster.settings)

    def change(self, settings: dict[str, str]) -> None:
        self.cluster.group_settings.change(self.name, settings)


@dataclass(frozen=True, slots=True)
class ClientMetricsResource(_Usual):
    """What some clients are asked to tell of themselves."""

    cluster: Cluster
    name: str
    table: ClassVar[Mapping[str, Setting]] = CLIENT_METRICS_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.client_metrics.of(self.name))

    def value(self, name: str) -> Value:
        setting, own = CLIENT_METRICS_SETTINGS[name], self.cluster.client_metrics.of(self.name)
        if name in own:
            return Value(setting, own[name], SettingSource.CLIENT_METRICS)
        return Value(setting, setting.default, SettingSource.DEFAULT)

    def lookup(self, name: str) -> Setting:
        if name not in CLIENT_METRICS_SETTINGS:
            raise InvalidRequestError(f"Unknown client metrics configuration: {name}")
        return CLIENT_METRICS_SETTINGS[name]

    def check_is_list(self, setting: Setting, operation: str) -> None:
        raise _no_list(setting, operation)

    def synonyms(self, value: Value) -> list[tuple[str, str, SettingSource]]:
        if value.source is SettingSource.DEFAULT:
            return []
        return [(value.setting.name, value.value, value.source)]

    def check(self, settings: Mapping[str, str]) -> None:
        check_subscription(settings)

    def change(self, settings: dict[str, str]) -> None:
        self.cluster.client_metrics.change(self.name, settings)


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

    def synonyms(self, value: Value) -> list[tuple[str, str, SettingSource]]:
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

    def change(self, settings: dict[str, str]) -> None:
        loggers.set_levels(settings)


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
        return TopicResource(cluster, cluster.topic(name))
    if resource_type == BROKER:
        if name and name not in map(str, cluster.nodes):
            nodes = ", ".join(map(str, cluster.nodes))
            raise InvalidRequestError(f"there is no broker {name}, only {nodes}")
        return BrokerResource(cluster, is_default=not name)
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


def check(resource: ConfiguredResource, settings: Mapping[str, str | None]) -> dict[str, str]:
    """The settings that have a value, as they are kept. Raises: InvalidConfigError, InvalidRequestError."""
    found = {
        setting.name: setting.check(value)
        for setting, value in [(resource.lookup(name), value) for name, value in settings.items()]
        if value is not None
    }
    resource.check(found)
    return found
