"""What the calls of Admin take, looked at before anything is sent: what is of a wrong type is named, once.

Pure functions. Knows neither requests nor brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import SupportsIndex, TypeVar

from barnabas.client.admin.types import (
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    ListChange,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicPartitionReplica,
)
from barnabas.client.arguments import as_partition, as_partitions, check_mapping
from barnabas.errors import MisuseError
from barnabas.types import TopicPartition

T = TypeVar("T")
V = TypeVar("V")

Kinds = tuple[type[object], ...]

NONE = type(None)
RESOURCE_EXAMPLE = "ConfigResource(ResourceType.TOPIC, 'orders')"
SETTING_EXAMPLE = "'retention.ms': '86400000'"


def check_type(value: object, kinds: type[object] | Kinds, what: str) -> None:
    """Raises: TypeError."""
    if not isinstance(value, kinds):
        raise TypeError(f"expected {_named(kinds)} for {what}, got {value!r}")


def check_number(value: object, what: str) -> None:
    """What numpy has for numbers will do. Raises: TypeError."""
    if not isinstance(value, SupportsIndex):
        raise TypeError(f"expected an int for {what}, got {value!r}")


def items_of(
    items: Iterable[T], argument: str, kinds: type[object] | Kinds, give: str | None = None
) -> list[T]:
    """What is given as a list, of one of these types each; `give` shows such an item. Raises: TypeError."""
    hint = "" if give is None else f": give {give}"
    is_list = isinstance(items, Iterable) and not isinstance(items, kinds)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_list:
        raise TypeError(f"expected {argument} as a list, with {_named(kinds)} for each, got {items!r}")
    found = list(items)
    for item in found:
        if not isinstance(item, kinds):
            raise TypeError(f"expected {_named(kinds)} for each of {argument}, got {item!r}{hint}")
    return found


def names_of(names: Iterable[str], what: str) -> list[str]:
    """Names given as a list. Raises: MisuseError for a single one, whose letters would be taken for names;
    TypeError for one that is no str."""
    if isinstance(names, str):
        raise MisuseError(f"{what} are given as a list: [{names!r}], not {names!r}")
    return items_of(names, what, str)


def partitions_of(partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Partitions given as such or as tuples. Raises: MisuseError, TypeError."""
    if not isinstance(partitions, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected partitions as a list [(topic, number)], got {partitions!r}")
    return as_partitions(partitions)


def by_partition(given: Mapping[TopicPartition, V], argument: str, example: str) -> dict[TopicPartition, V]:
    """What is given for partitions. Raises: MisuseError, TypeError."""
    check_mapping(given, argument, f"(topic, number): {example}")
    return {as_partition(partition): value for partition, value in given.items()}


def offsets_by_partition(given: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Raises: MisuseError, TypeError."""
    offsets = by_partition(given, "offsets", "offset")
    for partition, offset in offsets.items():
        check_number(offset, f"the offset of {partition}")
    return offsets


def partitions_by_group(
    groups: Mapping[str, Iterable[TopicPartition] | None],
) -> dict[str, list[TopicPartition] | None]:
    """Raises: MisuseError, TypeError."""
    check_mapping(groups, "groups", "group_id: [(topic, number)]")
    names_of(groups, "groups")
    return {
        group_id: None if partitions is None else partitions_of(partitions)
        for group_id, partitions in groups.items()
    }


def as_replica(replica: tuple[str, int, int]) -> TopicPartitionReplica:
    """Raises: MisuseError."""
    try:
        topic, partition, node_id = replica
    except (TypeError, ValueError):
        raise MisuseError(f"{replica!r} is not a replica: give (topic, number, node_id)") from None
    return TopicPartitionReplica(*as_partition((topic, partition)), node_id)


def new_topics(topics: Iterable[NewTopic]) -> dict[str, NewTopic]:
    """Topics to create, by name. Raises: TypeError."""
    if isinstance(topics, str):
        raise TypeError(f"expected topics as a list, got {topics!r}: give [NewTopic({topics!r})]")
    wanted = {topic.name: topic for topic in items_of(topics, "topics", NewTopic, "NewTopic(name)")}
    for name, topic in wanted.items():
        check_type(name, str, f"the name of {topic!r}")
        check_number(topic.num_partitions, f"num_partitions of topic {name!r}")
        check_number(topic.replication_factor, f"replication_factor of topic {name!r}")
        _check_settings(topic.configs, str, "configs", f"topic {name!r}")
    return wanted


def new_partitions(totals: Mapping[str, int | NewPartitions]) -> dict[str, NewPartitions]:
    """Numbers of partitions, by topic. Raises: TypeError."""
    check_mapping(totals, "totals", "topic: number of partitions")
    names_of(totals, "totals")
    wanted = {
        topic: total if isinstance(total, NewPartitions) else NewPartitions(total)
        for topic, total in totals.items()
    }
    for topic, total in wanted.items():
        check_number(total.total_count, f"the number of partitions of topic {topic!r}")
    return wanted


def resources_of(resources: Iterable[ConfigResource], argument: str = "resources") -> list[ConfigResource]:
    """Raises: TypeError; MisuseError for a broker that is not named by its node id."""
    found = items_of(resources, argument, ConfigResource, RESOURCE_EXAMPLE)
    for resource in found:
        check_type(resource.type, ResourceType, f"the type of {resource!r}")
        check_type(resource.name, str, f"the name of {resource!r}")
        is_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
        if is_broker and resource.name and not resource.name.isdecimal():
            raise MisuseError(f"{resource}: a broker is named by its node id, such as '1', all of them by ''")
    return found


def check_changes(changes: Mapping[ConfigResource, Mapping[str, ConfigChange]]) -> None:
    """Raises: TypeError, MisuseError."""
    check_mapping(changes, "changes", f"{RESOURCE_EXAMPLE}: {{{SETTING_EXAMPLE}}}")
    for resource in resources_of(changes, "changes"):
        _check_settings(changes[resource], (str, ListChange, NONE), "changes", str(resource))


def check_configs(configs: Mapping[ConfigResource, Mapping[str, str]]) -> None:
    """Raises: TypeError, MisuseError."""
    check_mapping(configs, "configs", f"{RESOURCE_EXAMPLE}: {{{SETTING_EXAMPLE}}}")
    for resource in resources_of(configs, "configs"):
        _check_settings(configs[resource], str, "configs", str(resource))


def check_quotas(changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]]) -> None:
    """Raises: TypeError."""
    check_mapping(changes, "changes", "ClientQuotaEntity({'user': 'alice'}): {'producer_byte_rate': 1e6}")
    for entity in items_of(changes, "changes", ClientQuotaEntity, "ClientQuotaEntity({'user': 'alice'})"):
        owner = f"the quotas of {entity.names}"
        check_mapping(changes[entity], owner, "'producer_byte_rate': 1e6")
        for name, value in changes[entity].items():
            check_type(value, (int, float, NONE), f"{name} in {owner}")


def _check_settings(
    settings: Mapping[str, object], kinds: type[object] | Kinds, argument: str, owner: str
) -> None:
    check_mapping(settings, f"{argument} of {owner}", SETTING_EXAMPLE)
    for name, value in settings.items():
        check_type(name, str, f"the name of a setting of {owner}")
        check_type(value, kinds, f"{name} of {owner}")


def _named(kinds: type[object] | Kinds) -> str:
    """As a text names them: "a str, a ListChange or None"."""
    names = [_with_article(kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _with_article(kind: type[object]) -> str:
    if kind in (NONE, bytes):
        return kind.__name__.removesuffix("Type")
    return f"{'an' if kind.__name__[0] in 'aeioAEIO' else 'a'} {kind.__name__}"
