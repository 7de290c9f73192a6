"""What AdminClient asks brokers about configurations.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from barnabas.client.admin import types
from barnabas.client.admin.requests import configs as config_requests
from barnabas.client.admin.requests.common import Answer
from barnabas.compat.confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._resource import ResourceType
from barnabas.compat.librdkafka.cluster.broker_requests import (
    BrokerRequests,
    invalid_argument,
    not_understood,
    results,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.protocol.codec import Request, Response

_Answer = TypeVar("_Answer", bound=Response)
_Value = TypeVar("_Value")

CONFLICT = -173
WITHOUT_CONFIGURATION = (ResourceType.ANY, ResourceType.TRANSACTIONAL_ID)
INT32 = range(-(2**31), 2**31)


async def describe_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
    """The entries of each resource by name, or why it cannot be described."""
    request = config_requests.describe_configs(map(_wire, resources), include_synonyms=True)
    answers = config_requests.described_configs(await _ask(requests, resources, request, options))
    found = _by_resource(resources, answers, "DescribeConfigs")
    return {
        resource: entries
        if isinstance(entries, KafkaError)
        else {name: _entry(entry) for name, entry in entries.items()}
        for resource, entries in found.items()
    }


async def alter_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, KafkaError | None]:
    """The outcome of each resource."""
    wanted = [
        (
            _wire(resource),
            {str(name): str(value) for name, value in resource.set_config_dict.items()},
        )
        for resource in resources
    ]
    request = config_requests.alter_configs(wanted, validate_only=options.validate_only)
    answers = config_requests.altered_configs(await _ask(requests, resources, request, options))
    return _by_resource(resources, answers, "AlterConfigs")


async def incremental_alter_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, KafkaError | None]:
    """The outcome of each resource."""
    for resource in resources:
        names = [entry.name for entry in resource.incremental_configs]
        if len(set(names)) != len(names):
            raise invalid_argument("Duplicate ConfigEntry found")
    wanted = [
        (_wire(resource), list(map(_incremental, resource.incremental_configs))) for resource in resources
    ]
    request = config_requests.incremental_alter_configs(wanted, validate_only=options.validate_only)
    answers = config_requests.altered_configs(await _ask(requests, resources, request, options))
    return _by_resource(resources, answers, "IncrementalAlterConfigs")


async def _ask(
    requests: BrokerRequests,
    resources: list[ConfigResource],
    request: Request[_Answer],
    options: CallOptions,
) -> _Answer:
    """The answer of the broker that the resources or the options name, else of the controller."""
    brokers = [resource for resource in resources if resource.restype is ResourceType.BROKER]
    if len(brokers) > 1:
        text = "Only one ConfigResource of type BROKER is allowed per call"
        raise KafkaException(KafkaError(CONFLICT, text))
    if options.broker_id is not None:
        return await requests.ask_broker(options.broker_id, request)
    for broker in brokers:
        return await requests.ask_broker(_broker_id(broker.name), request)
    return await requests.ask_controller(request)


def _broker_id(name: str) -> int:
    try:
        broker_id = int(name)
    except ValueError:
        broker_id = None
    if broker_id is None or broker_id not in INT32:
        raise invalid_argument(f"Expected an int32 broker_id for ConfigResource(type=BROKER, name={name})")
    return broker_id


def _wire(resource: ConfigResource) -> config_requests.Resource:
    """librdkafka numbers groups as in access rules, Kafka otherwise."""
    is_group = resource.restype is ResourceType.GROUP
    return (types.ResourceType.GROUP if is_group else resource.restype_int), resource.name


def _by_resource(
    resources: list[ConfigResource], answers: Sequence[Answer[config_requests.Resource, _Value]], what: str
) -> dict[ConfigResource, _Value | KafkaError]:
    """The answers by what they are about. librdkafka does not understand answers about kinds of resources
    that have no configuration, about one that is named twice, or about others than it asked for."""
    wanted = {_wire(resource): resource for resource in resources}
    found = results(answers)
    is_understood = all(resource.restype not in WITHOUT_CONFIGURATION for resource in resources)
    counts = {len(answers), len(resources), len(wanted)}
    if not is_understood or len(counts) > 1 or wanted.keys() != found.keys():
        raise not_understood(what)
    return {resource: found[key] for key, resource in wanted.items()}


def _incremental(entry: ConfigEntry) -> config_requests.IncrementalChange:
    operation = entry.incremental_operation or AlterConfigOpType.SET
    value = None if operation is AlterConfigOpType.DELETE else entry.value
    return config_requests.IncrementalChange(entry.name, operation.value, value)


def _entry(found: types.ConfigEntry) -> ConfigEntry:
    return ConfigEntry(
        found.name,
        found.value,
        int(types.ConfigSource.DEFAULT_CONFIG if found.is_default else found.source),
        found.is_read_only,
        found.is_default,
        found.is_sensitive,
        False,
        {
            synonym.name: ConfigEntry(synonym.name, synonym.value, int(synonym.source), is_synonym=True)
            for synonym in found.synonyms
        },
    )
