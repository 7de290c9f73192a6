"""What DescribeConfigs and both ways of altering have in common: the resources whose settings there are.

Owns finding a resource and its own settings. Knows nothing of the three requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from barnabas.broker.cluster import Cluster, Topic
from barnabas.broker.settings import BROKER_SETTINGS, TOPIC_SETTINGS, Setting, Value, checked, lookup
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

TOPIC = 2
BROKER = 4


@dataclass(frozen=True, slots=True)
class TopicResource:
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
class BrokerResource:
    """This broker, or, by the empty name, all brokers: with one broker that is the same."""

    cluster: Cluster
    table: ClassVar[Mapping[str, Setting]] = BROKER_SETTINGS

    def own(self) -> dict[str, str]:
        return dict(self.cluster.settings.dynamic)

    def value(self, name: str) -> Value:
        return self.cluster.settings.get(name)

    def change(self, settings: dict[str, str]) -> None:
        for name in settings.keys() ^ self.own().keys():
            if not BROKER_SETTINGS[name].dynamic:
                raise InvalidConfigError(
                    f"setting {name} cannot be changed while the broker runs; restart it"
                )
        self.cluster.change_broker_settings(settings)


Resource = TopicResource | BrokerResource


def find(cluster: Cluster, resource_type: int, name: str) -> Resource:
    """Raises: UnknownTopicOrPartitionError, InvalidRequestError."""
    if resource_type == TOPIC:
        return TopicResource(cluster, cluster.topic(name))
    if resource_type == BROKER:
        if name and name not in map(str, cluster.nodes):
            raise InvalidRequestError(f"there is no broker {name}, only {', '.join(map(str, cluster.nodes))}")
        return BrokerResource(cluster)
    raise InvalidRequestError(f"resources of type {resource_type} have no settings here")


def check(resource: Resource, settings: Mapping[str, str | None]) -> dict[str, str]:
    """Raises: InvalidConfigError."""
    for name in settings:
        lookup(name, resource.table)
    return checked(settings, resource.table)
