"""Configurations of topics, brokers and whatever else has one. Knows no shape of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from barnabas.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

Resource = tuple[int, str]
"""Kafka's number for its type, and its name."""

BROKER = 4
BROKER_LOGGER = 8
_NEWEST = 32767
_KNOWN_OF_BROKERS_ONLY = frozenset([BROKER, BROKER_LOGGER])


def places_of(resources: Iterable[Resource]) -> dict[int | None, list[Resource]]:
    """Resources by the broker that alone can tell of them; None for any. Raises: ValueError for a broker
    whose name is no number."""
    places: dict[int | None, list[Resource]] = {}
    anywhere: list[Resource] = []
    for resource in resources:
        resource_type, name = resource
        if resource_type in _KNOWN_OF_BROKERS_ONLY:
            try:
                places.setdefault(int(name), []).append(resource)
            except ValueError:
                raise ValueError(
                    "Broker resource names must be an integer or a string represented integer"
                ) from None
        else:
            anywhere.append(resource)
    if anywhere:
        places[None] = anywhere
    return places


async def describe_configs(
    session: BrokerSession,
    resources: Sequence[tuple[int, str, list[str] | None]],
    place: int | None,
    *,
    include_synonyms: bool,
    max_version: int = _NEWEST,
) -> BrokerAnswer[DescribeConfigsResponse]:
    """`resources`: with the names of what is asked for, None for all. Raises: IncompatibleBrokerVersion."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest(
        resources=[
            resource(resource_type=each, resource_name=str(name), configuration_keys=keys)
            for each, name, keys in resources
        ],
        include_synonyms=include_synonyms,
    )
    return await session.ask(
        request, place, min_version=1 if include_synonyms else 0, max_version=max_version
    )


async def replace_configs(
    session: BrokerSession,
    resources: Sequence[tuple[int, str, Mapping[str, Any]]],
    place: int | None,
    *,
    validate_only: bool,
    max_version: int = _NEWEST,
) -> BrokerAnswer[AlterConfigsResponse]:
    """Whatever of a resource is not given goes back to its default."""
    entry = AlterConfigsRequest.AlterableConfig
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=each,
                resource_name=str(name),
                configs=[entry(name=key, value=_text(value)) for key, value in configs.items()],
            )
            for each, name, configs in resources
        ],
        validate_only=validate_only,
    )
    return await session.ask(request, place, max_version=max_version)


async def alter_configs(
    session: BrokerSession,
    resources: Sequence[tuple[int, str, Sequence[tuple[str, int, Any]]]],
    place: int | None,
    *,
    validate_only: bool,
) -> BrokerAnswer[IncrementalAlterConfigsResponse]:
    """`resources`: with the names, Kafka's numbers for what is done, and the values."""
    entry = IncrementalAlterConfigsRequest.AlterableConfig
    request = IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=each,
                resource_name=str(name),
                configs=[
                    entry(name=key, config_operation=operation, value=_text(value))
                    for key, operation, value in changes
                ],
            )
            for each, name, changes in resources
        ],
        validate_only=validate_only,
    )
    return await session.ask(request, place)


async def list_resources(
    session: BrokerSession, resource_types: Iterable[int]
) -> BrokerAnswer[ListConfigResourcesResponse]:
    """Of some types, or of all that a broker lists."""
    return await session.ask(ListConfigResourcesRequest(resource_types=list(resource_types)))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
