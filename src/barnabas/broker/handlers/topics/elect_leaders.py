"""ElectLeaders, versions 0 to 2 (KIP-460): the preferred leaders, or any at all where there is none. Null is
all partitions, of which only those are told of for which something was done.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.topic import Partition
from barnabas.broker_errors import ElectionNotNeededError, InvalidRequestError, UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.turns import in_turns

PREFERRED, UNCLEAN = 0, 1
Result = ElectLeadersResponse.PartitionResult
TopicResult = ElectLeadersResponse.ReplicaElectionResult


async def handle(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    kind, asked = request.election_type, request.topic_partitions
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
        if kind not in (PREFERRED, UNCLEAN) and asked != []:
            raise InvalidRequestError(f"Unknown election type {kind}")
    except BrokerError as error:
        return ElectLeadersResponse(
            error_code=error.code,
            replica_election_results=[
                TopicResult(topic.topic, [_refusal(index, error) for index in topic.partitions])
                for topic in asked or ()
            ],
        )
    if asked is None:
        results = [
            TopicResult(
                topic.name,
                [
                    result
                    async for partition in in_turns(list(topic.partitions))
                    if (result := _elect(call, partition, kind)).error_code != ElectionNotNeededError.code
                ],
            )
            async for topic in in_turns(list(call.parts.cluster.topics.values()))
        ]
    else:
        results = [
            TopicResult(topic.topic, [_look_up(call, topic.topic, index, kind) for index in topic.partitions])
            for topic in asked
        ]
    call.parts.controller.save()
    return ElectLeadersResponse(replica_election_results=results)


def _look_up(call: Call, name: str, index: int, kind: int) -> Result:
    topic = call.parts.cluster.topics.get(name)
    if topic is None:
        return _refusal(index, UnknownTopicOrPartitionError(f"No such topic as {name}"))
    if not 0 <= index < len(topic.partitions):
        return _refusal(index, UnknownTopicOrPartitionError(f"No such partition as {name}-{index}"))
    return _elect(call, topic.partitions[index], kind)


def _elect(call: Call, partition: Partition, kind: int) -> Result:
    controller = call.parts.controller
    try:
        if kind == PREFERRED:
            controller.elect_preferred(partition)
        else:
            controller.elect_any(partition)
    except BrokerError as error:
        return _refusal(partition.index, error)
    return Result(partition.index, error_message=None)


def _refusal(index: int, error: BrokerError) -> Result:
    return Result(index, error.code, error.context)


HANDLER = Handler(ElectLeadersRequest, 0, 2, handle)
