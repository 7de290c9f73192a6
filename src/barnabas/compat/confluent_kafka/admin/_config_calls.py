"""What AdminClient asks brokers about configurations.

Owns the requests and what their answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from barnabas.compat.confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._resource import ResourceType
from barnabas.compat.librdkafka.ask.requests import (
    BrokerRequests,
    broker_error,
    invalid_argument,
    not_understood,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

_Answer = TypeVar("_Answer", bound=Response)
_Value = TypeVar("_Value")

CONFLICT = -173
WITHOUT_CONFIGURATION = (ResourceType.ANY, ResourceType.TRANSACTIONAL_ID)
GROUP_ON_THE_WIRE = 32
DEFAULT_CONFIG = 5
INT32 = range(-(2**31), 2**31)


async def describe_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
    """The entries of each resource by name, or why it cannot be described."""
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=_wire_type(resource), resource_name=resource.name, configuration_keys=None
            )
            for resource in resources
        ],
        include_synonyms=True,
    )
    response = await _ask(requests, resources, request, options)
    answers = {
        (result.resource_type, result.resource_name): broker_error(result.error_code, result.error_message)
        or {entry.name: _entry(entry) for entry in result.configs}
        for result in response.results
    }
    return _by_resource(resources, answers, len(response.results), "DescribeConfigs")


async def alter_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, KafkaError | None]:
    """What became of each resource."""
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=_wire_type(resource),
                resource_name=resource.name,
                configs=[
                    AlterConfigsRequest.AlterableConfig(name=str(name), value=str(value))
                    for name, value in resource.set_config_dict.items()
                ],
            )
            for resource in resources
        ],
        validate_only=options.validate_only,
    )
    response = await _ask(requests, resources, request, options)
    answers = {
        (result.resource_type, result.resource_name): broker_error(result.error_code, result.error_message)
        for result in response.responses
    }
    return _by_resource(resources, answers, len(response.responses), "AlterConfigs")


async def incremental_alter_configs(
    requests: BrokerRequests, resources: list[ConfigResource], options: CallOptions
) -> dict[ConfigResource, KafkaError | None]:
    """What became of each resource."""
    for resource in resources:
        names = [entry.name for entry in resource.incremental_configs]
        if len(set(names)) != len(names):
            raise invalid_argument("Duplicate ConfigEntry found")
    request = IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=_wire_type(resource),
                resource_name=resource.name,
                configs=[_alterable(entry) for entry in resource.incremental_configs],
            )
            for resource in resources
        ],
        validate_only=options.validate_only,
    )
    response = await _ask(requests, resources, request, options)
    answers = {
        (result.resource_type, result.resource_name): broker_error(result.error_code, result.error_message)
        for result in response.responses
    }
    return _by_resource(resources, answers, len(response.responses), "IncrementalAlterConfigs")


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


def _wire_type(resource: ConfigResource) -> int:
    """librdkafka numbers groups as in access rules, Kafka otherwise."""
    return GROUP_ON_THE_WIRE if resource.restype is ResourceType.GROUP else resource.restype_int


def _by_resource(
    resources: list[ConfigResource], answers: Mapping[tuple[int, str], _Value], count: int, what: str
) -> dict[ConfigResource, _Value]:
    """The answers by what they are about. librdkafka does not understand answers about kinds of resources
    that have no configuration, about one that is named twice, or about others than it asked for."""
    wanted = {(_wire_type(resource), resource.name): resource for resource in resources}
    is_understood = all(resource.restype not in WITHOUT_CONFIGURATION for resource in resources)
    if not is_understood or len({count, len(resources), len(wanted)}) > 1 or wanted.keys() != answers.keys():
        raise not_understood(what)
    return {resource: answers[key] for key, resource in wanted.items()}


def _alterable(entry: ConfigEntry) -> IncrementalAlterConfigsRequest.AlterableConfig:
    operation = entry.incremental_operation or AlterConfigOpType.SET
    return IncrementalAlterConfigsRequest.AlterableConfig(
        name=entry.name,
        config_operation=operation.value,
        value=None if operation is AlterConfigOpType.DELETE else entry.value,
    )


def _entry(found: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    # Before Kafka 1.1 brokers only told whether a value is the default.
    is_default = found.is_default or found.config_source == DEFAULT_CONFIG
    return ConfigEntry(
        found.name,
        found.value,
        DEFAULT_CONFIG if is_default else max(found.config_source, 0),
        found.read_only,
        is_default,
        found.is_sensitive,
        False,
        {
            synonym.name: ConfigEntry(synonym.name, synonym.value, synonym.source, is_synonym=True)
            for synonym in found.synonyms
        },
    )
