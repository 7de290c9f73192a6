"""The part of Admin that concerns configurations.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import starmap
from typing import TypeVar

from barnabas.client.admin.arguments import check_changes, check_configs, items_of, resources_of
from barnabas.client.admin.calls import AdminCalls, check, outcomes
from barnabas.client.admin.requests import configs as requests
from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import (
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ListChange,
    ResourceType,
)
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest

T = TypeVar("T")


class ConfigAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The settings of topics, brokers and their loggers, groups and client metrics subscriptions, by
        name.

        Raises: UnknownTopicOrPartitionError, ...
        """

        async def ask(
            node_id: int, group: list[ConfigResource]
        ) -> dict[ConfigResource, dict[str, ConfigEntry] | BarnabasError]:
            request = requests.describe_configs(
                map(_resource, group),
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            return _outcomes(requests.described_configs(await self._send(node_id, request)))

        return await self._ask_for_each(
            resources_of(resources), self._home, ask, what="describing configurations", timeout=timeout
        )

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets settings of topics, brokers and their loggers, groups and client metrics subscriptions; a
        value of None brings the default back, and a `ListChange` adds items to a list or takes some out of
        it. Settings that are not named stay as they are (KIP-339).

        Raises: InvalidConfigError, UnknownTopicOrPartitionError, ...
        """

        async def ask(
            node_id: int, group: list[ConfigResource]
        ) -> dict[ConfigResource, BarnabasError | None]:
            wanted = [
                (_resource(resource), list(starmap(_incremental, changes[resource].items())))
                for resource in group
            ]
            request = requests.incremental_alter_configs(wanted, validate_only=validate_only)
            return _outcomes(requests.altered_configs(await self._send(node_id, request)))

        check_changes(changes)
        await self._ask_for_each(
            changes, self._home_of_change, ask, what="altering configurations", timeout=timeout
        )

    async def replace_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Gives topics or brokers exactly these settings: those that are not named go back to the default.
        `alter_configs` changes some; it alone is safe when others change settings at the same time.

        Raises: InvalidConfigError, UnknownTopicOrPartitionError, ...
        """

        async def ask(
            node_id: int, group: list[ConfigResource]
        ) -> dict[ConfigResource, BarnabasError | None]:
            wanted = [(_resource(resource), configs[resource]) for resource in group]
            request = requests.alter_configs(wanted, validate_only=validate_only)
            return _outcomes(requests.altered_configs(await self._send(node_id, request)))

        check_configs(configs)
        await self._ask_for_each(
            configs, self._home_of_change, ask, what="replacing configurations", timeout=timeout
        )

    async def list_config_resources(
        self, types: Iterable[ResourceType] | None = None, *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """What has a configuration, of these types or of all (KIP-1142). Brokers from 3.7 to 4.0 know client
        metrics subscriptions alone, and must be asked for these. Raises: UnsupportedVersionError, ..."""
        wanted = [] if types is None else items_of(types, "types", ResourceType)

        async def attempt() -> list[ConfigResource]:
            node_id = await self._client.any_node()
            knows_one_type = await self._client.version_at(node_id, ListConfigResourcesRequest) == 0
            if knows_one_type and wanted == [ResourceType.CLIENT_METRICS]:
                request = ListConfigResourcesRequest()
            else:
                request = ListConfigResourcesRequest(resource_types=[int(kind) for kind in wanted])
            response = await self._send(node_id, request)
            check(response.error_code, "listing what has a configuration")
            return [
                ConfigResource(ResourceType(found.resource_type), found.resource_name)
                for found in response.config_resources
            ]

        return await self._retry(attempt, "listing what has a configuration", timeout)

    async def _home(self, resource: ConfigResource) -> int:
        """The node that has to be asked: a broker for itself, any one for the rest."""
        is_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
        if is_broker and resource.name:
            return await self._broker(int(resource.name))
        return await self._client.any_node()

    async def _home_of_change(self, resource: ConfigResource) -> int:
        """The node that changes it: the active controller does for brokers, but for what they log."""
        if self._client.reaches_controllers and resource.type is not ResourceType.BROKER_LOGGER:
            return await self._client.controller()
        return await self._home(resource)


def _resource(resource: ConfigResource) -> requests.Resource:
    return int(resource.type), resource.name


def _incremental(name: str, change: ConfigChange) -> requests.IncrementalChange:
    if isinstance(change, ListChange):
        return requests.IncrementalChange(name, int(change.operation), change.items)
    return requests.IncrementalChange(name, requests.DELETE if change is None else requests.SET, change)


def _outcomes(answers: Iterable[Answer[requests.Resource, T]]) -> dict[ConfigResource, T | BarnabasError]:
    return outcomes(
        (
            Answer(ConfigResource(ResourceType(kind), name), result, code, message)
            for (kind, name), result, code, message in answers
        ),
        str,
    )
