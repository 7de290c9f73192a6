"""Share and Streams groups whose feature is lowered to 0 are refused as by Apache Kafka, and come back."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.waiting import Patience

from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from barnabas.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from barnabas.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

UPGRADE, SAFE_DOWNGRADE = 1, 2
UNSUPPORTED_VERSION = 35
ASKED: list[Any] = [
    StreamsGroupHeartbeatRequest("g", "m", 0),
    StreamsGroupDescribeRequest(["g"]),
    ShareGroupHeartbeatRequest("g", "m", 0),
    ShareGroupDescribeRequest(["g"]),
    ShareFetchRequest("g", "m", 0),
    ShareAcknowledgeRequest("g", "m", 1),
    AlterShareGroupOffsetsRequest("g", []),
    DeleteShareGroupOffsetsRequest("g", []),
    DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup("g", topics=None)]
    ),
]


async def _refused(bootstrap: str) -> list[Any]:
    host, _, port = bootstrap.rpartition(":")
    connection = await Connection.open(host, int(port), client_id="test")

    async def set_levels(level: int, upgrade_type: int) -> None:
        """Until the broker has heard of it."""
        names = "share.version", "streams.version"
        updates = [
            UpdateFeaturesRequest.FeatureUpdateKey(name, level, upgrade_type=upgrade_type) for name in names
        ]
        answer = await connection.submit(UpdateFeaturesRequest(60_000, updates), timeout_ms=30_000)
        assert answer.error_code == 0
        for probe in (ASKED[0], ASKED[2]):
            patience = Patience()
            while True:
                found = await connection.submit(probe, timeout_ms=30_000)
                if (found.error_code == UNSUPPORTED_VERSION) == (level == 0):
                    break
                await patience.pause_async()

    try:
        await set_levels(0, SAFE_DOWNGRADE)
        told = [await connection.submit(request, timeout_ms=30_000) for request in ASKED]
        await set_levels(1, UPGRADE)
    finally:
        connection.close()
    return told


def test_groups_whose_feature_is_lowered_are_refused_as_by_kafka() -> None:
    with ApacheKafka() as kafka:
        theirs = asyncio.run(_refused(kafka.bootstrap))
    with EmbeddedBroker() as broker:
        assert asyncio.run(_refused(broker.bootstrap)) == theirs
