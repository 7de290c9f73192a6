"""What a change of settings comes to: each value before and after.

Knows nothing of options and of tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.admin.types import (
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ListChange,
    ListOperation,
    ResourceType,
)

Change = tuple[str, str, str | None, str | None]
"""The resource's name, the setting, its value and its new value."""

_OWN_SOURCES = {
    ResourceType.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ResourceType.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ResourceType.BROKER_LOGGER: ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
    ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
}
# Kafka sets it by itself, and refuses to delete it where the feature eligible.leader.replicas.version is on.
_ALWAYS_OF_ALL_BROKERS = {"min.insync.replicas"}
ALL_BROKERS = "<default>"


def own_source(resource: ConfigResource) -> ConfigSource:
    """Where values come from that are set for this resource itself."""
    if resource.type is ResourceType.BROKER and not resource.name:
        return ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return _OWN_SOURCES[resource.type]


def own_settings(resource: ConfigResource, found: Mapping[str, ConfigEntry]) -> list[str]:
    """Those that can be taken away."""
    source = own_source(resource)
    own = {name for name, entry in found.items() if entry.source is source}
    if source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG:
        own -= _ALWAYS_OF_ALL_BROKERS
    return sorted(own)


def changes_of(
    resource: ConfigResource, found: Mapping[str, ConfigEntry], changes: Mapping[str, ConfigChange]
) -> list[Change]:
    """In the order of the settings' names. `found` has synonyms. Values of passwords are None."""
    shown: list[Change] = []
    for name, change in sorted(changes.items()):
        entry = found.get(name)
        if entry is not None and entry.is_sensitive:
            shown.append((shown_name(resource), name, None, None))
        else:
            now = None if entry is None else entry.value
            shown.append((shown_name(resource), name, now, _new_value(resource, entry, change)))
    return shown


def shown_name(resource: ConfigResource) -> str:
    return resource.name or ALL_BROKERS


def value_without_own(resource: ConfigResource, entry: ConfigEntry) -> str | None:
    """What would hold if the resource had no value of its own. None where brokers do not tell, as of
    retention.ms, or tell in another unit, as of log.retention.hours. `entry` has synonyms."""
    own = own_source(resource)
    next_one = next((each for each in entry.synonyms if each.source is not own), None)
    has_same_unit = next_one is not None and _last_word(next_one.name) == _last_word(entry.name)
    return next_one.value if next_one is not None and has_same_unit else None


def _new_value(resource: ConfigResource, entry: ConfigEntry | None, change: ConfigChange) -> str | None:
    if isinstance(change, ListChange):
        items = entry.value.split(",") if entry is not None and entry.value else []
        named = change.items.split(",")
        if change.operation is ListOperation.SUBTRACT:
            return ",".join(item for item in items if item not in named)
        return ",".join([*items, *(item for item in named if item not in items)])
    if change is not None or entry is None:
        return change
    return value_without_own(resource, entry)


def _last_word(name: str) -> str:
    return name.rpartition(".")[2]
