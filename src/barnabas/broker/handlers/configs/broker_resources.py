"""A broker's settings, and those of all brokers, as resources whose settings are described and changed.

Owns what Kafka asks of a change before anything else. Knows nothing of the requests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.broker_rules import check_change
from barnabas.broker.configs.broker_settings import (
    BROKER_SETTINGS,
    DOCUMENTATION,
    MIN_IN_SYNC,
    setting_of,
)
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.configs.setting_kinds import Setting, SettingSource, SettingType, Value
from barnabas.broker.features import ELIGIBLE_LEADERS_VERSION
from barnabas.broker.login.key_changes import check_keys
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

Synonym = tuple[str, str | None, SettingSource]


@dataclass(frozen=True, slots=True)
class BrokerResource:
    """One broker. `settings`: of this node."""

    cluster: Cluster
    node_id: int
    settings: BrokerSettings

    def own(self) -> dict[str, str]:
        return dict(self.cluster.settings.of_nodes.get(self.node_id, {}))

    def names(self) -> Iterable[str]:
        return self.settings.names()

    def value(self, name: str) -> Value:
        sources = self.settings.sources(name)
        source = sources[0][2] if sources else SettingSource.DEFAULT
        return Value(setting_of(name), self.settings.told(name) or "", source)

    def words(self, name: str) -> str:
        return self.own().get(name, BROKER_SETTINGS[name].default)

    def lookup(self, name: str) -> Setting:
        return setting_of(name)

    def check_is_list(self, setting: Setting, operation: str) -> None:
        if setting.name not in BROKER_SETTINGS:
            raise InvalidConfigError(f"Unknown config name: {setting.name}")
        if setting.type is not SettingType.LIST:
            raise InvalidConfigError(
                f"Config value {operation.lower()} is not allowed for config key: {setting.name}"
            )

    def told(self, value: Value) -> str | None:
        if self.is_secret(value.setting):
            return None
        return self.settings.told(value.setting.name)

    def is_read_only(self, setting: Setting) -> bool:
        return not setting.dynamic

    def is_secret(self, setting: Setting) -> bool:
        return setting.type in (SettingType.PASSWORD, SettingType.UNKNOWN)

    def synonyms(self, value: Value) -> list[Synonym]:
        return [
            (name, None if self.is_secret(value.setting) else text, source)
            for name, text, source in self.settings.sources(value.setting.name)
        ]

    def documentation(self, setting: Setting) -> str | None:
        return DOCUMENTATION.get(setting.name)

    def checked(self, settings: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
        kept = check_change(self.settings, settings, of_all=False)
        check_keys(self.settings.changed(kept, of_all=False), kept)
        if MIN_IN_SYNC in named and self.cluster.features.level(ELIGIBLE_LEADERS_VERSION):
            raise InvalidConfigError(f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled.")
        return kept

    async def change(self, settings: dict[str, str]) -> None:
        await self.cluster.change_broker_settings(self.node_id, settings)


@dataclass(frozen=True, slots=True)
class AllBrokersResource(BrokerResource):
    """All brokers, by the empty name: what was set of all at once. `node_id`: the one that is asked."""

    def own(self) -> dict[str, str]:
        return self.cluster.settings.of_all()

    def names(self) -> Iterable[str]:
        return sorted(self.own())

    def value(self, name: str) -> Value:
        return Value(setting_of(name), self.own().get(name, ""), SettingSource.DYNAMIC_DEFAULT_BROKER)

    def told(self, value: Value) -> str | None:
        return None if self.is_secret(value.setting) else value.value

    def synonyms(self, value: Value) -> list[Synonym]:
        told = BrokerResource.synonyms(self, value)
        return [each for each in told if each[2] is SettingSource.DYNAMIC_DEFAULT_BROKER]

    def checked(self, settings: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
        kept = check_change(self.settings, settings, of_all=True)
        if MIN_IN_SYNC not in settings and self.cluster.features.level(ELIGIBLE_LEADERS_VERSION):
            raise InvalidConfigError(f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled.")
        return kept

    async def change(self, settings: dict[str, str]) -> None:
        await self.cluster.change_broker_settings(None, settings)


def broker_id(cluster: Cluster, name: str, *, to_change: bool) -> int:
    """Raises: InvalidRequestError."""
    if not re.fullmatch(r"-?\d+", name):
        raise InvalidRequestError(
            f"{'Node' if to_change else 'Broker'} id must be an integer, but it is: {name}"
        )
    if int(name) not in cluster.nodes:
        expected = f"{min(cluster.nodes)}{',' if to_change else ' or empty string,'}"
        raise InvalidRequestError(f"Unexpected broker id, expected {expected} but received {name}")
    return int(name)
