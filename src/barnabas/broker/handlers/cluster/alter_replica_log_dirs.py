"""AlterReplicaLogDirs, versions 1 and 2 (KIP-113): a node has one folder for its logs, so that a replica can
be told to stay there, and to go nowhere else. Version 0 is not spoken by Kafka 4 either.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import LogDirNotFoundError, ReplicaNotAvailableError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)

PartitionResult = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult
TopicResult = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult


async def handle(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    # Of a partition that is named for several folders the last one counts.
    wanted = {
        (topic.name, index): folder.path
        for folder in request.dirs
        for topic in folder.topics
        for index in topic.partitions
    }
    results: dict[str, list[PartitionResult]] = {}
    for (name, index), path in wanted.items():
        results.setdefault(name, []).append(PartitionResult(index, _code(call, name, index, path)))
    return AlterReplicaLogDirsResponse(results=[TopicResult(name, found) for name, found in results.items()])


def _code(call: Call, name: str, index: int, path: str) -> int:
    cluster = call.parts.cluster
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
        if path != str(cluster.nodes[call.node].directory):
            raise LogDirNotFoundError(f"{path} is no folder of logs")
        if cluster.partition(cluster.topic(name), index).log_on(call.node) is None:
            raise ReplicaNotAvailableError(f"{name}-{index} has no replica here")
    except BrokerError as error:
        return error.code
    return 0


HANDLER = Handler(AlterReplicaLogDirsRequest, 1, 2, handle)
