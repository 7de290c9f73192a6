"""The values of a broker's settings, and where they come from: set while it runs, of one broker or of all,
given to it when it was started, or Kafka's defaults.

Owns which value counts. What may be set is in `broker_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from barnabas.broker.configs.broker_meanings import BEGINS_WITH
from barnabas.broker.configs.broker_settings import (
    BROKER_SETTINGS,
    MIN_IN_SYNC,
    START_SETTINGS,
    own_synonyms,
    setting_of,
    start_setting,
    synonyms,
)
from barnabas.broker.configs.inherited_settings import TypedSettings
from barnabas.broker.configs.setting_forms import words_of
from barnabas.broker.configs.setting_kinds import Setting, SettingSource, SettingType, Value, checked

_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000
_UNITS = {
    "log.retention.minutes": _MINUTE_MS,
    "log.retention.hours": _HOUR_MS,
    "log.roll.hours": _HOUR_MS,
    "log.roll.jitter.hours": _HOUR_MS,
}
Level = tuple[SettingSource, Mapping[str, str]]


class BrokerSettings(TypedSettings):
    """Those of a cluster's nodes, and by `of_node` those of one. `given`: those that they are started with.
    For the cluster as a whole, what was set of one node alone counts as well.

    Raises: InvalidConfigError for an unknown name or a bad value.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        prefixed = {name: found for name in given if (found := start_setting(name)) is not None}
        self._given = {**BEGINS_WITH, **checked(given, {**START_SETTINGS, **prefixed})}
        self.cluster_wide: dict[str, str] = {}
        self.of_nodes: dict[int, dict[str, str]] = {}
        """Set while they run."""
        self._node: int | None = None
        self.facts: dict[int, dict[str, str]] = {}
        """What each node is and where it listens, which it tells as if it had been started with it."""

    def of_all(self) -> dict[str, str]:
        """What was set of all brokers at once. Kafka writes min.insync.replicas there as the cluster begins,
        since replicas that are out of sync may be elected by it."""
        least = self._given.get(MIN_IN_SYNC, BROKER_SETTINGS[MIN_IN_SYNC].default)
        return {MIN_IN_SYNC: least, **self.cluster_wide}

    def of_node(self, node_id: int) -> BrokerSettings:
        """Those of one node, changes to come included."""
        return self._copy(node_id)

    def changed(self, settings: dict[str, str], *, of_all: bool) -> BrokerSettings:
        """Those of the node as they would be with other settings of its own, or of all nodes."""
        assert self._node is not None
        copy = self._copy(self._node)
        if of_all:
            copy.cluster_wide = settings
        else:
            copy.of_nodes = {self._node: settings}
        return copy

    def _copy(self, node_id: int) -> BrokerSettings:
        copy = BrokerSettings({})
        copy._given, copy._node, copy.facts = self._given, node_id, self.facts
        copy.cluster_wide, copy.of_nodes = self.cluster_wide, self.of_nodes
        return copy

    def levels(self) -> Sequence[Level]:
        """What was set in each place, the one that counts first."""
        nodes = sorted(self.of_nodes) if self._node is None else [self._node]
        facts = {} if self._node is None else self.facts.get(self._node, {})
        return (
            *((SettingSource.DYNAMIC_BROKER, self.of_nodes.get(node, {})) for node in nodes),
            (SettingSource.DYNAMIC_DEFAULT_BROKER, self.of_all()),
            (SettingSource.STATIC_BROKER, facts),
            (SettingSource.STATIC_BROKER, self._given),
        )

    def get(self, name: str) -> Value:
        """What holds, by whichever of its synonyms it was set."""
        setting = START_SETTINGS.get(name) or setting_of(name)
        names = own_synonyms(name)
        if names[0] != name:
            names = (name,)
        for source, values in self.levels():
            for each in names:
                if each in values:
                    return Value(setting, _in_milliseconds(each, values[each]), source)
        for each in names:
            known = START_SETTINGS.get(each, setting)
            if known.has_default:
                return Value(setting, _in_milliseconds(each, known.default), SettingSource.DEFAULT)
        return Value(setting, "", SettingSource.DEFAULT)

    def of_listener(self, name: str, listener: str, mechanism: str = "") -> str:
        """The value that holds for a mechanism on a listener, else for the listener, else for all."""
        prefix = f"listener.name.{listener.lower()}."
        for place in (f"{prefix}{mechanism.lower()}.", prefix):
            for _, values in self.levels():
                if place + name in values:
                    return values[place + name]
        return self.get(name).value

    def combined(self) -> dict[str, str]:
        """All that was set, by the names that count."""
        found: dict[str, str] = {}
        for _, values in reversed(self.levels()):
            for name, value in values.items():
                for synonym in own_synonyms(name):
                    found.pop(synonym, None)
                found[name] = value
        return found

    def names(self) -> Iterator[str]:
        """All that a node tells of: those that Kafka lists, and all others that were set."""
        listed = {name for name, setting in BROKER_SETTINGS.items() if not setting.hidden}
        return iter(sorted(listed.union(*(values for _, values in self.levels()))))

    def told(self, name: str) -> str | None:
        """The value of this very name as it is described, not that of a synonym."""
        setting = setting_of(name)
        for _, values in self.levels():
            if name in values:
                return _shown(setting, values[name])
            if not values.keys().isdisjoint(own_synonyms(name)):
                break
        return setting.default if name in BROKER_SETTINGS and setting.has_default else None

    def sources(self, name: str) -> list[tuple[str, str, SettingSource]]:
        """Names, values and sources that the value comes from, the one that counts first."""
        names = synonyms(name)
        by_place = {
            (source, synonym): values[synonym]
            for source, values in reversed(self.levels())
            for synonym in reversed(names)
            if synonym in values
        }
        found = [(synonym, value, source) for (source, synonym), value in reversed(by_place.items())]
        found += [
            (synonym, BROKER_SETTINGS[synonym].default, SettingSource.DEFAULT)
            for synonym in names
            if synonym in BROKER_SETTINGS and BROKER_SETTINGS[synonym].has_default
        ]
        own = [place for place, (synonym, _, _) in enumerate(found) if synonym == name]
        return found[own[0] :] if own else []


def _in_milliseconds(name: str, value: str) -> str:
    if name not in _UNITS:
        return value
    count = int(value)
    return str(-1 if count < 0 else count * _UNITS[name])


def _shown(setting: Setting, value: str) -> str:
    """As Kafka writes what it has read."""
    if setting.type is SettingType.LIST:
        return ",".join(dict.fromkeys(words_of(value)))
    return value.lower() if setting.type is SettingType.BOOLEAN else value
