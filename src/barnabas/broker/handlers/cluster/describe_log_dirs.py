"""DescribeLogDirs, versions 1 to 5: the one data directory of the node, its logs' sizes and its disk's."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.log.files import room_at
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.turns import in_turns


async def handle(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    cluster = call.parts.cluster
    try:
        call.parts.authorizer.require_cluster(call, Operation.DESCRIBE)
    except BrokerError as error:
        return DescribeLogDirsResponse(error_code=error.code)
    asked = None if request.topics is None else {topic.topic: topic.partitions for topic in request.topics}
    topics = [
        DescribeLogDirsResponse.DescribeLogDirsTopic(
            name=topic.name,
            partitions=[
                DescribeLogDirsResponse.DescribeLogDirsPartition(
                    partition_index=partition.index, partition_size=log.size()
                )
                for partition in topic.partitions
                if asked is None or partition.index in asked[topic.name]
                if (log := partition.log_on(call.node)) is not None
            ],
        )
        async for topic in in_turns(list(cluster.topics.values()), 1)
        if asked is None or topic.name in asked
    ]
    directory = cluster.nodes[call.node].directory
    total_bytes, usable_bytes = room_at(directory)
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResponse.DescribeLogDirsResult(
                log_dir=str(directory),
                topics=[topic for topic in topics if topic.partitions],
                total_bytes=total_bytes,
                usable_bytes=usable_bytes,
            )
        ]
    )


HANDLER = Handler(DescribeLogDirsRequest, 1, 5, handle)
