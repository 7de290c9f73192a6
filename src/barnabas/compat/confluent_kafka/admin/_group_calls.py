"""What AdminClient asks brokers about consumer groups.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from barnabas.client.admin import group_descriptions as descriptions
from barnabas.client.admin.requests import groups as group_requests
from barnabas.client.admin.requests.common import first_code
from barnabas.client.admin.requests.topics import describe_brokers
from barnabas.client.admin.types import GroupDescription
from barnabas.client.admin.types import MemberDescription as CoreMember
from barnabas.client.cluster.kafka_client import NO_VERSION
from barnabas.compat.confluent_kafka._model import ConsumerGroupState, ConsumerGroupType, Node
from barnabas.compat.confluent_kafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._topic_calls import operations_in
from barnabas.compat.librdkafka.cluster.broker_requests import (
    TIMED_OUT,
    BrokerRequests,
    DeadlineError,
    broker_error,
    invalid_argument,
    results,
)
from barnabas.compat.librdkafka.cluster.metadata import GroupMember, GroupMetadata, broker_metadata
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException, kafka_error_of
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsResponse
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.types import Node as CoreNode
from barnabas.types import TopicPartition as CorePartition

CONSUMER_PROTOCOL_TYPES = ("", "consumer")

STATES = {
    "PreparingRebalance": ConsumerGroupState.PREPARING_REBALANCING,
    "CompletingRebalance": ConsumerGroupState.COMPLETING_REBALANCING,
    "Stable": ConsumerGroupState.STABLE,
    "Dead": ConsumerGroupState.DEAD,
    "Empty": ConsumerGroupState.EMPTY,
}
STATE_NAMES = {state: name for name, state in STATES.items()} | {ConsumerGroupState.UNKNOWN: "Unknown"}
TYPES = {"classic": ConsumerGroupType.CLASSIC, "consumer": ConsumerGroupType.CONSUMER}
TYPE_NAMES = {kind: name for name, kind in TYPES.items()}


async def list_consumer_groups(
    requests: BrokerRequests,
    states: Iterable[ConsumerGroupState],
    types: Iterable[ConsumerGroupType],
    options: CallOptions,
) -> ListConsumerGroupsResult:
    """The groups that each broker coordinates, and the errors of those brokers that did not tell."""
    request = group_requests.list_groups(
        states=[STATE_NAMES[state] for state in states], types=[TYPE_NAMES[kind] for kind in types]
    )
    valid: list[ConsumerGroupListing] = []
    errors: list[KafkaError] = []
    try:
        answers = await _ask_all_brokers(requests, request)
    except (KafkaException, BarnabasError) as error:
        answers = [_plain(error)]
    for answer in answers:
        error = answer if isinstance(answer, KafkaError) else broker_error(answer.error_code)
        if error is not None:
            errors.append(error)
        elif not isinstance(answer, KafkaError):
            valid.extend(
                ConsumerGroupListing(
                    group.group_id,
                    group.protocol_type == "",
                    STATES.get(group.state, ConsumerGroupState.UNKNOWN),
                    TYPES.get(group.type.lower(), ConsumerGroupType.UNKNOWN),
                )
                for group in group_requests.listed_groups(answer)
                if group.protocol_type in CONSUMER_PROTOCOL_TYPES
            )
    return ListConsumerGroupsResult(valid, errors)


async def describe_consumer_groups(
    requests: BrokerRequests, group_ids: list[str], options: CallOptions
) -> dict[str, ConsumerGroupDescription | KafkaError]:
    """Each group, or why it cannot be described. One that does not exist is dead."""
    _check_unique(group_ids)

    async def describe(group_id: str) -> ConsumerGroupDescription | KafkaError:
        try:
            return await _describe(requests, group_id, options)
        except (KafkaException, BarnabasError) as error:
            return _plain(error)

    return dict(zip(group_ids, await asyncio.gather(*map(describe, group_ids)), strict=True))


async def delete_consumer_groups(
    requests: BrokerRequests, group_ids: list[str], options: CallOptions
) -> dict[str, KafkaError | None]:
    """The outcome of each group."""
    _check_unique(group_ids)

    async def delete(group_id: str) -> KafkaError | None:
        try:
            _, response = await requests.ask_coordinator(
                group_id,
                group_requests.delete_groups([group_id]),
                lambda response: first_code(result.error_code for result in response.results),
            )
        except (KafkaException, BarnabasError) as error:
            return _plain(error)
        return results(group_requests.deleted_groups(response)).get(group_id)

    return dict(zip(group_ids, await asyncio.gather(*map(delete, group_ids)), strict=True))


async def list_groups(requests: BrokerRequests, group_id: str | None) -> list[GroupMetadata]:
    """All groups, of consumers and others, or one, by the request that is for the classic protocol alone.

    Raises: KafkaException.
    """
    try:
        await requests.ask_any(describe_brokers())
        found: list[GroupMetadata] = []
        for node in _brokers(requests):
            listed = await requests.ask_broker(node.node_id, group_requests.list_groups())
            wanted = [g.group_id for g in listed.groups if group_id is None or g.group_id == group_id]
            if wanted:
                found += await _old_descriptions(requests, node, wanted)
    except DeadlineError:
        raise _no_groups(TIMED_OUT) from None
    except BarnabasError as error:
        raise _no_groups(kafka_error_of(error).code()) from error
    return found


async def _ask_all_brokers(
    requests: BrokerRequests, request: ListGroupsRequest
) -> list[ListGroupsResponse | KafkaError]:
    await requests.ask_any(describe_brokers())

    async def ask(node: CoreNode) -> ListGroupsResponse | KafkaError:
        try:
            return await requests.ask_broker(node.node_id, request)
        except (KafkaException, BarnabasError) as error:
            return _plain(error)

    return list(await asyncio.gather(*map(ask, _brokers(requests))))


def _brokers(requests: BrokerRequests) -> list[CoreNode]:
    nodes = requests.client.metadata.nodes
    return [nodes[node_id] for node_id in sorted(nodes)]


async def _describe(
    requests: BrokerRequests, group_id: str, options: CallOptions
) -> ConsumerGroupDescription | KafkaError:
    if await requests.coordinator_version(group_id, ConsumerGroupDescribeRequest) != NO_VERSION:
        node, modern = await requests.ask_coordinator(
            group_id,
            group_requests.describe_consumer_groups(
                [group_id], include_operations=options.include_operations
            ),
            lambda response: first_code(group.error_code for group in response.groups),
        )
        group = modern.groups[0]
        if group.error_code not in group_requests.NOT_OF_THE_CONSUMER_PROTOCOL:
            if group.error_code:
                return KafkaError(group.error_code, f"ConsumerGroupDescribe: {group.error_message or ''}")
            described = descriptions.of_consumer_protocol(group, node)
            return _description(described, ConsumerGroupType.CONSUMER)
    node, classic = await requests.ask_coordinator(
        group_id,
        group_requests.describe_classic_groups([group_id], include_operations=options.include_operations),
        lambda response: first_code(group.error_code for group in response.groups),
        max_version=group_requests.LAST_DESCRIBE_GROUPS_WITH_DEAD_GROUPS,
    )
    old = classic.groups[0]
    if old.error_code:
        return KafkaError(old.error_code)
    described = descriptions.of_classic_protocol(old, node)
    return _description(described, ConsumerGroupType.CLASSIC)


def _description(group: GroupDescription, kind: ConsumerGroupType) -> ConsumerGroupDescription:
    node = group.coordinator
    return ConsumerGroupDescription(
        group.group_id,
        group.protocol_type == "",
        [_member(member) for member in group.members],
        group.assignor,
        STATES.get(group.state, ConsumerGroupState.UNKNOWN),
        Node(-1, "", -1) if node is None else Node(node.node_id, node.host, node.port),
        operations_in(group.authorized_operations),
        kind,
    )


def _member(member: CoreMember) -> MemberDescription:
    target = member.target_assignment
    return MemberDescription(
        member.member_id,
        member.client_id,
        member.client_host,
        MemberAssignment(_partitions(member.assignment)),
        member.group_instance_id,
        None if target is None else MemberAssignment(_partitions(target)),
    )


def _partitions(partitions: Sequence[CorePartition]) -> list[TopicPartition]:
    return [topic_partition(partition.topic, partition.partition) for partition in partitions]


async def _old_descriptions(
    requests: BrokerRequests, node: CoreNode, group_ids: list[str]
) -> list[GroupMetadata]:
    _, response = await requests.ask(
        lambda: _there(node.node_id),
        group_requests.describe_classic_groups(group_ids),
        max_version=group_requests.LAST_DESCRIBE_GROUPS_WITH_DEAD_GROUPS,
    )
    return [_old_description(group, node) for group in response.groups]


async def _there(node_id: int) -> int:
    return node_id


def _old_description(group: DescribeGroupsResponse.DescribedGroup, node: CoreNode) -> GroupMetadata:
    described = GroupMetadata()
    described.broker = broker_metadata(node.node_id, node.host, node.port)
    described.id = group.group_id
    described.error = broker_error(group.error_code)
    described.state = group.group_state
    described.protocol_type = group.protocol_type
    described.protocol = group.protocol_data
    described.members = [_old_member(member) for member in group.members]
    return described


def _old_member(found: DescribeGroupsResponse.DescribedGroupMember) -> GroupMember:
    member = GroupMember()
    member.id = found.member_id
    member.client_id = found.client_id
    member.client_host = found.client_host
    member.metadata = found.member_metadata
    member.assignment = found.member_assignment
    return member


def _no_groups(code: int) -> KafkaException:
    return KafkaException(KafkaError(code, f"Failed to list groups: {KafkaError(code).str()}"))


def _plain(error: BaseException) -> KafkaError:
    """What kept one of several requests from being answered; a deadline without what was waited for."""
    return KafkaError(TIMED_OUT) if isinstance(error, DeadlineError) else kafka_error_of(error)


def _check_unique(group_ids: list[str]) -> None:
    if len(set(group_ids)) != len(group_ids):
        raise invalid_argument("Duplicate groups not allowed")
