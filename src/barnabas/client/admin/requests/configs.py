"""Configurations. A resource is given by the number of its type and its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import ConfigEntry, ConfigSource, ConfigSynonym, ConfigType
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from barnabas.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.values import frozen

SET, DELETE = 0, 1

Resource = tuple[int, str]


@frozen
class IncrementalChange:
    """`operation`: SET, DELETE, or a ListOperation."""

    name: str
    operation: int
    value: str | None


def describe_configs(
    resources: Iterable[Resource], *, include_synonyms: bool, include_documentation: bool = False
) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None
            )
            for kind, name in resources
        ],
        include_synonyms=include_synonyms,
        include_documentation=include_documentation,
    )


def described_configs(response: DescribeConfigsResponse) -> list[Answer[Resource, dict[str, ConfigEntry]]]:
    return [
        Answer(
            (result.resource_type, result.resource_name),
            {entry.name: _entry(entry) for entry in result.configs},
            result.error_code,
            result.error_message,
        )
        for result in response.results
    ]


def alter_configs(
    configs: Iterable[tuple[Resource, Mapping[str, str]]], *, validate_only: bool
) -> AlterConfigsRequest:
    return AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    AlterConfigsRequest.AlterableConfig(name=setting, value=value)
                    for setting, value in settings.items()
                ],
            )
            for (kind, name), settings in configs
        ],
        validate_only=validate_only,
    )


def incremental_alter_configs(
    changes: Iterable[tuple[Resource, Sequence[IncrementalChange]]], *, validate_only: bool
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(
                        name=change.name, config_operation=change.operation, value=change.value
                    )
                    for change in of_resource
                ],
            )
            for (kind, name), of_resource in changes
        ],
        validate_only=validate_only,
    )


def altered_configs(
    response: AlterConfigsResponse | IncrementalAlterConfigsResponse,
) -> list[Answer[Resource, None]]:
    return [
        Answer((result.resource_type, result.resource_name), None, result.error_code, result.error_message)
        for result in response.responses
    ]


def _entry(entry: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    source = ConfigSource(entry.config_source)
    return ConfigEntry(
        entry.name,
        entry.value,
        source,
        # Before Kafka 1.1 brokers only told whether a value is the default.
        entry.is_default or source is ConfigSource.DEFAULT_CONFIG,
        entry.read_only,
        entry.is_sensitive,
        ConfigType(entry.config_type),
        tuple(
            ConfigSynonym(synonym.name, synonym.value, ConfigSource(synonym.source))
            for synonym in entry.synonyms
        ),
        entry.documentation,
    )
